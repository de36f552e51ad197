"""First labels from distances: greedy seeds, and labels within limits on sizes."""

from __future__ import annotations

import math

import numpy as np

from ksums.method.pairs.distances import Distances
from ksums.method.pairs.kernels import greedy_seeds
from ksums.method.pairs.partition import DistancePartition, Limits


def seeds_and_labels(distances: Distances, k: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Seeds, and the nearest of them for each sample; each is the best of 2 + ln k candidates (greedy k-means++)."""
    n = len(distances.square)
    nearest, labels, seeds = np.empty(n), np.zeros(n, np.int32), np.zeros(k, np.int64)
    uniform = rng.random((k, 2 + int(math.log(k))))
    greedy_seeds(distances.square, distances.weights, uniform, nearest, labels, seeds)
    return seeds, labels


def start(
    distances: Distances,
    k: int,
    objective: str,
    limits: Limits | None,
    rng: np.random.Generator,
    engine: str = "exact",
) -> DistancePartition:
    """The first clusters."""
    partition = DistancePartition(distances, seeds_and_labels(distances, k, rng)[1], k, objective, engine=engine)
    if limits is None:
        return partition
    labels = _within(limits, partition)
    return DistancePartition(distances, labels, k, objective, limits)


def _within(limits: Limits, partition: DistancePartition) -> np.ndarray:
    """Labels that keep to limits: samples that lose least go first, by their mean distances to the clusters as found.

    Samples have no weights here, so a move changes two sizes by 1, and limits whose sums allow it can be met.
    """
    labels, sizes = partition.labels.copy(), partition.sizes.copy()
    costs = (partition.state.sums / partition.sizes[:, None]).T  # (n, k)
    for from_full in (True, False):
        losses = costs - costs[np.arange(len(labels)), labels][:, None]
        for at in np.argsort(losses, axis=None, kind="stable"):
            i, dst = divmod(int(at), len(sizes))
            src = labels[i]
            if from_full:
                wanted = sizes[src] > limits.high[src] and sizes[dst] < limits.high[dst]
            else:
                wanted = sizes[dst] < limits.low[dst] and sizes[src] > limits.low[src]
            if wanted and src != dst:
                labels[i] = dst
                sizes[src] -= 1
                sizes[dst] += 1
    return labels
