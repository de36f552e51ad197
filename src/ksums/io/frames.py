"""Tables with columns of any type, from text, parquet, Arrow, JSON lines and Excel files."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ksums.io.delimited import read_delimited_frame
from ksums.io.excel import read_excel
from ksums.io.json_lines import read_json_lines
from ksums.io.kinds import Places, Told
from ksums.io.parquet import opened, requested
from ksums.io.paths import existing_file
from ksums.io.table import column_positions

if TYPE_CHECKING:
    import pyarrow

_TEXT = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_ARROW = (".arrow", ".feather")
_JSON = (".jsonl", ".ndjson")

TYPED_SUFFIXES = (*_ARROW, *_JSON, ".xlsx")
"""Suffixes of tables that are neither text nor parquet, which have readers of their own in ``readers``."""

FRAME_SUFFIXES = (*_TEXT, ".parquet", *TYPED_SUFFIXES)
"""Every suffix that ``read_frame`` accepts."""


_MANY_WORDS = 20
"""Fewer different numbers in a column of text may be codes, that is, categories."""

_NUMBERS_AS_TEXT = "its cells are numbers that are stored as text: list it in --numeric or in --categorical"


class Frame(NamedTuple):
    """A table whose columns have types."""

    table: pyarrow.Table
    """Columns are int64, float64, bool, date32, timestamp or string; a gap is null."""
    named: bool
    """Whether the names of the columns are in the file; otherwise they are "0", "1", …"""
    file_columns: list[str]
    """Names of all columns of the file, also of those that were not read: numbers of columns count these."""
    reasons: dict[str, str]
    """Why some columns should not be clustered, such as words among numbers."""
    places: Places
    """How messages name a cell: for text files with its line."""

    def name_of(self, column: int | str) -> str:
        """The name of a column of the file that is given by name or number."""
        names = self.file_columns if self.named or str(column) in self.file_columns else None
        return self.file_columns[column_positions(self.places.file, [column], names, len(self.file_columns))[0]]


def read_frame(
    path: str | Path | None,
    *,
    columns: Sequence[int | str] | None = None,
    header: bool | None = None,
    texts: Sequence[int | str] = (),
    words: Sequence[int | str] = (),
    numeric: Sequence[int | str] = (),
    dates: Sequence[int | str] = (),
    kept: Sequence[int | str] = (),
) -> Frame:
    """Columns of a file with their types.

    ====================  =================================================================================
    suffix                content
    ====================  =================================================================================
    .csv, .tsv, .gz       text separated by commas, tabs, semicolons or vertical bars
    .parquet              a table
    .arrow, .feather      a table in the Arrow format
    .jsonl, .ndjson       JSON, one object per line
    .xlsx                 the first sheet of an Excel file; requires fastexcel
    ====================  =================================================================================

    A column of text is numeric if all its cells are numbers, apart from gaps: cells that are empty or mean a missing
    value, such as ``NA``. In the same way it is boolean (true, false) or holds dates or times as in ``2024-03-01``,
    ``1.3.2024`` and ``2024-03-01 10:00:00``. The decimal sign is decided once for a file: a warning says if numbers
    have thousands separators, and a file in which they can be read in two ways is refused. A column of numbers or dates
    with a few words stays text, and ``reasons`` says so. Files that state the types of their columns keep them; their
    text is not converted. Columns of lists and other nested values stay as they are.

    Parameters
    ----------
    path : str, Path or None
        None stands for CSV from standard input.
    columns : sequence of int or str, default=None
        Columns to read, by name or by number from 0; all if None. Files without names accept numbers only.
    header : bool, default=None
        Whether the first line of a text or Excel file holds column names. If None, it does when it has words above
        numbers.
    texts : sequence of int or str, default=()
        Columns of a text or Excel file whose cells stay as they are, such as identifiers that begin with zeros.
    words : sequence of int or str, default=()
        Columns of categories: the same, but gaps are null.
    numeric, dates : sequence of int or str, default=()
        Columns of numbers (or dates), and of dates: other cells become null, and a warning says how many.
    kept : sequence of int or str, default=()
        Columns that are read even if they have no name and only count the rows, like the index that pandas writes.

    Returns
    -------
    Frame

    Raises
    ------
    ValueError
        If the file is damaged; for text files the message states the line.
    OSError
        If the file cannot be read.
    ImportError
        If an Excel file is read without fastexcel.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ksums.io import read_frame
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("age,city,since\\n31,Rome,2024-03-01\\nNA,Oslo,2023-11-30\\n")
    >>> frame = read_frame(path)
    >>> [str(kind) for kind in frame.table.schema.types]
    ['int64', 'string', 'date32[day]']
    >>> frame.table["age"].to_pylist()
    [31, None]
    """
    path = None if path is None else existing_file(path)
    suffix = ".csv" if path is None else _suffix_of(path)
    told = Told(texts, words, numeric, dates, kept)
    if path is None or suffix in _TEXT or suffix == ".xlsx":
        separator = "\t" if ".tsv" in suffix else ","
        if path is not None and suffix == ".xlsx":
            found = read_excel(path, columns, header, told)
        else:
            found = read_delimited_frame(path, separator, columns, header, told)
        table = pyarrow_table(found.columns, found.labels)
        places = found.places._replace(label=repr if found.named else str)  # here columns go by their names
        frame = Frame(table, found.named, found.file_labels, found.reasons, places)
        notes = found.notes
    else:
        frame, notes = _typed_frame(path, suffix, columns, told)
    for column in map(frame.name_of, dates):
        _check_dates(frame, column)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return frame


def read_typed(
    path: Path, suffix: str, columns: Sequence[int | str] | None = None, header: bool | None = None
) -> tuple[pyarrow.Table, bool, list[str]]:
    """The table of a file that is not text, whether its columns have names, and notes for the user."""
    if suffix == ".xlsx":
        found = read_excel(path, columns, header, Told())
        return pyarrow_table(found.columns, found.labels), found.named, found.notes
    if suffix == ".parquet":
        with opened(path) as file:
            table = file.read(columns=requested(path, file.schema_arrow, columns))
    elif suffix in _ARROW:
        table = _read_arrow(path)
        table = table.select(requested(path, table.schema, columns))
    else:
        table = read_json_lines(path)
        table = table.select(requested(path, table.schema, columns))
    return table, True, []


def _suffix_of(path: Path) -> str:
    suffix = "".join(path.suffixes[-2:] if path.suffix.lower() == ".gz" else path.suffixes[-1:]).lower()
    if suffix not in FRAME_SUFFIXES:
        got = repr(suffix) if suffix else "no suffix"
        raise ValueError(f"{path}: the name of a table must end in {', '.join(FRAME_SUFFIXES)}; got {got}.")
    return suffix


def pyarrow_table(columns: list[Any], labels: list[str]) -> pyarrow.Table:
    """A table of these columns."""
    import pyarrow

    return pyarrow.table(columns, labels)


def _typed_frame(path: Path, suffix: str, columns: Sequence[int | str] | None, told: Told) -> tuple[Frame, list[str]]:
    """A table of a file that states the types of its columns; text is read as numbers or dates only if told so."""
    from ksums.io.column_types import standardised
    from ksums.io.interpreting import interpreted

    table, _, notes = read_typed(path, suffix)
    names = table.column_names
    places = Places(str(path), repr, lambda row: f"row {row} (counted from 0)")
    frame = Frame(table, True, names, {}, places)
    known = told.resolved(frame.name_of)
    if columns is not None:
        table = table.select(column_positions(str(path), columns, names, len(names)))
    found = {name: standardised(table.column(name)) for name in table.column_names}
    converted = (*known.numeric, *known.dates)
    texts = {name: own for name, own in found.items() if name in converted and str(own.type) == "string"}
    done = interpreted(texts, "", known, places)
    found |= done.columns
    reasons = {name: f"its cells are {what}" for name, own in found.items() if (what := _nested(own.type))}
    plain = [name for name, own in found.items() if name not in (*converted, *known.texts, *known.words)]
    reasons |= {name: _NUMBERS_AS_TEXT for name in plain if _are_numbers(found[name])}
    return Frame(pyarrow_table(list(found.values()), list(found)), True, names, reasons, places), [*notes, *done.notes]


def _are_numbers(column: Any) -> bool:
    """Whether the cells of a column of text are numbers, and too many different ones for categories."""
    from pyarrow import compute

    from ksums.io.notation import are_numbers

    if str(column.type) != "string":
        return False
    distinct = compute.unique(column).drop_null()
    return len(distinct) > _MANY_WORDS and compute.all(are_numbers(distinct, ".")).as_py()


def _nested(kind: Any) -> str:
    """What the cells of a column hold, if it is neither a number, a date nor a word."""
    from pyarrow import types

    if types.is_struct(kind) or types.is_map(kind) or types.is_union(kind):
        return "objects"
    if types.is_nested(kind):
        return "lists"
    return "bytes" if types.is_binary(kind) or types.is_large_binary(kind) else ""


def _check_dates(frame: Frame, column: str) -> None:
    """Refuse a column that must hold dates and holds something else."""
    from pyarrow import types

    found = frame.table.column(column)
    if not types.is_temporal(found.type) and found.null_count < len(found):
        row = int(found.is_valid().to_numpy().argmax())
        place = frame.places.cell(row, column)
        raise ValueError(f"{place}: expected a date such as 2024-03-01; got {found[row].as_py()!r}.")


def _read_arrow(path: Path) -> pyarrow.Table:
    """A table in the file or the stream form of the Arrow format."""
    import pyarrow
    from pyarrow import ipc

    try:
        with pyarrow.memory_map(str(path)) as file:
            try:
                return ipc.open_file(file).read_all()
            except pyarrow.ArrowInvalid:
                file.seek(0)
                return ipc.open_stream(file).read_all()
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise ValueError(f"{path} is truncated, or not an Arrow file: {error}.") from error
