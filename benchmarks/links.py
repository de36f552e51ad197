"""Compare links with COP-k-means on the digits: agreement with the classes, and how often each of them fails.

    python benchmarks/links.py             a few minutes; results/links.json

COP-k-means (Wagstaff et al., 2001) is k-means in which each row, in turn, goes to the nearest centre that breaks no
link; where there is none, it fails. It is written here as published, with k-means++ seeds, and gets ten tries.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from common import peak_bytes, print_table, reset_peak, save, short
from sklearn.cluster import kmeans_plusplus
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from ksums import KSums, metrics

COUNTS = (0, 50, 100, 200, 500, 1000, 2000)
"""Random links; a pair of the same class must share a cluster, any other must not."""
SEEDS = (0, 1, 2, 3, 4)
TRIES = 10
"""Tries of COP-k-means for each set of links."""


def random_links(y: np.ndarray, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs that must be linked and pairs that must not, as their classes tell."""
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.choice(len(y), 2, replace=False) for _ in range(count)], int).reshape(-1, 2)
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return pairs[same], pairs[~same]


def cop_kmeans(X: np.ndarray, k: int, must: np.ndarray, cannot: np.ndarray, seed: int) -> np.ndarray | None:
    """Return labels, or None where a row has no cluster left."""
    must_of: dict[int, list[int]] = {}
    cannot_of: dict[int, list[int]] = {}
    for links, of in ((must, must_of), (cannot, cannot_of)):
        for i, j in links.tolist():
            of.setdefault(i, []).append(j)
            of.setdefault(j, []).append(i)
    for i in list(must_of):  # rows that must be with rows that must be with i
        seen, waiting = {i}, [i]
        while waiting:
            for j in must_of.get(waiting.pop(), []):
                if j not in seen:
                    seen.add(j)
                    waiting.append(j)
        must_of[i] = [j for j in seen if j != i]
    centres = kmeans_plusplus(X, k, random_state=seed)[0]
    labels = np.full(len(X), -1)
    for _ in range(100):
        before, labels = labels, np.full(len(X), -1)
        nearest = np.argsort(((X[:, None] - centres) ** 2).sum(axis=2), axis=1)
        for i in range(len(X)):
            with_it, against_it = labels[must_of.get(i, [])], labels[cannot_of.get(i, [])]
            for r in nearest[i]:
                if ((with_it < 0) | (with_it == r)).all() and (against_it != r).all():
                    labels[i] = r
                    break
            else:
                return None
        if (labels == before).all():
            break
        centres = np.array([X[labels == r].mean(axis=0) if (labels == r).any() else centres[r] for r in range(k)])
    return labels


def best_of_tries(X: np.ndarray, k: int, must: np.ndarray, cannot: np.ndarray, seed: int) -> tuple[Any, int]:
    """Return the labels of least E_m of several tries of COP-k-means, and how many tries failed."""
    found = [cop_kmeans(X, k, must, cannot, seed * TRIES + number) for number in range(TRIES)]
    kept = [labels for labels in found if labels is not None]
    return min(kept, key=lambda labels: metrics.distortion(X, labels), default=None), TRIES - len(kept)


def main() -> None:
    X, y = load_digits(return_X_y=True)
    KSums(10, random_state=0).fit(X, cannot_link=[[0, 1]])  # compile the kernels
    rows = []
    for count in COUNTS:
        row: dict[str, Any] = {"links": count, "ksums ARI": [], "ksums E_m": [], "cop ARI": [], "cop E_m": []}
        row |= {"cop failed tries": 0, "cop found nothing": 0, "ksums s": 0.0, "cop s": 0.0, "broken links": 0}
        reset_peak()
        before = peak_bytes()
        for seed in SEEDS:
            must, cannot = random_links(y, count, seed)
            started = time.perf_counter()
            labels = KSums(10, random_state=seed).fit(X, must_link=must, cannot_link=cannot).labels_
            row["ksums s"] += (time.perf_counter() - started) / len(SEEDS)
            row["ksums MB"] = (peak_bytes() - before) / 1e6
            broken = (labels[must[:, 0]] != labels[must[:, 1]]).sum() + (
                labels[cannot[:, 0]] == labels[cannot[:, 1]]
            ).sum()
            row["broken links"] += int(broken)
            row["ksums ARI"].append(float(adjusted_rand_score(y, labels)))
            row["ksums E_m"].append(metrics.distortion(X, labels))
            started = time.perf_counter()
            theirs, failed = best_of_tries(X, 10, must, cannot, seed)
            row["cop s"] += (time.perf_counter() - started) / len(SEEDS)
            row["cop failed tries"] += failed
            if theirs is None:
                row["cop found nothing"] += 1
            else:
                row["cop ARI"].append(float(adjusted_rand_score(y, theirs)))
                row["cop E_m"].append(metrics.distortion(X, theirs))
        for name in ("ksums ARI", "ksums E_m", "cop ARI", "cop E_m"):
            row[f"mean {name}"] = float(np.mean(row[name])) if row[name] else None
        rows.append(row)
        columns = ["links", "mean ksums ARI", "mean cop ARI", "mean ksums E_m", "mean cop E_m"]
        print_table(rows[-1:], [*columns, "cop failed tries", "cop found nothing", "ksums s", "cop s"], short)
    save("links", rows)


if __name__ == "__main__":
    main()
