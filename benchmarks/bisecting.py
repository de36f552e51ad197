"""Compare bisecting methods with scikit-learn's and with flat ones as k grows: time, quality and memory.

    python benchmarks/bisecting.py            SIFT 100K × 128, k = 16 … 4096; results/bisecting.json
    python benchmarks/bisecting.py --quick    scikit-learn's digits, k = 4 … 64; writes no results

The time of Algorithm 2 should grow as log k: twice as long for k = 4096 as for k = 64.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings

import numpy as np
from common import load, peak_bytes, print_table, reset_peak, save, short
from sklearn.cluster import BisectingKMeans
from sklearn.datasets import load_digits

from ksums import METHODS, BisectingKSums, KSums, metrics

METHOD = "bisecting k-sums (default)"
"""The other methods are compared with this one."""


def methods(seed: int) -> dict:
    """Map each name to a function of k that returns an unfitted model."""
    printed = ("bisecting k-sums-Im", "bisecting k-sums-Is", "bisecting k-means")
    return {
        METHOD: lambda k: BisectingKSums(k, random_state=seed),
        **{name: (lambda k, name=name: METHODS[name](k, random_state=seed)) for name in printed},
        "scikit-learn BisectingKMeans": lambda k: BisectingKMeans(k, random_state=seed),
        "bisecting k-sums, refine=5": lambda k: BisectingKSums(k, refine=5, random_state=seed),
        "flat k-sums, 30 passes": lambda k: KSums(k, rule="hartigan", max_iter=30, random_state=seed),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="use a small data set and write no results")
    quick = parser.parse_args().quick
    name, X = (
        ("digits", load_digits().data) if quick else ("SIFT 100K", load("sift/sift100k_learn.npy").astype(np.float32))
    )
    ks, few, seeds = ((4, 16, 64), 4, (0,)) if quick else ((16, 64, 256, 1024, 4096), 64, (0, 1, 2))
    for make in methods(0).values():
        make(4).fit(X[:2000])  # Compile the kernels, or load them from disk.
        make(20).fit(X[:2000])
    rows = []
    for method in methods(0):
        for k in ks:
            seconds, e_m, e_s = [], [], []
            reset_peak()
            before = peak_bytes()
            for seed in seeds:
                started = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    labels = methods(seed)[method](k).fit(X).labels_
                seconds.append(time.perf_counter() - started)
                e_m.append(metrics.distortion(X, labels))
                e_s.append(metrics.pairwise(X, labels))
            rows.append(
                {
                    "method": method,
                    "k": k,
                    "seconds": float(np.median(seconds)),
                    "E_m": float(np.mean(e_m)),
                    "E_s": float(np.mean(e_s)),
                    "added MB": (peak_bytes() - before) / 1e6,
                }
            )
            base = next(row for row in rows if row["k"] == k and row["method"] == METHOD)
            rows[-1]["time / default"] = rows[-1]["seconds"] / base["seconds"]
            rows[-1]["E_m / default"] = rows[-1]["E_m"] / base["E_m"]
            print_table(rows[-1:], list(rows[-1]), short)
    growth = []
    for method in methods(0):
        by_k = {row["k"]: row["seconds"] for row in rows if row["method"] == method}
        growth.append(
            {
                "method": method,
                "k": f"{few} … {ks[-1]}",
                "time": by_k[ks[-1]] / by_k[few],
                "log k": math.log(ks[-1]) / math.log(few),
            }
        )
    print(f"\n{name}, {X.shape[0]} × {X.shape[1]}, median time of {len(seeds)} seeds, 2 threads\n")
    print_table(rows, list(rows[0]), short)
    print("\nGrowth of the time\n")
    print_table(growth, list(growth[0]), short)
    if not quick:
        facts = {"data": name, "n": X.shape[0], "d": X.shape[1], "seeds": len(seeds)}
        save("bisecting", {**facts, "rows": rows, "growth": growth})


if __name__ == "__main__":
    main()
