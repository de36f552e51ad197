"""How a text file with columns is laid out: its separator, its header, and the line of its first row."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice, pairwise
from typing import NamedTuple

from ksums.io.patterns import number
from ksums.io.table import MISSING
from ksums.io.text_streams import TextFile

_SEPARATORS = (",", ";", "\t", "|")
"""Characters that are tried as separators of columns."""

_MAX_CELL = 1 << 30
"""Python's csv module refuses cells longer than 131,072 characters by default; texts can be longer."""

_FRONT = 1000
"""Lines in which the header and the first row must end; a quote that is never closed would take the whole file."""

_YEARS = range(1900, 2101)
"""Consecutive numbers in this range are read as years, which can be column names."""


_NUMBERS = [re.compile(number(decimal), re.ASCII | re.IGNORECASE) for decimal in ".,"]
"""Numbers with either decimal sign: which of them the file uses is decided later."""


class Layout(NamedTuple):
    """What must be known of a text file before its rows are read."""

    separator: str
    names: list[str] | None
    """Names of the columns, if the file has any."""
    first_row: list[str]
    """Cells of the first row."""
    first_line: int
    """Line of the first row, from 1."""

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.first_row)

    def label(self, column: int) -> str:
        """A column as error messages state it."""
        return str(column) if self.names is None else repr(self.names[column])


class _Record(NamedTuple):
    """A header or a row, which can span several lines."""

    line: int
    cells: list[str]


def find_layout(file: TextFile, default: str, header: bool | None) -> Layout:
    """The layout of a file.

    Parameters
    ----------
    file : TextFile
    default : str
        Separator that the suffix of the file suggests.
    header : bool or None
        Whether the first line holds column names. If None, it does when it has words above numbers.
    """
    with file.errors_named(), file.opened() as stream:
        lines = [line.decode() for line in islice(stream, _FRONT)]
    stated = _stated_separator(next((line for line in lines if not _is_blank([line])), ""))
    candidates: tuple[str, ...] = (default, *_SEPARATORS)
    if stated is not None:
        candidates = (stated,)
        at = next(at for at, line in enumerate(lines) if not _is_blank([line]))
        lines[at] = "\n"  # the lines after it keep their numbers
    with long_cells():
        found = {separator: list(islice(_records(lines, separator), 3)) for separator in candidates}
    if not any(found.values()):
        raise ValueError(f"{file.name} is empty.")
    separator = max(candidates, key=lambda candidate: _merit(candidate, found[candidate][:2], default))
    if header is None:
        splits = any(len(records[0].cells) > 1 for records in found.values())
        for records in [found[separator]] if splits else found.values():  # a title may hide what the separator is
            refuse_title(file.name, [f"line {record.line}" for record in records], [record.cells for record in records])
    first, *following = found[separator][:2]
    below = following[0] if following else None
    named, note = are_names(first.cells, below.cells if below else None) if header is None else (header, "")
    if note:
        file.notes.append(f"{file.name}: {note}")
    if not named:
        return Layout(separator, None, first.cells, first.line)
    if below is None:
        raise ValueError(f"{file.name} has a header, but no rows.")
    if len(below.cells) != len(first.cells):
        raise ValueError(
            f"{file.name}: the header has {len(first.cells)} names, but the next line has {len(below.cells)} cells."
        )
    names, note = unique_names(first.cells)
    if note:
        file.notes.append(f"{file.name}: {note}")
    return Layout(separator, names, below.cells, below.line)


def refuse_title(file: str, places: list[str], records: list[list[str]]) -> None:
    """Refuse a first line with a single cell above lines with several: a title, which would be taken for names."""
    filled = [sum(cell != "" for cell in cells) for cells in records]
    if len(records) < 3 or filled[0] != 1 or min(filled[1:]) < 2 or len(records[1]) != len(records[2]):
        return
    (cell,) = (cell for cell in records[0] if cell)
    has_index = not records[0][0] and filled[1] == 2  # a column without a name, as pandas writes it, and another
    if _is_word(cell) and not has_index:
        raise ValueError(
            f"{file}, {places[0]} has a single cell, {cell[:60]!r}, above lines with {len(records[1])} cells: if it is "
            "a title, delete it; otherwise fill the line in, or use header=True or False (--header, --no-header)."
        )


