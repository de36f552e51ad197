"""Rows in parts that need not fit into memory: files, arrays, or what a function yields.

A source has parts, and a part can be read some rows at a time. Parts are what the data comes in, so they are the same
on every machine and for any number of workers.
"""

from __future__ import annotations

import glob
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from ksums.io.numpy_files import read_npy
from ksums.io.paths import existing_file
from ksums.io.readers import SUFFIXES, read_table
from ksums.io.row_groups import ArrowGroups, ParquetGroups
from ksums.io.table import column_positions
from ksums.io.vecs import map_vecs

_ARROW = (".arrow", ".feather")


class Part(ABC):
    """Some rows of a source: a file, an array."""

    name: str
    rows: int
    d: int
    dtype: np.dtype[Any]
    columns: list[str] | None = None
    in_memory: bool = False
    """Whether the rows are in memory anyway, so that keeping what was read gains nothing."""

    @abstractmethod
    def read(self, rows: slice) -> np.ndarray:
        """Some of the rows, as a C-ordered array."""

    def read_into(self, room: np.ndarray, rows: slice) -> np.ndarray:
        """The same in the first bytes of ``room``, if the file can be read there: new memory costs time."""
        return self.read(rows)


class Source:
    """Rows in parts.

    Parameters
    ----------
    parts : sequence of Part
        All with the same columns. Parts without rows are allowed.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        filled = [part for part in parts if part.rows]
        if not filled:
            raise ValueError("The source has no rows: it needs at least one file or array with rows.")
        first = filled[0]
        for part in filled:
            if part.d != first.d:
                raise ValueError(f"{part.name} has {part.d} columns, but {first.name} has {first.d}.")
            if part.columns != first.columns:
                raise ValueError(f"{part.name} has other column names than {first.name}.")
        self.parts, self.d, self.columns = list(parts), first.d, first.columns
        wide = any(part.dtype == np.float64 for part in filled)
        self.dtype = np.dtype(np.float64 if wide else np.float32)
        """The arithmetic: float64 if any part is float64, otherwise float32."""

    @property
    def n(self) -> int:
        return sum(part.rows for part in self.parts)

    def __repr__(self) -> str:
        return f"Source({self.n:,} × {self.d} rows in {len(self.parts):,} parts)"


class ArrayPart(Part):
    """An array, in memory or mapped from a file."""

    def __init__(self, X: np.ndarray, name: str, columns: Sequence[int | str] | None = None) -> None:
        if X.ndim != 2 or X.dtype.kind not in "biuf":
            raise ValueError(f"{name} must be an array of numbers (n, d); got shape {X.shape} and dtype {X.dtype}.")
        self.X, self.name, self.rows = X, name, X.shape[0]
        self.chosen = None if columns is None else column_positions(name, columns, None, X.shape[1])
        self.d = X.shape[1] if self.chosen is None else len(self.chosen)
        self.dtype = as_read(X.dtype)
        self.in_memory = not isinstance(X, np.memmap) and self.chosen is None and self.dtype == X.dtype

    def read(self, rows: slice) -> np.ndarray:
        found = self.X[rows] if self.chosen is None else self.X[rows][:, self.chosen]
        if isinstance(found, np.memmap):  # one read of the file, instead of one for each row that is used
            return np.array(found, self.dtype, order="C", subok=False)
        return np.ascontiguousarray(found, self.dtype)


class MappedPart(ArrayPart):
    """A memory map of a file; a process that is handed the part maps the file itself."""

    def __init__(
        self, path: Path, opened: Callable[[Path], np.ndarray], columns: Sequence[int | str] | None = None
    ) -> None:
        super().__init__(opened(path), str(path), columns)
        self._made_of = path, opened, columns

    def __reduce__(self) -> Any:
        return MappedPart, self._made_of, {"name": self.name}


class NpyPart(ArrayPart):
    """An .npy file in C order, read without a memory map, whose pages would count as memory of this process."""

    def __init__(self, path: Path, columns: Sequence[int | str] | None = None) -> None:
        X: Any = read_npy(path)
        super().__init__(X, str(path), columns)
        self.path, self.offset, self.width, self.kind = path, X.offset, X.shape[1], X.dtype
        self.X = np.empty((0, X.shape[1]), X.dtype)

    def read_into(self, room: np.ndarray, rows: slice) -> np.ndarray:
        size, start = self.width * self.kind.itemsize, self.offset + rows.start * self.width * self.kind.itemsize
        count = (rows.stop - rows.start) * size
        if len(room) < count:
            return self.read(rows)
        with self.path.open("rb", buffering=0) as file:
            file.seek(start)
            filled = 0
            while filled < count:
                more = file.readinto(room[filled:count].data)
                if not more:
                    raise ValueError(f"{self.name} has become shorter since it was opened.")
                filled += more
        found = room[:count].view(self.kind).reshape(-1, self.width)
        return np.ascontiguousarray(found if self.chosen is None else found[:, self.chosen], self.dtype)

    def read(self, rows: slice) -> np.ndarray:
        return self.read_into(np.empty((rows.stop - rows.start) * self.width * self.kind.itemsize, np.uint8), rows)


class _Last:
    """What was last read of a file that is not read row by row: neighbouring blocks may share it.

    There is one for all files of a process, so that it never takes more memory than one of them.
    """

    def __init__(self) -> None:
        self._held: tuple[tuple[str, int], np.ndarray] | None = None

    def get(self, key: tuple[str, int], read: Callable[[], np.ndarray]) -> np.ndarray:
        held = self._held
        if held is None or held[0] != key:
            held = self._held = None  # before the next one is read, so that there are never two
            held = self._held = key, read()
        return held[1]


_LAST = _Last()


class GroupedPart(Part):
    """A parquet or Arrow file, read one row group at a time."""

    def __init__(self, groups: ParquetGroups | ArrowGroups) -> None:
        self.groups, self.name = groups, str(groups.path)
        self.rows, self.starts = int(groups.lengths.sum()), np.append(0, np.cumsum(groups.lengths))
        self.d, self.dtype, self.columns = groups.width, groups.dtype, groups.names
        self._key = uuid4().hex

    def read(self, rows: slice) -> np.ndarray:
        first = int(np.searchsorted(self.starts, rows.start, "right")) - 1
        found = np.empty((rows.stop - rows.start, self.d), self.dtype)
        at = rows.start
        while at < rows.stop:
            group, begin = self._group(first), int(self.starts[first])
            if group.shape[1] != self.d:
                raise ValueError(f"{self.name} has rows of {self.d} and of {group.shape[1]} numbers.")
            until = min(rows.stop, int(self.starts[first + 1]))
            found[at - rows.start : until - rows.start] = group[at - begin : until - begin]
            at, first = until, first + 1
        return found

    def _group(self, number: int) -> np.ndarray:
        return _LAST.get((self._key, number), lambda: self.groups.read(number))


class WholePart(Part):
    """A file of a format that can only be read as a whole."""

    def __init__(self, path: Path, columns: Sequence[int | str] | None, if_named: Sequence[str] | None) -> None:
        self.path, self.name, self.chosen, self.if_named = path, str(path), columns, if_named
        X, self.columns, *_ = read_table(path, columns, if_named=if_named)
        if not isinstance(X, np.ndarray):
            raise ValueError(f"{path} holds sparse rows; files that are read in parts must hold dense rows.")
        self.rows, self.d, self.dtype, self._key = X.shape[0], X.shape[1], as_read(X.dtype), uuid4().hex

    def read(self, rows: slice) -> np.ndarray:
        X = _LAST.get((self._key, 0), lambda: read_table(self.path, self.chosen, if_named=self.if_named).X)
        return np.array(X[rows], self.dtype, order="C")


class _Yielded:
    """Arrays that a function yields, over and over, always in the same order."""

    def __init__(self, function: Callable[[], Iterable[Any]]) -> None:
        self.function = function
        self.iterator: Iterator[Any] = iter(())
        self.next = 0
        self.last: np.ndarray | None = None

    def array(self, number: int) -> np.ndarray:
        if number == self.next - 1 and self.last is not None:
            return self.last
        if number < self.next or not self.next:
            self.iterator, self.next = iter(self.function()), 0
        while self.next <= number:
            found = next(self.iterator, None)
            if found is None:
                raise ValueError(
                    f"the function yielded {self.next} arrays, but more before; it must yield the same arrays each "
                    "time it is called."
                )
            self.last, self.next = np.asarray(found), self.next + 1
        assert self.last is not None
        return self.last


class YieldedPart(ArrayPart):
    """The array that a function yields at one place."""

    def __init__(self, yielded: _Yielded, number: int, X: np.ndarray) -> None:
        super().__init__(X, f"array {number} of the function")
        self.X, self.shape, self.in_memory = np.empty((0, X.shape[1]), X.dtype), X.shape, False
        self.yielded, self.number = yielded, number

    def read(self, rows: slice) -> np.ndarray:
        X = self.yielded.array(self.number)
        if X.shape != self.shape:
            raise ValueError(
                f"{self.name} has shape {X.shape}, but had {self.shape} before; the function must yield the same "
                "arrays each time it is called."
            )
        return np.array(X[rows], self.dtype, order="C")  # the function may use its array again


def as_read(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which rows are handed on: narrow types as they are, wide integers as float64."""
    dtype = dtype.newbyteorder("=")
    narrow = dtype.kind in "biu" and dtype.itemsize <= 2
    return dtype if narrow or dtype in (np.float16, np.float32, np.float64) else np.dtype(np.float64)


