"""Text with separated columns: what separates them, whether the first line has names, and where it goes wrong."""

from __future__ import annotations

import codecs
import csv
import gzip
import sys
import warnings
import zlib
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from pathlib import Path
from typing import TextIO

import numpy as np

from ksums.io.table import Table, places

_SEPARATORS = (",", ";", "\t", "|")
_MISSING = ("", "na", "n/a", "nan", "null", "none", "?")
_OF_WINDOWS = "cp1252"
_PIECE = 1 << 20
_LONGEST_CELL = 1 << 30
_YEARS = range(1900, 2101)


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
    longest = csv.field_size_limit(_LONGEST_CELL)
    try:
        encoding = "utf-8" if path is None else _encoding(path)
        with _opened(path, encoding) as lines:
            table = _table(_Lines(lines), name, separator, columns, if_named, header)
    except (EOFError, zlib.error, gzip.BadGzipFile, UnicodeError, csv.Error) as error:
        raise ValueError(f"{name} is cut off, or no text of columns: {error}.") from error
    finally:
        csv.field_size_limit(longest)
    if encoding == _OF_WINDOWS:
        warnings.warn(f"{name} is not in UTF-8; it was read as {encoding}, the usual one of Windows.", stacklevel=3)
    return table


def _opened(path: Path | None, encoding: str) -> AbstractContextManager[TextIO]:
    if path is None:
        return nullcontext(sys.stdin)
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding=encoding)
    return path.open(encoding=encoding)


def _encoding(path: Path) -> str:
    """UTF-8 unless it is not; UTF-16 if it begins so; else that of Windows, if there is nothing but text."""
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
        begun = file.read(2)
        if begun in (b"\xff\xfe", b"\xfe\xff"):
            return "utf-16"
        decoder = codecs.getincrementaldecoder("utf-8")()
        while piece := begun or file.read(_PIECE):
            begun = b""
            try:
                decoder.decode(piece)
            except UnicodeDecodeError:
                if b"\x00" in piece:
                    raise
                return _OF_WINDOWS
    return "utf-8"


