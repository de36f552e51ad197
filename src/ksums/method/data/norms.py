"""Squared norms, lengths and rows of unit length, for dense and sparse rows. Every room uses these."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ksums.compute.arrays import Matrix, as_dense, blocks

_WIDE = 512
"""Numbers in a row from which on NumPy's reductions are fast."""
_PIECE = 1 << 14
"""Numbers that are squared at a time: they fit into the cache."""


def sq_norms(rows: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """x·x of each row of an array, in its own arithmetic."""
    return np.einsum("rt,rt->r", rows, rows, out=out)


def exact_sq_norms(block: Matrix) -> np.ndarray:
    """x·x of each row in float64, with the same bits wherever in a block the row is."""
    if sparse.issparse(block):
        return np.asarray(block.multiply(block).sum(axis=1)).ravel()
    found, length = np.empty(len(block)), max(1, _PIECE // max(1, block.shape[1]))
    squares = np.empty((min(length, len(block)), block.shape[1]))
    for part in blocks(len(block), length):  # room that is used again costs less than new room
        own = np.square(block[part], dtype=np.float64, out=squares[: part.stop - part.start])
        own.sum(axis=1, out=found[part])
    return found


def column_range(block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest value of each column.

    NumPy reduces narrow rows slowly, so a run of them is viewed as one wide row first.
    """
    n, d = block.shape
    together = max(1, _WIDE // max(1, d))
    whole = n // together * together
    if together == 1 or whole == 0 or not block.flags.c_contiguous:
        return block.min(axis=0), block.max(axis=0)
    wide, rest = block[:whole].reshape(-1, together * d), block[whole:]
    least, most = (np.concatenate([of(axis=0).reshape(together, d), rest]) for of in (wide.min, wide.max))
    return least.min(axis=0), most.max(axis=0)


def lengths(block: Matrix) -> np.ndarray:
    """|x| of each row of a float64 block."""
    largest, scaled = _scaled_by_largest(block)
    return largest * np.sqrt(exact_sq_norms(scaled))


def unit_rows(block: Matrix) -> Matrix:
    """Rows scaled to unit length, in float64; rows of zeros stay zeros."""
    _, scaled = _scaled_by_largest(block.astype(np.float64))
    return _divided(scaled, np.sqrt(exact_sq_norms(scaled) if sparse.issparse(scaled) else sq_norms(scaled)))


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """Ordinary dense vectors scaled to unit length; zeros stay zeros."""
    found = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(found > 0, found, 1.0)


def _scaled_by_largest(block: Matrix) -> tuple[np.ndarray, Matrix]:
    """The largest entry of each row, and rows divided by it, so that squares neither overflow nor vanish."""
    largest = as_dense(abs(block).max(axis=1)).ravel() if block.shape[1] else np.zeros(block.shape[0])
    return largest, _divided(block, largest)


def _divided(block: Matrix, by: np.ndarray) -> Matrix:
    """Rows divided by numbers, those that are 0 aside."""
    safe = np.where(by > 0, by, 1.0)
    if not sparse.issparse(block):
        return block / safe[:, None]
    block = block.copy()
    block.data /= np.repeat(safe, np.diff(block.indptr))
    return block
