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
        is_balanced = parameter == "size_max" and isinstance(value, str) and value == "balanced"
        if (
            value is not None
            and not is_balanced
            and not (isinstance(value, numbers.Real) and 0 <= float(value) < math.inf)
        ):
            words = ", 'balanced'," if parameter == "size_max" else ""
            raise ValueError(
                f"{name}: {parameter} must be a number >= 0 for all clusters{words} or None; got {value!r}. Limits for "
                "each cluster are offered by KSums."
            )
    check_option(estimator, "engine", parameters["engine"], ("auto", "exact", "reference"))
    if parameters["engine"] == "reference" and (parameters["size_min"], parameters["size_max"]) != (None, None):
        raise ValueError(f"{name}: engine='reference' knows no limits on sizes; use engine='auto' with them.")
    if parameters["polish"] is not None:
        check_option(estimator, "polish", parameters["polish"], ("medoids",))
        if parameters["size_min"] is not None or parameters["size_max"] is not None:
            raise ValueError(
                f"{name}: polish='medoids' gives each sample its nearest medoid, whatever the sizes are; leave "
                "polish=None, or size_min and size_max."
            )
    if parameters["predict_by"] is not None:
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
    """Refuse a matrix of distances for which there is no memory, before any of it is computed or copied.

    ``itemsize`` is 0 for a matrix that is there already.
    """
    sums = 3 * int(estimator.n_clusters) * n * 8  # of the clusters, and of a trial beside them
    needed = n * n * itemsize + sums
    if needed > free:
        raise MemoryError(
            f"{type(estimator).__name__}: new distances between {n:,} samples take {n * n * itemsize / 1e9:.1f} GB, "
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
    X = _numbers(name, X)
    kind = _kept_type(X.dtype)
    if X.ndim == 1:
        return _expanded(estimator, X.astype(kind, copy=False), free)
    if X.ndim != 2 or X.shape[0] != X.shape[1]:
        raise ValueError(
            f"{name}: metric='precomputed' requires a square matrix of distances (n, n), or a condensed vector of "
            f"length n (n − 1) / 2; got shape {X.shape}. For rows of features use another metric."
        )
    if not len(X):
        raise ValueError(f"{name}: Found array with 0 sample(s) (shape=(0, 0)) while a minimum of 1 is required.")
    X = X.T if X.flags.f_contiguous else X  # it is symmetric
    is_kept = X.flags.c_contiguous and X.dtype == kind
    check_memory(estimator, len(X), 0 if is_kept else kind.itemsize, free)
    return X if is_kept else np.ascontiguousarray(X, kind)


def _numbers(name: str, X: Any) -> np.ndarray:
    """X as an array of real numbers, without a copy of a memory map."""
    X = np.asarray(X)
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported by {name}: distances must be real numbers.")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"{name}: precomputed distances must be numbers; got dtype {X.dtype}.")
    return X


def _kept_type(dtype: np.dtype) -> np.dtype:
    """The arithmetic in which distances of a type are held without loss."""
    small = dtype == np.float32 or dtype.itemsize <= 2
    return np.dtype(np.float32 if small else np.float64)


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
        way_out = "Fill in missing values before distances are computed, or divide the data by a constant if it is too "
        way_out += "large."
        if isinstance(estimator.metric, str) and estimator.metric != "precomputed":
            way_out = (
                f"metric={estimator.metric!r} may not be defined for them, as for rows or columns that are constant or "
                "zero, or for numbers that are too large: leave these out, or use another metric."
            )
        raise ValueError(
            f"{name}: all distances must be finite numbers; the one between samples {i} and {j} is {what}. {way_out}"
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
            f"{name}: distances must be symmetric; between samples {i} and {j} they are {square[i, j]:g} and "
            f"{square[j, i]:g}. Pass (D + D.T) / 2 if both directions count the same."
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
    if sparse.issparse(X):
        raise TypeError(
            f"{name}: sparse distances are not accepted, since one that is not stored would be 0; pass X.toarray()."
        )
    X = _numbers(name, X)
    X = X.astype(_kept_type(X.dtype), copy=False)
    if X.ndim != 2 or X.shape[1] != n:
        raise ValueError(
            f"{name}: with metric='precomputed', predict takes the distances (m, {n}) from new samples to the {n} "
            f"training samples; got shape {X.shape}."
        )
    if not np.isfinite(X).all():
        raise ValueError(f"{name}: distances to predict from must be finite; X holds NaN or infinity.")
    if X.size and X.min() < -ROUNDING * X.max():
        raise ValueError(f"{name}: distances to predict from must not be negative; the least one is {X.min():g}.")
    return np.ascontiguousarray(X)


def check_options_of_metric(estimator: Any, metric: Any, samples: Any) -> None:
    """Try a metric on two samples, so that options it does not know are refused in our words."""
    try:
        metric.between(samples[:1], samples[-1:])
    except TypeError as error:
        if not estimator.metric_params:
            raise
        words = str(error).splitlines()[0][:120]
        raise ValueError(
            f"{type(estimator).__name__}: metric_params={estimator.metric_params!r} do not suit "
            f"metric={estimator.metric!r} ({words}); pass the arguments that it has."
        ) from error


def check_unweighted_limits(estimator: Any, weights: np.ndarray | None) -> None:
    """Sizes in weights would have to be packed, which single moves and exchanges cannot promise."""
    limited = estimator.size_min is not None or estimator.size_max is not None
    if limited and weights is not None:
        raise ValueError(
            f"{type(estimator).__name__}: size_min and size_max are not offered together with sample_weight; leave one "
            "of them out, or use KSums if the data are rows of numbers."
        )
