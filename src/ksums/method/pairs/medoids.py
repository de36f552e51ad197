"""Medoids: the samples in the middle of clusters, and swaps that lower the mean distance to the nearest of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.method.pairs.distances import Distances
from ksums.method.pairs.kernels import find_two_nearest, swap_medoids
from ksums.method.pairs.partition import DistancePartition
from ksums.method.pairs.starts import seeds_and_labels

_SWAPS_AT_A_TIME = 1024
"""Candidates that are looked at between two chances for Ctrl-C."""


def medoids_of(partition: DistancePartition) -> np.ndarray:
    """(k,) Of each cluster the sample with the least sum of distances to its members; of equal ones the first."""
    own = partition.own_sums()
    order = np.lexsort((own, partition.labels))
    first = np.searchsorted(partition.labels[order], np.arange(partition.k))
    return order[first]


def improved_medoids(distances: Distances, medoids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Medoids, and the nearest of them for each sample: swapped with other samples until no swap helps.

    Swaps end in local optima that depend on the start. So they start from the given medoids and from greedy seeds, and
    the better ones are kept.
    """
    seeds, _ = seeds_and_labels(distances, len(medoids), np.random.default_rng(0))
    found = [_swapped(distances, start) for start in (medoids, seeds)]
    better = found[0] if found[0].loss <= found[1].loss else found[1]
    labels = better.nearest.astype(np.int32)
    labels[better.medoids] = np.arange(len(medoids))  # also where another medoid lies at the same place
    return better.medoids, labels


class _Swapped(NamedTuple):
    medoids: np.ndarray  # (k,)
    nearest: np.ndarray  # (n,)
    loss: float


def _swapped(distances: Distances, medoids: np.ndarray) -> _Swapped:
    """Swaps until none helps, from one start."""
    square, weights = distances
    n, k = len(square), len(medoids)
    if k == 1:  # the one with the least sum of distances is the best there is
        return _Swapped(medoids, np.zeros(n), float(square[medoids[0]] @ (weights if len(weights) else np.ones(n))))
    medoids = medoids.copy()
    near, far, losses = np.zeros((2, n), np.int64), np.empty((2, n)), np.empty((2, k))
    find_two_nearest(square, medoids, np.arange(n), near, far)
    at = since = 0
    while since < n:
        swaps, after = swap_medoids(square, weights, at, _SWAPS_AT_A_TIME, medoids, near, far, losses)
        at, since = (at + _SWAPS_AT_A_TIME) % n, after if swaps else since + after
    return _Swapped(medoids, near[0], float(far[0] @ weights if len(weights) else far[0].sum()))
