"""Tables in the parquet format."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ksums.io.table import NotNumericError, Table, column_positions, text_of, without_texts


def read_parquet(
    path: Path, columns: Sequence[int | str] | None = None, if_named: Sequence[str] | None = None
) -> Table:
    """Numbers (n, d) of a parquet file; a column of lists of equal length becomes several columns."""
    with opened(path) as file:
        return numbers_of(path, file.read(columns=requested(path, file.schema_arrow, columns, if_named)))


def read_parquet_with_texts(
    path: Path, columns: Sequence[int | str] | None, texts: Sequence[int | str]
) -> tuple[Table, list[list[str]]]:
    """Numbers and columns of text, as ``read_with_texts`` returns them."""
    with opened(path) as file:
        numeric, text_columns = split_texts(path, file.schema_arrow, columns, texts)
        return numbers_and_texts_of(path, file.read(columns=[*numeric, *text_columns]), numeric, text_columns)


def split_texts(
    path: Path, schema: Any, columns: Sequence[int | str] | None, texts: Sequence[int | str]
) -> tuple[list[str], list[str]]:
    """Names of the columns of numbers and of the columns of text."""
    text_columns = requested(path, schema, texts)
    chosen = requested(path, schema, None if columns is None else [*columns, *texts])
    return without_texts(str(path), chosen, text_columns), text_columns


def numbers_and_texts_of(
    path: Path, table: Any, numeric: list[str], text_columns: list[str]
) -> tuple[Table, list[list[str]]]:
    """Numbers and columns of text of an Arrow table."""
    found = [_texts_of(path, name, table.column(name)) for name in text_columns]
    return numbers_of(path, table.select(numeric)), found


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The file; errors while it is open are reported with its name."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(f"{path}: reading parquet files requires pyarrow: pip install pyarrow.") from error
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path} is truncated, or not a parquet file: {error}.") from error


def requested(
    path: Path, schema: Any, columns: Sequence[int | str] | None = None, if_named: Sequence[str] | None = None
) -> list[str]:
    """Names of the columns to read; all but the index of pandas if none are given."""
    index = _pandas_index(schema.metadata)
    names = [name for name in schema.names if name not in index]
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{path} has {names.count(repeated)} columns called {repeated!r}; rename them.")
    if columns is None and if_named is not None:  # v[0], v[1], … come from the column v of lists
        columns = list(dict.fromkeys(c if c in names else c.rpartition("[")[0] or c for c in if_named))
    if columns is None:
        return names
    return [names[at] for at in column_positions(str(path), columns, names, len(names))]


def numbers_of(path: Path, table: Any) -> Table:
    """The columns of an Arrow table as numbers (n, d), with their names."""
    schema = table.schema
    words = [f"{name} ({schema.field(name).type})" for name in schema.names if not _is_numeric(schema, name)]
    if words:
        raise NotNumericError(
            f"{path}: columns must be numeric; {', '.join(words)} is not. Choose the numeric columns by name."
        )
    parts, found = [], []
    for name in schema.names:
        values = _values(path, name, table.column(name))
        parts.append(values)
        found += [name] if values.shape[1] == 1 else [f"{name}[{at}]" for at in range(values.shape[1])]
    if len(parts) == 1:
        return Table(np.ascontiguousarray(parts[0]), found)
    return Table(np.ascontiguousarray(np.concatenate(parts, axis=1)), found)


def _texts_of(path: Path, name: str, column: Any) -> list[str]:
    """The values of a column as text; an empty string is a missing value."""
    import pyarrow

    try:
        return [text_of(cell) for cell in column.cast(pyarrow.string()).to_pylist()]
    except (pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError) as error:
        raise ValueError(f"{path}: column {name!r} ({column.type}) cannot be read as text.") from error


def _pandas_index(metadata: dict[bytes, bytes] | None) -> set[str]:
    """Columns in which pandas stored the index of a data frame."""
    if not metadata or b"pandas" not in metadata:
        return set()
    columns = json.loads(metadata[b"pandas"]).get("index_columns", [])
    return {name for name in columns if isinstance(name, str)}


def _is_numeric(schema: Any, name: str) -> bool:
    from pyarrow import types

    kind = schema.field(name).type
    if _is_list(kind):
        kind = kind.value_type
    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def _values(path: Path, name: str, column: Any) -> np.ndarray:
    """(n, 1), or (n, length) for lists; float32 if it represents every value of the column's type exactly."""
    count, lists = len(column), _is_list(column.type)
    if lists:
        column = _flattened(path, name, column)
    values = column.to_numpy(zero_copy_only=False) if hasattr(column, "flatten") else column.to_numpy()
    small = values.dtype.itemsize <= 2 or values.dtype == np.float32
    return values.astype(np.float32 if small else np.float64, copy=False).reshape(count, -1 if count else 1)


def _flattened(path: Path, name: str, column: Any) -> Any:
    """The entries of lists of equal length, one list after the other."""
    from pyarrow import compute

    lengths = compute.list_value_length(column)
    ends = compute.min_max(lengths).as_py()
    if column.null_count or ends["min"] != ends["max"]:
        raise ValueError(
            f"{path}: the lists in column {name!r} must all have the same length, and none may be missing."
        )
    return column.combine_chunks().flatten()
