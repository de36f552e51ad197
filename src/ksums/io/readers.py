"""Rows of numbers from a file of any format; the suffix of the file decides which reader is used."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

from ksums.compute.arrays import Matrix
from ksums.io.cluto import read_cluto
from ksums.io.delimited import read_delimited, read_delimited_with_texts
from ksums.io.frames import TYPED_SUFFIXES, read_typed
from ksums.io.numpy_files import read_npy, read_npz
from ksums.io.parquet import (
    numbers_and_texts_of,
    numbers_of,
    read_parquet,
    read_parquet_with_texts,
    requested,
    split_texts,
)
from ksums.io.paths import existing_file
from ksums.io.svmlight import read_svmlight
from ksums.io.table import Table, column_positions
from ksums.io.vecs import read_vecs

_DELIMITED = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
"""Suffixes of text files with separated columns, which have options of their own."""

_WITH_TEXTS = (*_DELIMITED, ".parquet", *TYPED_SUFFIXES)
"""Suffixes of files that can have columns of text next to columns of numbers."""

_VECTORS = (".fvecs", ".bvecs", ".ivecs")

SUFFIXES = (".npy", ".npz", *_DELIMITED, ".parquet", *TYPED_SUFFIXES, *_VECTORS, ".svm", ".svmlight", ".mat")
"""Every suffix that ``read_table`` accepts; the command line also checks file names against it."""


def read_rows(path: str | Path, columns: Sequence[int | str] | None = None, *, header: bool | None = None) -> Matrix:
    """Rows (n, d) of a file, without the names that :func:`ksums.io.read_table` also returns.

    Parameters
    ----------
    path, columns, header
        As in :func:`ksums.io.read_table`.
    """
    return read_table(path, columns, header=header).X


def read_table(
    path: str | Path,
    columns: Sequence[int | str] | None = None,
    *,
    if_named: Sequence[str] | None = None,
    header: bool | None = None,
    width: int | None = None,
) -> Table:
    """Rows of a file, with the names of columns and rows if the file has any.

    ====================  =================================================================================
    suffix                content
    ====================  =================================================================================
    .npy                  a NumPy array, opened as a memory map: rows are read when they are used
    .npz                  a SciPy sparse matrix, or NumPy arrays: the one called ``X``, or the only one
    .csv, .tsv, .gz       numbers separated by commas, tabs, semicolons or vertical bars, with or without
                          a header
    .parquet              a table
    .arrow, .feather      a table in the Arrow format
    .jsonl, .ndjson       JSON, one object per line
    .xlsx                 the first sheet of an Excel file; requires fastexcel
    .fvecs, .bvecs …      TEXMEX vectors
    .svm, .svmlight       sparse rows in the svmlight format; the labels are ignored
    .mat                  a CLUTO matrix, with the names from the files next to it
    ====================  =================================================================================

    Parameters
    ----------
    path : str or Path
    columns : sequence of int or str, default=None
        Columns to read, by name or by number from 0; all if None. Files without names accept numbers only.
    if_named : sequence of str, default=None
        Columns to read if ``columns`` is None and the file has names.
    header : bool, default=None
        Whether the first line of a text file holds column names. If None, it does when it has words above numbers.
    width : int, default=None
        Number of columns of an svmlight file, which does not state it.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        If the file is damaged, or its content is not numeric.
    OSError
        If the file cannot be read.
    """
    path = existing_file(path)
    suffix = _suffix_of(path)
    if suffix in _DELIMITED:
        return read_delimited(path, _separator(suffix), columns, if_named=if_named, header=header)
    if suffix == ".parquet":
        return read_parquet(path, columns, if_named)
    if suffix in TYPED_SUFFIXES:
        return _read_typed_numbers(path, suffix, columns, if_named, header)
    table = _read_all_columns(path, suffix, width)
    if columns is None and table.columns is not None:
        columns = if_named
    if columns is None or list(columns) == table.columns:
        return table
    chosen = column_positions(str(path), columns, table.columns, table.X.shape[1])
    names = None if table.columns is None else [table.columns[at] for at in chosen]
    return Table(table.X[:, chosen], names, table.rows)


def read_with_texts(
    path: str | Path,
    columns: Sequence[int | str] | None,
    texts: Sequence[int | str],
    *,
    header: bool | None = None,
) -> tuple[Table, list[list[str]]]:
    """Rows of a table with column names, and the columns ``texts`` as text, one list of n values for each.

    The columns of text are not among those of the rows; a missing value is an empty string. See ``read_table``.
    """
    path = existing_file(path)
    suffix = _suffix_of(path)
    if suffix not in _WITH_TEXTS:
        raise ValueError(
            f"{path}: the column {texts[0]!r} requires a table with column names, a file that ends in "
            f"{', '.join(_WITH_TEXTS)}; got {suffix!r}."
        )
    if suffix == ".parquet":
        return read_parquet_with_texts(path, columns, texts)
    if suffix in TYPED_SUFFIXES:
        return _read_typed_with_texts(path, suffix, columns, texts, header)
    return read_delimited_with_texts(path, _separator(suffix), columns, texts, header=header)


def _suffix_of(path: Path) -> str:
    """The suffix in lower case, with that of a compressed file; refuses one that no reader knows."""
    suffix = "".join(path.suffixes[-2:] if path.suffix.lower() == ".gz" else path.suffixes[-1:]).lower()
    if suffix not in SUFFIXES:
        got = repr(suffix) if suffix else "no suffix"
        raise ValueError(f"{path}: the name of the file must end in {', '.join(SUFFIXES)}; got {got}.")
    return suffix


def _separator(suffix: str) -> str:
    return "\t" if ".tsv" in suffix else ","


def _read_typed_numbers(
    path: Path,
    suffix: str,
    columns: Sequence[int | str] | None,
    if_named: Sequence[str] | None,
    header: bool | None,
) -> Table:
    """Numbers of an Arrow, JSON or Excel file."""
    found, named, notes = read_typed(path, suffix, columns, header)
    for note in notes:
        warnings.warn(note, stacklevel=3)  # the caller of read_table
    if columns is None and named and if_named is not None:
        found = found.select(requested(path, found.schema, None, if_named))
    table = numbers_of(path, found)
    return table if named else Table(table.X)


def _read_typed_with_texts(
    path: Path,
    suffix: str,
    columns: Sequence[int | str] | None,
    texts: Sequence[int | str],
    header: bool | None,
) -> tuple[Table, list[list[str]]]:
    """Numbers and columns of text of an Arrow, JSON or Excel file."""
    found, named, notes = read_typed(path, suffix, None, header)
    for note in notes:
        warnings.warn(note, stacklevel=3)  # the caller of read_with_texts
    if not named:
        raise ValueError(
            f"{path} has no column names, so there is no column {texts[0]!r}; if the first line has names, use "
            "header=True (--header)."
        )
    return numbers_and_texts_of(path, found, *split_texts(path, found.schema, columns, texts))


def _read_all_columns(path: Path, suffix: str, width: int | None) -> Table:
    """All columns of a file whose format cannot read some of them alone."""
    if suffix == ".mat":
        data = read_cluto(path)
        names = (None if found is None else found.tolist() for found in (data.terms, data.row_names))
        return Table(data.X, *names)
    if suffix in (".svm", ".svmlight"):
        return Table(read_svmlight(path, width))
    if suffix.endswith("vecs"):
        return Table(read_vecs(path))
    return Table(read_npy(path) if suffix == ".npy" else read_npz(path))
