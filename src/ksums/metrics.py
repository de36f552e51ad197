"""Measures of a clustering, from the data and the labels alone, in float64: never from running sums.

Under ``metric="cosine"`` rows are first scaled to unit length; rows of zeros stay zeros. With C_r the mean of cluster r
these are the paper's measures::

    E_m = Σ_i w_i |x_i − C_r(i)|² / Σ w_i                             (distortion)
    E_s = Σ_r Σ_{i<j in r} w_i w_j |x_i − x_j|² / Σ w_i               (pairwise)

The second needs no pairs: ``Σ_{i<j in r} w_i w_j |x_i − x_j|² = n_r · Σ_{i in r} w_i |x_i − C_r|²``. With the cosine as
the distance the first is ``1 − Σ_r |D_r| / Σ w_i`` (cosine_distance).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from ksums.method.data.measures import ClusterMeasures, measure_clusters


def _checked(X: Any, labels: Any, metric: str, sample_weight: Any) -> ClusterMeasures:
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
        measures = measure_clusters(X, own, len(names), metric, weights)
    if not np.isfinite(measures.pairwise):
        raise ValueError("X holds values whose squares leave the range of float64; divide X by a constant.")
    return measures


def distortion(X: Any, labels: Any, *, metric: str = "l2", sample_weight: Any = None) -> float:
    """E_m: the mean squared distance of the samples to the mean of their cluster.

    >>> distortion([[0.0], [2.0], [10.0]], [0, 0, 1])
    0.6666666666666666
    """
    return _checked(X, labels, metric, sample_weight).distortion


def pairwise(X: Any, labels: Any, *, metric: str = "l2", sample_weight: Any = None) -> float:
    """E_s: the sum of squared distances of all pairs within clusters, divided by the number of samples.

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
    return _checked(X, labels, "cosine", sample_weight).objective("cosine_distance")


def entropy(labels_true: Any, labels_pred: Any) -> float:
    """Entropy of the classes within the clusters, averaged by cluster size: 0 is best, 1 is worst.

        − Σ_r n_r/n · 1/log c · Σ_i n_r^i/n_r · log(n_r^i/n_r)

    with c classes and n_r^i members of class i in cluster r. This is the paper's measure, with the sign that makes it
    positive. Unlike similar measures in scikit-learn it ignores the number of clusters.

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
