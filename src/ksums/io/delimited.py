"""Text files with separated columns, such as CSV: tables of numbers, or of columns with types."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ksums.io.kinds import Places, Told
from ksums.io.layout import Layout, find_layout, is_number
from ksums.io.patterns import UNITS
from ksums.io.table import (
    MISSING,
    NotNumericError,
    Table,
    as_float32_if_exact,
    column_positions,
    text_of,
    without_texts,
)
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


class FrameParts(NamedTuple):
    """What is read of a text or Excel file."""

    columns: list[Any]
    """Arrow arrays with types."""
    labels: list[str]
    """Their names; a column without one is called by its number."""
    named: bool
    """Whether the file has names of columns."""
    file_labels: list[str]
    """The names of all columns of the file."""
    reasons: dict[str, str]
    """Why some columns should not be used."""
    notes: list[str]
    """What the user should know."""
    places: Places


def read_delimited_frame(
    path: Path | None, separator: str, columns: Sequence[int | str] | None, header: bool | None, told: Told
) -> FrameParts:
    """Columns with types, as Arrow arrays."""
    from ksums.io.cells import Cells
    from ksums.io.column_types import spelled
    from ksums.io.interpreting import interpreted

    with TextFile(path) as file:
        layout = find_layout(file, separator, header)
        cells = Cells(file, layout)
        known = told.resolved(lambda own: column_positions(file.name, [own], layout.names, layout.width)[0])
        chosen = list(range(layout.width))
        if columns is not None:
            chosen = column_positions(file.name, columns, layout.names, layout.width)
        raw = [at for at in chosen if at in known.texts]
        words = [at for at in chosen if at in known.words]
        found = _typed_columns(cells, [at for at in chosen if at not in (*raw, *words)])
        found.update(_text_columns(cells, raw, are_gaps_null=False))
        found.update({at: spelled(text) for at, text in _text_columns(cells, words).items()})
        texts = {at: found[at] for at in chosen if at not in (*raw, *words) and _is_text(found[at])}
        if any(_has_commas(text) for text in texts.values()):  # then other columns may have points between thousands
            decimals = [at for at in chosen if at not in texts and str(found[at].type) == "double"]
            texts.update(_text_columns(cells, decimals))
        places = places_of(cells)
        done = interpreted({at: texts[at] for at in sorted(texts)}, layout.separator, known, places)
        found.update(done.columns)
    if columns is None and layout.names is not None:
        chosen = [at for at in chosen if layout.names[at] or found[at].null_count < len(found[at])]
    notes = [*file.notes, *done.notes]
    is_index = columns is None and _is_unnamed(layout, chosen) and not any(chosen[0] in own for own in known)
    if is_index and _counts_rows(_integers(found[chosen[0]])):
        notes.append(_index_note(file.name))
        chosen = chosen[1:]
    labels = [str(at) for at in range(layout.width)]
    if layout.names is not None:
        labels = [name or str(at) for at, name in enumerate(layout.names)]
    return FrameParts(
        [found[at] for at in chosen],
        [labels[at] for at in chosen],
        layout.names is not None,
        labels,
        {labels[at]: reason for at, reason in done.reasons.items()},
        notes,
        places,
    )


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
    numbers = None
    if columns is None and _is_unnamed(layout, chosen) and _counts_rows(X[:, 0]):
        file.notes.append(_index_note(file.name))
        X, chosen = np.ascontiguousarray(X[:, 1:]), chosen[1:]
        numbers = list(chosen)
    for note in file.notes:
        warnings.warn(note, stacklevel=4)  # the caller of read_table
    names = None if layout.names is None else [layout.names[at] for at in chosen]
    return Table(X, names, numbers=numbers), found


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
    plain = cells.layout.separator != ";"  # between semicolons, signs need a decision that all cells make together
    for start, columns in cells.batches():
        together = concat_arrays([columns[at] for at in chosen])  # one conversion instead of one for each column
        numbers = as_floats(together) if plain else None
        if numbers is None and plain:
            bad = are_not_numbers(together).reshape(len(chosen), -1)
            row = int(np.argmax(bad.any(axis=0)))
            place = chosen[int(np.argmax(bad[:, row]))]
            if not _may_be_number(columns[place][row].as_py()):
                raise _bad_cell(cells, start + row, place)
            plain = False
        if not plain and not texts:
            break
        if numbers is not None:
            rows.append(numbers.to_numpy().reshape(len(chosen), -1).T)
        for text, at in zip(texts, text_columns, strict=True):
            text += [text_of(cell) for cell in columns[at].to_pylist()]
    return rows.finished() if plain else _interpreted_numbers(cells, chosen), texts


def _interpreted_numbers(cells: Cells, chosen: Sequence[int]) -> np.ndarray:
    """The same where the notation of the numbers has to be found first."""
    from ksums.io.interpreting import interpreted

    found = interpreted(_text_columns(cells, chosen), cells.layout.separator, Told(), places_of(cells))
    first: tuple[int, int] | None = None
    for at in chosen:
        column = found.columns[at]
        is_number = str(column.type) in ("int64", "double")
        if is_number and not column.null_count:
            continue
        row = _first_gap(column) if is_number else _first_word(cells, at)
        first = min(filter(None, (first, (row, at))))
    if first is not None:
        raise _bad_cell(cells, *first)
    cells.file.notes.extend(found.notes)
    return as_float32_if_exact(np.column_stack([found.columns[at].to_numpy().astype(np.float64) for at in chosen]))


def _first_gap(column: Any) -> int:
    from pyarrow import compute

    return compute.index(compute.is_null(column), True).as_py()


def _first_word(cells: Cells, at: int) -> int:
    """The first row whose cell is not a number, in a column that is not one of numbers."""
    for start, columns in cells.batches():
        values = [(cell or "").strip() for cell in columns[at].to_pylist()]
        row = next((row for row, cell in enumerate(values) if not is_number(cell)), None)
        if row is not None:
            return start + row
    return 0


def _may_be_number(cell: str) -> bool:
    """Whether a cell may be a number with a comma or a unit, which the quick conversion does not read."""
    return is_number(cell.strip().strip(UNITS + " "))


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


def _bad_cell(cells: Cells, number: int, column: int) -> NotNumericError:
    """The error about a cell that is not a number."""
    line, row = cells.row(number)
    cell, where = row[column], places_of(cells).cell(number, column)
    if cell.lower() in MISSING:
        problem = f"has the value {cell!r}" if cell else "is empty"
        return NotNumericError(f"{where} {problem}: fill it in, or delete the row.")
    advice = "choose the numeric columns"
    if line == 1:
        advice += "; if this line is a title, delete it; if it is a header, use header=True (--header)"
    return NotNumericError(f"{where}: {cell!r} is not a number; {advice}.")


def places_of(cells: Cells) -> Places:
    """How messages name the cells of a text file."""
    return Places(cells.file.name, cells.layout.label, lambda row: f"line {cells.row(row)[0]}")


def _typed_columns(cells: Cells, chosen: Sequence[int]) -> dict[int, Any]:
    """Columns with types, by position; those that need a decision are text.

    Between semicolons that are all of them, because signs may separate thousands.
    """
    from ksums.io.column_types import GrowingColumn

    if not chosen or cells.layout.separator == ";":
        return _text_columns(cells, chosen)
    growing = {at: GrowingColumn() for at in chosen}
    for _, columns in cells.batches():
        for at, column in growing.items():
            column.append(columns[at])
    found = {at: column.finished() for at, column in growing.items() if not column.lost}
    return found | _text_columns(cells, [at for at in chosen if at not in found])


def _text_columns(cells: Cells, chosen: Sequence[int], *, are_gaps_null: bool = True) -> dict[int, Any]:
    """Columns of text, by position; gaps are null, or cells are as they stand in the file."""
    import pyarrow

    from ksums.io.column_types import without_gaps

    if not chosen:
        return {}
    parts: dict[int, list[Any]] = {at: [] for at in chosen}
    for _, columns in cells.batches():
        for at in chosen:
            cell = columns[at].cast(pyarrow.string())
            parts[at].append(without_gaps(cell) if are_gaps_null else cell)
    return {at: pyarrow.chunked_array(found, pyarrow.string()) for at, found in parts.items()}


def _is_text(column: Any) -> bool:
    return str(column.type) == "string"


def _has_commas(text: Any) -> bool:
    """Whether a cell may be a number with a comma."""
    from pyarrow import compute

    return bool(compute.any(compute.match_substring_regex(text, r"^\D{0,2}[\d.]*,\d[\d.,]*\D{0,2}$")).as_py())


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
