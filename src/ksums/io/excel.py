"""Excel files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ksums.io.layout import are_names
from ksums.io.table import column_positions


def read_excel(
    path: Path, columns: Sequence[int | str] | None, header: bool | None
) -> tuple[list[Any], list[str] | None, list[int], list[str]]:
    """Columns of the first sheet with types, their names if the sheet has any, their positions, and notes for the user.

    Columns of text, or of text and numbers, are typed like those of a text file.
    """
    try:
        import fastexcel
    except ImportError as error:
        raise ImportError(f"{path}: reading Excel files requires fastexcel: pip install 'ksums[excel]'.") from error
    from ksums.io.column_types import typed

    try:
        book = fastexcel.read_excel(path)
        front = book.load_sheet(0, header_row=None, n_rows=2, dtypes="string").to_arrow()
    except fastexcel.FastExcelError as error:
        raise ValueError(f"{path} is truncated, or not an Excel file: {str(error).splitlines()[0]}.") from error
    lines = [[(cell or "").strip() for cell in row.values()] for row in front.to_pylist()]
    if not lines:
        raise ValueError(f"{path} is empty.")
    below = lines[1] if len(lines) > 1 else None
    named, note = are_names(lines[0], below, ",") if header is None else (header, "")
    if named and below is None:
        raise ValueError(f"{path} has a header, but no rows.")
    names = lines[0] if named else None
    positions = list(range(len(lines[0])))
    if columns is not None:
        positions = column_positions(str(path), columns, names, len(positions))
    sheet = book.load_sheet(0, header_row=None, skip_rows=int(named), schema_sample_rows=None).to_arrow()
    found = [sheet.column(at) for at in positions]
    found = [typed(column) if str(column.type) == "string" else column for column in found]
    chosen = None if names is None else [names[at] for at in positions]
    return found, chosen, positions, [f"{path}: {note}"] if note else []
