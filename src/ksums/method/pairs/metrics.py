"""Distances by a metric: one that SciPy or scikit-learn names, or a function of two samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import distance_metrics, pairwise_distances
from sklearn.utils.parallel import Parallel, delayed

from ksums.compute.arrays import blocks
from ksums.compute.threads import in_order

_ROWS = 256
"""Rows of distances that are computed in float64 at a time, before they are stored."""
_BOOLEAN = ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
"""Metrics of sets: a value other than 0 means that the sample has the property."""
_FROM_PRODUCTS = ("euclidean", "l2", "nan_euclidean")
"""scikit-learn computes these as |a|² − 2 a·b + |b|², which loses the digits of rows far from 0; they are centred."""
_TASKS = 64
"""Parts of the work of several processes: rows of pairs get shorter, so each process takes several parts in turn."""


class Metric(NamedTuple):
    """How far two samples are apart."""

    metric: str | Callable[..., float]
    options: dict[str, Any]

    def between(self, A: Any, B: Any) -> np.ndarray:
        """(a, b) All distances between two collections of samples, in float64."""
        if callable(self.metric):
            found = [self.metric(x, y, **self.options) for x in A for y in B]
            try:
                return np.array(found, np.float64).reshape(len(A), len(B))
            except (TypeError, ValueError) as error:
                raise TypeError(
                    f"metric must return one number for each pair of samples; it returned {str(found[0])[:60]!r}, of "
                    f"type {type(found[0]).__name__}."
                ) from error
        if self.metric in _FROM_PRODUCTS and not sparse.issparse(A) and not sparse.issparse(B):
            shift = np.nanmean(B, axis=0, dtype=np.float64)
            A, B = A - shift, B - shift
        if self.metric in distance_metrics():
            return pairwise_distances(A, B, metric=self.metric, **self.options)
        if self.metric in _BOOLEAN:
            A, B = A != 0, B != 0
        return cdist(A, B, self.metric, **self.options)


def metric_for(metric: str | Callable[..., float], options: dict[str, Any] | None, X: Any) -> Metric:
    """A metric whose options that follow from all rows are known, since it is given a part of them at a time."""
    options = dict(options or {})
    if metric == "seuclidean" and "V" not in options:
        options["V"] = np.var(np.asarray(X, np.float64), axis=0, ddof=1)
    if metric == "mahalanobis" and "VI" not in options:
        covariance = np.atleast_2d(np.cov(np.asarray(X, np.float64), rowvar=False))
        try:
            options["VI"] = np.linalg.inv(covariance)
        except np.linalg.LinAlgError as error:
            raise ValueError(
                "metric='mahalanobis': the covariance of the columns of X has no inverse, because some are constant or "
                "depend on each other; drop these, or give metric_params={'VI': ...}."
            ) from error
    return Metric(metric, options)


def mirrored(n: int, dtype: Any, upper: Callable[[slice], np.ndarray]) -> np.ndarray:
    """A symmetric matrix with zeros on the diagonal; ``upper`` gives rows from their diagonal on, on all threads."""
    square = np.empty((n, n), dtype)

    def one(part: slice) -> None:
        found = upper(part).astype(dtype)
        length = part.stop - part.start
        own = np.triu(found[:, :length], 1)
        found[:, :length] = own + own.T
        square[part, part.start :] = found
        square[part.stop :, part] = found[:, length:].T

    for _ in in_order(one, list(blocks(n, _ROWS))):
        pass
    return square


def all_pairs(metric: Metric, X: Any, n_jobs: int | None) -> np.ndarray:
    """(n, n) The distances between all samples in float32: half of them are computed, the others are copies."""
    if callable(metric.metric):
        return _called(metric, X, n_jobs)
    return mirrored(X.shape[0], np.float32, lambda part: metric.between(X[part], X[part.start :]))


def _called(metric: Metric, X: Sequence[Any], n_jobs: int | None) -> np.ndarray:
    """The same for a function, which is called once for each pair, in several processes if that is asked for."""
    n = len(X)
    square = np.zeros((n, n), np.float32)
    parts = list(blocks(n, max(1, n // _TASKS)))
    tasks = (delayed(_rows_of_pairs)(metric, X, part) for part in parts)
    for part, rows in zip(parts, Parallel(n_jobs=n_jobs)(tasks), strict=True):
        for i, row in zip(range(part.start, part.stop), rows, strict=True):
            square[i, i + 1 :] = square[i + 1 :, i] = row
    return square


def _rows_of_pairs(metric: Metric, X: Sequence[Any], part: slice) -> list[np.ndarray]:
    """For each of some samples, the distances to all that come after it."""
    return [metric.between(X[i : i + 1], X[i + 1 :])[0] for i in range(part.start, part.stop)]
