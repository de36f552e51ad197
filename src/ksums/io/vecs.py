"""Vector files of the TEXMEX collections: each vector is its number of dimensions, followed by its values.

========  ==========================
suffix    values
========  ==========================
.fvecs    float32
.bvecs    uint8
.ivecs    int32
========  ==========================

The number of dimensions is an int32; everything is little-endian.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ksums.io.atomic import atomic_write

_VALUES = {".fvecs": "<f4", ".bvecs": "u1", ".ivecs": "<i4"}
"""Type of the values by suffix, as TEXMEX defines it."""

_MAX_DIMENSIONS = 1 << 20
"""A file that states more dimensions than this is not a vector file."""


def read_vecs(path: str | Path) -> np.ndarray:
    """Vectors (n, d) of an fvecs, bvecs or ivecs file, as its suffix states.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    ndarray of shape (n, d)

    Raises
    ------
    ValueError
        If the file is damaged or not a vector file.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ksums.io import read_vecs, write_vecs
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.fvecs"
    >>> write_vecs(path, np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    >>> read_vecs(path)
    array([[1., 2., 3.],
           [4., 5., 6.]], dtype=float32)
    """
    return np.array(map_vecs(Path(path)))


def map_vecs(path: Path) -> np.ndarray:
    """The same as a memory map: rows are read when they are used."""
    values = _type_of_values(path)
    size = path.stat().st_size
    if size < 4:
        raise ValueError(f"{path} is empty or truncated: it has {size} bytes; a vector has more than 4 bytes.")
    with path.open("rb") as file:
        dimensions = int(np.frombuffer(file.read(4), "<i4")[0])
    if not 0 < dimensions <= _MAX_DIMENSIONS:
        raise ValueError(
            f"{path} is not a {path.suffix} file: its first vector would have {dimensions} dimensions; allowed are 1 "
            f"to {_MAX_DIMENSIONS}."
        )
    record = np.dtype([("d", "<i4"), ("x", values, (dimensions,))])
    if size % record.itemsize:
        raise ValueError(
            f"{path} is truncated, or not a {path.suffix} file: {size} bytes is not a multiple of {record.itemsize}, "
            f"the size of a vector with {dimensions} dimensions."
        )
    records = np.memmap(path, record, "r")
    different = np.flatnonzero(records["d"] != dimensions)
    if different.size:
        raise ValueError(
            f"{path} is damaged: vector {different[0]} states {records['d'][different[0]]} dimensions, the first one "
            f"states {dimensions}."
        )
    return records["x"]


def write_vecs(path: str | Path, X: np.ndarray) -> None:
    """Write vectors (n, d) as fvecs, bvecs or ivecs, as the suffix states, completely or not at all.

    Parameters
    ----------
    path : str or Path
    X : array-like of shape (n, d)
        Values that the format cannot hold exactly are refused, except for the rounding to float32.
    """
    path, X = Path(path), np.asarray(X)
    values = np.dtype(_type_of_values(path))
    if X.ndim != 2:
        raise ValueError(f"{path}: the vectors must have shape (n, d); got shape {X.shape}.")
    records = np.empty(len(X), np.dtype([("d", "<i4"), ("x", values, (X.shape[1],))]))
    with np.errstate(invalid="ignore"):
        records["d"], records["x"] = X.shape[1], X
    if values.kind != "f" and not np.array_equal(records["x"], X):
        limits = np.iinfo(values)
        raise ValueError(f"{path} can only hold integers from {limits.min} to {limits.max}; X has other values.")
    with atomic_write(path) as file:
        file.write(records.tobytes())


def _type_of_values(path: Path) -> str:
    if path.suffix not in _VALUES:
        got = repr(path.suffix) if path.suffix else "no suffix"
        raise ValueError(f"{path}: the name of a vector file must end in {', '.join(_VALUES)}; got {got}.")
    return _VALUES[path.suffix]
