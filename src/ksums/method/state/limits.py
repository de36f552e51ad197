"""Limits on the sizes of clusters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.method.data.rows import Rows


class Limits(NamedTuple):
    """Smallest and largest size allowed for each cluster, counting active rows."""

    low: np.ndarray  # (k,)
    high: np.ndarray  # (k,)


def no_limits(k: int) -> Limits:
    """Limits that allow any size."""
    return Limits(np.zeros(k), np.full(k, np.inf))


def outside_limits(labels: np.ndarray, rows: Rows, k: int, limits: Limits) -> np.ndarray:
    """Clusters that are smaller or larger than they may be."""
    sizes = np.bincount(labels[rows.active], rows.weights_of(rows.active), minlength=k)
    return np.flatnonzero((sizes < limits.low) | (sizes > limits.high))


def check_limits(labels: np.ndarray, rows: Rows, k: int, limits: Limits) -> None:
    """Raise if labels make a cluster smaller or larger than it may be."""
    for r in outside_limits(labels, rows, k, limits):
        size = rows.weights_of(rows.active)[labels[rows.active] == r].sum()
        raise ValueError(
            f"no labels within size_min and size_max were found: cluster {r} got the size {size:g} instead of "
            f"{limits.low[r]:g} … {limits.high[r]:g}; widen the limits."
        )
