"""Rows with missing cells: KSums(missing="ignore") beside filling in first, and beside k-POD.

    python benchmarks/gaps.py              about ten minutes; results/gaps.json
    python benchmarks/gaps.py digits       some data sets only; prints, and writes nothing

Cells are removed at random, or whole blocks of them (two rows in five lack the same half of the columns, or one of
eight halves). Labels are compared with those of the complete rows (ARI), and E_m is measured over the observed cells,
with the means of the observed cells as centres. k-POD (Chi et al., 2016) is written here as published: k-means on
filled rows, each gap filled with its cluster's centre, again until no label changes; it starts from the best of ten
k-means runs on rows filled with means.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from common import load, peak_bytes, print_table, reset_peak, save, short
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.metrics import adjusted_rand_score

from ksums import KSums

SEEDS = (0, 1, 2)
LARGE = 1_000_000
"""Tables of more cells have one seed only, since k-POD takes minutes."""
MOST_CELLS_OF_NEIGHBOURS = 1_500_000
"""KNNImputer compares all rows with each other; beyond this many rows × cells it takes longer than a few minutes."""
MOST_COLUMNS_OF_REGRESSIONS = 20
"""IterativeImputer fits a regression for each column, each on all others."""


def scaled(X: np.ndarray) -> np.ndarray:
    """Return columns of standard deviation 1."""
    X = X.astype(np.float64)
    return (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)


def mnist() -> np.ndarray:
    """Return 10,000 random digits, in shares of full ink."""
    X = load("mnist/mnist.npz:X")
    return X[np.random.default_rng(0).permutation(len(X))[:10_000]] / 255.0


SETS: dict[str, tuple[Callable[[], np.ndarray], int]] = {
    "digits": (lambda: load_digits().data, 10),
    "wine": (lambda: scaled(load_wine().data), 3),
    "iris": (lambda: scaled(load_iris().data), 3),
    "magic": (lambda: scaled(load("magic/magic.npz:X")), 10),
    "letter": (lambda: scaled(load("hgmeans/hgmeans.npz:letter")), 26),
    "MNIST 10K": (mnist, 10),
}


def at_random(X: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Remove this share of the cells; every row keeps one."""
    gaps = rng.random(X.shape) < share
    lost = gaps.all(axis=1)
    gaps[lost, rng.integers(X.shape[1], size=lost.sum())] = False
    return np.where(gaps, np.nan, X)


