"""Size limits, beside k-means-constrained and beside no limits.

    python benchmarks/limits.py            some minutes; results/limits.json

k-means-constrained is left out where it is not installed (it is no dependency of this project).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import forget_peak, load, peak_bytes, save, short, table
from sklearn.datasets import load_digits

from ksums import KSums, metrics

SEEDS = (0, 1, 2)
LIMITED = [("digits", 10, 0.05), ("digits", 10, 0.0), ("franti/a2.npz:X", 35, 0.05), ("franti/s1.npz:X", 15, 0.0)]


def data(name: str) -> np.ndarray:
    X = load_digits().data if name == "digits" else load(name)
    return X if X.dtype == np.float64 else X.astype(np.float32)


def run(X: np.ndarray, make: Callable[[int], Any]) -> dict[str, float]:
    """Mean E_m and seconds over the seeds, and the memory added by them."""
    forget_peak()
    before, values, seconds = peak_bytes(), [], []
    for seed in SEEDS:
        started = time.perf_counter()
        labels = make(seed).fit(X).labels_
        seconds.append(time.perf_counter() - started)
        values.append(metrics.distortion(X, labels))
    return {"E_m": float(np.mean(values)), "s": float(np.mean(seconds)), "MB": (peak_bytes() - before) / 1e6}


def compare(name: str, k: int, X: np.ndarray, **methods: Callable[[int], Any]) -> dict[str, Any]:
    """Figures of all methods, and those of k-sums as ratios to each of the others."""
    found = {method: run(X, make) for method, make in methods.items()}
    row: dict[str, Any] = {"data": name.split(":")[0], "n": X.shape[0], "d": X.shape[1], "k": k}
    ours = found["ksums"]
    for method, theirs in found.items():
        row |= {f"{method} {what}": value for what, value in theirs.items()}
        if method != "ksums":
            row |= {f"E_m / {method}": ours["E_m"] / theirs["E_m"], f"s / {method}": ours["s"] / theirs["s"]}
    return row


def main() -> None:
    for dtype in (np.float32, np.float64):  # compiled, or loaded from disk
        for k in (5, 20):
            KSums(k, max_iter=1, random_state=0).fit(np.random.default_rng(0).standard_normal((100, 3)).astype(dtype))
    limited = []
    try:
        from k_means_constrained import KMeansConstrained
    except ImportError:
        KMeansConstrained = None
        print("k-means-constrained is not installed: size limits are compared with no limits only.")
    for name, k, slack in LIMITED:
        X = data(name).astype(np.float64)
        given = {
            "size_min": int(np.floor(len(X) / k * (1 - slack))),
            "size_max": int(np.ceil(len(X) / k * (1 + slack))),
        }
        methods = {
            "ksums": lambda s, k=k, given=given: KSums(k, random_state=s, **given),
            "unlimited": lambda s, k=k: KSums(k, random_state=s),
        }
        if KMeansConstrained is not None:
            methods["constrained"] = lambda s, k=k, given=given: KMeansConstrained(k, random_state=s, n_init=1, **given)
        limited.append(compare(name, k, X, **methods) | given)
        columns = ["data", "k", "size_min", "size_max", "E_m / constrained", "s / constrained", "s / unlimited"]
        table(limited[-1:], columns, short)
    save("limits", limited)


if __name__ == "__main__":
    main()
