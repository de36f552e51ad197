"""What is known of the clusters of a table: counts and composites of each column, and the objectives they give."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ksums.method.cells.cells import CellCentres, Cells, centres_from, sums_by_column, unpulled
from ksums.method.cells.kernels import add_rows

_DIGITS = 12
"""Digits in which the means of copies of one row agree."""


class CellSums(NamedTuple):
    """Sums over the observed cells of each cluster and column; the pull λ of a column is included.

    For numbers N = Σ w + λ, D = Σ w·x and Q = Σ w·x²; for categories N likewise, and the count of a category
    Σ w + λ·share.
    """

    labels: np.ndarray  # (n,)  int32
    members: np.ndarray  # (k,)  int64, number of rows
    sizes: np.ndarray  # (k,)  sum of weights
    observed: np.ndarray  # (a + b, k)  N
    composites: np.ndarray  # (a, k)  D
    norm_sums: np.ndarray  # (a, k)  Q
    counts: np.ndarray  # (c, k)
    sq_counts: np.ndarray  # (b, k)  the sum of the squared counts of each column


def sums_of(cells: Cells, labels: np.ndarray, k: int) -> CellSums:
    """The sums of these labels."""
    a, b = cells.numbers.shape[1], cells.codes.shape[1]
    sums = CellSums(
        np.array(labels, np.int32),
        np.zeros(k, np.int64),
        np.zeros(k),
        np.tile(cells.pulls[:, None], k),
        np.zeros((a, k)),
        np.zeros((a, k)),
        np.tile(_pulled_counts(cells)[:, None], k),
        np.zeros((b, k)),
    )
    add_rows(cells, sums)
    return sums


def without_pull(cells: Cells, sums: CellSums) -> tuple[Cells, CellSums]:
    """The same clusters with the plain means of their cells as centres."""
    counts = sums.counts - _pulled_counts(cells)[:, None]
    plain = sums._replace(
        observed=sums.observed - cells.pulls[:, None],
        counts=counts,
        sq_counts=sums_by_column(np.square(counts), cells.offsets),
    )
    return unpulled(cells), plain


def centres_of(cells: Cells, sums: CellSums) -> CellCentres:
    """The centre of each cluster: (D + λm)/(N + λ), with m = 0 for numbers; shares of categories likewise."""
    a = cells.numbers.shape[1]
    per_category = np.repeat(sums.observed[a:], np.diff(cells.offsets), axis=0)
    return centres_from(
        _divided(sums.composites, sums.observed[:a]), _divided(sums.counts, per_category), cells.offsets
    )


def distinct_clusters(cells: Cells, labels: np.ndarray, k: int) -> int:
    """How many clusters have different means and shares, but for rounding; columns without a value count, too."""
    plain = unpulled(cells)
    sums = sums_of(plain, labels, k)
    centres = centres_of(plain, sums)
    spread = np.nanmax(np.abs(cells.numbers), axis=0, initial=1e-300)
    parts = (centres.numbers / spread[:, None], centres.shares, sums.observed > 0)
    return len(np.unique(np.concatenate(parts).T.round(_DIGITS), axis=0))


def squares_by_cluster(cells: Cells, sums: CellSums) -> np.ndarray:
    """(k,) Σ (x − c)² over the observed cells of each cluster, plus λ(c − m)² where columns are pulled."""
    a = cells.numbers.shape[1]
    numbers = sums.norm_sums - _divided(np.square(sums.composites), sums.observed[:a])
    pull = cells.pulls[a:] * (
        sums_by_column(np.square(cells.shares), cells.offsets) - 1.0
    )  # N holds λ, where λ|m|² belongs
    codes = sums.observed[a:] + pull[:, None] - _divided(sums.sq_counts, sums.observed[a:])
    return np.maximum(numbers.sum(axis=0) + cells.column_weights @ codes, 0.0)  # rounding may be below 0


def pairs_by_cluster(cells: Cells, sums: CellSums) -> np.ndarray:
    """(k,) Σ (x_i − x_j)² over the pairs of observed cells of each cluster; for sums that are not pulled."""
    a = cells.numbers.shape[1]
    numbers = sums.observed[:a] * sums.norm_sums - np.square(sums.composites)
    codes = np.square(sums.observed[a:]) - sums.sq_counts
    return np.maximum(numbers.sum(axis=0) + cells.column_weights @ codes, 0.0)


def _pulled_counts(cells: Cells) -> np.ndarray:
    """(c,) What the pull adds to the counts of each cluster."""
    return np.repeat(cells.pulls[cells.numbers.shape[1] :], np.diff(cells.offsets)) * cells.shares


def _divided(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """0 where there is nothing to divide by."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def merged_squares(cells: Cells, sums: CellSums) -> np.ndarray:
    """(k, k) ``squares_by_cluster`` of each two clusters together."""
    return _merged(cells, sums, squares_by_cluster)


def merged_pairs(cells: Cells, sums: CellSums) -> np.ndarray:
    """(k, k) ``pairs_by_cluster`` of each two clusters together."""
    return _merged(cells, sums, pairs_by_cluster)


def _merged(cells: Cells, sums: CellSums, measured: Callable[[Cells, CellSums], np.ndarray]) -> np.ndarray:
    """(k, k) A measure of each two clusters together; the pull counts once."""
    k = len(sums.sizes)
    found = np.empty((k, k))
    for r in range(k):
        counts = sums.counts + (sums.counts[:, [r]] - _pulled_counts(cells)[:, None])
        together = sums._replace(
            observed=sums.observed + sums.observed[:, [r]] - cells.pulls[:, None],
            composites=sums.composites + sums.composites[:, [r]],
            norm_sums=sums.norm_sums + sums.norm_sums[:, [r]],
            counts=counts,
            sq_counts=sums_by_column(np.square(counts), cells.offsets),
        )
        found[r] = measured(cells, together)
    return found
