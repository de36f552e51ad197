"""Rows of numbers for commands that fit many models: other tables are encoded, and gaps are filled in."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from ksums.cli.inputs import read_weighted, scale_columns
from ksums.cli.messages import collect_warnings, plural
from ksums.cli.rows import is_sound, rows_with_gaps, without_identifiers
from ksums.cli.tables import (
    TableInput,
    TableOptions,
    dropped_in_words,
    is_table_file,
    read_table_input,
    refuse_table_options,
)
from ksums.compute.arrays import Matrix
from ksums.tables.columns import Columns


class NumericRows(NamedTuple):
    """Rows for commands that fit many models."""

    X: Matrix
    weights: np.ndarray | None


def read_numeric_rows(
    data: str,
    columns: list[str] | None,
    header: bool | None,
    scale: bool,
    weights: str | None,
    asked: TableOptions,
    *,
    show_warnings: bool,
) -> NumericRows:
    """Rows of numbers of a file, with scaled columns if ``scale``; other tables are encoded, which a note says."""
    with collect_warnings(silent=not show_warnings) as warned:
        rows = _numeric_rows(data, columns, header, scale, weights, asked)
    if show_warnings:
        warned.show()
    return rows


def _numeric_rows(
    data: str, columns: list[str] | None, header: bool | None, scale: bool, weights: str | None, asked: TableOptions
) -> NumericRows:
    if not is_table_file(data):
        refuse_table_options(asked, data, [])
        rows = read_weighted(data, columns, header, weights)
        own = _filled(data, NumericRows(rows.table.X, rows.weights), asked.missing)
        return NumericRows(scale_columns(own.X, scale)[0], own.weights)
    if data != "-" and not asked.given:
        try:
            rows = read_weighted(data, columns, header, weights)
            table = rows.table if columns is not None else without_identifiers(rows.table)[0]
            if is_sound(table.X, rows.weights):
                return NumericRows(scale_columns(table.X, scale)[0], rows.weights)
        except ValueError:
            pass  # words, gaps or bad numbers, or something that the other reader explains
    found = read_table_input(data, columns, header, weights, asked)
    for line in found.in_words("they are filled in", ""):
        warnings.warn(line, stacklevel=2)
    if found.is_plain:
        return NumericRows(scale_columns(found.numbers().X, scale)[0], found.weights)
    return NumericRows(encoded_rows(found), found.weights)


def _filled(data: str, rows: NumericRows, missing: str) -> NumericRows:
    """Rows of numbers whose missing cells are means of their columns; or without the rows that have any."""
    gaps = rows_with_gaps(rows.X)
    if not gaps.any():
        return rows
    place = f"{data}, row {int(gaps.argmax())} (counted from 0) has a missing cell"
    if missing == "error" or not isinstance(rows.X, np.ndarray):
        raise ValueError(f"{place}; fill it in, or use --missing drop.")
    if missing == "drop":
        warnings.warn(dropped_in_words(int(gaps.sum())), stacklevel=2)
        return NumericRows(rows.X[~gaps], None if rows.weights is None else rows.weights[~gaps])
    X = np.array(rows.X)
    empty = np.flatnonzero(np.isnan(X).all(axis=0))
    if len(empty):
        raise ValueError(f"{data}: column {empty[0]} has no value at all; choose the others with --columns.")
    cells = np.isnan(X)
    X[cells] = np.broadcast_to(np.nanmean(X, axis=0), X.shape)[cells]
    warnings.warn(f"{plural(int(cells.sum()), 'missing cell')}; filled in with the mean of the column.", stacklevel=2)
    return NumericRows(X, rows.weights)


def encoded_rows(table: TableInput) -> np.ndarray:
    """(n, d) Rows of numbers only, for methods that know nothing else: scaled numbers, and zeros and ones for words.

    Gaps are filled in: with the mean of the column, or with the shares of its categories.
    """
    from ksums.tables.encoding import filled_rows, learn_encoding

    encoding, cells = learn_encoding(Columns(table.frame), table.roles, "std", {}, table.weights)
    warnings.warn(
        "the table is used as rows of numbers: numbers scaled to standard deviation 1, a column of zeros and ones for "
        "each category, gaps filled in with means.",
        stacklevel=2,
    )
    return filled_rows(encoding, cells)
