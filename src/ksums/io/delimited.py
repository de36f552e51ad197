"""Text files with separated columns, such as CSV: tables of numbers, or of columns with types."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ksums.io.layout import Layout, find_layout, is_number
from ksums.io.table import MISSING, Table, as_float32_if_exact, column_positions, text_of, without_texts
from ksums.io.text_streams import TextFile

if TYPE_CHECKING:
    from ksums.io.cells import Cells

_GROWTH = 1.25
"""When the array of rows is full, it grows by this factor; a larger one would waste memory."""


def read_delimited(
    path: Path | None,
    separator: str = ",",
    columns: Sequence[int | str] | None = None,
    *,
    if_named: Sequence[str] | None = None,
    header: bool | None = None,
) -> Table:
    """Numbers (n, d) of a text file, or of standard input if ``path`` is None. See ``read_table``."""
    return _read_numbers(path, separator, columns, if_named, header, ())[0]


def read_delimited_with_texts(
    path: Path | None,
    separator: str,
    columns: Sequence[int | str] | None,
    texts: Sequence[int | str],
    *,
    header: bool | None = None,
) -> tuple[Table, list[list[str]]]:
    """Numbers and columns of text, as ``read_with_texts`` returns them."""
    return _read_numbers(path, separator, columns, None, header, texts)


def read_delimited_frame(
    path: Path | None,
    separator: str,
    columns: Sequence[int | str] | None,
    header: bool | None,
    texts: Sequence[int | str] = (),
) -> tuple[list[Any], list[str] | None, list[int], list[str]]:
    """Columns with types, as Arrow arrays, their names if the file has any, their positions, and notes for the user.

    The cells of the columns ``texts`` stay as they are.
    """
    from ksums.io.cells import Cells

    with TextFile(path) as file:
        layout = find_layout(file, separator, header)
        chosen = list(range(layout.width))
        if columns is not None:
            chosen = column_positions(file.name, columns, layout.names, layout.width)
        cells = Cells(file, layout)
        raw = column_positions(file.name, texts, layout.names, layout.width)
        found = _typed_columns(cells, [at for at in chosen if at not in raw], is_text=False)
        found.update(_raw_columns(cells, [at for at in raw if at in chosen]))
        found.update(_typed_columns(cells, [at for at in chosen if found[at] is None], is_text=True))
    if columns is None and layout.names is not None:
        chosen = [at for at in chosen if layout.names[at] or found[at].null_count < len(found[at])]
    if columns is None and _is_unnamed(layout, chosen) and _counts_rows(_integers(found[chosen[0]])):
        file.notes.append(_index_note(file.name))
        chosen = chosen[1:]
    names = None if layout.names is None else [layout.names[at] for at in chosen]
    return [found[at] for at in chosen], names, chosen, file.notes


def _read_numbers(
    path: Path | None,
    separator: str,
    columns: Sequence[int | str] | None,
    if_named: Sequence[str] | None,
    header: bool | None,
    texts: Sequence[int | str],
) -> tuple[Table, list[list[str]]]:
    from ksums.io.cells import Cells

    with TextFile(path) as file:
        layout = find_layout(file, separator, header)
        if texts and layout.names is None:
            raise ValueError(
                f"{file.name} has no column names, so there is no column {texts[0]!r}; if the first line has names, "
                "use header=True (--header)."
            )
        if columns is None and layout.names is not None:
            columns = if_named
        text_columns = column_positions(file.name, texts, layout.names, layout.width)
        chosen = _chosen(file.name, layout, columns, texts)
        if text_columns:
            chosen = without_texts(file.name, chosen, text_columns)
        X, found = _numbers_and_texts(Cells(file, layout), chosen, text_columns)
    if columns is None and _is_unnamed(layout, chosen) and _counts_rows(X[:, 0]):
        file.notes.append(_index_note(file.name))
        X, chosen = np.ascontiguousarray(X[:, 1:]), chosen[1:]
    for note in file.notes:
        warnings.warn(note, stacklevel=4)  # the caller of read_table
    return Table(X, None if layout.names is None else [layout.names[at] for at in chosen]), found


def _chosen(name: str, layout: Layout, columns: Sequence[int | str] | None, texts: Sequence[int | str]) -> list[int]:
    """Positions of the columns to read; all if none are given, but not one that is empty in header and first row."""
    if columns is not None:
        return column_positions(name, [*columns, *texts], layout.names, layout.width)
    if layout.names is None:
        return list(range(layout.width))
    return [at for at, pair in enumerate(zip(layout.names, layout.first_row, strict=True)) if pair != ("", "")]


def _numbers_and_texts(
    cells: Cells, chosen: Sequence[int], text_columns: Sequence[int]
) -> tuple[np.ndarray, list[list[str]]]:
    """Numbers (n, d) of the chosen columns, and the other columns as text."""
    from pyarrow import concat_arrays

    from ksums.io.column_types import are_not_numbers, as_floats

    rows, texts = _Rows(len(chosen)), [list[str]() for _ in text_columns]
    comma = cells.layout.decimal_comma
    for start, columns in cells.batches():
        together = concat_arrays([columns[at] for at in chosen])  # one conversion instead of one for each column
        numbers = as_floats(together, comma)
        if numbers is None:
            bad = are_not_numbers(together, comma).reshape(len(chosen), -1).any(axis=0)
            raise _bad_cell(cells, start + int(np.argmax(bad)), chosen)
        rows.append(numbers.to_numpy().reshape(len(chosen), -1).T)
        for text, at in zip(texts, text_columns, strict=True):
            text += [text_of(cell) for cell in columns[at].to_pylist()]
    return rows.finished(), texts


class _Rows:
    """An array of rows that grows. It is float32 as long as that changes no value, as for small integers."""

    def __init__(self, width: int) -> None:
        self.X, self.count = np.empty((0, width), np.float32), 0

    def append(self, values: np.ndarray) -> None:
        """Add rows of float64."""
        if self.X.dtype == np.float32:
            values = as_float32_if_exact(values)
            self.X = self.X.astype(values.dtype, copy=False)
        start, self.count = self.count, self.count + len(values)
        if self.count > len(self.X):
            self._resize(max(self.count, int(_GROWTH * len(self.X))))
        self.X[start : self.count] = values

    def finished(self) -> np.ndarray:
        """The rows, in an array of just their size."""
        self._resize(self.count)
        return self.X

    def _resize(self, count: int) -> None:
        self.X.resize((count, self.X.shape[1]), refcheck=False)  # in place: two copies might not fit into memory


def _bad_cell(cells: Cells, number: int, chosen: Sequence[int]) -> ValueError:
    """The error about the first cell of a row that is not a number."""
    (line, row), layout = cells.row(number), cells.layout
    for column in chosen:
        cell, where = row[column], f"{cells.file.name}, line {line}, column {layout.label(column)}"
        if is_number(cell, layout.separator):
            continue
        if cell.lower() in MISSING:
            problem = f"has the value {cell!r}" if cell else "is empty"
            return ValueError(f"{where} {problem}: fill it in, or delete the row.")
        if is_number(cell.replace(",", "").replace(".", ""), layout.separator):
            advice = "write numbers with a decimal point and without thousands separators"
            return ValueError(f"{where}: {cell!r} is not a number here; {advice}.")
        advice = "choose the numeric columns"
        if line == 1:
            advice += "; if this line is a title, delete it; if it is a header, use header=True (--header)"
        return ValueError(f"{where}: {cell!r} is not a number; {advice}.")
    return ValueError(f"{cells.file.name}, line {line} has a cell that is not a number.")


def _typed_columns(cells: Cells, chosen: Sequence[int], *, is_text: bool) -> dict[int, Any]:
    """Columns with types, by position; None for one that has to be read again as text."""
    from ksums.io.column_types import GrowingColumn

    if not chosen:
        return {}
    growing = {at: GrowingColumn(cells.layout.decimal_comma, is_text=is_text) for at in chosen}
    for _, columns in cells.batches():
        for at, column in growing.items():
            column.append(columns[at])
    return {at: None if column.lost else column.finished() for at, column in growing.items()}


def _raw_columns(cells: Cells, chosen: Sequence[int]) -> dict[int, Any]:
    """Columns of text as it stands in the file, by position."""
    import pyarrow

    if not chosen:
        return {}
    parts: dict[int, list[Any]] = {at: [] for at in chosen}
    for _, columns in cells.batches():
        for at in chosen:
            parts[at].append(columns[at].cast(pyarrow.string()))
    return {at: pyarrow.chunked_array(found, pyarrow.string()) for at, found in parts.items()}


def _is_unnamed(layout: Layout, chosen: Sequence[int]) -> bool:
    """Whether the first column has no name although others have one, like the index that pandas writes."""
    return layout.names is not None and len(chosen) > 0 and layout.names[chosen[0]] == ""


def _integers(column: Any) -> np.ndarray:
    """The values of a column of integers; no values if it has others."""
    is_integer = str(column.type) == "int64" and not column.null_count
    return column.to_numpy() if is_integer else np.empty(0)


def _counts_rows(column: np.ndarray) -> bool:
    return len(column) > 0 and column[0] in (0, 1) and np.array_equal(column, np.arange(len(column)) + column[0])


def _index_note(name: str) -> str:
    return f"{name}: the first column has no name and only counts the rows; it is ignored."