def is_source(X: Any) -> bool:
    """Whether this is a source, or something that ``open_source`` makes one of, and not a single array."""
    if isinstance(X, (str, Path, Source)):
        return True
    if isinstance(X, (list, tuple)) and X:
        return all(isinstance(part, (str, Path)) for part in X) or all(
            isinstance(part, np.ndarray) and part.ndim == 2 for part in X
        )
    return callable(X) and not hasattr(X, "__array__") and not hasattr(X, "shape") and not isinstance(X, type)


def open_source(
    data: Any, columns: Sequence[int | str] | None = None, *, if_named: Sequence[str] | None = None
) -> Source:
    """Rows in parts.

    Parameters
    ----------
    data : Source, str, Path, callable, or list of str, Path or arrays
        The name of a file, a folder or a pattern such as ``"vectors/*.parquet"``; several of them; arrays of shape
        (n, d); or a function that yields such arrays, always the same, each time it is called. Files are read in the
        order of their names.
    columns : sequence of int or str, default=None
        Columns to read, by name or by number from 0; all if None. Files without names accept numbers only.
    if_named : sequence of str, default=None
        Columns to read if ``columns`` is None and the files have names.

    Returns
    -------
    Source
    """
    if isinstance(data, Source):
        return data
    if isinstance(data, (str, Path)):
        return Source([_file_part(path, columns, if_named) for path in _files(str(data))])
    if callable(data):
        yielded = _Yielded(data)
        return Source([YieldedPart(yielded, at, np.asarray(X)) for at, X in enumerate(data())])
    if all(isinstance(part, (str, Path)) for part in data):
        return Source([_file_part(path, columns, if_named) for part in data for path in _files(str(part))])
    return Source([ArrayPart(np.asarray(X), f"array {at}", columns) for at, X in enumerate(data)])


