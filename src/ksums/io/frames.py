"""Tables with columns of any type, from text, parquet, Arrow, JSON lines and Excel files."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ksums.io.delimited import read_delimited_frame
from ksums.io.excel import read_excel
from ksums.io.json_lines import read_json_lines
from ksums.io.parquet import opened, requested
from ksums.io.paths import existing_file

if TYPE_CHECKING:
    import pyarrow

_TEXT = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_ARROW = (".arrow", ".feather")
_JSON = (".jsonl", ".ndjson")

TYPED_SUFFIXES = (*_ARROW, *_JSON, ".xlsx")
"""Suffixes of tables that are neither text nor parquet, which have readers of their own in ``readers``."""

FRAME_SUFFIXES = (*_TEXT, ".parquet", *TYPED_SUFFIXES)
"""Every suffix that ``read_frame`` accepts."""


class Frame(NamedTuple):
    """A table whose columns have types."""

    table: pyarrow.Table
    """Columns are int64, float64, bool, date32, timestamp or string; a gap is null."""
    named: bool
    """Whether the names of the columns are in the file; otherwise they are "0", "1", …"""


def read_frame(
    path: str | Path | None,
    *,
    columns: Sequence[int | str] | None = None,
    header: bool | None = None,
    texts: Sequence[int | str] = (),
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
    value, such as ``NA``. In the same way it is boolean (true, false) or holds dates or times as in ``2024-03-01`` and
    ``2024-03-01 10:00:00``. Columns of other files keep their types; their text is not converted. Columns of lists and
    other nested values stay as they are.

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
        Columns of a text file whose cells stay as they are, such as identifiers that begin with zeros.

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
    if path is not None and suffix not in _TEXT:
        table, named, notes = read_typed(path, suffix, columns, header)
        frame = Frame(_standardised(table), named)
    else:
        separator = "\t" if ".tsv" in suffix else ","
        found, names, positions, notes = read_delimited_frame(path, separator, columns, header, texts)
        name = "standard input" if path is None else str(path)
        frame = Frame(_table(name, found, names, positions), names is not None)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return frame


def read_typed(
    path: Path, suffix: str, columns: Sequence[int | str] | None = None, header: bool | None = None
) -> tuple[pyarrow.Table, bool, list[str]]:
    """The table of a file that is not text, whether its columns have names, and notes for the user."""
    if suffix == ".xlsx":
        found, names, positions, notes = read_excel(path, columns, header)
        return _table(str(path), found, names, positions), names is not None, notes
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


def _table(file: str, columns: list[Any], names: list[str] | None, positions: list[int]) -> pyarrow.Table:
    """A table of these columns; one without a name is called by its number."""
    import pyarrow

    if names is None:
        return pyarrow.table(columns, [str(at) for at in range(len(columns))])
    labels = [name or str(at) for name, at in zip(names, positions, strict=True)]
    label, times = Counter(labels).most_common(1)[0]
    if times > 1:
        raise ValueError(f"{file} has {times} columns called {label!r}; rename them.")
    return pyarrow.table(columns, labels)


def _standardised(table: pyarrow.Table) -> pyarrow.Table:
    import pyarrow

    from ksums.io.column_types import standardised

    return pyarrow.table([standardised(column) for column in table.columns], table.column_names)


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
