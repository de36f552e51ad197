"""Is the number of clusters found where it is known? ``choose_k`` beside the two usual recipes from the same scores.

"silhouette": the k with the highest silhouette. "stability": among the k whose adjusted Rand index is nearly the best,
the one with the highest silhouette. Made-up sets, Fränti's sets and some of scikit-learn's, whose classes need not be
clusters.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from common import DATA, forget_peak, peak_bytes, save, short, table
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from ksums.choosing import choose_k


def sets() -> dict[str, tuple[np.ndarray, int]]:
    found = {
        "iris": (load_iris().data, 3),
        "wine": (StandardScaler().fit_transform(load_wine().data), 3),
        "cancer": (StandardScaler().fit_transform(load_breast_cancer().data), 2),
        "digits": (load_digits().data, 10),
    }
    for seed in range(4):
        found[f"4 blobs, seed {seed}"] = make_blobs(300, centers=4, cluster_std=0.5, random_state=seed)[0], 4
        found[f"5 blobs, seed {seed}"] = make_blobs(800, centers=5, random_state=seed)[0], 5
    for seed in range(3):
        found[f"7 blobs, seed {seed}"] = make_blobs(800, 8, centers=7, cluster_std=2.0, random_state=seed)[0], 7
    for name, k in (("unbalance", 8), ("s1", 15), ("s2", 15), ("s4", 15), ("dim32", 16), ("a1", 20)):
        with np.load(DATA / "franti" / f"{name}.npz") as file:
            found[name] = file["X" if "X" in file.files else file.files[0]].astype(np.float64), k
    return found


def main() -> None:
    rows = []
    for name, (X, k) in sets().items():
        forget_peak()
        before, began = peak_bytes(), time.perf_counter()
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
                "seconds": time.perf_counter() - began,
                "added MB": (peak_bytes() - before) / 2**20,
            }
        )
    table(rows, list(rows[0]), short)
    for recipe in ("choose_k", "silhouette", "stability"):
        right = sum(row[recipe] == row["true"] for row in rows)
        near = sum(abs(row[recipe] - row["true"]) <= 1 for row in rows)
        print(f"{recipe}: right {right} of {len(rows)}, off by one at most {near}")
    save("choose_k", rows)


if __name__ == "__main__":
    main()