def in_blocks(X: np.ndarray, patterns: int, rng: np.random.Generator) -> np.ndarray:
    """Remove one of a few halves of the columns from two rows in five."""
    gaps = np.zeros(X.shape, bool)
    halves = [rng.permutation(X.shape[1])[: X.shape[1] // 2] for _ in range(patterns)]
    for row in np.flatnonzero(rng.random(len(X)) < 0.4):
        gaps[row, halves[rng.integers(patterns)]] = True
    return np.where(gaps, np.nan, X)


PATTERNS: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "5 %": lambda X, rng: at_random(X, 0.05, rng),
    "10 %": lambda X, rng: at_random(X, 0.1, rng),
    "30 %": lambda X, rng: at_random(X, 0.3, rng),
    "50 %": lambda X, rng: at_random(X, 0.5, rng),
    "one block": lambda X, rng: in_blocks(X, 1, rng),
    "eight blocks": lambda X, rng: in_blocks(X, 8, rng),
}


def k_pod(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Return the labels of k-POD."""
    seen = ~np.isnan(X)
    filled = SimpleImputer().fit_transform(X)
    model = KMeans(k, n_init=10, random_state=seed).fit(filled)
    for _ in range(100):
        before = model.labels_
        filled = np.where(seen, X, model.cluster_centers_[before])
        model = KMeans(k, init=model.cluster_centers_, n_init=1).fit(filled)
        if np.array_equal(model.labels_, before):
            break
    return model.labels_


WAYS: dict[str, Callable[[np.ndarray, int, int], np.ndarray]] = {
    "ignore": lambda X, k, seed: KSums(k, missing="ignore", random_state=seed).fit(X).labels_,
    "mean + KSums": lambda X, k, seed: KSums(k, random_state=seed).fit(SimpleImputer().fit_transform(X)).labels_,
    "k-POD": k_pod,
    "neighbours + KMeans": lambda X, k, seed: (
        KMeans(k, n_init=10, random_state=seed).fit(KNNImputer().fit_transform(X)).labels_
    ),
    "regressions + KMeans": lambda X, k, seed: (
        KMeans(k, n_init=10, random_state=seed)
        .fit(IterativeImputer(max_iter=5, random_state=seed).fit_transform(X))
        .labels_
    ),
}


def is_feasible(way: str, X: np.ndarray) -> bool:
    """Return whether a way takes minutes at most."""
    if way == "neighbours + KMeans":
        return len(X) * X.size <= MOST_CELLS_OF_NEIGHBOURS * 200
    return way != "regressions + KMeans" or X.shape[1] <= MOST_COLUMNS_OF_REGRESSIONS


def observed_distortion(X: np.ndarray, labels: np.ndarray) -> float:
    """Return the sum of squares of the observed cells around the means of their clusters, per row."""
    total = 0.0
    for r in np.unique(labels):
        rows = X[labels == r]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a cluster may have no value in a column
            total += float(np.nansum((rows - np.nanmean(rows, axis=0)) ** 2))
    return total / len(X)


def measured(name: str, X: np.ndarray, k: int, pattern: str) -> list[dict[str, Any]]:
    """Return a row for each way, means over the seeds."""
    whole = KSums(k, random_state=0).fit(X).labels_
    rows = []
    for way, labels_of in WAYS.items():
        if not is_feasible(way, X):
            continue
        row: dict[str, Any] = {"set": name, "gaps": pattern, "way": way, "ARI": [], "E_m": [], "s": 0.0}
        seeds = SEEDS[:1] if X.size > LARGE else SEEDS
        row["seeds"] = len(seeds)
        for seed in seeds:
            Z = PATTERNS[pattern](X, np.random.default_rng(seed))
            reset_peak()
            before, started = peak_bytes(), time.perf_counter()
            labels = labels_of(Z, k, seed)
            row["s"] += (time.perf_counter() - started) / len(seeds)
            row["MB"] = (peak_bytes() - before) / 1e6
            row["ARI"].append(float(adjusted_rand_score(whole, labels)))
            row["E_m"].append(observed_distortion(Z, labels))
        row["mean ARI"], row["mean E_m"] = float(np.mean(row["ARI"])), float(np.mean(row["E_m"]))
        rows.append(row)
    return rows


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return in how many cases ``ignore`` is at least as good."""
    cases = {(row["set"], row["gaps"]) for row in rows}
    of = {(row["set"], row["gaps"], row["way"]): row for row in rows}
    found: dict[str, Any] = {"cases": len(cases)}
    for way in WAYS:
        pairs = [(of[(*case, "ignore")], of[(*case, way)]) for case in cases if (*case, way) in of]
        found[way] = {
            "cases": len(pairs),
            "ARI at least": sum(ours["mean ARI"] >= theirs["mean ARI"] for ours, theirs in pairs),
            "E_m at most": sum(ours["mean E_m"] <= theirs["mean E_m"] * (1 + 1e-9) for ours, theirs in pairs),
            "mean ARI": float(np.mean([theirs["mean ARI"] for _, theirs in pairs])),
            "mean ARI of ignore": float(np.mean([ours["mean ARI"] for ours, _ in pairs])),
        }
    return found


def main() -> None:
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    warnings.filterwarnings("ignore", "Number of distinct clusters")
    chosen = sys.argv[1:] or list(SETS)
    KSums(3, missing="ignore", random_state=0).fit(at_random(load_iris().data, 0.1, np.random.default_rng(0)))
    rows = []
    for name in chosen:
        make, k = SETS[name]
        X = make()
        for pattern in PATTERNS:
            rows += (found := measured(name, X, k, pattern))
            print_table(found, ["set", "gaps", "way", "mean ARI", "mean E_m", "s", "MB"], short)
    totals = summary(rows)
    for way, found in totals.items():
        print(way, found)
    if not sys.argv[1:]:
        save("gaps", {"summary": totals, "rows": rows})


if __name__ == "__main__":
    main()
