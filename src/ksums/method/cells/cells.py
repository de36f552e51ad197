"""A table as the method reads it: numbers and codes of categories, with gaps."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

GAP = -1
"""The code of a missing category."""

PULL = 0.5
"""A centre counts as if this many rows more had the mean of their column, in columns with gaps: c = (D + λm)/(N + λ).

These rows have the mean weight of all rows, so that only the ratios of weights matter.

A cluster may have no value at all in such a column, and then its centre is that mean; single rows, too, can no longer
have a cell to themselves. Labels end closer to those of the complete data (``benchmarks/gaps.py``).
"""


class Cells(NamedTuple):
    """Rows of numbers and categories. All of them count: their weights are above 0, and each has a value."""

    numbers: np.ndarray  # (n, a)  float64, columns of mean 0, multiplied by the root of their weight; NaN is a gap
    codes: np.ndarray  # (n, b)  int32, the category of each cell, counted in all columns together; GAP is a gap
    offsets: np.ndarray  # (b + 1,)  int64, the first category of each column
    column_weights: np.ndarray  # (b,)  what a category counts, beside numbers of variance 1
    pulls: np.ndarray  # (a + b,)  λ of each column
    shares: np.ndarray  # (c,)  the share of each category in its column
    weights: np.ndarray  # (n,)  of the rows, or (0,) if all of them are 1

    @property
    def n(self) -> int:
        return len(self.numbers)

    def take(self, rows: np.ndarray) -> Cells:
        """Some of the rows; what columns are pulled to stays."""
        weights = self.weights[rows] if len(self.weights) else self.weights
        return self._replace(numbers=self.numbers[rows], codes=self.codes[rows], weights=weights)


def cells_of(
    numbers: np.ndarray,  # (n, a)  NaN is a gap
    codes: np.ndarray,  # (n, b)  the category of each cell, counted in its column; GAP is a gap
    categories: np.ndarray,  # (b,)  number of categories of each column
    weights: np.ndarray | None = None,
    column_weights: np.ndarray | None = None,  # (b,)
) -> Cells:
    """Cells from centred numbers and codes. Columns without gaps are not pulled anywhere."""
    offsets = np.concatenate([[0], np.cumsum(categories)]).astype(np.int64)
    together = np.empty(codes.shape, np.int32)
    shares = np.zeros(offsets[-1])
    gaps_of_codes = np.zeros(codes.shape[1], bool)
    for column, (first, last) in enumerate(pairwise(offsets)):
        own = codes[:, column]
        gap = own == GAP
        counted = np.bincount(own + 1, weights, minlength=last - first + 1)[1:]  # gaps are counted first
        shares[first:last] = counted / max(counted.sum(), 1e-300)
        together[:, column] = np.where(gap, GAP, own + first)
        gaps_of_codes[column] = gap.any()
    gaps = np.concatenate([np.isnan(numbers).any(axis=0), gaps_of_codes])
    return Cells(
        np.ascontiguousarray(numbers, np.float64),
        np.ascontiguousarray(together),
        offsets,
        np.ones(codes.shape[1]) if column_weights is None else column_weights,
        np.where(gaps, PULL if weights is None else PULL * weights[weights > 0].mean(), 0.0),
        shares,
        np.zeros(0) if weights is None else weights,
    )


def unpulled(cells: Cells) -> Cells:
    """The same table with plain means as centres."""
    return cells._replace(pulls=np.zeros_like(cells.pulls))


class CellCentres(NamedTuple):
    """What rows are compared with: centres of numbers, and shares of categories."""

    numbers: np.ndarray  # (a, k)
    shares: np.ndarray  # (c, k)
    sq_shares: np.ndarray  # (b, k)  the sum of their squares in each column


def sums_by_column(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """(b, …) Sums over the categories of each column."""
    if len(offsets) == 1:  # there are no such columns
        return np.zeros((0, *values.shape[1:]))
    return np.add.reduceat(values, offsets[:-1], axis=0)


def centres_from(numbers: np.ndarray, shares: np.ndarray, offsets: np.ndarray) -> CellCentres:
    """The same with the sums of squares."""
    sq_shares = sums_by_column(np.square(shares), offsets)
    return CellCentres(np.ascontiguousarray(numbers), np.ascontiguousarray(shares), sq_shares)


def rows_as_centres(cells: Cells, rows: np.ndarray) -> CellCentres:
    """Rows as centres; a gap is the mean of its column, or its shares."""
    numbers = np.nan_to_num(cells.numbers[rows]).T
    shares = np.zeros((len(cells.shares), len(rows)))
    for column, (first, last) in enumerate(pairwise(cells.offsets)):
        codes = cells.codes[rows, column]
        seen = np.flatnonzero(codes != GAP)
        shares[first:last] = cells.shares[first:last, None]
        shares[first:last, seen] = 0.0
        shares[codes[seen], seen] = 1.0
    return centres_from(numbers, shares, cells.offsets)
