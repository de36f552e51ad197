"""Excel files."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ksums.io.delimited import FrameParts
from ksums.io.kinds import Places, Told
from ksums.io.layout import are_names, refuse_title, unique_names
from ksums.io.table import column_positions

_FRONT = 1000
"""Rows in which the first three that are not empty must be."""


def read_excel(path: Path, columns: Sequence[int | str] | None, header: bool | None, told: Told) -> FrameParts:
    """Columns of the first sheet with types.

    Columns of text, or of text and numbers, are typed like those of a text file. Empty rows above the table and below
    it are left out; others are rows without a value.
    """
    from ksums.io.column_types import standardised, without_gaps
    from ksums.io.interpreting import interpreted

    with _opened(path) as book:
        front = book.load_sheet(0, header_row=None, skip_rows=0, n_rows=_FRONT, dtypes="string").to_arrow()
        above = [[(cell or "").strip() for cell in row.values()] for row in front.to_pylist()]
        filled = [at for at, cells in enumerate(above) if any(cells)]
        if not filled:
            raise ValueError(f"{path} is empty.")
        lines = [above[at] for at in filled[:3]]
        below = lines[1] if len(lines) > 1 else None
        if header is None:
            refuse_title(str(path), [f"row {at + 1}" for at in filled[:3]], lines)
        named, doubt = are_names(lines[0], below) if header is None else (header, "")
        if named and below is None:
            raise ValueError(f"{path} has a header, but no rows.")
        names, renamed = unique_names(lines[0]) if named else (None, "")
        skipped = filled[0] + int(named)
        sheet = book.load_sheet(0, header_row=None, skip_rows=skipped, schema_sample_rows=None).to_arrow()
        others = book.sheet_names[1:]
    notes = [f"{path}: {note}" for note in (doubt, renamed) if note]
    if others:
        notes.append(f"{path}: the first sheet, {book.sheet_names[0]!r}, is read; the others are {', '.join(others)}.")
    width = len(lines[0])
    labels = [str(at) for at in range(width)] if names is None else [name or str(at) for at, name in enumerate(names)]
    places = Places(str(path), lambda at: repr(labels[at]), lambda row: f"row {skipped + row + 1}")
    known = told.resolved(lambda own: column_positions(str(path), [own], names, width)[0])
    chosen = list(range(width))
    if columns is not None:
        chosen = column_positions(str(path), columns, names, width)
    sheet = _without_empty_end(sheet)
    found = {at: standardised(sheet.column(at)) for at in chosen}
    as_words = (*known.texts, *known.words)
    found.update({at: _as_words(found[at]) for at in chosen if at in as_words})
    texts = {at: without_gaps(sheet.column(at)) for at in chosen if _is_text(sheet.column(at)) and at not in as_words}
    done = interpreted(texts, "", known, places)
    found.update(done.columns)
    if columns is None and names is not None:
        chosen = [at for at in chosen if names[at] or found[at].null_count < len(found[at])]
    reasons = {labels[at]: reason for at, reason in done.reasons.items()}
    own = [labels[at] for at in chosen]
    return FrameParts([found[at] for at in chosen], own, named, labels, reasons, [*notes, *done.notes], places)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """The file; its library logs remarks about single columns, which would be printed."""
    try:
        import fastexcel
    except ImportError as error:
        raise ImportError(f"{path}: reading Excel files requires fastexcel: pip install 'ksums[excel]'.") from error
    logger = logging.getLogger("fastexcel")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield fastexcel.read_excel(path)
    except fastexcel.FastExcelError as error:
        raise ValueError(f"{path} is truncated, or not an Excel file: {str(error).splitlines()[0]}.") from error
    finally:
        logger.setLevel(level)


def _is_text(column: Any) -> bool:
    return str(column.type) == "string"


def _as_words(column: Any) -> Any:
    """Cells as text; Excel stores whole numbers as 4711.0."""
    import pyarrow
    from pyarrow import compute

    if pyarrow.types.is_floating(column.type) and compute.all(compute.equal(column, compute.round(column))).as_py():
        column = column.cast(pyarrow.int64(), safe=False)
    is_number = pyarrow.types.is_floating(column.type) or pyarrow.types.is_integer(column.type)
    return column.cast(pyarrow.string()) if is_number else column


def _without_empty_end(sheet: Any) -> Any:
    """The rows up to the last one with a value: a sheet may end with many formatted but empty ones."""
    import numpy as np

    filled = np.zeros(sheet.num_rows, bool)
    for column in sheet.columns:
        filled |= column.is_valid().to_numpy(zero_copy_only=False)
    last = np.flatnonzero(filled)
    return sheet.slice(0, int(last[-1]) + 1 if len(last) else 0)
