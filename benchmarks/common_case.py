"""Few clusters and many rows, where most people are: time, E_m and memory beside scikit-learn's and faiss's k-means.

python benchmarks/common_case.py             about an hour; results/common_case.json
python benchmarks/common_case.py NAME …      only the cases whose names begin like this; replaces their earlier results
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from common import HERE, load, peak_bytes, print_table, reset_peak, save, short
from sklearn.cluster import KMeans, MiniBatchKMeans

from ksums import KSums, metrics

warnings.filterwarnings("ignore")

STARTS = 10
"""k-means is run this many times, with different seeds; its best result is that of ``n_init=10``."""
SEEDS, MORE_SEEDS = range(3), range(10)
"""KSums is run with these seeds; with more of them below 200,000 rows, where results of seeds differ most."""
FEW_ROWS = 200_000
PEER_SEEDS = (0,)
"""The other peers are run with these seeds."""
LEVELS = ("low", "default")
"""Levels of effort of KSums; on small data also high effort, which takes many times as long."""
MOST_FOR_MINIBATCH = 1_000_000
"""MiniBatchKMeans takes minutes for more rows than this."""
LARGE = 100_000
"""From this many rows on, the default must not take longer than one run of k-means."""
WARM_UP = 60_000
"""Kernels are compiled on this many rows, before anything is measured."""


class Case(NamedTuple):
    """A data set and the numbers of clusters to try."""

    name: str
    make: Callable[[], np.ndarray]
    ks: tuple[int, ...]
    small: bool = False


# ------------------------------------------------------------------------------------------ data
def blobs(n: int, d: int, groups: int, spread: float) -> Callable[[], np.ndarray]:
    """Make groups of equal size and shape."""

    def make() -> np.ndarray:
        rng = np.random.default_rng(n + d)
        centres = rng.standard_normal((groups, d)).astype(np.float32) * np.float32(spread)
        return centres[rng.integers(groups, size=n)] + rng.standard_normal((n, d), dtype=np.float32)

    return make


def heavy_tails() -> np.ndarray:
    """Make groups of very different spread, with Student's t as noise."""
    rng = np.random.default_rng(7)
    own = rng.integers(40, size=150_000)
    centres, spread = 3 * rng.standard_normal((40, 50)), rng.uniform(0.3, 2.0, 40)
    return (centres[own] + spread[own, None] * rng.standard_t(2.5, (150_000, 50))).astype(np.float32)


def long_tails() -> np.ndarray:
    """Make one cloud with tails so long (Student's t, two degrees) that its variance has no limit."""
    return np.random.default_rng(11).standard_t(2.0, (300_000, 10)).astype(np.float32)


def small_groups(n: int, groups: int, members: int, distance: float) -> Callable[[], np.ndarray]:
    """Make a large round cloud and a few small groups around it; groups of one are outliers."""

    def make() -> np.ndarray:
        rng = np.random.default_rng(12)
        X, directions = rng.standard_normal((n, 10)), rng.standard_normal((groups, 10))
        directions *= distance / np.linalg.norm(directions, axis=1, keepdims=True)
        X[: groups * members] += np.repeat(directions, members, axis=0)
        return X.astype(np.float32)

    return make


def like_susy() -> np.ndarray:
    """Make skewed, correlated columns without groups, as in particle physics."""
    rng = np.random.default_rng(8)
    hidden = rng.standard_normal((1_000_000, 6), dtype=np.float32)
    mixed = hidden @ rng.standard_normal((6, 18)).astype(np.float32)
    mixed += 0.5 * rng.standard_normal((1_000_000, 18), dtype=np.float32)
    mixed[:, ::3] = np.exp(0.5 * mixed[:, ::3])
    return mixed


def like_covertype() -> np.ndarray:
    """Make ten columns of numbers and 44 of zeros and ones, in groups of uneven size."""
    rng = np.random.default_rng(9)
    n, shares = 500_000, rng.dirichlet(np.full(7, 0.7))
    own = rng.choice(7, n, p=shares)
    numbers = rng.standard_normal((7, 10))[own] + rng.standard_normal((n, 10))
    flags = rng.random((n, 44)) < (rng.beta(0.3, 2.0, (7, 44)))[own]
    return np.concatenate([numbers, flags], axis=1).astype(np.float32)


