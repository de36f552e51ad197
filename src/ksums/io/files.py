"""Rows of numbers from a file, whatever its format; the suffix says which."""

from __future__ import annotations

import contextlib
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from ksums.io.cluto import read_cluto
from ksums.io.tables import read_parquet, read_svmlight, read_text
from ksums.io.vecs import read_vecs
from ksums.typing import Matrix

_TEXT = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
SUFFIXES = (".npy", ".npz", *_TEXT, ".parquet", ".fvecs", ".bvecs", ".ivecs", ".svm", ".svmlight", ".mat")


def read_rows(path: str | Path, columns: Sequence[int | str] | None = None) -> Matrix:
    """Rows (n, d) of a file.

    ====================  =================================================================================
    suffix                what it is
    ====================  =================================================================================
    .npy                  a NumPy array, as a memory map: it is read when it is used
    .npz                  NumPy arrays, of which the one called ``X`` is meant, or a sparse matrix of SciPy
    .csv, .tsv, .gz       numbers, with or without a line of names above them
    .parquet              a table; needs pyarrow
    .fvecs, .bvecs …      vectors of TEXMEX
    .svm, .svmlight       sparse rows of svmlight; the labels in it are left out
    .mat                  a matrix of CLUTO
    ====================  =================================================================================

    Parameters
    ----------
    path : str or Path
    columns : sequence of int or str, default=None
        Which columns are read, by number or by name; all, if None. Of files without names, numbers only.

    Raises
    ------
    ValueError
        Where the file is not as it should be.
    OSError
        Where it cannot be read.
    """
    path = Path(path)
    suffix = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    if path.is_dir():
        raise ValueError(f"{path} is a folder; a file is needed.")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if suffix not in SUFFIXES:
        raise ValueError(f"{path}: files that end in {', '.join(SUFFIXES)} are read; got {suffix or 'no suffix'!r}.")
    if suffix in _TEXT:
        return read_text(path, "\t" if ".tsv" in suffix else ",", columns)
    if suffix == ".parquet":
        return read_parquet(path, columns)
    if suffix in (".npy", ".npz"):
        rows = _read_numpy(path)
    elif suffix == ".mat":
        rows = read_cluto(path).X
    else:
        rows = read_vecs(path) if suffix.endswith("vecs") else read_svmlight(path)
    return rows if columns is None else _some(rows, columns, path)


def _some(rows: Matrix, columns: Sequence[int | str], path: Path) -> Matrix:
    wrong = [column for column in columns if not isinstance(column, int) or not 0 <= column < rows.shape[1]]
    if wrong:
        raise ValueError(f"{path} has no column {wrong[0]!r}; its columns are the numbers 0 to {rows.shape[1] - 1}.")
    return rows[:, list(columns)]


def read_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """All arrays of an .npz file."""
    try:
        with Path(path).open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            return dict(file)
    except (ValueError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is cut off, or no .npz file of plain arrays: {error}.") from error


def _read_numpy(path: Path) -> Matrix:
    if path.suffix == ".npy":
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise ValueError(f"{path} is cut off, or no .npy file of plain numbers: {error}.") from error
    else:
        arrays = read_arrays(path)
        if "format" in arrays:
            return sparse.csr_array(sparse.load_npz(path))
        if "X" not in arrays and len(arrays) != 1:
            raise ValueError(f"{path} has the arrays {sorted(arrays)}; one called X is needed, or only one.")
        array = arrays.get("X", next(iter(arrays.values())))
    if array.ndim != 2:
        raise ValueError(f"{path}: an array of shape (n, d) is needed; got shape {array.shape}.")
    return array


@contextlib.contextmanager
def whole_or_not_at_all(path: str | Path, mode: str = "wb") -> Iterator[IO[Any]]:
    """A file to write that takes its place when all is written; after an error there is none, or the one before."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, mode, encoding=None if "b" in mode else "utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
