"""How the cells of a table become numbers and codes, the same way for the rows of a fit and for new ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ksums.method.cells.cells import GAP, Cells, cells_of
from ksums.tables.columns import CATEGORY, DATE, NUMBER, Columns, Role, word_of


@dataclass(frozen=True)
class Encoding:
    """What a fit learnt of the columns. ``shifts`` and ``scales`` are None for a table without numbers."""

    numeric: np.ndarray  # (a,)  names of the columns of numbers and dates
    is_date: np.ndarray  # (a,)
    shifts: np.ndarray  # (a,)  means
    scales: np.ndarray  # (a,)  a cell is (x − shift) · scale
    categorical: np.ndarray  # (b,)  names
    words: np.ndarray  # (c,)  the categories of all columns, one column after the other
    offsets: np.ndarray  # (b + 1,)
    column_weights: np.ndarray  # (b,)  what a category counts
    pulls: np.ndarray  # (a + b,)
    shares: np.ndarray  # (c,)

    @property
    def categories(self) -> list[list[str]]:
        """The categories of each column."""
        return [self.words[first:last].tolist() for first, last in pairwise(self.offsets)]

    @property
    def names(self) -> list[str]:
        """All columns that are used."""
        return [*self.numeric.tolist(), *self.categorical.tolist()]


def learn_encoding(
    columns: Columns,
    roles: list[Role],
    scale: str | None,
    weights: Mapping[str, float],
    row_weights: np.ndarray | None,
) -> tuple[Encoding, Cells]:
    """The encoding of a table, and its cells. A column of weight w counts w times in squared distances."""
    numeric = [role for role in roles if role.kind in (NUMBER, DATE)]
    categorical = [role.name for role in roles if role.kind == CATEGORY]
    X = np.empty((columns.n, len(numeric)))
    for at, role in enumerate(numeric):
        X[:, at] = columns.numbers(role.name)
    shifts, scales = _scaling(X, scale, row_weights)
    scales *= np.sqrt([weights.get(role.name, 1.0) for role in numeric])
    words, coded = [], []
    for name in categorical:
        values = columns.distinct(name)
        known = sorted({word_of(value) for value in values})
        words.append(known)
        coded.append(_codes(columns, name, values, known))
    mismatch = 0.5 if scale == "range" else 1.0  # two categories are as far apart as the ends of a range, squared
    counts = np.array([len(known) for known in words], np.int64)
    cells = cells_of(
        (X - shifts) * scales,
        np.stack(coded, axis=1) if coded else np.empty((columns.n, 0), np.int64),
        counts,
        row_weights,
        np.array([mismatch * weights.get(name, 1.0) for name in categorical]),
    )
    encoding = Encoding(
        np.array([role.name for role in numeric], object),
        np.array([role.kind == DATE for role in numeric], bool),
        shifts,
        scales,
        np.array(categorical, object),
        np.array([word for known in words for word in known], object),
        cells.offsets,
        cells.column_weights,
        cells.pulls,
        cells.shares,
    )
    return encoding, cells


def encode(encoding: Encoding, columns: Columns) -> tuple[Cells, dict[str, list[str]], list[str]]:
    """The cells of other rows; by column, unknown categories, which become gaps; the columns of nothing else."""
    X = np.empty((columns.n, len(encoding.numeric)))
    for at, name in enumerate(encoding.numeric):
        X[:, at] = columns.numbers(name)
    codes = np.empty((columns.n, len(encoding.categorical)), np.int32)
    unknown: dict[str, list[str]] = {}
    strange = []
    for at, (name, known) in enumerate(zip(encoding.categorical, encoding.categories, strict=True)):
        values = columns.distinct(name)
        own = _codes(columns, name, values, known)
        codes[:, at] = np.where(own == GAP, GAP, own + encoding.offsets[at])
        if new := sorted({word_of(value) for value in values} - set(known)):
            unknown[name] = new
            if len(new) == len({word_of(value) for value in values}):
                strange.append(name)
    numbers = np.ascontiguousarray((X - encoding.shifts) * encoding.scales)
    rest: tuple[Any, ...] = (encoding.offsets, encoding.column_weights, encoding.pulls, encoding.shares, np.zeros(0))
    return Cells(numbers, codes, *rest), unknown, strange


def _codes(columns: Columns, name: str, values: list[Any], known: list[str]) -> np.ndarray:
    """(n,) The position of each cell among the known words; GAP for gaps and other words."""
    places = {word: float(place) for place, word in enumerate(known)}
    usable = [value for value in values if word_of(value) in places]
    found = columns.mapped(name, usable, [places[word_of(value)] for value in usable])
    return np.where(np.isnan(found), GAP, found).astype(np.int64)


def _scaling(X: np.ndarray, scale: str | None, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Mean of each column, and what its cells are multiplied by; both over the observed cells."""
    if not X.size:
        return np.zeros(X.shape[1]), np.ones(X.shape[1])
    seen = ~np.isnan(X)
    w = seen * (np.ones(len(X)) if weights is None else weights)[:, None]
    mass = np.maximum(w.sum(axis=0), 1e-300)  # all values of a column may be in rows of weight 0
    filled = np.where(seen, X, 0.0)
    middle = np.array([np.median(X[seen[:, j], j]) if seen[:, j].any() else 0.0 for j in range(X.shape[1])])
    shifts = middle + (w * np.where(seen, filled - middle, 0.0)).sum(axis=0) / mass  # numbers far from 0 keep digits
    if scale is None:
        return shifts, np.ones(X.shape[1])
    if scale == "range":
        spread = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
    else:
        spread = np.sqrt((w * np.where(seen, filled - shifts, 0.0) ** 2).sum(axis=0) / mass)
    return shifts, 1.0 / np.where(spread > 0, spread, 1.0)


def filled_rows(encoding: Encoding, cells: Cells) -> np.ndarray:
    """(n, a + c) Rows of numbers: scaled numbers, a one for each category; gaps are means and shares."""
    rows = np.empty((cells.n, len(encoding.numeric) + len(encoding.words)))
    rows[:, : len(encoding.numeric)] = np.nan_to_num(cells.numbers)
    for column, (first, last) in enumerate(pairwise(encoding.offsets)):
        codes = cells.codes[:, [column]]
        place = slice(len(encoding.numeric) + first, len(encoding.numeric) + last)
        ones = np.where(codes == GAP, encoding.shares[first:last], codes == np.arange(first, last))
        rows[:, place] = np.sqrt(encoding.column_weights[column]) * ones
    return rows
