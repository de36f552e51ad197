"""Text files with separated columns, such as CSV: finds separator, encoding and header, and says where errors are."""

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

from ksums.io.table import MISSING, Table, column_positions, text_of, without_texts

_SEPARATORS = (",", ";", "\t", "|")
"""Characters that are tried as separators of columns."""

_WINDOWS = "cp1252"
"""Spreadsheets on Windows may still write this encoding, so it is tried if a file is not UTF-8."""

_CHUNK = 1 << 20
"""Bytes that are read at a time to find the encoding, so that a large file does not fill the memory."""

_MAX_CELL = 1 << 30
"""Python's csv module refuses cells longer than 131,072 characters by default; texts can be longer."""

_YEARS = range(1900, 2101)
"""Consecutive numbers in this range are read as years, which can be column names."""


def read_delimited(
    path: Path | None,
    separator: str = ",",
    columns: Sequence[int | str] | None = None,
    *,
    if_named: Sequence[str] | None = None,
    header: bool | None = None,
) -> Table:
    """Numbers (n, d) of a text file, or of standard input if ``path`` is None. See ``read_table``."""
    return _read_file(path, separator, columns, if_named, header, ())[0]


def read_delimited_with_texts(
    path: Path | None,
    separator: str,
    columns: Sequence[int | str] | None,
    texts: Sequence[int | str],
    *,
    header: bool | None = None,
) -> tuple[Table, list[list[str]]]:
    """Numbers and columns of text, as ``read_with_texts`` returns them."""
    return _read_file(path, separator, columns, None, header, texts)


def _read_file(
    path: Path | None,
    separator: str,
    columns: Sequence[int | str] | None,
    if_named: Sequence[str] | None,
    header: bool | None,
    texts: Sequence[int | str],
) -> tuple[Table, list[list[str]]]:
    name = "standard input" if path is None else str(path)
    previous_limit = csv.field_size_limit(_MAX_CELL)
    try:
        encoding = "utf-8" if path is None else _find_encoding(path)
        with _opened(path, encoding) as lines:
            found = _read(_Lines(lines), name, separator, columns, if_named, header, texts)
    except (EOFError, zlib.error, gzip.BadGzipFile, UnicodeError, csv.Error) as error:
        raise ValueError(f"{name} is truncated, or not a text file with columns: {error}.") from error
    finally:
        csv.field_size_limit(previous_limit)
    if encoding == _WINDOWS:
        warnings.warn(f"{name} is not UTF-8; it was read as {encoding}, which is usual on Windows.", stacklevel=4)
    return found


def _opened(path: Path | None, encoding: str) -> AbstractContextManager[TextIO]:
    if path is None:
        return nullcontext(sys.stdin)
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding=encoding)
    return path.open(encoding=encoding)


def _find_encoding(path: Path) -> str:
    """UTF-16 if the file starts with its mark, UTF-8 if all bytes are valid, otherwise the encoding of Windows."""
    with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
        chunk = file.read(2)
        if chunk in (b"\xff\xfe", b"\xfe\xff"):
            return "utf-16"
        decoder = codecs.getincrementaldecoder("utf-8")()
        while chunk:
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                if b"\x00" in chunk:  # text has no zero bytes
                    raise
                return _WINDOWS
            chunk = file.read(_CHUNK)
    return "utf-8"