class _Lines:
    """The lines that are not blank, one after the other, and where it is. Lines can be put back.

    Lines of empty cells are left out like blank ones: a spreadsheet may have a tail of them.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines, self._read, self._waiting = iter(lines), 0, deque[tuple[int, str]]()
        self.number, self.line = 0, ""
        self.blank: int | None = None
        """A blank line just before this one,"""
        self.hollow = False
        """and whether it had cells, all empty."""

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        if self._waiting:
            self.number, self.line = self._waiting.popleft()
            return self.line
        self.blank, self.hollow = None, False
        for line in self._lines:
            self._read += 1
            if line.strip(' \r\n"' + "".join(_SEPARATORS)):
                self.number, self.line = self._read, line
                return line
            if not self.hollow:
                self.blank, self.hollow = self._read, bool(line.strip(" \r\n"))
        raise StopIteration

    def put_back(self, *lines: tuple[int, str]) -> None:
        self._waiting.extendleft(reversed(lines))


class _Rows:
    """Lines of as many cells as there should be."""

    def __init__(self, lines: _Lines, name: str, separator: str, width: int) -> None:
        self.lines, self.name, self.separator, self.width = lines, name, separator, width
        self.decimal_comma = separator == ";"  # where a comma separates decimals, it cannot separate columns

    def __iter__(self) -> _Rows:
        return self

    def __next__(self) -> str:
        line = next(self.lines)
        at = self.lines.number
        if self.lines.blank is not None and (self.width == 1 or self.lines.hollow):
            raise ValueError(f"{self.name}, line {self.lines.blank} is empty: fill it in, or leave it out.")
        if line.count('"') % 2:
            raise ValueError(f"{self.name}, line {at}: a cell in quotes goes on in the next line, which is not read.")
        if line.count(self.separator) != self.width - 1:
            count = len(_cells(line, self.separator))
            if count != self.width:
                raise ValueError(f"{self.name}, line {at} has {count} cells; the lines before it have {self.width}.")
        return line.replace(",", ".") if self.decimal_comma else line


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
    if first.lower().startswith("sep=") and len(first.strip()) == 5:  # Excel's way to say it
        separator, first = first.strip()[-1], next(lines, "")
        if not first:
            raise ValueError(f"{name} is empty.")
    place = lines.number
    second = next(lines, None)
    separator = _separator(separator, first, second)
    cells = _cells(first, separator)
    below = None if second is None else _cells(second, separator)
    names = cells if (_are_names(name, separator, cells, below) if header is None else header) else None
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
    if columns is None and names is not None and below is not None and ("", "") in zip(names, below, strict=True):
        chosen = [at for at, pair in enumerate(zip(names, below, strict=True)) if pair != ("", "")]
    rows = _Rows(lines, name, separator, len(cells))
    try:
        X = np.loadtxt(rows, np.float64, delimiter=separator, usecols=chosen, ndmin=2, comments=None, quotechar='"')
    except ValueError as error:
        raise _better(error, lines, name, separator, names, chosen) from error
    if names is not None and chosen is not None:
        names = [names[place] for place in chosen]
    if names is not None and columns is None and names[0] == "" and _counts_the_rows(X[:, 0]):
        warnings.warn(f"{name}: the first column has no name and counts the rows; it is left out.", stacklevel=4)
        X, names = X[:, 1:], names[1:]
    return Table(_narrow(X), names)


def _counts_the_rows(column: np.ndarray) -> bool:
    return column[0] in (0, 1) and np.array_equal(column, np.arange(len(column)) + column[0])


def _cells(line: str, separator: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]


def _separator(usual: str, first: str, second: str | None) -> str:
    """The one that makes as many cells of both lines and numbers of most of these; of equals the usual one."""

    def merits(separator: str) -> tuple[bool, bool, float, bool]:
        cells, below = _cells(first, separator), _cells(first if second is None else second, separator)
        numbers = [_is_number(cell, separator) for cell in below]
        return len(cells) > 1, len(cells) == len(below), sum(numbers) / len(numbers), separator == usual

    return max((usual, *_SEPARATORS), key=merits)


def _are_names(name: str, separator: str, first: list[str], second: list[str] | None) -> bool:
    """Words above numbers are names; words above words may be a column of words, and tell nothing.

    Numbers are names, too, if they are years one after the other, or count the columns from 0 above decimals.
    """
    if second is not None and ((_are_years(first) and not _are_years(second)) or _are_places(first, second)):
        warnings.warn(
            f"{name}: its first line, {', '.join(first)}, is taken to be names (or is it a row? --no-header).",
            stacklevel=6,
        )
        return True
    words = [_is_word(cell, separator) for cell in first]
    if second is None or len(second) != len(first):
        return any(words)
    return all(words) or any(word and not _is_word(below, separator) for word, below in zip(words, second, strict=True))


def _are_years(cells: list[str]) -> bool:
    years = [int(cell) for cell in cells if cell.isdigit() and int(cell) in _YEARS]
    return len(years) == len(cells) > 1 and all(after == before + 1 for before, after in pairwise(years))


def _are_places(cells: list[str], below: list[str]) -> bool:
    counted = cells == [str(at) for at in range(len(cells))] and len(cells) > 2
    return counted and not all(cell.isdigit() for cell in below)


def _is_word(cell: str, separator: str) -> bool:
    return cell.lower() not in _MISSING and not _is_number(cell, separator)


def _is_number(cell: str, separator: str) -> bool:
    """Between semicolons decimals may have a comma."""
    try:
        float(cell.replace(",", ".") if separator == ";" else cell)
    except ValueError:
        return False
    return "_" not in cell


def _better(
    error: ValueError, lines: _Lines, name: str, separator: str, names: list[str] | None, chosen: list[int] | None
) -> ValueError:
    """The error with line, column and cell, if the last line that was read is to blame."""
    if str(error).startswith(name):
        return error  # it is our own
    cells = _cells(lines.line.removeprefix("\ufeff"), separator)
    for place in chosen if chosen is not None else range(len(cells)):
        cell = cells[place] if place < len(cells) else ""
        if _is_number(cell, separator):
            continue
        where = f"{name}, line {lines.number}, column {place if names is None else repr(names[place])}"
        if cell.lower() in _MISSING:
            got = f"holds {cell!r}" if cell else "is empty"
            return ValueError(f"{where} {got}: fill it in, or leave the row out.")
        if _is_number(cell.replace(",", "").replace(".", ""), separator):
            way = "write numbers with a point for decimals and nothing between thousands"
            return ValueError(f"{where}: {cell!r} is no number here; {way}.")
        title = " Or is this line a title, or one of names?" if lines.number == 1 else ""
        return ValueError(f"{where}: {cell!r} is no number. Choose the columns that are numbers.{title}")
    return ValueError(f"{name}: {str(error).rstrip('.')}.")


def _narrow(X: np.ndarray) -> np.ndarray:
    """As float32 where that loses nothing, as with small whole numbers."""
    with np.errstate(over="ignore"):
        narrow = X.astype(np.float32)
    return narrow if np.array_equal(narrow, X, equal_nan=True) else X
