"""Check how often ``choose_k`` and two usual recipes find a known number of clusters.

All three use the same scores. The recipe "silhouette" takes the k with the highest silhouette. The recipe "stability"
takes the highest silhouette among the k whose adjusted Rand index is nearly the best. The data sets are generated,
Fränti's, and some of scikit-learn's, whose classes need not be clusters.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from common import DATA, peak_bytes, print_table, reset_peak, save, short
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from ksums.choosing import choose_k


def sets() -> dict[str, tuple[np.ndarray, int]]:
    """Return the rows of each data set and its number of clusters."""
    data = {
        "iris": (load_iris().data, 3),
        "wine": (StandardScaler().fit_transform(load_wine().data), 3),
        "cancer": (StandardScaler().fit_transform(load_breast_cancer().data), 2),
        "digits": (load_digits().data, 10),
    }
    for seed in range(4):
        data[f"4 blobs, seed {seed}"] = make_blobs(300, centers=4, cluster_std=0.5, random_state=seed)[0], 4
        data[f"5 blobs, seed {seed}"] = make_blobs(800, centers=5, random_state=seed)[0], 5
    for seed in range(3):
        data[f"7 blobs, seed {seed}"] = make_blobs(800, 8, centers=7, cluster_std=2.0, random_state=seed)[0], 7
    for name, k in (("unbalance", 8), ("s1", 15), ("s2", 15), ("s4", 15), ("dim32", 16), ("a1", 20)):
        with np.load(DATA / "franti" / f"{name}.npz") as file:
            data[name] = file["X" if "X" in file.files else file.files[0]].astype(np.float64), k
    return data


def main() -> None:
    rows = []
    for name, (X, k) in sets().items():
        reset_peak()
        before, started = peak_bytes(), time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = choose_k(X, range(2, max(13, k + 6)))
        stable = max(score.stability for score in found.scores) * 0.95
        by_silhouette = max(found.scores, key=lambda score: score.silhouette)
        by_stability = max((s for s in found.scores if s.stability >= stable), key=lambda score: score.silhouette)
        rows.append(
            {
                "data": name,
                "n": len(X),
                "true": k,
                "choose_k": found.k,
                "silhouette": by_silhouette.k,
                "stability": by_stability.k,
                "seconds": time.perf_counter() - started,
                "added MB": (peak_bytes() - before) / 2**20,
            }
        )
    print_table(rows, list(rows[0]), short)
    for recipe in ("choose_k", "silhouette", "stability"):
        right = sum(row[recipe] == row["true"] for row in rows)
        near = sum(abs(row[recipe] - row["true"]) <= 1 for row in rows)
        print(f"{recipe}: right {right} of {len(rows)}, off by at most one {near}")
    save("choose_k", rows)


if __name__ == "__main__":
    main()
