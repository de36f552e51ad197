"""Tables in parquet, and the sparse rows of svmlight."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ksums.io.table import Table, places


def read_parquet(
    path: Path, columns: Sequence[int | str] | None = None, if_named: Sequence[str] | None = None
) -> Table:
    """Numbers (n, d) of a parquet file; a column of lists, all of the same length, is as many columns."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(f"{path}: parquet files are read with pyarrow: pip install pyarrow.") from error
    try:
        with parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
            index = _index_of_pandas(schema.metadata)
            names = [name for name in schema.names if name not in index]
            if len(set(names)) < len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise ValueError(f"{path} has {names.count(twice)} columns called {twice!r}; give them other names.")
            if columns is None and if_named is not None:  # v[0], v[1], … are of the column v of lists
                columns = list(dict.fromkeys(c if c in names else c.rpartition("[")[0] or c for c in if_named))
            chosen = names if columns is None else [names[at] for at in places(str(path), columns, names, len(names))]
            table = file.read(columns=chosen)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path} is cut off, or no parquet file: {error}.") from error
    parts, found = [], []
    wrong = [f"{name} ({table.schema.field(name).type})" for name in chosen if not _is_numeric(table.schema, name)]
    if wrong:
        raise ValueError(f"{path}: columns of numbers are needed; {', '.join(wrong)} is none. Choose others by name.")
    for name in chosen:
        values = _values(path, name, table.column(name))
        parts.append(values)
        found += [name] if values.shape[1] == 1 else [f"{name}[{at}]" for at in range(values.shape[1])]
    return Table(np.ascontiguousarray(np.concatenate(parts, axis=1)), found)


def _index_of_pandas(metadata: dict[bytes, bytes] | None) -> set[str]:
    """Columns in which pandas has kept the index of a frame."""
    if not metadata or b"pandas" not in metadata:
        return set()
    kept = json.loads(metadata[b"pandas"]).get("index_columns", [])
    return {name for name in kept if isinstance(name, str)}


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
    """(n, 1) or, of lists, (n, length); as float32 where that holds every value of the type."""
    count = len(column)
    if _is_list(column.type):
        lengths = {None if item is None else len(item) for item in column}
        if len(lengths) != 1 or None in lengths:
            raise ValueError(f"{path}: the lists in column {name!r} must be of the same length, and none missing.")
        column = column.combine_chunks().flatten()
    values = column.to_numpy(zero_copy_only=False) if hasattr(column, "flatten") else column.to_numpy()
    small = values.dtype.itemsize <= 2 or values.dtype == np.float32
    return values.astype(np.float32 if small else np.float64).reshape(count, -1)


def read_svmlight(path: Path, width: int | None = None) -> sparse.csr_array:
    """Sparse rows of an svmlight file, ``width`` columns of them if that is said."""
    from sklearn.datasets import load_svmlight_file

    try:
        return sparse.csr_array(load_svmlight_file(path, n_features=width)[0])
    except ValueError as error:
        raise ValueError(f"{path} is no svmlight file of these columns: {str(error).rstrip('.')}.") from error
