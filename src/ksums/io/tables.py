"""Tables: text with separated columns, parquet, and the sparse rows of svmlight."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zlib
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TextIO

import numpy as np
from scipy import sparse


def read_text(path: Path | None, delimiter: str, columns: Sequence[int | str] | None = None) -> np.ndarray:
    """Numbers (n, d) float32 of a text; of what comes in at standard input, if there is no path."""
    name = "standard input" if path is None else str(path)
    try:
        with _opened(path) as lines:
            return _numbers(lines, name, delimiter, columns)
    except (EOFError, zlib.error, gzip.BadGzipFile, UnicodeDecodeError) as error:
        raise ValueError(f"{name} is cut off, or no text of columns: {error}.") from error


def _opened(path: Path | None) -> TextIO:
    if path is None:
        return io.StringIO(sys.stdin.read())
    return gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")


def _numbers(lines: TextIO, name: str, delimiter: str, columns: Sequence[int | str] | None) -> np.ndarray:
    first = lines.readline()
    if not first.strip():
        raise ValueError(f"{name} is empty, or begins with an empty line.")
    cells = next(csv.reader([first], delimiter=delimiter))
    names = None if all(map(_is_number, cells)) else cells
    chosen = _places(name, columns, names, len(cells))
    begun = first if names is None else lines.readline()
    if not begun.strip():
        raise ValueError(f"{name} has names, but no rows.")
    rest = chain([begun], lines)
    try:
        return np.loadtxt(rest, np.float32, delimiter=delimiter, usecols=chosen, ndmin=2, comments=None, quotechar='"')
    except ValueError as error:
        place = "the first row" if names is None else "the row below the names"
        missing = " A cell is empty: fill it, or leave the row out." if "string ''" in str(error) else ""
        raise ValueError(f"{name}: {str(error).rstrip('.')} (row 0 is {place}).{missing}") from error


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return not cell.strip()  # an empty cell is no name
    return True


def _places(
    name: str, columns: Sequence[int | str] | None, names: Sequence[str] | None, count: int
) -> list[int] | None:
    """The numbers of the columns that are wanted."""
    if columns is None:
        return None
    places = []
    for column in columns:
        if isinstance(column, int) and 0 <= column < count:
            places.append(column)
        elif names is not None and column in names:
            places.append(list(names).index(str(column)))
        else:
            known = f"its columns are {', '.join(names)}" if names is not None else "it has no line of names"
            raise ValueError(f"{name} has no column {column!r}; {known}, or the numbers 0 to {count - 1}.")
    return places


def read_parquet(path: Path, columns: Sequence[int | str] | None = None) -> np.ndarray:
    """Numbers (n, d) of a parquet file."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(f"{path}: parquet files are read with pyarrow, which is not installed.") from error
    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            places = _places(str(path), columns, names, len(names))
            chosen = names if places is None else [names[place] for place in places]
            table = file.read(columns=chosen)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path} is cut off, or no parquet file: {error}.") from error
    wrong = [f"{field.name} ({field.type})" for field in table.schema if not _is_numeric(field.type)]
    if wrong:
        raise ValueError(f"{path}: columns of numbers are needed; {', '.join(wrong)} is none. Choose others by name.")
    values = [table.column(name).to_numpy() for name in chosen]
    dtype = np.float64 if any(value.dtype == np.float64 for value in values) else np.float32
    return np.column_stack([value.astype(dtype) for value in values])


def _is_numeric(kind) -> bool:
    from pyarrow import types

    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)


def read_svmlight(path: Path) -> sparse.csr_array:
    """Sparse rows of an svmlight file."""
    from sklearn.datasets import load_svmlight_file

    try:
        return sparse.csr_array(load_svmlight_file(path)[0])
    except ValueError as error:
        raise ValueError(f"{path} is no svmlight file: {error}.") from error
