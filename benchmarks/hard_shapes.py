"""Few clusters and many rows of hard shapes: long tails, small groups, copies, no groups at all.

python benchmarks/hard_shapes.py             about five minutes; results/hard_shapes.json
python benchmarks/hard_shapes.py NAME …      only these shapes; nothing is saved

KSums with four seeds, beside ten runs of scikit-learn's KMeans: the worst seed counts, against the best of the ten, and
the median time against the median time of one run. These data are small for their kind: many runs of k-means take less
than a tenth of a second.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from common import print_table, save, short
from sklearn.cluster import KMeans

from ksums import KSums, metrics

warnings.filterwarnings("ignore")

N, D = 120_000, 10
"""Rows and columns."""
KS = (4, 12, 30, 80)
"""Numbers of clusters."""
STARTS, SEEDS = range(10), range(4)
"""Seeds of KMeans and of KSums."""
Shape = Callable[[np.random.Generator], np.ndarray]


def uneven_groups(rng: np.random.Generator) -> np.ndarray:
    """Make groups whose sizes fall like a power."""
    shares = 1.0 / np.arange(1, 41) ** 1.5
    own = rng.choice(40, N, p=shares / shares.sum())
    return rng.uniform(-20, 20, (40, D))[own] + rng.standard_normal((N, D))


def small_groups(rng: np.random.Generator) -> np.ndarray:
    """Make one round cloud, and ten groups of thirty rows around it."""
    X = rng.standard_normal((N, D))
    X[:300] += np.repeat(40.0 / np.sqrt(D) * rng.standard_normal((10, D)), 30, axis=0)
    return X


def scattered_outliers(rng: np.random.Generator) -> np.ndarray:
    """Make one round cloud, and sixty rows at all distances from it."""
    X = rng.standard_normal((N, D))
    X[:60] += rng.standard_normal((60, D)) * rng.uniform(10, 150, (60, 1))
    return X


def curve(rng: np.random.Generator) -> np.ndarray:
    """Make rows along a curve."""
    t = rng.uniform(0, 10, N)
    hidden = np.stack([np.sin(t), np.cos(1.7 * t), t / 3, np.sin(3 * t)], axis=1)
    return hidden @ rng.standard_normal((4, D)) + 0.02 * rng.standard_normal((N, D))


def counts(rng: np.random.Generator) -> np.ndarray:
    """Make counts of rows and columns with very different rates."""
    return rng.poisson(np.exp(1.2 * rng.standard_normal((N, 1)) + rng.standard_normal(D)))


def widths(rng: np.random.Generator) -> np.ndarray:
    """Make groups of very different widths."""
    own, centres = rng.integers(25, size=N), 3 * rng.standard_normal((25, D))
    return centres[own] + np.exp(rng.standard_normal(25))[own, None] * rng.standard_normal((N, D))


SHAPES: dict[str, Shape] = {
    "log-normal": lambda rng: np.exp(1.2 * rng.standard_normal((N, D))),
    "Student's t": lambda rng: rng.standard_t(2.0, (N, D)),
    "Cauchy": lambda rng: rng.standard_cauchy((N, D)),
    "uneven groups": uneven_groups,
    "small groups": small_groups,
    "scattered outliers": scattered_outliers,
    "uneven columns": lambda rng: rng.standard_normal((N, D)) * 10.0 ** rng.uniform(-2, 2, D),
    "uniform": lambda rng: rng.uniform(size=(N, D)),
    "curve": curve,
    "counts": counts,
    "copies": lambda rng: rng.integers(0, 3, (N, D)),
    "groups of many widths": widths,
}


def measured(X: np.ndarray, fit: Callable[[int], Any], seeds: range) -> tuple[list[float], list[float]]:
    """Return E_m, from the labels, and seconds for each seed."""
    values, seconds = [], []
    for seed in seeds:
        began = time.perf_counter()
        labels = fit(seed).labels_
        seconds.append(time.perf_counter() - began)
        values.append(metrics.distortion(X, labels))
    return values, seconds


def compare(name: str, X: np.ndarray, k: int) -> list[dict[str, Any]]:
    """Measure both levels of effort beside k-means."""
    peers, took = measured(X, lambda seed: KMeans(k, random_state=seed).fit(X), STARTS)
    rows = [{"shape": name, "k": k, "method": "KMeans", "worst, %": 100 * (max(peers) / min(peers) - 1), "time": 1.0}]
    for effort in ("low", "default"):
        KSums(k, effort=effort, random_state=99).fit(X)
        own, seconds = measured(X, lambda seed: KSums(k, effort=effort, random_state=seed).fit(X), SEEDS)  # noqa: B023
        above = 100 * (max(own) / min(peers) - 1)
        ratio = float(np.median(seconds) / np.median(took))
        rows.append({"shape": name, "k": k, "method": f"KSums, {effort}", "worst, %": above, "time": ratio})
    return rows


def verdict(rows: list[dict[str, Any]]) -> list[str]:
    """What the figures say, in sentences."""
    said = []
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        above, times = [row["worst, %"] for row in own], [row["time"] for row in own]
        said.append(
            f"{method}: worst seed beside the best of ten, {len(own)} cases: mean {np.mean(above):+.2f} %, most "
            f"{max(above):+.2f} %, above 0.1 % in {sum(value > 0.1 for value in above)}; time of one run: median "
            f"{np.median(times):.2f}, most {max(times):.2f}"
        )
    return said


def main() -> None:
    """Measure all shapes, or those that the command line names."""
    names, rows = sys.argv[1:], []
    for at, (name, make) in enumerate(SHAPES.items()):
        if names and name not in names:
            continue
        X = np.ascontiguousarray(make(np.random.default_rng(at)), np.float32)
        for k in KS:
            found = compare(name, X, k)
            print_table(found, ["shape", "k", "method", "worst, %", "time"], short)
            rows += found
    print("\n".join(verdict(rows)))
    if not names:
        save("hard_shapes", {"rows": rows, "verdict": verdict(rows)})


if __name__ == "__main__":
    main()