def _files(pattern: str) -> list[Path]:
    path = Path(pattern)
    if path.is_dir():
        found = [file for file in path.iterdir() if file.suffix.lower() in SUFFIXES and not file.name.startswith(".")]
        if not found:
            raise FileNotFoundError(f"{path} has no files that can be read ({', '.join(SUFFIXES)}).")
        return sorted(found)
    if path.exists() or not glob.has_magic(pattern):
        return [existing_file(path)]
    matches = sorted(Path(match) for match in glob.glob(pattern, recursive=True) if Path(match).is_file())
    if not matches:
        raise FileNotFoundError(f"No file matches {pattern}.")
    return matches


def _file_part(path: Path, columns: Sequence[int | str] | None, if_named: Sequence[str] | None) -> Part:
    """The part of a file. It goes by the name it was given, and is found from any folder."""
    part = _part_of(path.absolute(), columns, if_named)
    part.name = str(path)
    return part


def _part_of(path: Path, columns: Sequence[int | str] | None, if_named: Sequence[str] | None) -> Part:
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return NpyPart(path, columns) if read_npy(path).flags.c_contiguous else MappedPart(path, read_npy, columns)
    if suffix in (".fvecs", ".bvecs", ".ivecs"):
        return MappedPart(path, map_vecs, columns)
    if suffix == ".parquet":
        return GroupedPart(ParquetGroups(path, columns, if_named))
    if suffix in _ARROW:
        return GroupedPart(ArrowGroups(path, columns, if_named))
    return WholePart(path, columns, if_named)
