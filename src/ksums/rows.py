"""The data as the method reads it: a few rows at a time, ready for arithmetic, never a copy of the whole.

Rows come out converted to float32 or float64, and

* for l2, dense: shifted by the mean (the expansion x·x − 2x·D/n + D·D/n² loses digits on data far from the
  origin) and scaled by a power of two (so that squares neither overflow nor vanish). Both leave the labels
  as they are; the power of two changes not one bit.
* for cosine: scaled to unit length each.

A row *pulls* if it has a weight and, under cosine, a direction. The others are never visited, change no
cluster, and get a label at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ksums.typing import Matrix

_BLOCK_BYTES = 1 << 20  # rows read at a time: small enough to stay in the second-level cache


@dataclass(frozen=True)
class Rows:
    """``X`` with what turns its rows into numbers to compute with."""

    X: Matrix  # (n, d)
    dtype: np.dtype  # float32 or float64: the arithmetic of the compiled engines
    shift: np.ndarray | None  # (d,)  subtracted from each row
    scales: np.ndarray  # (1,) or (n,)  multiplied to each row afterwards
    weights: np.ndarray | None  # (n,)  float64; None: all are 1
    sq_norms: np.ndarray  # (n,)  float64, of the finished rows
    pulling: np.ndarray  # rows that pull, in order

    @property
    def n(self) -> int:
        return self.X.shape[0]

    @property
    def d(self) -> int:
        return self.X.shape[1]

    @property
    def is_sparse(self) -> bool:
        return sparse.issparse(self.X)

    @property
    def scaled_by_row(self) -> bool:
        """Whether each row has a scale of its own (cosine). A single row cannot tell, and need not."""
        return len(self.scales) > 1

    def weights_of(self, ids: np.ndarray) -> np.ndarray:
        return np.ones(len(ids)) if self.weights is None else self.weights[ids]

    def block_length(self) -> int:
        return max(1, _BLOCK_BYTES // (max(self.d, 1) * self.dtype.itemsize))

    def blocks_of(self, ids: np.ndarray) -> Iterator[np.ndarray]:
        """The ids in runs short enough to read at once."""
        length = self.block_length() if not self.is_sparse else 4096
        for first in range(0, len(ids), length):
            yield ids[first : first + length]

    def read(self, ids: np.ndarray, dtype=None, out: np.ndarray | None = None) -> Matrix:
        """Finished rows: an array (into ``out`` if given), or a CSR array for sparse data."""
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        by_row = self.scaled_by_row
        scales = (self.scales[ids] if by_row else self.scales).astype(dtype)
        if self.is_sparse:
            block = self.X[ids].astype(dtype)
            lengths = np.diff(block.indptr)
            block.data *= np.repeat(scales, lengths) if by_row else scales
            return block
        if out is None:
            out = np.empty((len(ids), self.d), dtype)
        if self.X.dtype == dtype:
            np.take(self.X, ids, axis=0, out=out, mode="clip")  # clip: else NumPy buffers the output
        else:
            out[...] = self.X[ids]
        if self.shift is not None:
            out -= self.shift.astype(dtype, copy=False)
        if by_row:
            out *= scales[:, None]
        elif scales[0] != 1:
            out *= scales[0]
        return out


def prepare(X: Matrix, metric: str, weights: np.ndarray | None = None) -> Rows:
    """Look through the data two or three times and say how its rows are to be read. ``X`` is finite."""
    n, d = X.shape
    dtype: np.dtype[Any] = np.dtype(np.float64 if X.dtype == np.float64 else np.float32)
    everything, unknown = np.arange(n), np.empty(0)

    def rows(shift, scales, sq_norms=unknown, pulling=everything) -> Rows:
        return Rows(X, dtype, shift, scales, weights, sq_norms, pulling)

    unit, shift = np.ones(1), None
    plain = rows(None, unit)
    if metric == "l2" and not plain.is_sparse:
        sums = (plain.read(ids, np.float64).sum(axis=0) for ids in plain.blocks_of(everything))
        shift = (sum(sums, np.zeros(d)) / n).astype(dtype)
    largest, sq_norms = _largest_and_sq_norms(rows(shift, unit))
    scales = np.array([_power_of_two_near(largest)])
    if scales[0] != 1.0:
        _, sq_norms = _largest_and_sq_norms(rows(shift, scales))
    pulls = np.ones(n, bool) if weights is None else weights > 0
    if metric == "cosine":
        directed = sq_norms > (scales[0] * float(np.finfo(dtype).tiny) * 4) ** 2
        pulls &= directed
        scales = np.divide(scales[0], np.sqrt(sq_norms), out=np.zeros(n), where=directed)
        sq_norms = directed.astype(np.float64)
    return rows(shift, scales, sq_norms, np.flatnonzero(pulls))


def prepare_for(X: Matrix, centres: np.ndarray, metric: str) -> tuple[Rows, np.ndarray, np.ndarray]:
    """Rows to be compared with given centres, and the centres as those rows see them with their squared norms.

    The nearest centre is the one of least ``sq_norms − 2 x·C``. Under cosine the centres are unit vectors whose
    squared norms count as 0, so that is the one of largest cosine, whatever the lengths of the rows.
    """
    dtype: np.dtype[Any] = np.dtype(np.float64 if X.dtype == np.float64 else np.float32)
    centres = centres.astype(np.float64)
    shift, scales = None, np.ones(1)
    if metric == "cosine":
        lengths = np.linalg.norm(centres, axis=1, keepdims=True)
        centres = centres / np.where(lengths > 0, lengths, 1.0)
        sq_norms = np.zeros(len(centres))
    else:
        if not sparse.issparse(X):
            shift = centres.mean(axis=0).astype(dtype)
            centres = centres - shift
        scales[0] = _power_of_two_near(float(np.abs(centres).max()))
        centres = centres * scales[0]
        sq_norms = np.einsum("rt,rt->r", centres, centres)
    rows = Rows(X, dtype, shift, scales, None, np.empty(0), np.arange(X.shape[0]))
    return rows, centres.astype(np.float64 if rows.is_sparse else dtype), sq_norms


def _largest_and_sq_norms(rows: Rows) -> tuple[float, np.ndarray]:
    largest, sq_norms = 0.0, np.empty(rows.n)
    for ids in rows.blocks_of(rows.pulling):
        block = rows.read(ids).astype(np.float64, copy=False)
        values = block.data if rows.is_sparse else block
        largest = max(largest, float(np.abs(values).max(initial=0.0)))
        squares = block.multiply(block).sum(axis=1) if rows.is_sparse else np.einsum("it,it->i", block, block)
        sq_norms[ids] = squares
    return largest, sq_norms


def _power_of_two_near(largest: float) -> float:
    """1 for ordinary magnitudes, else the power of two that brings them near 1."""
    if largest == 0.0 or 2.0**-20 < largest < 2.0**20:
        return 1.0
    return float(2.0 ** -np.frexp(largest)[1])
