"""Text with separated columns: what separates them, whether the first line has names, and where it goes wrong."""

from __future__ import annotations

import csv
import gzip
import sys
import zlib
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TextIO

import numpy as np

from ksums.io.table import Table, places

_SEPARATORS = (",", ";", "\t", "|")
_MISSING = ("", "na", "n/a", "nan", "null", "none", "?")


def read_separated(
    path: Path | None,
    separator: str = ",",
    columns: Sequence[int | str] | None = None,
    *,
    if_named: Sequence[str] | None = None,
    header: bool | None = None,
) -> Table:
    """Numbers (n, d) of a text; of what comes in at standard input, if there is no path. See ``read_table``."""
    name = "standard input" if path is None else str(path)
    try:
        with _opened(path) as lines:
            return _table(_Lines(lines), name, separator, columns, if_named, header)
    except (EOFError, zlib.error, gzip.BadGzipFile, UnicodeDecodeError) as error:
        raise ValueError(f"{name} is cut off, or no text of columns: {error}.") from error


def _opened(path: Path | None) -> AbstractContextManager[TextIO]:
    if path is None:
        return nullcontext(sys.stdin)
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


class _Lines:
    """The lines that are not blank, one after the other, and where it is. Lines can be put back."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines, self._read, self._waiting = iter(lines), 0, deque[tuple[int, str]]()
        self.number, self.line = 0, ""
        self.blank: int | None = None
        """The last line before this one, if it was blank."""

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        if self._waiting:
            self.number, self.line = self._waiting.popleft()
            return self.line
        self.blank = None
        for line in self._lines:
            self._read += 1
            if line.strip(" \r\n"):
                self.number, self.line = self._read, line
                return line
            self.blank = self._read
        raise StopIteration

    def put_back(self, *lines: tuple[int, str]) -> None:
        self._waiting.extendleft(reversed(lines))


class _Rows:
    """Lines of as many cells as there should be."""

    def __init__(self, lines: _Lines, name: str, separator: str, width: int) -> None:
        self.lines, self.name, self.separator, self.width = lines, name, separator, width

    def __iter__(self) -> _Rows:
        return self

    def __next__(self) -> str:
        line = next(self.lines)
        at = self.lines.number
        if self.width == 1 and self.lines.blank is not None:
            raise ValueError(f"{self.name}, line {self.lines.blank} is empty: fill it in, or leave it out.")
        if line.count(self.separator) != self.width - 1:
            count = len(_cells(line, self.separator))
            if count != self.width:
                raise ValueError(f"{self.name}, line {at} has {count} cells; the lines before it have {self.width}.")
        return line


def _table(
    lines: _Lines,
    name: str,
    separator: str,
    columns: Sequence[int | str] | None,
    if_named: Sequence[str] | None,
    header: bool | None,
) -> Table:
    first = next(lines, "").removeprefix("\ufeff")  # Excel begins its files with this sign
    if not first:
        raise ValueError(f"{name} is empty.")
    place = lines.number
    separator = _separator(first, separator)
    cells = _cells(first, separator)
    second = next(lines, None)
    below = None if second is None else _cells(second, separator)
    names = cells if (_are_names(cells, below) if header is None else header) else None
    if second is not None:
        lines.put_back((lines.number, second))
    if names is None:
        lines.put_back((place, first))
    elif below is None:
        raise ValueError(f"{name} has names, but no rows.")
    elif len(below) != len(names):
        raise ValueError(f"{name}: its first line has {len(names)} names, the next line {len(below)} cells.")
    if columns is None and names is not None:
        columns = if_named
    chosen = None if columns is None else places(name, columns, names, len(cells))
    rows = _Rows(lines, name, separator, len(cells))
    try:
        X = np.loadtxt(rows, np.float64, delimiter=separator, usecols=chosen, ndmin=2, comments=None, quotechar='"')
    except ValueError as error:
        raise _better(error, lines, name, separator, names, chosen) from error
    if names is not None and chosen is not None:
        names = [names[place] for place in chosen]
    return Table(_narrow(X), names)


def _cells(line: str, separator: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]


def _separator(line: str, usual: str) -> str:
    """The usual one if there is any in the line, else the one that makes most cells of it."""
    if len(_cells(line, usual)) > 1:
        return usual
    return max((usual, *_SEPARATORS), key=lambda separator: len(_cells(line, separator)))


def _are_names(first: list[str], second: list[str] | None) -> bool:
    """Words above numbers are names; words above words may be a column of words, and tell nothing."""
    words = [_is_word(cell) for cell in first]
    if second is None or len(second) != len(first):
        return any(words)
    return all(words) or any(word and not _is_word(below) for word, below in zip(words, second, strict=True))


def _is_word(cell: str) -> bool:
    return cell.lower() not in _MISSING and not _is_number(cell)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _better(
    error: ValueError, lines: _Lines, name: str, separator: str, names: list[str] | None, chosen: list[int] | None
) -> ValueError:
    """The error with line, column and cell, if the last line that was read is to blame."""
    cells = _cells(lines.line.removeprefix("\ufeff"), separator)
    for place in chosen if chosen is not None else range(len(cells)):
        cell = cells[place] if place < len(cells) else ""
        if _is_number(cell):
            continue
        where = f"{name}, line {lines.number}, column {place if names is None else repr(names[place])}"
        if cell.lower() in _MISSING:
            got = f"holds {cell!r}" if cell else "is empty"
            return ValueError(f"{where} {got}: fill it in, or leave the row out.")
        if separator != "," and _is_number(cell.replace(",", ".", 1)):
            return ValueError(f"{where}: {cell!r} has a comma for a point; numbers like {cell.replace(',', '.', 1)}.")
        return ValueError(f"{where}: {cell!r} is no number. Choose the columns that are numbers.")
    return ValueError(f"{name}: {str(error).rstrip('.')}.") if name not in str(error) else error


def _narrow(X: np.ndarray) -> np.ndarray:
    """As float32 where that loses nothing, as with small whole numbers."""
    with np.errstate(over="ignore"):
        narrow = X.astype(np.float32)
    return narrow if np.array_equal(narrow, X, equal_nan=True) else X
