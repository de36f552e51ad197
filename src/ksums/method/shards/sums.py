"""Sums over the clusters in whole numbers: adding them up in any order, anywhere, gives the same bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.method.data.norms import exact_sq_norms, sq_norms
from ksums.method.data.rows import Rows
from ksums.method.state.state import ClusterState

_MOST_BITS = 40
"""A number of average size keeps at most 40 bits behind the largest one: more would be below its own rounding."""


_NO_LABELS = np.empty(0, np.int32)


class Units(NamedTuple):
    """Powers of two by which numbers are multiplied before they are rounded to whole ones."""

    entry: float
    weight: float
    square: float

    @staticmethod
    def for_rows(n: int, entry: float, weight: float, square: float) -> Units:
        """Units for n rows of which these are the largest (weighted) entry, weight and (weighted) square.

        A sum of n numbers below 2^bits stays below 2^62.
        """
        bits = min(_MOST_BITS, 61 - int(np.ceil(np.log2(max(n, 2)))))
        return Units(*(float(2.0 ** (bits - np.frexp(largest)[1])) for largest in (entry, weight, square)))


class Sums(NamedTuple):
    """The clusters, or how they change."""

    composites: np.ndarray  # (k, d)  int64, as all of them
    sizes: np.ndarray  # (k,)
    counts: np.ndarray  # (k,)
    norm_sums: np.ndarray  # (k,)

    @staticmethod
    def zero(k: int, d: int) -> Sums:
        return Sums(np.zeros((k, d), np.int64), *(np.zeros(k, np.int64) for _ in range(3)))

    def plus(self, other: Sums) -> Sums:
        return Sums(*(one + two for one, two in zip(self, other, strict=True)))

    def add(self, rows: Rows, ids: np.ndarray, own: np.ndarray, units: Units, sign: int = 1) -> None:
        """Add some rows, with the clusters they are in (or, if ``sign`` is −1, take them away)."""
        from ksums.method.data.sum_kernels import add_whole  # Numba is loaded by the first fit, not by the import

        first, factors = 0, np.array(units)
        for part in rows.blocks_of(ids):
            clusters, block, weights = own[first : first + len(part)], rows.read(part), sign * rows.weights_of(part)
            squares = exact_sq_norms(block) if rows.known_sq_norms is None else rows.known_sq_norms[part]
            add_whole(block, squares, clusters, weights, factors, self.composites, self.sizes, self.norm_sums)
            first += len(part)
        self.counts[:] += sign * np.bincount(own, minlength=len(self.counts))


def clusters_of(sums: Sums, units: Units, ahead: np.ndarray | None = None) -> ClusterState:
    """The sums as engines and objectives read them, without labels; ``ahead``: composites to put in their place."""
    composites = sums.composites / units.entry if ahead is None else ahead
    sizes, norm_sums = sums.sizes / units.weight, sums.norm_sums / units.square
    return ClusterState(_NO_LABELS, composites, sizes, sums.counts, norm_sums, sq_norms(composites))


def centroids_of(sums: Sums, units: Units) -> np.ndarray:
    """(k, d) D/n."""
    return (sums.composites / units.entry) / (sums.sizes / units.weight)[:, None]


def changes(rows: Rows, before: np.ndarray, after: np.ndarray, k: int, units: Units) -> Sums:
    """What the sums gain when labels change."""
    found, moved = Sums.zero(k, rows.d), np.flatnonzero(before != after)
    found.add(rows, moved, after[moved], units)
    found.add(rows, moved, before[moved], units, sign=-1)
    return found
