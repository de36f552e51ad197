"""Limits on the sizes of clusters: as a user gives them, against the rows there are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ksums.checking.parameters import CONSTRAINTS


def check_sizes(
    estimator: Any, sizes: np.ndarray, weighted: bool, size_min: Any = None, size_max: Any = None, own: bool = True
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Limits (k,) that k clusters of rows with these sizes can meet; those of the estimator if none are given."""
    if own:
        size_min, size_max = getattr(estimator, "size_min", None), getattr(estimator, "size_max", None)
    if size_min is None and size_max is None:
        return None, None
    name, k, total = type(estimator).__name__, int(estimator.n_clusters), float(sizes.sum())
    what = "sum of weights" if weighted else "samples"
    if isinstance(size_max, str):
        size_min, size_max = _balanced(name, size_min, total, k, weighted, float(sizes.max()))
    low, high = _limit(name, "size_min", size_min, k, 0.0), _limit(name, "size_max", size_max, k, np.inf)
    if not weighted:
        low, high = np.ceil(low), np.floor(high)
    if own:  # no cluster is empty
        low = np.maximum(low, sizes.min())
    if (high < sizes.min()).any():
        r = int(np.flatnonzero(high < sizes.min())[0])
        raise ValueError(f"{name}: size_max={high[r]:g} leaves no room for a single row in cluster {r}; raise it.")
    if (low > high).any():
        r = int(np.flatnonzero(low > high)[0])
        raise ValueError(
            f"{name}: size_min={low[r]:g} is above size_max={high[r]:g} for cluster {r}; make size_min the smaller."
        )
    if high.sum() < total:
        raise ValueError(
            f"{name}: {_sum_in_words('size_max', size_max, high, k)} is less than the {total:g} {what} to place; use "
            f"size_max >= {_rounded(total / k, weighted, np.ceil)} or more clusters."
        )
    if low.sum() > total:
        raise ValueError(
            f"{name}: {_sum_in_words('size_min', size_min, low, k)} is more than the {total:g} {what} there are; use "
            f"size_min <= {_rounded(total / k, weighted, np.floor)} or fewer clusters."
        )
    if weighted and sizes.max() > high.max():
        raise ValueError(
            f"{name}: a sample of weight {sizes.max():g} fits into no cluster of size_max={high.max():g}; raise "
            "size_max."
        )
    return low, high


def _balanced(name: str, size_min: Any, total: float, k: int, weighted: bool, heaviest: float) -> tuple[Any, Any]:
    """⌊n/k⌋ and ⌈n/k⌉; with weights as close to n/k as the heaviest row allows."""
    if size_min is not None:
        raise ValueError(f"{name}: size_max='balanced' sets size_min, too; leave size_min=None, got {size_min!r}.")
    if weighted:
        return max(total / k - heaviest, 0.0), total / k + heaviest
    return total // k, -(-total // k)


def _limit(name: str, parameter: str, value: Any, k: int, default: float) -> np.ndarray:
    """One limit for each cluster."""
    if value is None:
        return np.full(k, default)
    limits = np.asarray(value, np.float64)
    if limits.ndim == 0:
        return np.full(k, float(limits))
    if limits.shape != (k,):
        raise ValueError(
            f"{name}: {parameter} must be one number or one for each of the n_clusters={k} clusters; got shape "
            f"{limits.shape}."
        )
    return limits


def _sum_in_words(parameter: str, value: Any, limits: np.ndarray, k: int) -> str:
    if np.ptp(limits) == 0 and np.ndim(value) == 0:
        return f"{parameter}={limits[0]:g} times n_clusters={k}, {limits.sum():g},"
    return f"the sum of {parameter}, {limits.sum():g},"


def _rounded(value: float, weighted: bool, rounding: Any) -> str:
    return f"{value:g}" if weighted else f"{int(rounding(value))}"


def check_assign(estimator: Any, n: int, size_min: Any, size_max: Any) -> tuple[np.ndarray, np.ndarray]:
    """Limits for the rows of one call."""
    for name, value in (("size_min", size_min), ("size_max", size_max)):
        if not CONSTRAINTS[name].holds(value):
            raise ValueError(
                f"{type(estimator).__name__}.assign: {name} must be {CONSTRAINTS[name].allowed}; got {value!r}."
            )
    low, high = check_sizes(estimator, np.ones(n), False, size_min, size_max, own=False)
    k = int(estimator.n_clusters)
    return np.zeros(k) if low is None else low, np.full(k, float(n)) if high is None else high
