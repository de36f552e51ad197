"""Rows of numbers from a file, whatever its format; the suffix says which."""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy import sparse

from ksums.io.cluto import read_cluto
from ksums.io.existing import existing
from ksums.io.separated import read_separated
from ksums.io.table import Table, places
from ksums.io.tables import read_parquet, read_svmlight
from ksums.io.vecs import read_vecs
from ksums.typing import Matrix

_TEXT = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
SUFFIXES = (".npy", ".npz", *_TEXT, ".parquet", ".fvecs", ".bvecs", ".ivecs", ".svm", ".svmlight", ".mat")


def read_rows(path: str | Path, columns: Sequence[int | str] | None = None, *, header: bool | None = None) -> Matrix:
    """Rows (n, d) of a file: the numbers that :func:`ksums.io.read_table` gives.

    Parameters
    ----------
    path, columns, header
        As for :func:`ksums.io.read_table`.
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
    """Rows of a file, and their names.

    ====================  =================================================================================
    suffix                what it is
    ====================  =================================================================================
    .npy                  a NumPy array, as a memory map: it is read when it is used
    .npz                  NumPy arrays, of which the one called ``X`` is meant, or a sparse matrix of SciPy
    .csv, .tsv, .gz       numbers, with or without a line of names above them, separated by commas, tabs,
                          semicolons or vertical bars
    .parquet              a table; needs pyarrow
    .fvecs, .bvecs …      vectors of TEXMEX
    .svm, .svmlight       sparse rows of svmlight; the labels in it are left out
    .mat                  a matrix of CLUTO, with the names in the files beside it
    ====================  =================================================================================

    Parameters
    ----------
    path : str or Path
    columns : sequence of int or str, default=None
        Which columns are read, by name or by number; all, if None. Of files without names, numbers only.
    if_named : sequence of str, default=None
        Columns to read where ``columns`` does not say it and the file has names.
    header : bool, default=None
        Whether the first line of a text has names. None: it has, if there are words above numbers in it.
    width : int, default=None
        Number of columns, for svmlight, where the file does not say it.

    Raises
    ------
    ValueError
        Where the file is not as it should be.
    OSError
        Where it cannot be read.
    """
    path = existing(path)
    suffix = "".join(path.suffixes[-2:] if path.suffix.lower() == ".gz" else path.suffixes[-1:]).lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"{path}: files that end in {', '.join(SUFFIXES)} are read; got {suffix or 'no suffix'!r}.")
    if suffix in _TEXT:
        return read_separated(path, "\t" if ".tsv" in suffix else ",", columns, if_named=if_named, header=header)
    if suffix == ".parquet":
        return read_parquet(path, columns, if_named)
    if suffix == ".mat":
        data = read_cluto(path)
        names = (None if found is None else found.tolist() for found in (data.terms, data.row_names))
        table = Table(data.X, *names)
    elif suffix in (".svm", ".svmlight"):
        table = Table(read_svmlight(path, width))
    else:
        table = Table(read_vecs(path) if suffix.endswith("vecs") else _read_numpy(path, suffix))
    if columns is None and table.columns is not None:
        columns = if_named
    if columns is None or list(columns) == table.columns:
        return table
    chosen = places(str(path), columns, table.columns, table.X.shape[1])
    return Table(
        table.X[:, chosen], None if table.columns is None else [table.columns[at] for at in chosen], table.rows
    )


def read_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """All arrays of an .npz file."""
    with _archive(Path(path)) as file:
        return dict(file)


@contextlib.contextmanager
def _archive(path: Path) -> Iterator[np.lib.npyio.NpzFile]:
    try:
        with path.open("rb") as opened:
            file = np.load(opened, allow_pickle=False)
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise ValueError("it is a single array")
            yield file
    except (ValueError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is cut off, or no .npz file of plain arrays: {error}.") from error


def _read_numpy(path: Path, suffix: str) -> Matrix:
    if suffix == ".npy":
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise ValueError(f"{path} is cut off, or no .npy file of plain numbers: {error}.") from error
        if not isinstance(array, np.ndarray):
            raise ValueError(f"{path} is an archive of arrays: its name must end in .npz.")
    else:
        with _archive(path) as file:
            names = file.files
            is_sparse = "format" in names
            wanted = "X" if "X" in names else names[0] if len(names) == 1 else None
            array = None if is_sparse or wanted is None else file[wanted]
        if is_sparse:
            return _read_sparse(path)
        if array is None:
            raise ValueError(f"{path} has the arrays {sorted(names)}; one called X is needed, or only one.")
    if array.ndim != 2:
        raise ValueError(f"{path}: an array of shape (n, d) is needed; got shape {array.shape}.")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{path}: an array of real numbers is needed; got the type {array.dtype}.")
    return array


def _read_sparse(path: Path) -> sparse.csr_array:
    """A sparse matrix, with its indices looked at: compiled loops trust them."""
    try:
        X = sparse.csr_array(sparse.load_npz(path))
        X.check_format(full_check=True)
    except (ValueError, TypeError, KeyError, NotImplementedError) as error:
        raise ValueError(f"{path} is damaged, or no sparse matrix of SciPy: {error}.") from error
    return X
