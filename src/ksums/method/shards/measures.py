"""Measures of a clustering of data in blocks, in float64 from the rows themselves: one more scan."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ksums.method.data.measures import ClusterMeasures
from ksums.method.data.norms import unit_rows
from ksums.method.data.sums import add_by_cluster, sq_distances_to_own
from ksums.method.shards.frame import Frame
from ksums.method.shards.sums import Sums, centroids_of


def centres_in_data(frame: Frame, sums: Sums) -> np.ndarray:
    """(k, d) The centroids in the space of the data."""
    centres = centroids_of(sums, frame.units) / frame.scale
    return centres if frame.shift is None else centres + frame.shift


def measure_block(
    X: np.ndarray, weights: np.ndarray | None, labels: np.ndarray, centres: np.ndarray, cosine: bool
) -> ClusterMeasures:
    """Sizes, composites and sums of squares of the clusters in a block."""
    rows, own, k = unit_rows(X) if cosine else X, np.ones(len(X)) if weights is None else weights, len(centres)
    composites = np.zeros(centres.shape)
    add_by_cluster(rows, labels, own, composites)
    squares = np.bincount(labels, own * sq_distances_to_own(rows, centres, labels), minlength=k)
    return ClusterMeasures(np.bincount(labels, own, minlength=k), composites, squares)


def added_measures(found: Iterable[ClusterMeasures], k: int, d: int) -> ClusterMeasures:
    """The measures of all blocks, added up in their order."""
    measures = ClusterMeasures(np.zeros(k), np.zeros((k, d)), np.zeros(k))
    for one in found:
        for total, part in zip(measures, one, strict=True):
            total += part
    return measures
