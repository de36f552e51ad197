"""What commands read: rows, columns and models."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from ksums.compute.arrays import Matrix
from ksums.io import Table, read_frame, read_table
from ksums.io.delimited import read_delimited, read_delimited_with_texts
from ksums.io.readers import SUFFIXES, read_with_texts
from ksums.io.table import NoSuchColumnError, column_positions, joined
from ksums.models.scaling import parts_of

if TYPE_CHECKING:
    from sklearn.preprocessing import StandardScaler


def read_input(
    data: str,
    columns: list[str] | None,
    header: bool | None,
    if_named: Sequence[str] | None = None,
    width: int | None = None,
) -> Table:
    """Rows of a file, or of CSV text from standard input if ``data`` is ``-``."""
    chosen = None if columns is None else parse_columns(columns)
    if data == "-":
        return read_delimited(None, ",", chosen, if_named=if_named, header=header)
    return read_table(data, chosen, if_named=if_named, header=header, width=width)


def read_input_with_texts(
    data: str, columns: list[str] | None, header: bool | None, texts: Sequence[int | str]
) -> tuple[Table, list[list[str]]]:
    """Rows as from ``read_input``, and the columns ``texts`` as text; an empty string is a missing value."""
    if not texts:
        return read_input(data, columns, header), []
    chosen = None if columns is None else parse_columns(columns)
    if data == "-":
        return read_delimited_with_texts(None, ",", chosen, texts, header=header)
    return read_with_texts(data, chosen, texts, header=header)


class WeightedRows(NamedTuple):
    """Rows of a file, with their weights apart."""

    table: Table
    numbers: list[int] | None
    """Numbers of their columns, if only some are used and the columns have no names."""
    weights: np.ndarray | None  # (n,)
    texts: list[list[str]]


def read_weighted(
    data: str, columns: list[str] | None, header: bool | None, weights: str | None, texts: Sequence[int | str] = ()
) -> WeightedRows:
    """Rows of numbers; the column ``weights`` holds their weights, and the columns ``texts`` are read as text."""
    if weights is None:
        table, found = read_input_with_texts(data, columns, header, texts)
        return WeightedRows(table, _chosen_numbers(columns, table), None, found)
    column_of_weights = parse_column("--weights", weights)
    wanted = None if columns is None else [*columns, weights]
    table, found = read_input_with_texts(data, wanted, header, texts)
    width = table.X.shape[1]
    if columns is not None:
        position = width - 1
    elif texts and str(column_of_weights) not in (table.columns or ()):  # numbers would not count columns of text
        raise ValueError(
            f"--weights: with --link-column, --label-column or --id, give the name of another column; got {weights}."
        )
    else:
        position = column_positions(data, [column_of_weights], table.columns, width)[0]
    others = [at for at in range(width) if at != position]
    if not others:
        raise ValueError(f"--weights: {weights} is the only column; clustering requires at least one other column.")
    names = None if table.columns is None else [table.columns[at] for at in others]
    column = table.X[:, [position]]
    sample_weight = column if isinstance(column, np.ndarray) else column.toarray()
    rows = table._replace(X=table.X[:, others], columns=names)
    numbers = others if columns is None else _chosen_numbers(columns, table)
    return WeightedRows(rows, numbers, sample_weight.ravel(), found)


def _chosen_numbers(columns: list[str] | None, table: Table) -> list[int] | None:
    """Numbers of the chosen columns of a file without names; None if all are used, or if they have names."""
    if columns is None or table.columns is not None:
        return None
    return [int(column) for column in parse_columns(columns)]


def parse_columns(texts: list[str], option: str = "--columns") -> list[int | str]:
    """Names and numbers from texts such as ``a,b,7``; a name that contains a comma must be in quotes."""
    columns = [column.strip() for cells in csv.reader(texts, skipinitialspace=True) for column in cells]
    if not any(columns):
        raise ValueError(f"{option}: no column is given; leave the option out.")
    return [int(column) if column.isdecimal() else column for column in columns]


def parse_column(option: str, text: str) -> int | str:
    """The name or the number of the one column that an option asks for."""
    columns = parse_columns([text]) if text.strip() else []
    if len(columns) != 1:
        got = text or "nothing"
        raise ValueError(f"{option}: expected one column; got {got}. Put a name with a comma in quotes.")
    return columns[0]


def load_model_and_rows(
    model: str, data: str, columns: list[str] | None, header: bool | None, id_column: str | None = None
) -> tuple[Any, Table, dict[str, list[Any]]]:
    """A model, the columns of a file that it was fitted to, in the same order, and the column that names the rows.

    For a model of a table, the rows are the table itself.
    """
    from ksums import TableKSums, load

    ids: dict[str, list[Any]] = {}

    try:
        fitted = load(model)
    except ValueError as error:
        if Path(model).suffix.lower() in SUFFIXES:
            raise ValueError(f"{model} is not a ksums model; give the model first, then the data.") from error
        raise
    known = getattr(fitted, "feature_names_in_", None)
    known = None if known is None else known.tolist()
    if isinstance(fitted, TableKSums):
        id_columns = [] if id_column is None else [parse_column("--id", id_column)]
        frame = read_frame(None if data == "-" else data, header=header, texts=id_columns).table
        if columns is not None:
            raise ValueError("--columns: the model of a table finds its columns by name; leave the option out.")
        if id_column is not None:
            ids = dict([column_of(data, frame, "--id", id_column)])
        return fitted, Table(frame.select(_known_columns(data, frame, known)), known), ids
    numbers = getattr(parts_of(fitted)[1], "column_numbers_", None)
    if id_column is not None:
        chosen: Sequence[int | str] | None = None if columns is None else parse_columns(columns)
        if chosen is None:
            chosen = known if known is not None else None if numbers is None else numbers.tolist()
        beside = parse_column("--id", id_column)
        if data == "-":
            table, texts = read_delimited_with_texts(None, ",", chosen, [beside], header=header)
        else:
            table, texts = read_with_texts(data, chosen, [beside], header=header)
        ids = {str(beside): texts[0]}
    elif columns is None and numbers is not None:
        table = _read_columns_by_number(data, header, numbers)
    else:
        table = read_input(data, columns, header, known, fitted.n_features_in_)
    width, needed = table.X.shape[1], int(fitted.n_features_in_)
    if known is not None and table.columns is not None and table.columns != known:
        raise ValueError(
            f"--columns: the model was fitted to {','.join(known)}, in this order; got {','.join(table.columns)}."
        )
    if width != needed:
        names = "" if known is None else f": {joined(known)}"
        raise ValueError(f"{data} has {width} columns; the model needs {needed}{names}.")
    if known is not None and table.columns is None:
        warnings.warn(
            f"{data} has no column names; its columns are read as {joined(known)}, in this order.", stacklevel=2
        )
    return fitted, table, ids


def _known_columns(data: str, frame: Any, known: list[str] | None) -> list[str]:
    """The columns of a table that a model was fitted to."""
    for name in known or []:
        if name not in frame.column_names:
            raise ValueError(f"{data} has no column {name!r}; the model was fitted to {joined(known or [])}.")
    return known or frame.column_names


def column_of(data: str, frame: Any, option: str, column: str) -> tuple[str, list[Any]]:
    """Name and values of the one column of a table that an option asks for, by name or number."""
    names = frame.column_names
    wanted = parse_column(option, column)
    name = str(wanted) if str(wanted) in names else names[column_positions(data, [wanted], names, len(names))[0]]
    return name, frame.column(name).to_pylist()


def _read_columns_by_number(data: str, header: bool | None, numbers: np.ndarray) -> Table:
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


def remember_columns(estimator: Any, scaler: Any, names: list[str] | None, numbers: list[int] | None) -> None:
    """Store the columns of the fit in the model: their names if they have any, otherwise the chosen numbers."""
    if names is not None and len(set(names)) == len(names):
        (estimator if scaler is None else scaler).feature_names_in_ = np.array(names, object)
    elif names is None and numbers is not None:
        estimator.column_numbers_ = np.array(numbers, np.int64)


def check_name(option: str, name: str, known: Iterable[str]) -> None:
    """Refuse an unknown name, and suggest a similar one."""
    names = list(known)
    if name in names:
        return
    by_lower_case = {other.lower(): other for other in names}
    similar = get_close_matches(name.lower(), by_lower_case, 1, 0.5)
    suggestion = f" Did you mean {by_lower_case[similar[0]]!r}?" if similar else ""
    raise ValueError(f"{option}: unknown name {name!r}.{suggestion} The names are {', '.join(names)}.")


def scale_columns(X: Matrix, wanted: bool) -> tuple[Matrix, StandardScaler | None]:
    """X with columns of mean 0 and standard deviation 1, if wanted, and the scaler.

    Sparse columns keep their mean, because subtracting it would fill in their zeros.
    """
    if not wanted:
        return X, None
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(with_mean=not sparse.issparse(X))
    return scaler.fit_transform(X), scaler
