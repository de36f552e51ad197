"""What ``ksums fit`` reads: rows of numbers if the file holds nothing else, otherwise a table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ksums.cli.inputs import read_weighted
from ksums.cli.messages import plural
from ksums.cli.tables import (
    TableInput,
    TableOptions,
    as_names,
    dropped_in_words,
    is_table_file,
    label_of_dropped,
    read_table_input,
    refuse_table_options,
)
from ksums.compute.arrays import Matrix, blocks
from ksums.io import Table
from ksums.io.table import NotNumericError, joined
from ksums.tables.columns import identifies

_BLOCK = 1 << 16
"""Rows that are looked at at a time, so that a file that is larger than memory can be checked."""

_IDENTIFIER = "it looks like an identifier"


class FitInput(NamedTuple):
    """What ``fit`` reads from its file."""

    table: Table
    """The rows to cluster, without weights and texts."""
    numbers: list[int] | None
    """Numbers of their columns, if only some are used and the columns have no names."""
    weights: np.ndarray | None  # (n,)
    texts: list[list[str]]
    """The values of each column that was requested as text."""
    mixed: TableInput | None = None
    """The table, if it holds more than numbers."""
    ids: dict[str, list[Any]] = {}  # noqa: RUF012 it is never changed
    """The column that names all rows of the file, if one was asked for."""
    kept: np.ndarray | None = None
    """Rows of the file that are used; None: all."""
    rows: int = 0
    """Rows of the file, if not all are used."""
    left_out: dict[str, str] = {}  # noqa: RUF012 it is never changed
    """Columns that are left out, and why."""
    notes: list[str] = []  # noqa: RUF012 it is never changed
    """What a person should know of the table."""
    missing: dict[str, int] = {}  # noqa: RUF012 it is never changed
    """Missing cells by column."""

    @property
    def dropped(self) -> int:
        """Rows with missing cells that are not used."""
        return 0 if self.kept is None else self.rows - len(self.kept)

    def row_names(self) -> list[str] | None:
        """Names of the rows that are used."""
        if not self.ids:
            return self.table.rows
        (ids,) = self.ids.values()
        return as_names(ids if self.kept is None else [ids[row] for row in self.kept])

    def all_labels(self, labels: np.ndarray) -> np.ndarray:
        """The label of each row of the file; -1 for those that are not used."""
        return spread_labels(labels, self.kept, self.rows) if self.dropped else labels


def spread_labels(labels: np.ndarray, kept: np.ndarray | None, rows: int) -> np.ndarray:
    """The label of each row of a file; -1 for those that are not kept."""
    found = np.full(rows, -1, labels.dtype)
    found[kept] = labels
    return found


def read_fit_input(
    data: str,
    columns: list[str] | None,
    header: bool | None,
    weights: str | None,
    texts: Sequence[int | str],
    asked: TableOptions,
    only_numbers: list[str],
) -> FitInput:
    """Rows of numbers, or a table; ``only_numbers`` are options that require rows of numbers without gaps."""
    if not is_table_file(data) or only_numbers:
        refuse_table_options(asked, data, only_numbers)
        try:
            found = _read_numbers(data, columns, header, weights, texts, asked.id_column)
        except NotNumericError as error:
            raise _explained(error, only_numbers) from error
        found = _without_gaps(data, found, asked.missing, only_numbers)
        if is_table_file(data) and data != "-" and not is_sound(found.table.X, found.weights):
            read_table_input(data, columns, header, weights, asked)  # it refuses the cell, and names its line
        return found
    if data != "-" and not asked.given and asked.id_column is None:
        try:
            found = _read_numbers(data, columns, header, weights, texts, None)
            if is_sound(found.table.X, found.weights):
                return found if columns is not None else _without_identifiers(found)
        except ValueError:
            pass  # words, gaps or bad numbers, or something that the other reader explains
    mixed = read_table_input(data, columns, header, weights, asked)
    plain = mixed.is_plain
    some = columns is not None or len(mixed.used) < mixed.frame.num_columns or mixed.weights is not None or mixed.ids
    numbers = [int(name) for name in mixed.used] if some and not mixed.named else None
    table = mixed.numbers() if plain else Table(np.empty((0, 0)), mixed.used)
    of_gaps = "they are ignored (use --missing drop or --missing error to change this)"
    lines = mixed.in_words(of_gaps, label_of_dropped(mixed.rows - len(mixed.kept)))
    if not plain and len(mixed.of_kind("number", "date")):
        why = "the table holds categories or dates" if not mixed.gaps else "cells are missing"
        lines.append(f"numbers are scaled to standard deviation 1, because {why}")
    return FitInput(
        table,
        numbers,
        mixed.weights,
        [],
        None if plain else mixed,
        mixed.ids,
        mixed.kept,
        mixed.rows,
        mixed.left_out,
        lines[1 if plain else 0 :],
        mixed.gaps,
    )


def is_sound(X: Matrix, weights: np.ndarray | None) -> bool:
    """Whether all numbers are finite, and no weight is negative."""
    if weights is not None and not (np.isfinite(weights) & (weights >= 0)).all():
        return False
    if not isinstance(X, np.ndarray):
        return bool(np.isfinite(X.data).all())
    return all(bool(np.isfinite(X[part]).all()) for part in blocks(len(X), _BLOCK))


def rows_with_gaps(X: Matrix) -> np.ndarray:
    """(n,) Whether a row has a missing cell."""
    found = np.zeros(X.shape[0], bool)
    if not isinstance(X, np.ndarray):
        if np.isnan(X.data).any():
            found[np.unique(X.nonzero()[0][np.isnan(X.data[X.data != 0])])] = True
    elif X.dtype.kind == "f":
        for part in blocks(len(X), _BLOCK):
            found[part] = np.isnan(X[part]).any(axis=1)
    return found


def _read_numbers(
    data: str,
    columns: list[str] | None,
    header: bool | None,
    weights: str | None,
    texts: Sequence[int | str],
    id_column: int | str | None,
) -> FitInput:
    """Rows of numbers, with the columns of weights and texts apart; the names of the rows are the last text."""
    beside = [] if id_column is None else [id_column]
    rows = read_weighted(data, columns, header, weights, [*texts, *beside])
    found = list(rows.texts)
    ids: dict[str, list[Any]] = {str(beside[0]): list(found.pop())} if beside else {}
    return FitInput(rows.table, rows.numbers, rows.weights, found, ids=ids)


def _explained(error: NotNumericError, only_numbers: list[str]) -> ValueError:
    """The error, and which option requires rows of numbers."""
    if not only_numbers:
        return error
    option = only_numbers[0]
    return ValueError(
        f"{option} requires rows of numbers without missing cells: {error} Without {option}, fit accepts any table."
    )


def _without_gaps(data: str, found: FitInput, missing: str, only_numbers: list[str]) -> FitInput:
    """Rows of numbers whose missing cells are ignored by the fit, dropped, or refused."""
    X = found.table.X
    gaps = rows_with_gaps(X)
    if not gaps.any():
        return found
    row = int(gaps.argmax())
    if not isinstance(X, np.ndarray):
        raise ValueError(f"{data}, row {row} (counted from 0) has a missing cell; sparse rows must be complete.")
    place = f"{data}, row {row} (counted from 0), column {int(np.isnan(X[row]).argmax())} is missing"
    if missing == "error":
        raise ValueError(f"{place}; fill it in, or use --missing ignore or --missing drop.")
    if missing == "ignore" and only_numbers:
        raise _explained(NotNumericError(f"{place}; fill it in, or use --missing drop."), only_numbers)
    if missing == "ignore":
        counts = sum(np.isnan(X[part]).sum(axis=0) for part in blocks(len(X), _BLOCK))
        missing_cells = {str(column): int(count) for column, count in enumerate(counts) if count}
        cells = plural(sum(missing_cells.values()), "missing cell")
        words = f"{cells}; ignored (use --missing drop or --missing error to change this)"
        return found._replace(missing=missing_cells, notes=[words])
    kept = np.flatnonzero(~gaps)
    if not len(kept):
        raise ValueError(f"{data}: --missing drop leaves no row, since all have missing cells; use --missing ignore.")
    return found._replace(
        table=found.table._replace(X=X[kept]),
        weights=None if found.weights is None else found.weights[kept],
        texts=[[text[row] for row in kept] for text in found.texts],
        kept=kept,
        rows=len(gaps),
        notes=[dropped_in_words(len(gaps) - len(kept), label_of_dropped(len(gaps) - len(kept)))],
    )


def _without_identifiers(found: FitInput) -> FitInput:
    table, names = without_identifiers(found.table)
    return found._replace(table=table, left_out=dict.fromkeys(names, _IDENTIFIER))


def without_identifiers(table: Table) -> tuple[Table, list[str]]:
    """Rows of numbers without columns that name the rows, which a note lists, and the names of these columns."""
    if table.columns is None or not isinstance(table.X, np.ndarray):
        return table, []
    out = [at for at, name in enumerate(table.columns) if identifies(name, table.X[:, at], len(table.X))]
    if not out or len(out) == len(table.columns):
        return table, []
    kept = [at for at in range(len(table.columns)) if at not in out]
    names = [table.columns[at] for at in out]
    warnings.warn(f"left out: {joined(names)} ({_IDENTIFIER}; list it in --numeric to use it).", stacklevel=2)
    own = table._replace(X=np.ascontiguousarray(table.X[:, kept]), columns=[table.columns[at] for at in kept])
    return own, names
