"""NumPy's .npy and .npz files, and sparse matrices as SciPy saves them in .npz files."""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

from ksums.compute.arrays import Matrix


def read_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """All arrays of an .npz file, by name.

    Parameters
    ----------
    path : str or Path
    """
    with _opened(Path(path)) as archive:
        return dict(archive)


def read_npy(path: Path) -> np.ndarray:
    """The array (n, d) of an .npy file, as a memory map."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} is truncated, or not an .npy file of plain numbers: {error}.") from error
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{path} is an archive of arrays: rename it so that it ends in .npz.")
    return _checked(path, array)


def read_npz(path: Path) -> Matrix:
    """Rows (n, d) of an .npz file: a sparse matrix, the array called X, or the only array."""
    with _opened(path) as archive:
        names = archive.files
        is_sparse = "format" in names
        wanted = "X" if "X" in names else names[0] if len(names) == 1 else None
        array = None if is_sparse or wanted is None else archive[wanted]
    if is_sparse:
        return _read_sparse(path)
    if array is None:
        raise ValueError(f"{path} has the arrays {sorted(names)}; it must have one called X, or only one.")
    return _checked(path, array)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[np.lib.npyio.NpzFile]:
    """The archive; errors while it is open are reported with the name of the file."""
    try:
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("it is a single array")
            yield archive
    except (ValueError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is truncated, or not an .npz file of plain arrays: {error}.") from error


def _checked(path: Path, array: np.ndarray) -> np.ndarray:
    if array.ndim != 2:
        raise ValueError(f"{path}: the array must have shape (n, d); got shape {array.shape}.")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{path}: the array must contain real numbers; got dtype {array.dtype}.")
    return array


def _read_sparse(path: Path) -> sparse.csr_array:
    """A sparse matrix whose indices have been checked, because compiled loops rely on them."""
    try:
        X = sparse.csr_array(sparse.load_npz(path))
        X.check_format(full_check=True)
    except (ValueError, TypeError, KeyError, NotImplementedError) as error:
        raise ValueError(f"{path} is damaged, or not a SciPy sparse matrix: {error}.") from error
    return X
