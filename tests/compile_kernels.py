"""Compile the kernels of a card for CUDA, with no card: what ``test_gpu.py`` runs in a process of its own.

    python tests/compile_kernels.py l2 weights split cosine …

Each word is a variant. The launches of all operations are caught and compiled instead.
"""

import sys
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from ksums.method.engines.gpu import launch
from ksums.method.engines.gpu.card import Card, Lists, layout_for, new_candidates, new_clusters, new_state
from ksums.method.engines.gpu.rows import Rows as CardRows
from ksums.method.engines.gpu.rows import new_table
from ksums.rules.kinds import LENGTH, PAIRS, SQUARES, Kind

TARGET = GPUTarget("cuda", 90, 32)
VARIANTS: dict[str, dict[str, Any]] = {
    "l2": {"d": 100},
    "weights": {"d": 100, "weighted": True},
    "split": {"d": 8, "split": True, "dtype": torch.float64},
    "cosine": {"d": 100, "cosine": True},
    "bytes": {"d": 128, "dtype": torch.uint8},
    "pairs": {"d": 100, "kind": PAIRS, "cosine": True},
    "wide": {"d": 300},
    "wide-split": {"d": 300, "split": True, "dtype": torch.bfloat16},
    "wide-cosine": {"d": 300, "cosine": True, "weighted": True},
}
KINDS = {
    torch.float16: "fp16", torch.bfloat16: "bf16", torch.float32: "fp32", torch.float64: "fp64", torch.uint8: "u8",
    torch.int32: "i32", torch.int64: "i64",
}  # fmt: skip
done: set[str] = set()


class Caught:
    """A kernel that is compiled where it would be launched."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def __getitem__(self, grid: Any) -> Any:
        return self.compile

    def compile(self, *given: Any, **more: Any) -> None:
        options = {name: more.pop(name) for name in ("num_warps", "num_stages", "enable_fp_fusion") if name in more}
        names = self.kernel.arg_names
        signature = {name: _kind(value) for name, value in zip(names, given, strict=False)}
        signature |= dict.fromkeys(more, "constexpr")
        label = f"{self.kernel.__name__} {signature} {more} {options}"
        if label not in done:
            source = ASTSource(self.kernel, signature, {(names.index(name),): value for name, value in more.items()})
            triton.compile(source, target=TARGET, options=options)
            done.add(label)


def _kind(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return "*" + KINDS[value.dtype]
    return "fp32" if isinstance(value, float) else "i32"


def compile_variant(
    d: int,
    dtype: torch.dtype = torch.float32,
    kind: Kind | None = None,
    cosine: bool = False,
    split: bool = False,
    weighted: bool = False,
) -> None:
    """Ask for every operation once."""
    n, k, device = 64, 9, torch.device("cpu")
    X, ones = torch.zeros(n, d, dtype=dtype), torch.ones(n)
    mean = torch.zeros(d, dtype=torch.float64 if dtype == torch.float64 else torch.float32)
    rows = CardRows(X, device, None, ones if weighted else None, mean, ones if cosine else None, 1.0, 1.0)
    kind = kind or (LENGTH if cosine else SQUARES)
    layout = layout_for(n, d, k, kind=kind, directed=cosine, sigma=1.0, split=split, weighted=weighted)
    order = torch.arange(n)
    table, kernels = new_table(rows, layout, order, 0), launch.Kernels()
    card = Card(
        layout,
        table,
        new_state(layout, device),
        new_clusters(layout, device, pushed=True),
        new_candidates(layout, device),
    )
    kernels.moments(X, order if weighted else None, device)
    kernels.scrambled_keys(n, 1, device)
    kernels.set_centres(card, torch.zeros(k, d))
    kernels.lower_rows(table, layout)
    places, slot = order.int(), torch.empty(n, layout.aligned, dtype=torch.float16)
    lists, groups = Lists(places, order[: k + 1]), places[: k + 1]
    kernels.lower_rows(table, layout, places, slot, order)
    kernels.prepared_rows(table, layout, order)
    kernels.nearest_in_bins(card, 0, k, 4)
    for start in (True, False):
        kernels.propose(card, order, 0, n, start=start, low=slot if start else None)
        kernels.propose_from_lists(card, order, groups, lists, 0, k, within=(0, n), start=start)
        kernels.add_by_cluster(table, layout, card.state, wide=start)
        kernels.refresh(card, reset=start, pushed=start)
        kernels.decide(card, n, apart=start)
    kernels.summarise(card, torch.zeros(6, dtype=torch.float64))
    kernels.squares_to_own(table, layout, card.state.labels, torch.zeros(k, d, dtype=torch.float64))


KERNELS = (
    "propose", "propose_from_lists", "nearest_in_bins", "verify", "move", "coefficients", "summary", "lower_rows",
    "gather_rows", "add_by_cluster", "column_moments", "squares_to_own", "scrambled_keys", "given_centres",
)  # fmt: skip


if __name__ == "__main__":
    for name in KERNELS:
        setattr(launch, name, Caught(getattr(launch, name)))
    for variant in sys.argv[1:] or VARIANTS:
        compile_variant(**VARIANTS[variant])
    sys.stdout.write(f"{len(done)} kernels compiled\n")
