"""Measures of a clustering from the data and the labels alone, in float64: never from running sums."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ksums.compute.arrays import Matrix, as_dense, blocks
from ksums.compute.threads import in_order
from ksums.method.data.norms import unit_rows
from ksums.method.data.sums import add_by_cluster, sq_distances_to_own
from ksums.rules.objectives import within_from_squares

_NUMBERS = 1 << 18
"""Dense rows are converted to float64 in blocks of this many numbers."""
_LOOK_AT = 1 << 14
"""Labels that are searched at a time for a member of each cluster."""
_SPARSE_BLOCK = 4096
"""Sparse rows are read this many at a time."""


class ClusterMeasures(NamedTuple):
    """Sums over the clusters, in the space of the data."""

    sizes: np.ndarray  # (k,)    n_r
    composites: np.ndarray  # (k, d)  D_r, an array also for sparse data
    squares: np.ndarray  # (k,)    Σ w |x − C_r|²

    def objective(self, name: str) -> float:
        """An objective of ``rules.objectives``. Cosine distances are right for rows of unit length (or zero)."""
        if name == "cosine_distance":
            return float(1.0 - np.linalg.norm(self.composites, axis=1).sum() / self.sizes.sum())
        return float(within_from_squares(name, self.sizes, self.squares).sum() / self.sizes.sum())

    @property
    def distortion(self) -> float:
        """E_m."""
        return self.objective("distortion")

    @property
    def pairwise(self) -> float:
        """E_s."""
        return self.objective("pairwise")

    @property
    def centres(self) -> np.ndarray:
        """C_r; zero for a cluster without weight."""
        occupied = np.where(self.sizes > 0, self.sizes, 1.0)
        return self.composites / occupied[:, None]


def measure_clusters(
    X: Matrix, labels: np.ndarray, k: int, metric: str = "l2", weights: np.ndarray | None = None
) -> ClusterMeasures:
    """Sizes, composites and sums of squares of labels 0 … k−1, reading checked data block by block."""
    n, d = X.shape
    parts = list(blocks(n, max(1, _NUMBERS // max(1, d)) if not sparse.issparse(X) else _SPARSE_BLOCK))

    def read(part: slice) -> Matrix:
        return unit_rows(X[part]) if metric == "cosine" else X[part]

    def sizes_of(part: slice) -> tuple[slice, Matrix, np.ndarray, np.ndarray]:
        own = np.ones(part.stop - part.start) if weights is None else weights[part]
        return part, read(part), own, np.bincount(labels[part], None if weights is None else own, minlength=k)

    def measure(part: slice) -> np.ndarray:
        distances = sq_distances_to_own(read(part), centres, labels[part])
        weighted = distances if weights is None else distances * weights[part]
        return np.bincount(labels[part], weighted, minlength=k)

    measures = ClusterMeasures(np.zeros(k), np.zeros((k, d)), np.zeros(k))
    for part, block, own, sizes in in_order(sizes_of, parts):
        measures.sizes[:] += sizes
        add_by_cluster(block, labels[part], own, measures.composites)
    centres = measures.centres
    for squares in in_order(measure, parts):
        measures.squares[:] += squares
    return measures


def distinct_clusters(X: Matrix, labels: np.ndarray, metric: str, distortion: float) -> int:
    """Number of clusters that differ. Two clusters can only be copies of each other if each holds equal rows."""
    first = _first_members(labels)
    members = as_dense(X[first].astype(np.float64))
    if metric == "cosine":
        members = unit_rows(members).round(12)
    if distortion > 1e-12 * np.square(members).sum(axis=1).max():
        return len(first)
    return distinct_rows(members)


def distinct_rows(rows: np.ndarray) -> int:
    """How many rows differ. Equal rows have equal sums of weighted entries; where all of these differ, no rows have to
    be sorted."""
    sums = (rows * np.sqrt(np.arange(2.0, rows.shape[1] + 2.0))).sum(axis=1)
    return len(rows) if len(np.unique(sums)) == len(rows) else len(np.unique(rows, axis=0))


def _first_members(labels: np.ndarray) -> np.ndarray:
    """The first sample of each cluster that has one; nearly always the first few thousand samples tell."""
    first = np.full(int(labels.max()) + 1, -1)
    for part in blocks(len(labels), _LOOK_AT):
        names, places = np.unique(labels[part], return_index=True)
        new = first[names] < 0
        first[names[new]] = part.start + places[new]
        if (first >= 0).all():
            break
    return first[first >= 0]
