"""Distances between samples: which parameters and which matrices are allowed."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import distance_metrics

from ksums.checking.options import check_option
from ksums.checking.parameters import FLAT_CONSTRAINTS, is_int

_SCIPY_METRICS = (
    "braycurtis", "canberra", "chebyshev", "correlation", "dice", "hamming", "jaccard", "jensenshannon", "mahalanobis",
    "minkowski", "rogerstanimoto", "russellrao", "seuclidean", "sokalsneath", "sqeuclidean", "yule",
)  # fmt: skip
"""Metrics that SciPy computes and scikit-learn does not."""
_OF_SPARSE = ("cityblock", "cosine", "euclidean", "l1", "l2", "manhattan")
"""Metrics of sparse rows."""
METRIC_NAMES = tuple(sorted((*distance_metrics(), *_SCIPY_METRICS)))

SYMMETRIC = 1e-5
"""Two distances that should be equal may differ by this share of the larger one; rounding to float32 is far less."""

ROUNDING = 1e-6
"""Values that should be 0, or should not be negative, may be off by this share of the largest distance."""

_SHARED = ("n_clusters", "objective", "effort", "n_init", "max_iter", "time_budget", "n_threads", "verbose")
"""Parameters that mean what they mean in ``KSums``."""


def check_distance_parameters(estimator: Any) -> None:
    """Refuse parameters that have no meaning, before any work starts."""
    name, parameters = type(estimator).__name__, estimator.get_params(deep=False)
    for parameter in _SHARED:
        constraint = FLAT_CONSTRAINTS[parameter]
        if not constraint.holds(parameters[parameter]):
            raise ValueError(f"{name}: {parameter} must be {constraint.allowed}; got {parameters[parameter]!r}.")
    for parameter in ("size_min", "size_max"):
        value = parameters[parameter]
        if value is not None and not (isinstance(value, numbers.Real) and 0 <= float(value) < math.inf):
            raise ValueError(
                f"{name}: {parameter} must be a number >= 0 for all clusters, or None; got {value!r}. Limits for each "
                "cluster, and 'balanced', are offered by KSums."
            )
    if parameters["polish"] is not None:
        check_option(estimator, "polish", parameters["polish"], ("medoids",))
        if parameters["size_min"] is not None or parameters["size_max"] is not None:
            raise ValueError(
                f"{name}: polish='medoids' gives each sample its nearest medoid, whatever the sizes are; leave "
                "polish=None, or size_min and size_max."
            )
    check_option(estimator, "predict_by", parameters["predict_by"], ("members", "medoids"))
    if parameters["n_jobs"] is not None and (not is_int(parameters["n_jobs"]) or parameters["n_jobs"] == 0):
        raise ValueError(f"{name}: n_jobs must be an integer other than 0, or None; got {parameters['n_jobs']!r}.")
    options = parameters["metric_params"]
    if options is not None and not isinstance(options, dict):
        raise ValueError(f"{name}: metric_params must be a dictionary, or None; got {options!r}.")
    _check_metric(name, parameters["metric"])


def _check_metric(name: str, metric: Any) -> None:
    if callable(metric) or (isinstance(metric, str) and metric in METRIC_NAMES):
        return
    near = difflib.get_close_matches(metric.lower(), METRIC_NAMES, n=1) if isinstance(metric, str) else []
    meant = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"{name}: metric must be a function of two samples or one of {', '.join(map(repr, METRIC_NAMES))}; "
        f"got {metric!r}.{meant}"
    )


def check_metric_of_rows(estimator: Any, X: Any) -> None:
    """Refuse sparse rows where a metric needs dense ones."""
    if sparse.issparse(X) and estimator.metric not in _OF_SPARSE:
        raise ValueError(
            f"{type(estimator).__name__}: metric={estimator.metric!r} is not offered for sparse X; pass X.toarray(), "
            f"or use one of {', '.join(map(repr, _OF_SPARSE))}."
        )


def check_memory(estimator: Any, n: int, itemsize: int, free: float) -> None:
    """Refuse a matrix of distances for which there is no memory, before any of it is computed."""
    sums = 3 * int(estimator.n_clusters) * n * 8  # of the clusters, and of a trial beside them
    needed = n * n * itemsize + sums
    if needed > free:
        raise MemoryError(
            f"{type(estimator).__name__}: the distances between {n:,} samples take {n * n * itemsize / 1e9:.1f} GB, "
            f"and sums for {estimator.n_clusters} clusters {sums / 1e9:.1f} GB; only {free / 1e9:.1f} GB are free. Fit "
            "a sample of the rows and predict the others with by='medoids', or pass a float32 memory map with "
            "metric='precomputed'."
        )


def as_square(estimator: Any, X: Any, free: float) -> np.ndarray:
    """Precomputed distances as a C-ordered matrix of float32 or float64; a condensed vector is expanded."""
    name = type(estimator).__name__
    if sparse.issparse(X):
        raise TypeError(
            f"{name}: sparse precomputed distances are not accepted, since a distance that is not stored would be 0; "
            "pass X.toarray()."
        )
    X = np.asarray(X)  # no copy of a memory map
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported by {name}: distances must be real numbers.")
    if X.dtype not in (np.float32, np.float64):
        if X.dtype.kind not in "fiub":
            raise ValueError(f"{name}: precomputed distances must be numbers; got dtype {X.dtype}.")
        X = X.astype(np.float64 if X.dtype.itemsize > 2 else np.float32)
    if X.ndim == 1:
        return _expanded(estimator, X, free)
    if X.ndim != 2 or X.shape[0] != X.shape[1]:
        raise ValueError(
            f"{name}: metric='precomputed' requires a square matrix of distances (n, n), or a condensed vector of "
            f"length n (n − 1) / 2; got shape {X.shape}. For rows of features use another metric."
        )
    return np.ascontiguousarray(X.T if X.flags.f_contiguous else X)


def _expanded(estimator: Any, condensed: np.ndarray, free: float) -> np.ndarray:
    """The square of a condensed vector, as ``scipy.spatial.distance.pdist`` makes it."""
    n = (1 + math.isqrt(1 + 8 * len(condensed))) // 2
    if n * (n - 1) // 2 != len(condensed) or n < 2:
        raise ValueError(
            f"{type(estimator).__name__}: a condensed vector of distances between n samples has n (n − 1) / 2 values; "
            f"got {len(condensed)}, and the nearest lengths are {n * (n - 1) // 2} (n = {n}) and {n * (n + 1) // 2} "
            f"(n = {n + 1})."
        )
    check_memory(estimator, n, condensed.itemsize, free)
    square = np.zeros((n, n), condensed.dtype)
    first = 0
    for i in range(n - 1):
        row = condensed[first : first + n - 1 - i]
        square[i, i + 1 :] = square[i + 1 :, i] = row
        first += n - 1 - i
    return square


def check_faults(
    estimator: Any,
    square: np.ndarray,
    faults: Any,
    first_where: Callable[[np.ndarray, Callable[[np.ndarray, np.ndarray], np.ndarray]], tuple[int, int]],
) -> bool:
    """Refuse what is not a matrix of distances; returns whether rounding must be removed from it.

    ``faults`` is a ``method.pairs.distances.Faults`` of the matrix.
    """
    name = type(estimator).__name__
    if not faults.is_finite:
        i, j = first_where(square, lambda rows, _: ~np.isfinite(rows))
        what = "NaN" if np.isnan(square[i, j]) else "infinite"
        raise ValueError(
            f"{name}: all distances must be finite numbers; the one between samples {i} and {j} is {what}. Fill in "
            "missing values before distances are computed, or divide the data by a constant if it is too large."
        )
    small = ROUNDING * max(faults.largest, 0.0)
    if faults.least < -small or faults.largest < 0:
        i, j = first_where(square, lambda rows, _: rows == faults.least)
        raise ValueError(
            f"{name}: distances must not be negative; the one between samples {i} and {j} is {faults.least:g}. If "
            "these are similarities, turn them into distances, for example into 1 − similarity."
        )
    if faults.diagonal > small:
        i = int(np.abs(square.diagonal()).argmax())
        raise ValueError(
            f"{name}: the distance from a sample to itself must be 0; that of sample {i} is {square[i, i]:g}. If these "
            "are similarities, turn them into distances, for example into 1 − similarity."
        )
    if faults.excess > small:
        i, j = first_where(
            square, lambda rows, mirror: np.abs(rows - mirror) - SYMMETRIC * np.maximum(rows, mirror) > small
        )
        raise ValueError(
            f"{name}: distances must be symmetric; from sample {i} to {j} it is {square[i, j]:g}, from {j} to {i} it "
            f"is {square[j, i]:g}. Pass (D + D.T) / 2 if both directions count the same."
        )
    return bool(faults.asymmetry > 0 or faults.diagonal > 0 or faults.least < 0)


def check_symmetric_callable(estimator: Any, one: float, other: float, i: int, j: int) -> None:
    """A function of two samples must not depend on their order: it is called once for each pair."""
    if abs(one - other) > SYMMETRIC * max(abs(one), abs(other)):
        raise ValueError(
            f"{type(estimator).__name__}: metric must be symmetric; from sample {i} to {j} it is {one:g}, from {j} to "
            f"{i} it is {other:g}. Use the mean of both directions."
        )


def check_new_distances(estimator: Any, X: Any, n: int) -> np.ndarray:
    """Distances (m, n) from new samples to the training samples."""
    name = type(estimator).__name__
    X = np.asarray(X)
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    if X.ndim != 2 or X.shape[1] != n:
        raise ValueError(
            f"{name}: with metric='precomputed', predict takes the distances (m, {n}) from new samples to the {n} "
            f"training samples; got shape {X.shape}."
        )
    if not np.isfinite(X).all():
        raise ValueError(f"{name}: distances to predict from must be finite; X holds NaN or infinity.")
    return np.ascontiguousarray(X)


def check_unweighted_limits(estimator: Any, weights: np.ndarray | None) -> None:
    """Sizes in weights would have to be packed, which single moves and exchanges cannot promise."""
    limited = estimator.size_min is not None or estimator.size_max is not None
    if limited and weights is not None:
        raise ValueError(
            f"{type(estimator).__name__}: size_min and size_max are not offered together with sample_weight; leave one "
            "of them out, or use KSums if the data are rows of numbers."
        )