def unique_names(names: list[str]) -> tuple[list[str], str]:
    """Names of which the second that is called a is called "a (2)", and a note that says so."""
    taken, used = set(names), set[str]()
    found, renamed = [], []
    for name in names:
        times, own = 1, name
        while name and (own in used or (times > 1 and own in taken)):
            times += 1
            own = f"{name} ({times})"
        renamed += [own] if own != name else []
        found.append(own)
        used.add(own)
    note = f"several columns have the same name; they are called {', '.join(renamed)}." if renamed else ""
    return found, note


def rows_as_text(file: TextFile, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Line and cells of each row: a slow second reading, which finds the place of an error.

    Rows are counted as ``ksums.io.cells`` counts them. Blank lines are left out, unless there is only one column.
    """
    with file.opened(layout.first_line - 1) as stream, long_cells():
        text = io.TextIOWrapper(stream, "utf-8", newline="")
        for line, cells in _numbered(text, layout.separator):
            if layout.width == 1 or len(cells) > 1 or "".join(cells).strip():
                yield layout.first_line - 1 + line, cells or [""]


@contextmanager
def long_cells() -> Iterator[None]:
    """Allow long cells while Python's csv module reads."""
    before = csv.field_size_limit(_MAX_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def is_number(cell: str) -> bool:
    """Whether a cell is a number with any decimal sign."""
    return any(pattern.match(cell) for pattern in _NUMBERS)


def are_names(first: list[str], second: list[str] | None) -> tuple[bool, str]:
    """Whether the first line is a header, and a note if that is doubtful.

    A header has words above numbers; a word above a word decides nothing. The index that pandas writes has no name, and
    starts with 0 or 1. Numbers can be names, too: consecutive years, or the numbers of the columns above decimals.
    """
    if second is not None and ((_are_years(first) and not _are_years(second)) or _are_positions(first, second)):
        return True, (
            f"the first line, {', '.join(first)}, is read as column names; if it is a row, use header=False "
            "(--no-header)."
        )
    words = [_is_word(cell) for cell in first]
    if second is None or len(second) != len(first):
        return any(words), ""
    above_other = any(word and not _is_word(below) for word, below in zip(words, second, strict=True))
    above_index = all(words[1:]) and first[0] == "" and second[0] in ("0", "1")
    return all(words) or above_other or above_index, ""


def _stated_separator(line: str) -> str | None:
    """The separator in a line such as ``sep=;``, which Excel writes and understands."""
    text = line.strip("\r\n").strip(' "')
    return text[-1] if len(text) == 5 and text.lower().startswith("sep=") and text.isascii() else None


def _numbered(lines: Iterable[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    """Cells of each record, and the line at which it starts."""
    reader, line = csv.reader(lines, delimiter=separator), 1
    for cells in reader:
        yield line, cells
        line = reader.line_num + 1


def _records(lines: Iterable[str], separator: str) -> Iterator[_Record]:
    """The records that are not blank."""
    for line, cells in _numbered(lines, separator):
        if not _is_blank(cells):
            yield _Record(line, [cell.strip() for cell in cells])


def _is_blank(cells: list[str]) -> bool:
    """Whether no cell has any content: a spreadsheet may end with many lines of separators."""
    return not any(cell.strip(' \r\n"' + "".join(_SEPARATORS)) for cell in cells)


def _merit(separator: str, records: list[_Record], default: str) -> tuple[bool, bool, float, bool]:
    """The best separator gives both records the same number of cells and the most numbers; the default breaks ties."""
    cells, below = records[0].cells, records[-1].cells
    numbers = [is_number(cell) for cell in below]
    return len(cells) > 1, len(cells) == len(below), sum(numbers) / len(numbers), separator == default


def _are_years(cells: list[str]) -> bool:
    years = [int(cell) for cell in cells if cell.isdigit() and int(cell) in _YEARS]
    return len(years) == len(cells) > 1 and all(after == before + 1 for before, after in pairwise(years))


def _are_positions(cells: list[str], below: list[str]) -> bool:
    counts_up = cells == [str(at) for at in range(len(cells))] and len(cells) > 2
    return counts_up and not all(cell.isdigit() for cell in below)


def _is_word(cell: str) -> bool:
    return cell.lower() not in MISSING and not is_number(cell)
