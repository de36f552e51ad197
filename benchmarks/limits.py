"""Compare fits with size limits to k-means-constrained and to fits without limits.

    python benchmarks/limits.py            some minutes; results/limits.json

k-means-constrained is left out if it is not installed; this project does not depend on it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import load, peak_bytes, print_table, reset_peak, save, short
from sklearn.datasets import load_digits

from ksums import KSums, metrics

SEEDS = (0, 1, 2)
"""Results are means over these seeds."""
LIMITED = [("digits", 10, 0.05), ("digits", 10, 0.0), ("franti/a2.npz:X", 35, 0.05), ("franti/s1.npz:X", 15, 0.0)]
"""Each case is a data set, k, and how far sizes may differ from n/k, as a share of it."""


def data(name: str) -> np.ndarray:
    """Return the rows of a data set."""
    X = load_digits().data if name == "digits" else load(name)
    return X if X.dtype == np.float64 else X.astype(np.float32)


def run(X: np.ndarray, make: Callable[[int], Any]) -> dict[str, float]:
    """Return the mean E_m and seconds over the seeds, and the memory that the fits add."""
    reset_peak()
    before, values, seconds = peak_bytes(), [], []
    for seed in SEEDS:
        started = time.perf_counter()
        labels = make(seed).fit(X).labels_
        seconds.append(time.perf_counter() - started)
        values.append(metrics.distortion(X, labels))
    return {"E_m": float(np.mean(values)), "s": float(np.mean(seconds)), "MB": (peak_bytes() - before) / 1e6}


def compare(name: str, k: int, X: np.ndarray, **methods: Callable[[int], Any]) -> dict[str, Any]:
    """Run all methods; return their results and the ratios of k-sums to each of the others."""
    found = {method: run(X, make) for method, make in methods.items()}
    row: dict[str, Any] = {"data": name.split(":")[0], "n": X.shape[0], "d": X.shape[1], "k": k}
    ours = found["ksums"]
    for method, theirs in found.items():
        row |= {f"{method} {measure}": value for measure, value in theirs.items()}
        if method != "ksums":
            row |= {f"E_m / {method}": ours["E_m"] / theirs["E_m"], f"s / {method}": ours["s"] / theirs["s"]}
    return row


def main() -> None:
    for dtype in (np.float32, np.float64):  # Compile the kernels, or load them from disk.
        for k in (5, 20):
            KSums(k, max_iter=1, random_state=0).fit(np.random.default_rng(0).standard_normal((100, 3)).astype(dtype))
    rows = []
    try:
        from k_means_constrained import KMeansConstrained
    except ImportError:
        KMeansConstrained = None
        print("k-means-constrained is not installed; fits with size limits are only compared with fits without.")
    for name, k, slack in LIMITED:
        X = data(name).astype(np.float64)
        sizes = {
            "size_min": int(np.floor(len(X) / k * (1 - slack))),
            "size_max": int(np.ceil(len(X) / k * (1 + slack))),
        }
        methods = {
            "ksums": lambda s, k=k, sizes=sizes: KSums(k, random_state=s, **sizes),
            "unlimited": lambda s, k=k: KSums(k, random_state=s),
        }
        if KMeansConstrained is not None:
            methods["constrained"] = lambda s, k=k, sizes=sizes: KMeansConstrained(k, random_state=s, n_init=1, **sizes)
        rows.append(compare(name, k, X, **methods) | sizes)
        columns = ["data", "k", "size_min", "size_max", "E_m / constrained", "s / constrained", "s / unlimited"]
        print_table(rows[-1:], columns, short)
    save("limits", rows)


if __name__ == "__main__":
    main()