def like_kdd() -> np.ndarray:
    """Make log-normal columns with a few rows far out, as in network traffic."""
    rng = np.random.default_rng(10)
    X = np.exp(rng.standard_normal((400_000, 20)) * rng.uniform(0.3, 1.5, 20)).astype(np.float32)
    X[rng.integers(len(X), size=60)] *= 300.0
    return X


CASES = [
    Case("2K x 4", blobs(2_000, 4, 5, 2.0), (5,), small=True),
    Case("10K x 8", blobs(10_000, 8, 12, 1.5), (8,), small=True),
    Case("40K x 16", blobs(40_000, 16, 30, 1.2), (16,), small=True),
    Case("outliers 20K x 10", small_groups(20_000, 3, 1, 100.0), (30,), small=True),
    Case("D15112", lambda: load("tsplib/tsplib.npz:d15112").astype(np.float64), (20,), small=True),
    Case("pla33810", lambda: load("tsplib/tsplib.npz:pla33810").astype(np.float64), (20,), small=True),
    Case("blobs 1M x 10", blobs(1_000_000, 10, 30, 1.5), (3, 8, 30)),
    Case("blobs 200K x 32", blobs(200_000, 32, 50, 1.0), (8, 50, 128, 256)),
    Case("blobs 5M x 2", blobs(5_000_000, 2, 12, 3.0), (5,)),
    Case("blobs 2M x 16", blobs(2_000_000, 16, 60, 1.2), (2, 16)),
    Case("heavy tails 150K x 50", heavy_tails, (40,)),
    Case("long tails 300K x 10", long_tails, (12, 80)),
    Case("small groups 300K x 10", small_groups(300_000, 10, 50, 40.0), (12, 30)),
    Case("SUSY-like 1M x 18", like_susy, (10, 32, 100)),
    Case("covertype-like 500K x 54", like_covertype, (7,)),
    Case("KDD-like 400K x 20", like_kdd, (5, 32)),
    Case("GloVe 60K", lambda: load("glove100/glove60k.npy").astype(np.float32), (10, 100)),
    Case("MNIST", lambda: load("mnist/mnist.npz:X").astype(np.float32), (10, 50)),
    Case("SIFT 200K", lambda: load("sift/sift200k_base.npy").astype(np.float32), (16, 64)),
    Case("birch1", lambda: load("franti/birch1.npz:X").astype(np.float32), (32, 100)),
]


# ------------------------------------------------------------------------------------------ methods
def faiss_kmeans(k: int, seed: int, X: np.ndarray) -> np.ndarray:
    """Run faiss.Kmeans on all rows, 25 iterations; returns its labels."""
    import faiss

    kmeans = faiss.Kmeans(X.shape[1], k, niter=25, seed=seed, max_points_per_centroid=len(X))
    rows = X.astype(np.float32, copy=False)
    kmeans.train(rows)
    return kmeans.index.search(rows, 1)[1].ravel()


def measured(X: np.ndarray, run: Callable[[int], np.ndarray], seeds: Any) -> dict[str, Any]:
    """Run once for each seed; return seconds, CPU seconds, sums of squares, and the memory that a run adds at most.

    Sums of squares are computed from the labels, in float64: scikit-learn's ``inertia_`` of five million float32 rows
    was wrong by six parts in ten thousand.
    """
    found: dict[str, list[float]] = {"seconds": [], "cpu": [], "SSE": [], "MB": []}
    for seed in seeds:
        reset_peak()
        before, started, begun = peak_bytes(), time.perf_counter(), time.process_time()
        labels = np.asarray(run(seed), np.int32)
        found["seconds"].append(time.perf_counter() - started)
        found["cpu"].append(time.process_time() - begun)
        found["MB"].append((peak_bytes() - before) / 1e6)
        found["SSE"].append(len(X) * metrics.distortion(X, labels))
        del labels  # so that the next run starts with as little memory
    return {**found, "MB": max(found["MB"])}


