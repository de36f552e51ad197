"""Measures of a clustering, from the data and the labels alone, in float64: never from running sums.

Under ``metric="cosine"`` rows are first scaled to unit length; rows of zeros stay zeros. With C_r the mean of
cluster r these are the paper's measures::

    E_m = Σ_i w_i |x_i − C_r(i)|² / Σ w_i                             (distortion)
    E_s = Σ_r Σ_{i<j in r} w_i w_j |x_i − x_j|² / Σ w_i               (pairwise)

The second needs no pairs: ``Σ_{i<j in r} w_i w_j |x_i − x_j|² = n_r · Σ_{i in r} w_i |x_i − C_r|²``. With the cosine
for a distance the first is ``1 − Σ_r |D_r| / Σ w_i`` (cosine_distance).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from ksums.computing import in_order
from ksums.sums import add_by_cluster, dense_sq_distances
from ksums.typing import Matrix

_BLOCK = 1 << 18  # numbers converted to float64 at a time


class ClusterSums(NamedTuple):
    """Sums over the clusters, in the space of the data."""

    sizes: np.ndarray  # (k,)    n_r
    composites: np.ndarray  # (k, d)  D_r, an array also for sparse data
    within: np.ndarray  # (k,)    Σ w |x − C_r|²

    @property
    def distortion(self) -> float:
        """E_m."""
        return float(self.within.sum() / self.sizes.sum())

    @property
    def pairwise(self) -> float:
        """E_s."""
        return float((self.sizes * self.within).sum() / self.sizes.sum())

    @property
    def cosine_distance(self) -> float:
        """Mean cosine distance to the own composite, if the sums are those of rows of unit length (or zero)."""
        return float(1.0 - np.linalg.norm(self.composites, axis=1).sum() / self.sizes.sum())

    def objective(self, name: str) -> float:
        """What a driver is to bring down (``drivers.Driver.objective``)."""
        return {"distortion": self.distortion, "pairwise": self.pairwise, "angle": self.cosine_distance}[name]

    @property
    def centres(self) -> np.ndarray:
        """C_r; zero for a cluster without weight."""
        occupied = np.where(self.sizes > 0, self.sizes, 1.0)
        return self.composites / occupied[:, None]


def unit_rows(block: Matrix) -> Matrix:
    """Rows scaled to unit length, float64; rows of zeros stay. Squares may neither overflow nor vanish."""
    if sparse.issparse(block):
        block = block.astype(np.float64)
        largest = abs(block).max(axis=1).toarray().ravel()
        counts = np.diff(block.indptr)
        block.data /= np.repeat(np.where(largest > 0, largest, 1.0), counts)
        lengths = np.sqrt(np.asarray(block.multiply(block).sum(axis=1)).ravel())
        block.data /= np.repeat(np.where(lengths > 0, lengths, 1.0), counts)
        return block
    block = np.asarray(block, dtype=np.float64)
    largest = np.abs(block).max(axis=1, initial=0.0)
    block = block / np.where(largest > 0, largest, 1.0)[:, None]
    lengths = np.sqrt(np.einsum("it,it->i", block, block))
    return block / np.where(lengths > 0, lengths, 1.0)[:, None]


def cluster_sums(
    X: Matrix,
    labels: np.ndarray,
    k: int,
    metric: str = "l2",
    weights: np.ndarray | None = None,
) -> ClusterSums:
    """Sizes, composites and sums of squares of labels 0 … k−1, reading checked data block by block."""
    n, d = X.shape
    is_sparse = sparse.issparse(X)
    step = max(1, _BLOCK // max(1, d)) if not is_sparse else 4096
    parts = [slice(first, first + step) for first in range(0, n, step)]

    def read(part: slice) -> tuple[slice, Matrix]:
        return part, unit_rows(X[part]) if metric == "cosine" else X[part]

    def measure(part: slice) -> np.ndarray:
        block = read(part)[1]
        return sq_distances(block, centres, labels[part]) * (1.0 if weights is None else weights[part])

    sums = ClusterSums(np.bincount(labels, weights, minlength=k).astype(np.float64), np.zeros((k, d)), np.zeros(k))
    for part, block in in_order(read, parts):
        w = np.ones(block.shape[0]) if weights is None else weights[part]
        if is_sparse:
            terms = np.diff(block.indptr)
            places = np.repeat(labels[part], terms) * np.int64(d) + block.indices
            np.add.at(sums.composites.reshape(-1), places, block.data * np.repeat(w, terms))
        else:
            add_by_cluster(block, labels[part], w, sums.composites)
    centres = sums.centres
    distances = np.concatenate(list(in_order(measure, parts)))
    sums.within[:] = np.bincount(labels, distances, minlength=k)
    return sums


def sq_distances(block: Matrix, centres: np.ndarray, own: np.ndarray) -> np.ndarray:
    """|x_i − C_own(i)|² for each row, in float64."""
    if not sparse.issparse(block):
        return dense_sq_distances(block, centres, own)
    # |x|² − 2 x·C + |C|², so that nothing of size n × d is made
    block = block.astype(np.float64)
    squares = np.asarray(block.multiply(block).sum(axis=1)).ravel()
    rows = np.repeat(np.arange(len(own)), np.diff(block.indptr))
    products = np.bincount(rows, block.data * centres[own[rows], block.indices], minlength=len(own))
    return np.maximum(squares - 2 * products + np.einsum("rt,rt->r", centres, centres)[own], 0.0)


def distinct_clusters(X: Matrix, labels: np.ndarray, metric: str, distortion: float) -> int:
    """Number of clusters that differ. Clusters can only be copies of each other where each holds equal rows."""
    names, first = np.unique(labels, return_index=True)
    members = X[first].astype(np.float64)
    members = members.toarray() if sparse.issparse(members) else members
    if metric == "cosine":
        members = unit_rows(members).round(12)
    if distortion > 1e-12 * np.square(members).sum(axis=1).max():
        return len(names)
    return len(np.unique(members, axis=0))


def _checked(X: Any, labels: Any, metric: str, sample_weight: Any) -> ClusterSums:
    if metric not in ("l2", "cosine"):
        raise ValueError(f"metric must be 'l2' or 'cosine'; got {metric!r}.")
    X = check_array(X, accept_sparse="csr")
    if sparse.issparse(X):
        X = sparse.csr_array(X)
    labels = column_or_1d(np.asarray(labels))
    check_consistent_length(X, labels)
    weights = None if sample_weight is None else column_or_1d(np.asarray(sample_weight, dtype=np.float64))
    if weights is not None:
        check_consistent_length(X, weights)
        if not (weights >= 0).all() or not weights.any():
            raise ValueError("sample_weight must be >= 0 and not all zero.")
    names, own = np.unique(labels, return_inverse=True)
    with np.errstate(over="ignore"):
        sums = cluster_sums(X, own, len(names), metric, weights)
    if not np.isfinite(sums.pairwise):
        raise ValueError("X holds values whose squares leave the range of float64; divide X by a constant.")
    return sums


def distortion(X: Any, labels: Any, *, metric: str = "l2", sample_weight: Any = None) -> float:
    """E_m: mean squared distance of the samples to the mean of their cluster.

    >>> distortion([[0.0], [2.0], [10.0]], [0, 0, 1])
    0.6666666666666666
    """
    return _checked(X, labels, metric, sample_weight).distortion


def pairwise(X: Any, labels: Any, *, metric: str = "l2", sample_weight: Any = None) -> float:
    """E_s: sum of the squared distances of all pairs within clusters, divided by the number of samples.

    >>> pairwise([[0.0], [2.0], [10.0]], [0, 0, 1])
    1.3333333333333333
    """
    return _checked(X, labels, metric, sample_weight).pairwise


def cosine_distance(X: Any, labels: Any, *, sample_weight: Any = None) -> float:
    """Mean cosine distance of the samples to the mean of their cluster's unit rows: 1 − Σ|D_r| / n.

    This is E_m with the cosine in place of the squared distance, while ``distortion(..., metric="cosine")`` is the mean
    squared distance of the unit rows.

    >>> cosine_distance([[1.0, 0.0], [5.0, 0.0], [0.0, 2.0]], [0, 0, 1])
    0.0
    """
    return _checked(X, labels, "cosine", sample_weight).cosine_distance


def entropy(labels_true: Any, labels_pred: Any) -> float:
    """Entropy of the classes within the clusters, averaged by cluster size: 0 is best, 1 is worst.

        − Σ_r n_r/n · 1/log c · Σ_i n_r^i/n_r · log(n_r^i/n_r)

    with c classes and n_r^i members of class i in cluster r. It is the paper's, with the sign that makes it
    positive. Unlike its relatives in scikit-learn it does not look at how many clusters there are.

    >>> entropy(["a", "a", "b", "b"], [0, 0, 1, 1])
    0.0
    >>> entropy(["a", "b", "a", "b"], [0, 0, 1, 1])
    1.0
    """
    labels_true, labels_pred = column_or_1d(np.asarray(labels_true)), column_or_1d(np.asarray(labels_pred))
    check_consistent_length(labels_true, labels_pred)
    classes, of_class = np.unique(labels_true, return_inverse=True)
    clusters, of_cluster = np.unique(labels_pred, return_inverse=True)
    if len(classes) <= 1:
        return 0.0
    table = np.zeros((len(clusters), len(classes)))
    np.add.at(table, (of_cluster, of_class), 1.0)
    sizes = table.sum(axis=1, keepdims=True)
    shares = table / sizes
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    by_cluster = -(shares * logs).sum(axis=1) / np.log(len(classes))
    return float((sizes.ravel() / sizes.sum()) @ by_cluster) + 0.0
