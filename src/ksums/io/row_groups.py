"""Parquet and Arrow files, read one row group (or record batch) at a time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ksums.io.parquet import numbers_of, opened, requested


class ParquetGroups:
    """The row groups of a parquet file."""

    def __init__(
        self, path: Path, columns: Sequence[int | str] | None = None, if_named: Sequence[str] | None = None
    ) -> None:
        self.path = path
        with opened(path) as file:
            self.chosen = requested(path, file.schema_arrow, columns, if_named)
            about = file.metadata
            self.lengths = np.array([about.row_group(at).num_rows for at in range(about.num_row_groups)], np.int64)
            first = file.schema_arrow.empty_table().select(self.chosen)
            for batch in islice(file.iter_batches(batch_size=1, columns=self.chosen), 1):
                first = type(first).from_batches([batch]).select(self.chosen)
        table = numbers_of(path, first)
        self.names, self.width, self.dtype = table.columns, table.X.shape[1], table.X.dtype

    def read(self, number: int) -> np.ndarray:
        """The rows of a group."""
        return self._table(number).X

    def _table(self, number: int) -> Any:
        with opened(self.path) as file:
            return numbers_of(self.path, file.read_row_group(number, columns=self.chosen))


class ArrowGroups:
    """The record batches of an Arrow (Feather) file."""

    def __init__(
        self, path: Path, columns: Sequence[int | str] | None = None, if_named: Sequence[str] | None = None
    ) -> None:
        self.path = path
        with self._opened() as file:
            self.chosen = requested(path, file.schema, columns, if_named)
            counts = [file.get_batch(at).num_rows for at in range(file.num_record_batches)]
            first = file.schema.empty_table().select(self.chosen)
            if counts:
                first = type(first).from_batches([file.get_batch(0)]).select(self.chosen).slice(0, 1)
        self.lengths = np.array(counts, np.int64)
        table = numbers_of(path, first)
        self.names, self.width, self.dtype = table.columns, table.X.shape[1], table.X.dtype

    def read(self, number: int) -> np.ndarray:
        """The rows of a batch."""
        return self._table(number).X

    def _table(self, number: int) -> Any:
        import pyarrow

        with self._opened() as file:
            table = pyarrow.Table.from_batches([file.get_batch(number)]).select(self.chosen)
            return numbers_of(self.path, table)

    def _opened(self) -> Any:
        try:
            import pyarrow
            from pyarrow import ipc
        except ImportError as error:
            raise ImportError(f"{self.path}: reading Arrow files requires pyarrow: pip install pyarrow.") from error
        try:
            return ipc.open_file(pyarrow.memory_map(str(self.path)))
        except pyarrow.ArrowInvalid as error:
            raise ValueError(f"{self.path} is truncated, or not an Arrow file: {error}.") from error