class _Lines:
    """Iterates over the lines that are not blank, and knows the number of the current one. Lines can be put back.

    A line whose cells are all empty counts as blank: a spreadsheet may end with many of them.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines, self._read, self._put_back = iter(lines), 0, deque[tuple[int, str]]()
        self.number, self.line = 0, ""
        self.blank: int | None = None
        """Number of a blank line directly before the current one."""
        self.blank_has_cells = False
        """Whether that line has cells, all of them empty."""

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        if self._put_back:
            self.number, self.line = self._put_back.popleft()
            return self.line
        self.blank, self.blank_has_cells = None, False
        for line in self._lines:
            self._read += 1
            if line.strip(' \r\n"' + "".join(_SEPARATORS)):
                self.number, self.line = self._read, line
                return line
            if not self.blank_has_cells:
                self.blank, self.blank_has_cells = self._read, bool(line.strip(" \r\n"))
        raise StopIteration

    def put_back(self, *lines: tuple[int, str]) -> None:
        self._put_back.extendleft(reversed(lines))


class _Rows:
    """Iterates over lines, checks that each has as many cells as there are columns, and keeps the texts of some."""

    def __init__(self, lines: _Lines, name: str, separator: str, width: int, text_columns: Sequence[int]) -> None:
        self.lines, self.name, self.separator, self.width = lines, name, separator, width
        self.text_columns = text_columns
        self.texts: list[list[str]] = [[] for _ in text_columns]
        self.decimal_comma = separator == ";"  # between semicolons a comma can only be a decimal comma

    def __iter__(self) -> _Rows:
        return self

    def __next__(self) -> str:
        line = next(self.lines)
        where = f"{self.name}, line {self.lines.number}"
        if self.lines.blank is not None and (self.width == 1 or self.lines.blank_has_cells):
            raise ValueError(f"{self.name}, line {self.lines.blank} is empty: fill it in, or delete it.")
        if line.count('"') % 2:
            raise ValueError(f"{where}: a quoted cell continues on the next line, which is not supported.")
        if line.count(self.separator) != self.width - 1:
            count = len(_cells(line, self.separator))
            if count != self.width:
                raise ValueError(f"{where} has {count} cells; the lines before it have {self.width}.")
        if self.text_columns:
            cells = _cells(line, self.separator)
            for column, text in zip(self.text_columns, self.texts, strict=True):
                text.append(text_of(cells[column]))
        return line.replace(",", ".") if self.decimal_comma else line


def _read(
    lines: _Lines,
    name: str,
    separator: str,
    columns: Sequence[int | str] | None,
    if_named: Sequence[str] | None,
    header: bool | None,
    texts: Sequence[int | str],
) -> tuple[Table, list[list[str]]]:
    first = next(lines, "").removeprefix("\ufeff")  # Excel starts its files with a byte order mark
    if first.lower().startswith("sep=") and len(first.strip()) == 5:  # Excel states the separator like this
        separator, first = first.strip()[-1], next(lines, "")
    if not first:
        raise ValueError(f"{name} is empty.")
    first_number = lines.number
    second = next(lines, None)
    separator = _find_separator(separator, first, second)
    cells = _cells(first, separator)
    below = None if second is None else _cells(second, separator)
    names = cells if (_are_names(name, separator, cells, below) if header is None else header) else None
    if second is not None:
        lines.put_back((lines.number, second))
    if names is None:
        lines.put_back((first_number, first))
    elif below is None:
        raise ValueError(f"{name} has a header, but no rows.")
    elif len(below) != len(names):
        raise ValueError(f"{name}: the header has {len(names)} names, but the next line has {len(below)} cells.")
    if texts and names is None:
        raise ValueError(
            f"{name} has no column names, so there is no column {texts[0]!r}; if the first line has names, use "
            "header=True (--header)."
        )
    if columns is None and names is not None:
        columns = if_named
    text_columns = column_positions(name, texts, names, len(cells))
    chosen = None if columns is None else column_positions(name, [*columns, *texts], names, len(cells))
    if columns is None and names is not None and below is not None and ("", "") in zip(names, below, strict=True):
        chosen = [at for at, pair in enumerate(zip(names, below, strict=True)) if pair != ("", "")]
    if text_columns:
        chosen = without_texts(name, range(len(cells)) if chosen is None else chosen, text_columns)
    rows = _Rows(lines, name, separator, len(cells), text_columns)
    try:
        X = np.loadtxt(rows, np.float64, delimiter=separator, usecols=chosen, ndmin=2, comments=None, quotechar='"')
    except ValueError as error:
        raise _located(error, lines, name, separator, names, chosen) from error
    if names is not None and chosen is not None:
        names = [names[at] for at in chosen]
    if names is not None and columns is None and names[0] == "" and _counts_rows(X[:, 0]):
        warnings.warn(f"{name}: the first column has no name and only counts the rows; it is ignored.", stacklevel=5)
        X, names = X[:, 1:], names[1:]
    return Table(_as_float32_if_exact(X), names), rows.texts


def _counts_rows(column: np.ndarray) -> bool:
    return column[0] in (0, 1) and np.array_equal(column, np.arange(len(column)) + column[0])


def _cells(line: str, separator: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]


def _find_separator(default: str, first: str, second: str | None) -> str:
    """The separator that gives both lines the same number of cells and the most numbers; the default breaks ties."""

    def merit(separator: str) -> tuple[bool, bool, float, bool]:
        cells, below = _cells(first, separator), _cells(first if second is None else second, separator)
        numbers = [_is_number(cell, separator) for cell in below]
        return len(cells) > 1, len(cells) == len(below), sum(numbers) / len(numbers), separator == default

    return max((default, *_SEPARATORS), key=merit)


def _are_names(name: str, separator: str, first: list[str], second: list[str] | None) -> bool:
    """Whether the first line is a header: it has words above numbers. A word above a word decides nothing.

    Numbers can be names, too: consecutive years, or the numbers of the columns above decimals.
    """
    if second is not None and ((_are_years(first) and not _are_years(second)) or _are_positions(first, second)):
        warnings.warn(
            f"{name}: the first line, {', '.join(first)}, is read as column names; if it is a row, use header=False "
            "(--no-header).",
            stacklevel=7,
        )
        return True
    words = [_is_word(cell, separator) for cell in first]
    if second is None or len(second) != len(first):
        return any(words)
    return all(words) or any(word and not _is_word(below, separator) for word, below in zip(words, second, strict=True))


def _are_years(cells: list[str]) -> bool:
    years = [int(cell) for cell in cells if cell.isdigit() and int(cell) in _YEARS]
    return len(years) == len(cells) > 1 and all(after == before + 1 for before, after in pairwise(years))


def _are_positions(cells: list[str], below: list[str]) -> bool:
    counts_up = cells == [str(at) for at in range(len(cells))] and len(cells) > 2
    return counts_up and not all(cell.isdigit() for cell in below)


def _is_word(cell: str, separator: str) -> bool:
    return cell.lower() not in MISSING and not _is_number(cell, separator)


def _is_number(cell: str, separator: str) -> bool:
    """Whether a cell is a number; between semicolons it may have a decimal comma."""
    try:
        float(cell.replace(",", ".") if separator == ";" else cell)
    except ValueError:
        return False
    return "_" not in cell


def _located(
    error: ValueError, lines: _Lines, name: str, separator: str, names: list[str] | None, chosen: list[int] | None
) -> ValueError:
    """The same error with line, column and cell, if the line that was read last has a bad cell."""
    if str(error).startswith(name):
        return error  # one of ours, which states the line already
    cells = _cells(lines.line.removeprefix("\ufeff"), separator)
    for column in chosen if chosen is not None else range(len(cells)):
        cell = cells[column] if column < len(cells) else ""
        if _is_number(cell, separator):
            continue
        where = f"{name}, line {lines.number}, column {column if names is None else repr(names[column])}"
        if cell.lower() in MISSING:
            problem = f"has the value {cell!r}" if cell else "is empty"
            return ValueError(f"{where} {problem}: fill it in, or delete the row.")
        if _is_number(cell.replace(",", "").replace(".", ""), separator):
            advice = "write numbers with a decimal point and without thousands separators"
            return ValueError(f"{where}: {cell!r} is not a number here; {advice}.")
        advice = "choose the numeric columns"
        if lines.number == 1:
            advice += "; if this line is a title, delete it; if it is a header, use header=True (--header)"
        return ValueError(f"{where}: {cell!r} is not a number; {advice}.")
    return ValueError(f"{name}: {str(error).rstrip('.')}.")


def _as_float32_if_exact(X: np.ndarray) -> np.ndarray:
    """X as float32 if that changes no value, as for small integers."""
    with np.errstate(over="ignore"):
        narrow = X.astype(np.float32)
    return narrow if np.array_equal(narrow, X, equal_nan=True) else X
