"""What a reader returns: rows of numbers, with the names of columns and rows. Also finds columns by name or number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from ksums.compute.arrays import Matrix

MISSING = ("", "na", "n/a", "#n/a", "nan", "null", "none", "?", "-")
"""Cells that mean a missing value, in lower case: they are neither numbers, nor column names, nor texts."""

_Column = TypeVar("_Column", int, str)
"""A column, by its position or by its name."""


class NoSuchColumnError(ValueError):
    """A requested column is not in the file."""


class NotNumericError(ValueError):
    """A cell or a column that must hold numbers holds something else, or nothing."""


class Table(NamedTuple):
    """Rows of a file."""

    X: Matrix
    """(n, d)"""
    columns: list[str] | None = None
    """Names of the d columns, if the file has any."""
    rows: list[str] | None = None
    """Names of the n rows, if the file has any."""
    numbers: list[int] | None = None
    """Numbers of the columns in the file, if one that only counts the rows was left out."""


def column_positions(file: str, columns: Sequence[int | str], names: Sequence[str] | None, count: int) -> list[int]:
    """Positions of the requested columns; a value that is both a name and a number is read as the name."""
    positions = []
    occurrences, position_of = Counter(names), {name: at for at, name in enumerate(names or ())}
    for column in columns:
        if str(column) in position_of:
            if (times := occurrences[str(column)]) > 1:
                raise ValueError(f"{file} has {times} columns called {column!r}; choose one by its number.")
            positions.append(position_of[str(column)])
        elif isinstance(column, int) and 0 <= column < count:
            positions.append(column)
        elif names is None:
            raise NoSuchColumnError(
                f"{file} has no column {column!r}; its columns have no names: use numbers from 0 to {count - 1}."
            )
        else:
            raise NoSuchColumnError(
                f"{file} has no column {column!r}; its columns are {joined(names)} (numbers 0 to {count - 1})."
            )
    repeated = [position for position, times in Counter(positions).items() if times > 1]
    if repeated:
        column = repeated[0] if names is None else repr(names[repeated[0]])
        raise ValueError(f"column {column} of {file} is requested twice.")
    return positions


def without_texts(file: str, columns: Sequence[_Column], texts: Sequence[_Column]) -> list[_Column]:
    """Those columns that are not read as text; refuses a file in which there are no others."""
    numeric = [column for column in columns if column not in texts]
    if not numeric:
        raise ValueError(f"{file} has no columns of numbers; clustering requires at least one.")
    return numeric


def text_of(cell: str | None) -> str:
    """The text of a cell, or an empty string if the value is missing."""
    text = (cell or "").strip()
    return "" if text.lower() in MISSING else text


def joined(names: Sequence[str], limit: int = 20) -> str:
    """The first names, separated by commas, and how many more there are."""
    return ", ".join(names[:limit]) + (f" and {len(names) - limit:,} more" if len(names) > limit else "")


def as_float32_if_exact(X: np.ndarray) -> np.ndarray:
    """X as float32 if that changes no value, as for small integers."""
    with np.errstate(over="ignore"):
        narrow = X.astype(np.float32)
    return narrow if np.array_equal(narrow, X, equal_nan=True) else X
