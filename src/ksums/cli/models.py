"""A model, and the rows of a file as the model needs them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ksums.cli.inputs import parse_column, parse_columns, read_input, read_input_with_texts
from ksums.cli.messages import plural
from ksums.cli.rows import rows_with_gaps, spread_labels
from ksums.cli.tables import as_names, check_finite, id_values, is_table_file, rows_without_gaps, with_vectors
from ksums.io import Frame, Table, read_frame
from ksums.io.readers import SUFFIXES
from ksums.io.table import NoSuchColumnError, NotNumericError, joined
from ksums.models.scaling import parts_of
from ksums.tables.columns import Columns, word_of

_PART_OF_LIST = re.compile(r"(.*)\[\d+\]")
"""The name of a column that was made of a column of lists."""

_WAY_OUT = "use --drop-missing to leave such rows out (their label is -1)"


class ModelInput(NamedTuple):
    """A model and rows for it."""

    fitted: Any
    X: Any
    """The rows that are used: an array, or the table itself for a model of a table."""
    ids: dict[str, list[Any]]
    """The column that names all rows of the file, if one was asked for."""
    row_names: list[str] | None
    """Names of the rows that are used, if the file has any."""
    kept: np.ndarray | None = None
    """Rows of the file that are used; None: all."""
    rows: int = 0
    """Rows of the file, if not all are used."""

    @property
    def dropped(self) -> int:
        """Rows with missing cells that are not used."""
        return 0 if self.kept is None else self.rows - len(self.kept)

    def all_labels(self, labels: np.ndarray) -> np.ndarray:
        """The label of each row of the file; -1 for those that are not used."""
        return spread_labels(labels, self.kept, self.rows) if self.dropped else labels


def load_model_and_rows(
    model: str,
    data: str,
    columns: list[str] | None,
    header: bool | None,
    id_column: str | None = None,
    missing: str = "ignore",
) -> ModelInput:
    """A model, and the columns of a file that it was fitted to, in the same order; ``missing`` as in ``fit``."""
    from ksums import TableKSums, load

    try:
        fitted = load(model)
    except ValueError as error:
        if Path(model).suffix.lower() in SUFFIXES:
            raise ValueError(f"{model} is not a ksums model; give the model first, then the data.") from error
        raise
    beside = [] if id_column is None else [parse_column("--id", id_column)]
    if isinstance(fitted, TableKSums):
        if columns is not None:
            raise ValueError("--columns: the model of a table finds its columns by name; leave the option out.")
        return _table_rows(fitted, data, header, beside, missing)
    if is_table_file(data) and (missing != "ignore" or getattr(parts_of(fitted)[1], "missing", "error") == "ignore"):
        return _rows_with_gaps(fitted, data, columns, header, beside, missing)
    return _plain_rows(fitted, data, columns, header, beside, missing)


# ------------------------------------------------------------------------------------------ tables
def _table_rows(fitted: Any, data: str, header: bool | None, beside: Sequence[int | str], missing: str) -> ModelInput:
    """The columns of a table, read as what they were in the fit."""
    encoding = fitted._encoding
    numbers = [str(name) for name in encoding.numeric[~encoding.is_date]]
    dates = [str(name) for name in encoding.numeric[encoding.is_date]]
    words = [str(name) for name in encoding.categorical]
    frame = _read_known(data, header, beside, numbers, dates, words, encoding.names)
    ids = _ids(frame, beside, encoding.names)
    table, _ = with_vectors(frame, frame.table, [])
    for name in encoding.names:
        if name not in table.column_names:
            raise ValueError(_no_column(data, name, encoding.names))
    _check_no_dates(frame, table, numbers)
    check_finite(frame, table, numbers)
    for name, known in zip(words, encoding.categories, strict=True):
        _warn_of_unknown(frame, table, name, set(known))
    kept = rows_without_gaps(frame, table, encoding.names, missing)
    own = table.select(encoding.names)
    return _of_kept(fitted, own.take(kept) if len(kept) < own.num_rows else own, ids, None, kept, own.num_rows)


def _read_known(
    data: str,
    header: bool | None,
    beside: Sequence[int | str],
    numbers: list[str],
    dates: list[str],
    words: list[str],
    needed: Sequence[str],
) -> Frame:
    """A table whose columns are read as what a model knows them for."""

    def told(names: list[str]) -> list[int | str]:
        """Columns without names are called by their numbers; those that were made of lists are not in the file."""
        return [int(name) if name.isdecimal() else name for name in names if not _PART_OF_LIST.fullmatch(name)]

    try:
        return read_frame(
            None if data == "-" else data,
            header=header,
            texts=beside,
            numeric=told(numbers),
            dates=told(dates),
            words=told(words),
        )
    except NoSuchColumnError as error:
        missing = next((name for name in needed if f"no column {name!r}" in str(error)), None)
        if missing is None:
            raise
        raise ValueError(_no_column(data, missing, needed)) from error


def _no_column(data: str, name: str, needed: Sequence[str]) -> str:
    return (
        f"{data} has no column {name!r}; the model was fitted to {joined(list(needed))}. A column of missing values "
        "will do."
    )


def _ids(frame: Frame, beside: Sequence[int | str], used: Sequence[str]) -> dict[str, list[Any]]:
    """The column that names the rows; the model must not use it, since it is read as text."""
    names = [frame.name_of(column) for column in beside]
    if names and names[0] in used:
        raise ValueError(f"--id: the model uses column {names[0]!r}; give another column.")
    return {name: id_values(frame.table.column(name)) for name in names}


def _check_no_dates(frame: Frame, table: Any, numbers: Sequence[str]) -> None:
    """Refuse dates where the fit saw numbers: their days would be taken for them."""
    columns = Columns(table)
    for name in numbers:
        if columns.dtype_of(name) == "date":
            row = int(table.column(name).is_valid().to_numpy().argmax())
            got = table.column(name)[row].as_py()
            raise ValueError(f"{frame.places.cell(row, name)}: expected a number, as in the fit; got the date {got}.")


def _warn_of_unknown(frame: Frame, table: Any, name: str, known: set[str]) -> None:
    """Say which cells hold a category that the fit did not see."""
    values = table.column(name).to_pylist()
    rows = [row for row, value in enumerate(values) if value is not None and word_of(value) not in known]
    if rows:
        cells = "1 cell has a category" if len(rows) == 1 else f"{len(rows):,} cells have categories"
        warnings.warn(
            f"{frame.places.file}, column {frame.places.label(name)}: {cells} that the fit did not see; the first is "
            f"{word_of(values[rows[0]])!r} in {frame.places.line(rows[0])}. Such cells count as missing.",
            stacklevel=2,
        )


# ------------------------------------------------------------------------------------------ rows of numbers
def _rows_with_gaps(
    fitted: Any,
    data: str,
    columns: list[str] | None,
    header: bool | None,
    beside: Sequence[int | str],
    missing: str,
) -> ModelInput:
    """Rows of numbers of a table with missing cells, which the model ignores, or whose rows are dropped."""
    known, numbers = _known_columns(fitted)
    wanted: list[int | str] | None = None if columns is None else parse_columns(columns)
    if wanted is None and numbers is not None:
        wanted = list(numbers)
    if wanted is None and known is not None:
        wanted = list(known)
    frame = read_frame(
        None if data == "-" else data, header=header, texts=beside, numeric=wanted or [], kept=wanted or []
    )
    table, _ = with_vectors(frame, frame.table, [])
    ids = _ids(frame, beside, [] if wanted is None else [frame.name_of(column) for column in wanted])
    names = [name for name in table.column_names if name not in ids]
    if wanted is not None:
        names = [frame.name_of(column) for column in wanted]
    _check_width(fitted, data, Table(np.empty((0, len(names))), names if frame.named else None), known)
    own = table.select(names)
    columns_of = Columns(own)
    for name in names:
        if columns_of.dtype_of(name) not in ("number", "bool") and own.column(name).null_count < own.num_rows:
            raise NotNumericError(f"{data}: column {frame.places.label(name)} must hold numbers, as in the fit.")
    check_finite(frame, own, names)
    kept = rows_without_gaps(frame, own, names, missing)
    X = np.column_stack([columns_of.numbers(name) for name in names])[kept]
    return _of_kept(fitted, X, ids, None, kept, own.num_rows)


def _plain_rows(
    fitted: Any,
    data: str,
    columns: list[str] | None,
    header: bool | None,
    beside: Sequence[int | str],
    missing: str,
) -> ModelInput:
    """Rows of numbers, of a file of any format."""
    known, numbers = _known_columns(fitted)
    ids: dict[str, list[Any]] = {}
    try:
        if beside:
            chosen = columns
            if chosen is None and (known is not None or numbers is not None):
                chosen = _quoted(known if known is not None else [str(number) for number in numbers or []])
            table, texts = read_input_with_texts(data, chosen, header, beside)
            ids = {str(beside[0]): list(texts[0])}
        elif columns is None and numbers is not None:
            table = _read_columns_by_number(data, header, numbers)
        else:
            table = read_input(data, columns, header, known, fitted.n_features_in_)
    except NotNumericError as error:
        raise NotNumericError(f"{error} If cells are missing, {_WAY_OUT}.") from error
    _check_width(fitted, data, table, known)
    if known is not None and table.columns is None:
        warnings.warn(
            f"{data} has no column names; its columns are read as {joined(known)}, in this order.", stacklevel=2
        )
    gaps = rows_with_gaps(table.X)
    if (
        gaps.any()
        and missing != "drop"
        and (missing == "error" or getattr(parts_of(fitted)[1], "missing", "error") != "ignore")
    ):
        raise ValueError(
            f"{data}: {plural(int(gaps.sum()), 'row')} with missing cells, first row {int(gaps.argmax())} (counted "
            f"from 0); {_WAY_OUT}."
        )
    kept = np.flatnonzero(~gaps) if missing == "drop" else np.arange(len(gaps))
    X = table.X if len(kept) == len(gaps) else table.X[kept]
    return _of_kept(fitted, X, ids, table.rows, kept, len(gaps))


def _known_columns(fitted: Any) -> tuple[list[str] | None, list[int] | None]:
    """Names and numbers of the columns of the fit, as far as the model knows them."""
    names = getattr(fitted, "feature_names_in_", None)
    numbers = getattr(parts_of(fitted)[1], "column_numbers_", None)
    return None if names is None else names.tolist(), None if numbers is None else numbers.tolist()


def _quoted(names: list[str]) -> list[str]:
    """Names as ``--columns`` expects them."""
    return ['"' + name.replace('"', '""') + '"' for name in names]


def _check_width(fitted: Any, data: str, table: Table, known: list[str] | None) -> None:
    """Refuse other columns than those of the fit."""
    width, needed = table.X.shape[1], int(fitted.n_features_in_)
    if known is not None and table.columns is not None and table.columns != known:
        raise ValueError(
            f"--columns: the model was fitted to {','.join(known)}, in this order; got {','.join(table.columns)}."
        )
    if width != needed:
        names = "" if known is None else f": {joined(known)}"
        raise ValueError(f"{data} has {width} columns; the model needs {needed}{names}.")


def _read_columns_by_number(data: str, header: bool | None, numbers: list[int]) -> Table:
    """The columns that a model was fitted to; if the file does not have them, all columns."""
    texts = [str(number) for number in numbers]
    try:
        return read_input(data, texts, header)
    except NoSuchColumnError:
        if data == "-":
            raise
        warnings.warn(
            f"{data} does not have the columns {joined(texts)} that the model was fitted to; all its columns are used.",
            stacklevel=3,
        )
        return read_input(data, None, header)


def _of_kept(
    fitted: Any, X: Any, ids: dict[str, list[Any]], names: list[str] | None, kept: np.ndarray, rows: int
) -> ModelInput:
    """The input, with the names of the rows that are kept."""
    for own in ids.values():
        names = as_names(own)
    if names is not None and len(kept) < rows:
        names = [names[row] for row in kept]
    return ModelInput(fitted, X, ids, names, kept, rows)
