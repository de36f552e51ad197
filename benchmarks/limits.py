"""Compare fits with size limits to k-means-constrained, the assignment to the Hungarian method, and see how both grow.

    python benchmarks/limits.py            half an hour; results/limits.json
    python benchmarks/limits.py growth     only that part; the others keep their results (also: fits, assignment)

k-means-constrained is left out if it is not installed; this project does not depend on it. Up to 7,000 rows it makes
its usual ten starts, above one of 30 iterations, which takes minutes.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import HERE, load, peak_bytes, print_table, reset_peak, save, short
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits

from ksums import KSums, metrics

SEEDS = (0, 1, 2)
"""Results are means over these seeds; for quality the worst one counts, too."""
SETS = {
    "digits": 10,
    "franti/s1.npz:X": 15,
    "franti/s2.npz:X": 15,
    "franti/s4.npz:X": 15,
    "franti/a1.npz:X": 20,
    "franti/a2.npz:X": 35,
    "franti/unbalance.npz:X": 8,
    "mnist/mnist.npz:X": 50,
    "glove100/glove60k.npy": 200,
}
"""Data sets and k."""
ROWS = {"mnist/mnist.npz:X": 10_000, "glove100/glove60k.npy": 20_000}
"""Of these sets, the first rows."""
MANY_ROWS = 7_000
"""Above this number of rows k-means-constrained makes one start of at most 30 iterations, and one seed is compared: an
iteration takes it 3 to 7 seconds there."""
SLOTS = ("digits", "franti/s1.npz:X", "franti/s4.npz:X", "franti/a1.npz:X")
"""Sets of at most 5,000 rows, for which the Hungarian method on slots is feasible."""
GROWTH = (10_000, 100_000, 1_000_000)


def data(name: str) -> np.ndarray:
    """Return the rows of a data set."""
    X = load_digits().data if name == "digits" else load(name)
    return X[: ROWS.get(name, len(X))].astype(np.float64)


def limits_of(name: str, n: int, k: int) -> dict[str, dict[str, int]]:
    """Return the limits that are compared, by name."""
    share = n / k
    found = {
        "exact": {"size_min": int(share), "size_max": int(np.ceil(share))},
        "±5 %": {"size_min": int(np.ceil(0.95 * share)), "size_max": int(1.05 * share)},
        "min": {"size_min": int(0.8 * share)},
        "max": {"size_max": int(1.1 * share)},
    }
    if "unbalance" in name:
        found |= {"min": {"size_min": 100}, "max": {"size_max": 1200}}
    if "glove" in name:  # a fit takes k-means-constrained minutes
        del found["±5 %"], found["min"]
    return found


def run(X: np.ndarray, seeds: tuple[int, ...], make: Callable[[int], Any]) -> dict[str, Any]:
    """Return E_m for each seed, the mean seconds, and the memory that the fits add."""
    reset_peak()
    before, values, seconds = peak_bytes(), [], []
    for seed in seeds:
        started = time.perf_counter()
        labels = make(seed).fit(X).labels_
        seconds.append(time.perf_counter() - started)
        values.append(metrics.distortion(X, labels))
    return {"E_m": values, "s": float(np.mean(seconds)), "MB": (peak_bytes() - before) / 1e6}


def fits() -> list[dict[str, Any]]:
    """Compare fits with those of k-means-constrained, and with fits without limits."""
    try:
        from k_means_constrained import KMeansConstrained
    except ImportError:
        KMeansConstrained = None
        print("k-means-constrained is not installed; fits with size limits are only compared with fits without.")
    rows = []
    for name, k in SETS.items():
        X = data(name)
        seeds = SEEDS if len(X) <= MANY_ROWS else SEEDS[:1]
        free = run(X, seeds, lambda seed, k=k: KSums(k, random_state=seed))
        for kind, sizes in limits_of(name, len(X), k).items():
            ours = run(X, seeds, lambda seed, k=k, sizes=sizes: KSums(k, random_state=seed, **sizes))
            row: dict[str, Any] = {"data": name.split(":")[0], "n": len(X), "d": X.shape[1], "k": k, "limits": kind}
            row |= sizes | {"ksums": ours, "unlimited": free, "s / unlimited": ours["s"] / free["s"]}
            if KMeansConstrained is not None:
                starts = 10 if len(X) <= MANY_ROWS else 1
                theirs = run(
                    X,
                    seeds,
                    lambda seed, k=k, sizes=sizes, starts=starts: KMeansConstrained(
                        k, n_init=starts, max_iter=300 if starts > 1 else 30, random_state=seed, **sizes
                    ),
                )
                ratios = np.array(ours["E_m"]) / np.array(theirs["E_m"])
                row |= {"constrained": theirs, "starts": starts, "s / constrained": ours["s"] / theirs["s"]}
                row |= {"E_m / constrained": float(ratios.mean()), "worst E_m / constrained": float(ratios.max())}
            rows.append(row)
            columns = ["data", "k", "limits", "E_m / constrained", "worst E_m / constrained", "s / constrained"]
            print_table(
                rows[-1:], [*columns, "s / unlimited"], lambda v: f"{v:.5f}" if isinstance(v, float) else str(v)
            )
    return rows


def assignment() -> list[dict[str, Any]]:
    """Compare ``assign`` with the Hungarian method on slots, for the centres of a fit without limits."""
    rows = []
    for name in SLOTS:
        X, k = data(name), SETS[name]
        model = KSums(k, random_state=0).fit(X)
        high = np.full(k, len(X) // k)
        high[: len(X) % k] += 1
        started = time.perf_counter()
        labels = model.assign(X, size_min=high, size_max=high)
        ours = time.perf_counter() - started
        costs = model.transform(X) ** 2
        started = time.perf_counter()
        slots = np.repeat(costs, high, axis=1)
        best = float(slots[linear_sum_assignment(slots)].sum())
        theirs = time.perf_counter() - started
        cost = float(costs[np.arange(len(X)), labels].sum())
        rows.append(
            {"data": name.split(":")[0], "n": len(X), "k": k, "above optimum": cost / best - 1, "s": ours}
            | {"slots s": theirs, "s / slots": ours / theirs}
        )
        print_table(rows[-1:], ["data", "k", "above optimum", "s", "slots s"], short)
    return rows


def growth() -> list[dict[str, Any]]:
    """See how time and memory grow with n, beside fits without limits: k = 100, d = 16, uneven blobs."""
    rows = []
    for n in GROWTH:
        rng = np.random.default_rng(0)
        centres, shares = 2 * rng.standard_normal((100, 16)), rng.dirichlet(np.full(100, 3.0))
        X = (centres[rng.choice(100, n, p=shares)] + rng.standard_normal((n, 16))).astype(np.float32)
        free = run(X, SEEDS[:1], lambda seed: KSums(100, random_state=seed))
        for kind, sizes in {"balanced": {"size_max": "balanced"}, "max": {"size_max": int(1.2 * n / 100)}}.items():
            ours = run(X, SEEDS[:1], lambda seed, sizes=sizes: KSums(100, random_state=seed, **sizes))
            rows.append({"n": n, "d": 16, "k": 100, "limits": kind, "ksums": ours, "unlimited": free})
            rows[-1] |= {"s": ours["s"], "s / unlimited": ours["s"] / free["s"], "MB": ours["MB"]}
            rows[-1]["E_m / unlimited"] = ours["E_m"][0] / free["E_m"][0]
            print_table(rows[-1:], ["n", "limits", "s", "s / unlimited", "E_m / unlimited", "MB"], short)
    return rows


def main() -> None:
    for dtype in (np.float32, np.float64):  # Compile the kernels, or load them from disk.
        for k in (5, 20):
            X = np.random.default_rng(0).standard_normal((300, 3)).astype(dtype)
            for engine in ("exact", "blocks"):
                KSums(k, size_max="balanced", engine=engine, random_state=0).fit(X)
    parts = {"fits": fits, "assignment": assignment, "growth": growth}
    path = HERE / "results" / "limits.json"
    found = json.loads(path.read_text())["results"] if path.exists() else {}
    found = found if isinstance(found, dict) else {}
    for name in sys.argv[1:] or parts:
        found[name] = parts[name]()
    save("limits", found)


if __name__ == "__main__":
    main()
