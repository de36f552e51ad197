"""What commands read: rows, columns and models."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from ksums.compute.arrays import Matrix
from ksums.io import Table, read_table
from ksums.io.delimited import read_delimited, read_delimited_with_texts
from ksums.io.readers import read_with_texts
from ksums.io.table import column_positions

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
        position = _position(data, table, column_of_weights)
    others = [at for at in range(width) if at != position]
    if not others:
        raise ValueError(f"--weights: {weights} is the only column; clustering requires at least one other column.")
    names = None if table.columns is None else [table.columns[at] for at in others]
    column = table.X[:, [position]]
    sample_weight = column if isinstance(column, np.ndarray) else column.toarray()
    rows = table._replace(X=table.X[:, others], columns=names, numbers=None)
    numbers = others if columns is None else _chosen_numbers(columns, table)
    return WeightedRows(rows, numbers, sample_weight.ravel(), found)


def _position(data: str, table: Table, column: int | str) -> int:
    """The position of a column of the file among those that were read."""
    if table.numbers is not None and column in table.numbers and str(column) not in (table.columns or ()):
        return table.numbers.index(int(column))
    return column_positions(data, [column], table.columns, table.X.shape[1])[0]


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


def remember_columns(
    estimator: Any, scaler: Any, names: list[str] | None, numbers: list[int] | None, left_out: Mapping[str, str]
) -> None:
    """Store the columns of the fit in the model: their names if they have any, otherwise the chosen numbers.

    The columns that were left out are stored for reports, with the reasons.
    """
    if left_out:
        estimator.left_out_columns_ = dict(left_out)
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
