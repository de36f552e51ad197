"""Cells of a text file with columns, as text, some rows at a time. PyArrow parses them; errors state the line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute, csv

from ksums.io.layout import Layout, rows_as_text
from ksums.io.text_streams import TextFile

_BLOCK = 2 << 20
"""Bytes that are parsed at a time: enough for thousands of rows of usual width."""

_BLOCK_PER_COLUMN = 1 << 10
"""Bytes for each column of a wide file, so that a block has about a hundred rows and not just a few."""

_MAX_BLOCK = 1 << 30
"""The largest block; a row must fit into it. PyArrow counts the bytes of a block with 32 bits."""


class Cells:
    """The rows of a file, whose cells are text.

    Rows of empty cells at the end of the file are left out, because spreadsheets may write many of them. Anywhere else
    they are rows without a value.
    """

    def __init__(self, file: TextFile, layout: Layout) -> None:
        self.file, self.layout = file, layout

    def batches(self) -> Iterator[tuple[int, list[Any]]]:
        """The number of the first row of each batch, and one Arrow array of text for each column."""
        block = min(max(_BLOCK, self.layout.width * _BLOCK_PER_COLUMN), _MAX_BLOCK // 16)
        done, last_cell = 0, ""
        held: list[tuple[int, list[Any]]] = []  # empty rows that may be the end of the file
        lines_of_spaces = False
        while True:
            try:
                for start, columns in self._parsed(block, done, lines_of_spaces):
                    done = start + len(columns[0])
                    filled = np.flatnonzero(~_empty_rows(columns))
                    end = int(filled[-1]) + 1 if len(filled) else 0
                    if end:
                        last_cell = columns[-1][end - 1].as_py()
                        yield from held
                        held = []
                        yield start, [column[:end] for column in columns]
                    if end < len(columns[0]):
                        held.append((start + end, [column[end:] for column in columns]))
                if not held and "\n" in last_cell:
                    self._refuse_open_quote(done - 1)
                return
            except pa.ArrowInvalid as error:
                if "straddl" in str(error) and block < _MAX_BLOCK:
                    block = min(16 * block, _MAX_BLOCK)
                elif (ragged := self._ragged_line()) or lines_of_spaces:
                    raise ValueError(ragged or self._unreadable(error)) from error
                else:
                    lines_of_spaces = True

    def row(self, number: int) -> tuple[int, list[str]]:
        """The line of a row, and its cells."""
        line, cells = next(islice(rows_as_text(self.file, self.layout), number, None))
        return line, [cell.strip() for cell in cells]

    def _parsed(self, block: int, done: int, lines_of_spaces: bool) -> Iterator[tuple[int, list[Any]]]:
        """Batches of a file that is read in blocks of this size, without the rows that are done.

        PyArrow must call Python to leave out lines of spaces. It may do so in a thread of its own, which aborts a
        program that ends at that moment, so this is only asked for if there are such lines.
        """
        names = [str(at) for at in range(self.layout.width)]
        with (
            self.file.errors_named(),
            self.file.source(self.layout.first_line - 1) as stream,
            csv.open_csv(
                stream,
                csv.ReadOptions(column_names=names, block_size=block),
                csv.ParseOptions(
                    delimiter=self.layout.separator,
                    newlines_in_values=True,
                    ignore_empty_lines=self.layout.width > 1,  # in a single column they are empty cells
                    invalid_row_handler=_skip_or_refuse if lines_of_spaces else None,
                ),
                csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False),
            ) as reader,
        ):
            start = 0
            for batch in reader:
                new = batch.slice(max(done - start, 0))
                start += batch.num_rows
                if new.num_rows:
                    yield start - new.num_rows, new.columns

    def _refuse_open_quote(self, number: int) -> None:
        """Refuse a quote that is never closed, which would hide all lines after it in the last cell."""
        with self.file.opened() as stream:
            last = b""
            while chunk := stream.read(_BLOCK):
                last = chunk.rstrip()[-1:] or last
        if last != b'"':
            line = self.row(number)[0]
            raise ValueError(f"{self.file.name}, line {line}: a quoted cell is not closed before the end of the file.")

    def _ragged_line(self) -> str:
        """What is wrong with the first row that has too few or too many cells; empty if there is none."""
        width, name = self.layout.width, self.file.name
        for line, cells in rows_as_text(self.file, self.layout):
            if len(cells) != width:
                return f"{name}, line {line} has {len(cells)} cells; the lines before it have {width}."
        return ""

    def _unreadable(self, error: Exception) -> str:
        return f"{self.file.name} is truncated, or not a text file with columns: {str(error).rstrip('.')}."


def _skip_or_refuse(row: Any) -> str:
    """What PyArrow does with a row of the wrong length; a line of spaces is not a row."""
    return "skip" if not row.text.strip(' \r\n"') else "error"


def _empty_rows(columns: list[Any]) -> np.ndarray:
    """Whether all cells of a row are empty. Most columns need not be looked at: one full column decides."""
    empty = np.ones(len(columns[0]), bool)
    for column in columns:
        if not empty.any():
            break
        empty &= compute.equal(compute.utf8_trim_whitespace(column), "").to_numpy(zero_copy_only=False)
    return empty
