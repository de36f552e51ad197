"""Compare methods that see each sample once, as in Fig. 3(c, d) of the paper, and scikit-learn's mini-batches.

    python benchmarks/sequential.py            SIFT 100K, k = 1,024, 16 orders; results/sequential.json
    python benchmarks/sequential.py --quick    scikit-learn's digits, k = 50, 4 orders; writes no results

Expected: Sequential k-sums-I_m is below Sequential k-means in E_m, I_s is below both in E_s, and both vary less.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from common import load, peak_bytes, print_table, reset_peak, save, short
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import load_digits

from ksums import METHODS, metrics

NAMES = ("Sequential k-means", "Sequential k-sums-Im", "Sequential k-sums-Is")
"""These methods of the paper are compared."""
PEER = "scikit-learn MiniBatchKMeans, one pass"
"""The results show the peer under this name."""
PARTS = 10
"""E_m and E_s are measured after each of this many parts of the data."""


def stream(method: str, X: np.ndarray, k: int, seed: int) -> tuple[list[float], list[float], float]:
    """Return E_m and E_s of the samples so far, after each part, and the seconds of learning."""
    order = np.random.default_rng(seed).permutation(len(X))
    model = METHODS[method](k)
    e_m, e_s, seconds = [], [], 0.0
    for part in np.array_split(order, PARTS):
        rows = X[part]
        started = time.perf_counter()
        model.partial_fit(rows)
        seconds += time.perf_counter() - started
        e_m.append(model.distortion_)
        e_s.append(model.pairwise_)
    return e_m, e_s, seconds


def mini_batches(X: np.ndarray, k: int, seed: int) -> tuple[list[float], list[float], float]:
    """Run one pass with partial_fit, then label all samples; this is as close as scikit-learn gets to one pass."""
    order = np.random.default_rng(seed).permutation(len(X))
    model = MiniBatchKMeans(k, init="random", n_init=1, compute_labels=False, random_state=seed)
    seconds = 0.0
    for part in np.array_split(order, max(1, len(X) // max(2 * k, 1024))):
        rows = X[part]
        started = time.perf_counter()
        model.partial_fit(rows)
        seconds += time.perf_counter() - started
    labels = model.predict(X)
    return [metrics.distortion(X, labels)], [metrics.pairwise(X, labels)], seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="use a small data set and write no results")
    quick = parser.parse_args().quick
    X, k, seeds, name = (
        (load_digits().data, 50, range(4), "digits")
        if quick
        else (load("sift/sift100k_learn.npy").astype(np.float32), 1024, range(16), "SIFT 100K")
    )
    stream(NAMES[1], X[: 4 * k], k, 0)  # Compile the kernels, or load them from disk.
    rows = []
    for method in (*NAMES, PEER):
        reset_peak()
        before = peak_bytes()
        runs = [mini_batches(X, k, seed) if method == PEER else stream(method, X, k, seed) for seed in seeds]
        e_m, e_s = (np.array([run[i] for run in runs]) for i in (0, 1))
        row = {"method": method}
        for measure, values in (("E_m", e_m[:, -1]), ("E_s", e_s[:, -1])):
            row |= {measure: float(values.mean()), f"{measure} sd": float(values.std())}
            row |= {f"{measure} least": float(values.min()), f"{measure} most": float(values.max())}
        row |= {"seconds": float(np.median([run[2] for run in runs])), "added MB": (peak_bytes() - before) / 1e6}
        row |= {"E_m by tenths": e_m.mean(axis=0).tolist(), "E_s by tenths": e_s.mean(axis=0).tolist()}
        rows.append(row)
    for row in rows:
        row["time / Sequential k-means"] = row["seconds"] / rows[0]["seconds"]
    print(f"\n{name}, {X.shape[0]} × {X.shape[1]}, k = {k}, {len(seeds)} random orders, 2 threads\n")
    print_table(rows, [column for column in rows[0] if "tenths" not in column], short)
    if not quick:
        save("sequential", {"data": name, "n": len(X), "d": X.shape[1], "k": k, "orders": len(seeds), "rows": rows})


if __name__ == "__main__":
    main()