def compare(case: Case, X: np.ndarray, k: int) -> list[dict[str, Any]]:
    """All methods on one problem, relative to one run of k-means and to the best of ten."""
    for level in ("low", "default"):
        KSums(k, effort=level, random_state=99).fit(X[:WARM_UP])
    KMeans(k, random_state=99).fit(X[:1000])
    starts = measured(X, lambda seed: KMeans(k, random_state=seed).fit(X).labels_, range(STARTS))
    once, best = {time: float(np.median(starts[time])) for time in ("seconds", "cpu")}, min(starts["SSE"])
    ten = {**starts, "seconds": [sum(starts["seconds"])], "cpu": [sum(starts["cpu"])], "SSE": [best]}
    rows = [
        _row("KMeans", starts, once, best),
        _row("KMeans, best of 10", ten, once, best),
        _row("faiss.Kmeans", measured(X, lambda s: faiss_kmeans(k, s, X), PEER_SEEDS), once, best),
    ]
    if len(X) <= MOST_FOR_MINIBATCH:
        found = measured(X, lambda seed: MiniBatchKMeans(k, random_state=seed).fit(X).labels_, PEER_SEEDS)
        rows.append(_row("MiniBatchKMeans", found, once, best))
    seeds = MORE_SEEDS if len(X) < FEW_ROWS else SEEDS
    for level in (*LEVELS, "high") if case.small else LEVELS:

        def run(seed: int, level: str = level) -> np.ndarray:
            return KSums(k, effort=level, random_state=seed).fit(X).labels_

        rows.append(_row(f"KSums, {level}", measured(X, run, seeds), once, best))
    fixed = {"data": case.name, "n": len(X), "d": X.shape[1], "k": k, "X MB": X.nbytes / 1e6}
    return [{**fixed, **row} for row in rows]


def _row(method: str, found: dict[str, Any], once: dict[str, float], best: float) -> dict[str, Any]:
    seconds, value = float(np.median(found["seconds"])), float(np.mean(found["SSE"]))
    cpu = float(np.median(found["cpu"]))
    worst = 100 * (max(found["SSE"]) / best - 1)
    return {
        "method": method,
        "s": seconds,
        "time / KMeans": seconds / once["seconds"],
        "CPU s": cpu,
        "CPU / KMeans": cpu / once["cpu"],
        "SSE, %": 100 * (value / best - 1),
        "worst, %": worst,
        "MB": found["MB"],
        "values": found["SSE"],
    }


def verdict(rows: list[dict[str, Any]]) -> list[str]:
    """What the figures say, in sentences."""
    large = [row for row in rows if row["n"] >= LARGE]
    said = []
    for level in LEVELS:
        own = [row for row in large if row["method"] == f"KSums, {level}"]
        if own:
            ratios = [row["time / KMeans"] for row in own]
            above = [row["SSE, %"] for row in own]
            memory = [row["MB"] - row["X MB"] / 4 for row in own]
            said.append(
                f"{level}: {len(own)} cases of {LARGE:,} rows and more: time / KMeans {np.median(ratios):.2f} in the "
                f"median, {max(ratios):.2f} at most; SSE above the best of ten: {np.median(above):+.3f} % in the "
                f"median, {max(above):+.3f} % at most; memory beyond X/4: {max(memory):.0f} MB at most"
            )
    small = [row for row in rows if row["n"] < LARGE and row["method"] == "KSums, default" and "CPU s" in row]
    said += [
        f"{row['data']}, k = {row['k']}, default: {1e3 * row['CPU s']:.3g} ms of CPU time, {row['CPU / KMeans']:.1f} "
        f"times that of one run; SSE above the best of ten: {row['SSE, %']:+.3f} %"
        for row in small
    ]
    return said


def main() -> None:
    """Compare on all cases, or on those that the command line names."""
    names = sys.argv[1:]
    rows: list[dict[str, Any]] = []
    columns = ["data", "k", "method", "s", "time / KMeans", "SSE, %", "worst, %", "MB"]
    for case in CASES:
        if names and not any(case.name.startswith(name) for name in names):
            rows += [row for row in earlier() if row["data"] == case.name]
            continue
        X = np.ascontiguousarray(case.make())
        for k in case.ks:
            found = compare(case, X, k)
            print_table(found, columns, short)
            print(flush=True)
            rows += found
    print("\n".join(verdict(rows)))
    save(
        "common_case",
        {"starts": STARTS, "seeds": [len(SEEDS), len(MORE_SEEDS)], "rows": rows, "verdict": verdict(rows)},
    )


def earlier() -> list[dict[str, Any]]:
    """Return the rows that were measured before."""
    path = HERE / "results" / "common_case.json"
    return json.loads(path.read_text())["results"]["rows"] if path.exists() else []


if __name__ == "__main__":
    main()
