"""The vector files of the TEXMEX collections: for each vector its number of dimensions, then its values.

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

from ksums.io.whole import whole_or_not_at_all

_VALUES = {".fvecs": "<f4", ".bvecs": "u1", ".ivecs": "<i4"}
_MOST_DIMENSIONS = 1 << 20


def read_vecs(path: str | Path) -> np.ndarray:
    """Vectors (n, d) of an fvecs, bvecs or ivecs file; the suffix says which.

    Raises
    ------
    ValueError
        Where the file is not as it should be.
    OSError
        Where it cannot be read.

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
    path = Path(path)
    values = _values_of(path)
    size = path.stat().st_size
    if size < 4:
        raise ValueError(f"{path} is empty or cut off: it has {size} bytes; the first vector begins with 4.")
    with path.open("rb") as file:
        dimensions = int(np.frombuffer(file.read(4), "<i4")[0])
    if not 0 < dimensions <= _MOST_DIMENSIONS:
        raise ValueError(
            f"{path} is no {path.suffix} file: its first vector would have {dimensions} dimensions; 1 to "
            f"{_MOST_DIMENSIONS} are allowed."
        )
    record = np.dtype([("d", "<i4"), ("x", values, (dimensions,))])
    if size % record.itemsize:
        raise ValueError(
            f"{path} is cut off, or no {path.suffix} file: {size} bytes are no whole number of vectors of "
            f"{record.itemsize} bytes ({dimensions} dimensions)."
        )
    records = np.memmap(path, record, "r")
    other = np.flatnonzero(records["d"] != dimensions)
    if other.size:
        raise ValueError(
            f"{path} is damaged: vector {other[0]} says that it has {records['d'][other[0]]} dimensions, the first one "
            f"{dimensions}."
        )
    return np.array(records["x"])


def write_vecs(path: str | Path, X: np.ndarray) -> None:
    """Write vectors (n, d) as fvecs, bvecs or ivecs, whole or not at all; the suffix says which."""
    path, X = Path(path), np.asarray(X)
    values = np.dtype(_values_of(path))
    if X.ndim != 2:
        raise ValueError(f"{path}: vectors of shape (n, d) are needed; got shape {X.shape}.")
    records = np.empty(len(X), np.dtype([("d", "<i4"), ("x", values, (X.shape[1],))]))
    with np.errstate(invalid="ignore"):
        records["d"], records["x"] = X.shape[1], X
    if values.kind != "f" and not np.array_equal(records["x"], X):
        limits = np.iinfo(values)
        raise ValueError(f"{path} holds whole numbers from {limits.min} to {limits.max}; the vectors have others.")
    with whole_or_not_at_all(path) as file:
        file.write(records.tobytes())


def _values_of(path: Path) -> str:
    if path.suffix not in _VALUES:
        raise ValueError(f"{path}: files of vectors end in {', '.join(_VALUES)}; got {path.suffix or 'no suffix'!r}.")
    return _VALUES[path.suffix]
