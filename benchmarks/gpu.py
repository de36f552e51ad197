"""Fits on a graphics card beside flash-kmeans and beside the CPU: time, E_m, memory, and the same labels every time.

    python benchmarks/gpu.py            some minutes on a card; results/gpu.json
    python benchmarks/gpu.py SIFT …     only the cases whose names begin like this; replaces their earlier results

Needs a CUDA device; flash-kmeans (pip install flash-kmeans==0.3.1) is the peer. Both start from random rows. A fit is
timed from the tensor on the card to the labels after each pass, preparation included; kernels are compiled before, and
the recording of CUDA graphs is told apart. flash-kmeans gets the input type in which it is fastest without ending more
than 1 % above its best. E_m is measured in float64 from the labels.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from common import HERE, load, print_table, save, short

from ksums import KSums, PassRecord

SEEDS = (0, 1, 2)
"""Each fit is made with these seeds."""
ITERATIONS = (25, 50)
"""Iterations of flash-kmeans; the second one for few clusters only."""
FEW_CLUSTERS = 256
"""Up to this many clusters there are 50 iterations, too."""
MANY_CLUSTERS = 1000
"""From this many clusters on, all fits on the card start from random rows."""
REPEATS = 20
"""Fits whose labels must be the same."""


class Case(NamedTuple):
    """A data set, how to make it, the numbers of clusters, and whether the CPU is asked, too."""

    name: str
    make: Callable[[], torch.Tensor]
    ks: tuple[int, ...]
    on_cpu: bool = False


def stored(name: str) -> Callable[[], torch.Tensor]:
    """Load a data set to the card as float32."""
    return lambda: torch.from_numpy(load(name).astype(np.float32)).cuda()


def mixed(n: int, d: int, hidden: int) -> Callable[[], torch.Tensor]:
    """Make correlated columns without groups."""

    def make() -> torch.Tensor:
        generator = torch.Generator(device="cuda").manual_seed(1)
        mixing = torch.randn(hidden, d, device="cuda", generator=generator)
        rows = torch.randn(n, hidden, device="cuda", generator=generator) @ mixing
        return rows.add_(torch.randn(n, d, device="cuda", generator=generator), alpha=2.0)

    return make


CASES = [
    Case("SIFT 200K x 128", stored("sift/sift200k_base.npy"), (64, 1_000, 10_000), on_cpu=True),
    Case("GloVe 60K x 100", stored("glove100/glove60k.npy"), (50, 1_000), on_cpu=True),
    Case("262K x 768", mixed(262_144, 768, 64), (8_192,)),
    Case("4M x 128", mixed(4_000_000, 128, 24), (64, 256, 4_096)),
    Case("1M x 128", mixed(1_000_000, 128, 24), (65_536,)),
]


class Recording:
    """Adds up the time in which CUDA graphs are recorded."""

    def __init__(self) -> None:
        self.seconds = 0.0
        plain = torch.cuda.graph

        class Timed(plain):  # type: ignore[misc, valid-type]
            def __enter__(inner) -> Any:  # noqa: N805
                inner.began = time.perf_counter()
                return super().__enter__()

            def __exit__(inner, *error: Any) -> Any:  # noqa: N805
                found = super().__exit__(*error)
                self.seconds += time.perf_counter() - inner.began
                return found

        torch.cuda.graph = Timed  # type: ignore[misc]


RECORDING = Recording()


def ours(X: torch.Tensor, k: int, seed: int, **parameters: Any) -> dict[str, Any]:
    """Fit once; return the time and E_m after each pass, and the model."""
    torch.cuda.synchronize()
    RECORDING.seconds, trace = 0.0, []
    began = time.perf_counter()

    def note(record: PassRecord) -> None:
        trace.append((time.perf_counter() - began - RECORDING.seconds, record.distortion))

    model = KSums(k, random_state=seed, callbacks=[note], **parameters).fit(X)
    torch.cuda.synchronize()
    return {"trace": trace, "s": time.perf_counter() - began, "recording": RECORDING.seconds, "model": model}


def distortion(X: torch.Tensor, labels: torch.Tensor, k: int) -> float:
    """E_m in float64, from X and labels."""
    labels, (n, d) = labels.long(), X.shape
    composites, total = torch.zeros(k, d, device=X.device, dtype=torch.float64), 0.0
    for first in range(0, n, 1 << 20):
        part = X[first : first + (1 << 20)].double()
        composites.index_add_(0, labels[first : first + (1 << 20)], part)
        total += float(part.square().sum())
    sizes = torch.bincount(labels, minlength=k).double().clamp(min=1)
    return (total - float((composites.square().sum(1) / sizes).sum())) / n


def flash(X: torch.Tensor, k: int, iterations: int) -> dict[str, Any]:
    """Run flash-kmeans with each input type; return the fastest that ends near its best, median of the seeds."""
    from flash_kmeans import batch_kmeans_Euclid

    found = []
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        rows, seconds, values = X.to(dtype)[None], [], []
        for seed in (SEEDS[0], *SEEDS):  # the first run compiles
            generator = torch.Generator(device="cuda").manual_seed(seed)
            start = rows[:, torch.randperm(X.shape[0], device="cuda", generator=generator)[:k]].contiguous()
            torch.cuda.synchronize()
            began = time.perf_counter()
            labels, *_ = batch_kmeans_Euclid(rows, k, max_iters=iterations, tol=-1.0, init_centroids=start)
            torch.cuda.synchronize()
            seconds.append(time.perf_counter() - began)
            values.append(distortion(X, labels[0], k))
        found.append(
            {"input": str(dtype).removeprefix("torch."), "s": float(np.median(seconds[1:])), "E_m": values[1:]}
        )
        del rows
    best = min(float(np.mean(row["E_m"])) for row in found)
    return min((row for row in found if np.mean(row["E_m"]) <= 1.01 * best), key=lambda row: row["s"])


def race(case: Case, X: torch.Tensor, k: int) -> list[dict[str, Any]]:
    """Compare with flash-kmeans: time to its E_m, and E_m in its time."""
    rows = []
    for iterations in ITERATIONS if k <= FEW_CLUSTERS else ITERATIONS[:1]:
        peer = flash(X, k, iterations)
        target = float(np.mean(peer["E_m"]))
        row = {
            "data": case.name, "k": k, "iterations": iterations, "flash-kmeans, ms": 1e3 * peer["s"],
            "input": peer["input"], "its E_m": target,
        }  # fmt: skip
        for effort in ("low", "default"):
            ours(X, k, 0, effort=effort, init="random-points")  # compiles
            runs = [ours(X, k, seed, effort=effort, init="random-points") for seed in SEEDS]
            hits = [next((at for at, value in run["trace"] if value <= target), np.inf) for run in runs]
            hit = float(np.median(hits))
            in_time = [min([value for at, value in run["trace"] if at <= peer["s"]], default=np.inf) for run in runs]
            row[f"{effort}, to its E_m, ms"] = 1e3 * hit if hit < np.inf else None
            row[f"{effort}, in its time, %"] = 100 * (float(np.mean(in_time)) / target - 1)
            row[f"{effort}, fit, ms"] = 1e3 * float(np.median([run["s"] for run in runs]))
            row[f"{effort}, recording, ms"] = 1e3 * float(np.median([run["recording"] for run in runs]))
            row[f"{effort}, in the end, %"] = 100 * (np.mean([run["model"].distortion_ for run in runs]) / target - 1)
            row[f"{effort}, passes"] = int(np.median([run["model"].n_iter_ for run in runs]))
        reached = [row[f"{effort}, to its E_m, ms"] for effort in ("low", "default")]
        row["time ratio"] = min((ms for ms in reached if ms is not None), default=np.nan) / row["flash-kmeans, ms"]
        rows.append(row)
    return rows


def beside_the_cpu(case: Case, X: torch.Tensor, k: int) -> dict[str, Any]:
    """Compare fits at default effort on the card and on the CPU of the same machine."""
    rows, seconds, values = X.cpu().numpy(), {}, {}
    for where, data in (("card", X), ("CPU", rows)):
        start = "random-points" if where == "card" and k >= MANY_CLUSTERS else "auto"
        KSums(k, random_state=0, max_iter=3, init=start).fit(data[: 8 * k])
        models, took = [], []
        for seed in SEEDS[:2]:
            began = time.perf_counter()
            models.append(KSums(k, random_state=seed, init=start).fit(data))
            took.append(time.perf_counter() - began)
        seconds[where], values[where] = min(took), float(np.mean([model.distortion_ for model in models]))
    return {
        "data": case.name, "k": k, "card, s": seconds["card"], "CPU, s": seconds["CPU"],
        "card above CPU, %": 100 * (values["card"] / values["CPU"] - 1),
    }  # fmt: skip


def memory(X: torch.Tensor, k: int) -> float:
    """Return the most memory that a fit adds, as a share of X."""
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    KSums(k, effort="low", init="random-points", random_state=0).fit(X)
    return (torch.cuda.max_memory_allocated() - before) / (X.numel() * X.element_size())


def repeats(X: torch.Tensor, k: int, metric: str) -> int:
    """Fit again and again, with CUDA graphs and without; return how many different labels there were."""
    import ksums.planning.gpu as planning

    found, limit = set(), planning._GRAPH
    for number in range(REPEATS):
        planning._GRAPH = limit if number % 2 else 0.0
        labels = KSums(k, metric=metric, init="random-points", random_state=0).fit(X).labels_
        found.add(labels.cpu().numpy().tobytes())
    planning._GRAPH = limit
    return len(found)


def main() -> None:
    """Compare on all cases, or on those that the command line names."""
    names, path = sys.argv[1:], HERE / "results" / "gpu.json"
    old = json.loads(path.read_text())["results"] if path.exists() else {"race": [], "cpu": [], "memory": []}
    results: dict[str, Any] = {"card": torch.cuda.get_device_name(), "torch": torch.__version__, "race": [], "cpu": []}
    results["memory"], results["repeats"] = [], old.get("repeats", {})
    for case in CASES:
        if names and not any(case.name.startswith(name) for name in names):
            for part in ("race", "cpu", "memory"):
                results[part] += [row for row in old[part] if row["data"] == case.name]
            continue
        X = case.make()
        for k in case.ks:
            results["race"] += race(case, X, k)
            print(json.dumps(results["race"][-1]), flush=True)
            results["memory"].append({"data": case.name, "k": k, "share of X": memory(X, k)})
            if case.on_cpu:
                results["cpu"].append(beside_the_cpu(case, X, k))
                print(json.dumps(results["cpu"][-1]), flush=True)
        if case.on_cpu:
            for metric in ("l2", "cosine"):
                results["repeats"][f"{case.name}, k = {case.ks[-1]}, {metric}"] = repeats(X, case.ks[-1], metric)
        del X
    print_table(results["race"], ["data", "k", "iterations", "flash-kmeans, ms", "time ratio"], short)
    print_table(results["memory"], ["data", "k", "share of X"], short)
    print(results["repeats"])
    save("gpu", results)


if __name__ == "__main__":
    main()
