"""Fits on a graphics card beside flash-kmeans and beside the CPU: time, E_m, memory, and the same labels every time.

Also rows that stay in memory of the host, beside rows on the card; and many small problems in one call.

    python benchmarks/gpu.py            some minutes on a card; results/gpu.json
    python benchmarks/gpu.py SIFT …     only the cases whose names begin like this

Results that are not measured again, or not yet, are kept and marked as earlier ones.

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

import ksums.planning.gpu as planning
from ksums import KSums, PassRecord
from ksums.method.engines.gpu import passes
from ksums.planning.room import chunk_for, least_room
from ksums.planning.shape import Shape
from ksums.torch import batched

SEEDS = (0, 1, 2)
"""Each fit is made with these seeds."""
ITERATIONS = (25, 50)
"""Iterations of flash-kmeans; the second one for few clusters only."""
FEW_CLUSTERS = 256
"""Up to this many clusters there are 50 iterations, too."""
MOST_FOR_PAIRS = 1_000
"""Up to this many clusters the CPU is asked for E_s, too; with more it takes minutes."""
REPEATS = 21
"""Fits whose labels must be the same: a third with CUDA graphs, a third without, a third with rows of the host."""
BATCHES = [(32, 4096, 64, 64), (32, 16_384, 128, 256), (32, 65_536, 128, 1000), (256, 1024, 64, 16)]
"""Problems, rows of each, columns and clusters."""
PARTS = "race", "cpu", "memory", "streamed", "batches"
"""The parts of the results that are tables."""
KEYS = "data", "k", "iterations", "objective", "problems", "n", "d"
"""Rows of a table that agree in all of these are of the same case."""


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
        plain = passes.recorded

        def timed(work: Callable[[], None]) -> torch.cuda.CUDAGraph:
            torch.cuda.synchronize()  # what was begun before is not part of it
            began = time.perf_counter()
            graph = plain(work)
            self.seconds += time.perf_counter() - began
            return graph

        passes.recorded = timed


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


def beside_the_cpu(case: Case, X: torch.Tensor, k: int, objective: str) -> dict[str, Any]:
    """Compare fits at default effort on the card and on the CPU of the same machine."""
    rows, seconds, values = X.cpu().numpy(), {}, {}
    for where, data in (("card", X), ("CPU", rows)):
        KSums(k, objective=objective, random_state=0, max_iter=3).fit(data[: 8 * k])
        models, took = [], []
        for seed in SEEDS[:2]:
            began = time.perf_counter()
            models.append(KSums(k, objective=objective, random_state=seed).fit(data))
            took.append(time.perf_counter() - began)
        seconds[where], values[where] = min(took), float(np.mean([model.objective_ for model in models]))
    return {
        "data": case.name, "k": k, "objective": objective, "card, s": seconds["card"], "CPU, s": seconds["CPU"],
        "card above CPU, %": 100 * (values["card"] / values["CPU"] - 1),
    }  # fmt: skip


def memory(X: torch.Tensor, k: int) -> dict[str, float]:
    """The most memory that a fit adds: as a share of X, and what is above 60 % of X in bytes per n + k·d."""
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    KSums(k, init="random-points", random_state=0).fit(X)
    added, of_rows = torch.cuda.max_memory_allocated() - before, X.numel() * X.element_size()
    rest = (added - 0.6 * of_rows) / (len(X) + k * X.shape[1])
    return {"share of X": added / of_rows, "rest, bytes": rest}


def repeats(X: torch.Tensor, k: int, metric: str, objective: str) -> int:
    """Fit again and again, in three ways; return how many different labels there were."""
    rows, found, limit = X.cpu().numpy(), set(), planning._SHORT
    little = least_room(Shape(*X.shape, k)) * 1.1
    assert chunk_for(Shape(*X.shape, k), little) > 0
    for number in range(REPEATS):
        planning._SHORT = limit if number % 3 else 0.0
        parameters: dict[str, Any] = {
            "metric": metric, "objective": objective, "init": "random-points", "random_state": 0,
        }  # fmt: skip
        if number % 3 == 2:
            labels = KSums(k, device="cuda", max_memory=int(little), **parameters).fit(rows).labels_
        else:
            labels = KSums(k, **parameters).fit(X).labels_.cpu().numpy()
        found.add(labels.tobytes())
    planning._SHORT = limit
    return len(found)


def streamed(X: torch.Tensor, k: int) -> dict[str, Any]:
    """Rows in memory of the host: with room for their copy in low precision, and with little room."""
    rows, shape = X.cpu().numpy(), Shape(*X.shape, k)
    row: dict[str, Any] = {"n": shape.n, "d": shape.d, "k": k, "GB": rows.nbytes / 1e9}
    ways = {
        "on the card": (X, {}),
        "on the host": (rows, {"device": "cuda", "max_memory": int(0.95 * rows.nbytes)}),
        "in chunks": (rows, {"device": "cuda", "max_memory": int(0.5 * rows.nbytes)}),
    }
    labels: dict[str, np.ndarray] = {}
    for way, (data, parameters) in ways.items():
        size = 0 if way == "on the card" else parameters["max_memory"]
        assert way == "on the card" or (chunk_for(shape, size) > 0) == (way == "in chunks")
        run = ours(data, k, 0, effort="low", init="random-points", **parameters)
        run = ours(data, k, 0, effort="low", init="random-points", **parameters)
        ends = [at for at, _ in run["trace"]]
        passes_s = float(np.median(np.diff(ends[1:])))  # the first record is of the samples
        row[f"{way}, fit, s"], row[f"{way}, pass, ms"] = run["s"], 1e3 * passes_s
        found = run["model"].labels_
        labels[way] = found if isinstance(found, np.ndarray) else found.cpu().numpy()
    row["GB/s in chunks"] = row["GB"] / row["in chunks, pass, ms"] * 1e3
    row["same labels"] = all((each == labels["on the card"]).all() for each in labels.values())
    return row


def many_problems(shape: tuple[int, int, int, int]) -> dict[str, Any]:
    """``ksums.torch.batched`` beside flash-kmeans, on groups of random centres and widths in float16."""
    from flash_kmeans import batch_kmeans_Euclid

    problems, n, d, k = shape
    generator = torch.Generator(device="cuda").manual_seed(0)
    centres = torch.randn(problems, 4 * k, d, device="cuda", generator=generator)
    which = torch.randint(4 * k, (problems, n), device="cuda", generator=generator)
    X = torch.gather(centres, 1, which[:, :, None].expand(-1, -1, d))
    X = (X + torch.randn(problems, n, d, device="cuda", generator=generator)).half()
    row: dict[str, Any] = {"problems": problems, "n": n, "d": d, "k": k}

    def timed(work: Callable[[], torch.Tensor]) -> tuple[float, float]:
        seconds, labels = [], None
        for _ in range(4):  # the first one compiles
            torch.cuda.synchronize()
            began = time.perf_counter()
            labels = work()
            torch.cuda.synchronize()
            seconds.append(time.perf_counter() - began)
        assert labels is not None
        values = [distortion(X[b], labels[b], k) for b in range(0, problems, max(1, problems // 8))]
        return 1e3 * float(np.median(seconds[1:])), float(np.mean(values))

    for iterations in (10, 25):
        found = timed(lambda: batch_kmeans_Euclid(X, k, max_iters=iterations, tol=-1.0)[0])  # noqa: B023
        row[f"flash-kmeans {iterations}, ms"], row[f"flash-kmeans {iterations}, E_m"] = found
    for effort in ("low", "default"):
        ms, value = timed(lambda: batched(X, k, effort=effort, random_state=0).labels)  # noqa: B023
        row[f"{effort}, ms"], row[f"{effort}, E_m"] = ms, value
        row[f"{effort}, E_m, %"] = 100 * (value / row["flash-kmeans 25, E_m"] - 1)
    return row


def main() -> None:
    """Compare on all cases, or on those that the command line names."""
    names, path = sys.argv[1:], HERE / "results" / "gpu.json"
    old = json.loads(path.read_text())["results"] if path.exists() else {}
    results: dict[str, Any] = {"card": torch.cuda.get_device_name(), "torch": torch.__version__}
    results |= {part: [{**row, "earlier": True} for row in old.get(part, [])] for part in PARTS}
    results["repeats"] = old.get("repeats", {}) if names else {}

    def is_asked(name: str) -> bool:
        return not names or any(name.startswith(each) for each in names)

    def keep(part: str, row: dict[str, Any]) -> None:
        same = [at for at, known in enumerate(results[part]) if all(known.get(name) == row.get(name) for name in KEYS)]
        at = same[0] if same else len(results[part])
        results[part][at : at + 1] = [row]
        print(part, json.dumps(row), flush=True)

    for case in CASES:
        if not is_asked(case.name):
            continue
        X = case.make()
        for k in case.ks:
            for row in race(case, X, k):
                keep("race", row)
            keep("memory", {"data": case.name, "k": k, **memory(X, k)})
        if case.on_cpu:
            for metric, objective in (("l2", "distortion"), ("cosine", "distortion"), ("l2", "pairwise")):
                name = f"{case.name}, k = {case.ks[-1]}, {metric}, {objective}"
                results["repeats"][name] = repeats(X, case.ks[-1], metric, objective)
        if case.name.startswith("4M"):
            for k in case.ks[1:]:
                keep("streamed", streamed(X, k))
        save("gpu", results)
        del X
    if is_asked("batches"):
        for shape in BATCHES:
            keep("batches", many_problems(shape))
    save("gpu", results)
    for case in CASES:  # last: the CPU takes longest
        if case.on_cpu and is_asked(case.name):
            X = case.make()
            for k in case.ks:
                for objective in ("distortion", "pairwise")[: 2 if k <= MOST_FOR_PAIRS else 1]:
                    keep("cpu", beside_the_cpu(case, X, k, objective))
            save("gpu", results)
    print_table(results["race"], ["data", "k", "iterations", "flash-kmeans, ms", "time ratio"], short)
    print_table(results["memory"], ["data", "k", "share of X", "rest, bytes"], short)
    print(results["repeats"])
    save("gpu", results)


if __name__ == "__main__":
    main()
