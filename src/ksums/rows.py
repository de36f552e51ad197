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
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ksums.computing import in_order
from ksums.typing import Matrix, arithmetic_of

_BLOCK_BYTES = 1 << 20  # rows read at a time: small enough to stay in the second-level cache
_GATHERED_BYTES = 16 << 20  # a part of the data up to this size is read once and kept


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
    ids: np.ndarray | None = None  # which rows of X these are; None: all of them
    cosine: bool = False  # whether only the directions of the rows count: then they have unit length

    @property
    def n(self) -> int:
        return self.X.shape[0] if self.ids is None else len(self.ids)

    @property
    def d(self) -> int:
        return self.X.shape[1]

    @cached_property
    def is_sparse(self) -> bool:
        return sparse.issparse(self.X)

    @property
    def measure_unit(self) -> float:
        """What a squared distance between finished rows is worth in the units of the data."""
        return 1.0 if self.cosine else float(self.scales[0]) ** -2.0

    def weights_of(self, ids: np.ndarray) -> np.ndarray:
        return np.ones(len(ids)) if self.weights is None else self.weights[ids]

    def block_length(self) -> int:
        return max(1, _BLOCK_BYTES // (max(self.d, 1) * self.dtype.itemsize))

    def blocks_of(self, ids: np.ndarray, columns: int = 0) -> Iterator[np.ndarray]:
        """The ids in runs short enough to read at once, and to hold ``columns`` float64 numbers for each of."""
        length = self.block_length() if not self.is_sparse else 4096
        if columns:
            length = max(1, min(length, _BLOCK_BYTES // columns))
        for first in range(0, len(ids), length):
            yield ids[first : first + length]

    def read(self, ids: np.ndarray, dtype=None, out: np.ndarray | None = None) -> Matrix:
        """Finished rows: an array (into ``out`` if given), or a CSR array for sparse data."""
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        by_row = len(self.scales) > 1
        if self.ids is not None:
            ids = self.ids[ids]
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
    n = X.shape[0]
    dtype, everything, unknown = arithmetic_of(X), np.arange(n), np.empty(0)

    def rows(shift, scales, sq_norms=unknown, pulling=everything) -> Rows:
        return Rows(X, dtype, shift, scales, weights, sq_norms, pulling)

    unit = np.ones(1)
    weighty = everything if weights is None else np.flatnonzero(weights > 0)
    if metric == "cosine":
        lengths = _lengths(rows(None, unit))
        # Below this a scale leaves the range of the arithmetic: such a row is zero for all that can be told.
        directed = lengths > 4 * float(np.finfo(dtype).tiny)
        scales = np.divide(1.0, lengths, out=np.zeros(n), where=directed)
        finished = rows(None, scales, directed.astype(np.float64), weighty[directed[weighty]])
        return replace(finished, cosine=True)
    shift = None
    plain = rows(None, unit)
    if not sparse.issparse(X):
        shift, largest = _mean_and_reach(plain, weighty)
    else:
        largest = max(_largest(plain.read(ids)) for ids in plain.blocks_of(weighty))
    scales = np.array([_power_of_two_near(largest, dtype)])
    return rows(shift, scales, sq_norms_of(rows(shift, scales), weighty), weighty)


def _mean_and_reach(rows: Rows, ids: np.ndarray) -> tuple[np.ndarray, float]:
    """Mean of dense rows, in their arithmetic, and the largest distance from it along any axis."""

    def measure(part: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        block = rows.read(part)
        return block.sum(axis=0, dtype=np.float64), block.min(axis=0), block.max(axis=0)

    sums, least, most = zip(*in_order(measure, rows.blocks_of(ids)), strict=True)
    mean = (np.sum(sums, axis=0) / len(ids)).astype(rows.dtype)
    return mean, float(np.maximum(np.max(most, axis=0) - mean, mean - np.min(least, axis=0)).max(initial=0.0))


def part_of(rows: Rows, ids: np.ndarray) -> Rows:
    """Some of the rows as data of their own, numbered from 0; for l2, dense rows are centred anew.

    So a cluster far from the mean of all loses no digits. What is small is read once and kept; of sparse rows then
    only the columns that occur.
    """
    of_all = ids if rows.ids is None else rows.ids[ids]
    small = _bytes_of(rows, of_all) <= _GATHERED_BYTES
    weights, everything = None if rows.weights is None else rows.weights[ids], np.arange(len(ids))
    own = replace(rows, ids=of_all, weights=weights, sq_norms=rows.sq_norms[ids], pulling=everything)
    if rows.is_sparse:
        if not small:
            return own
        block = rows.read(ids)
        terms, columns = np.unique(block.indices, return_inverse=True)
        block = sparse.csr_array((block.data, columns, block.indptr), shape=(len(ids), max(len(terms), 1)))
        return replace(own, X=block, ids=None, scales=np.ones(1))
    if rows.cosine:
        return replace(own, X=own.read(everything), ids=None, scales=np.ones(1)) if small else own
    plain = replace(own, shift=None, scales=np.ones(1))
    if small:
        block = plain.read(everything)
        block -= block.mean(axis=0, dtype=np.float64).astype(rows.dtype)
        if rows.scales[0] != 1:
            block *= rows.scales.astype(rows.dtype)
        return replace(plain, X=block, ids=None, sq_norms=_squares(block))
    sums = (plain.read(part).sum(axis=0, dtype=np.float64) for part in plain.blocks_of(everything))
    mean = sum(sums, np.zeros(rows.d)) / len(ids)
    own = replace(own, shift=mean.astype(rows.dtype))
    return replace(own, sq_norms=sq_norms_of(own, everything))


def _bytes_of(rows: Rows, ids: np.ndarray) -> int:
    if not rows.is_sparse:
        return len(ids) * rows.d * rows.dtype.itemsize
    entries = int((rows.X.indptr[ids + 1] - rows.X.indptr[ids]).sum())
    return entries * (rows.X.data.itemsize + rows.X.indices.itemsize)


def prepare_for(X: Matrix, centres: np.ndarray, metric: str) -> tuple[Rows, np.ndarray, np.ndarray]:
    """Rows to be compared with given centres, and the centres as those rows see them with their squared norms."""
    dtype, shift, scales = arithmetic_of(X), None, np.ones(1)
    if metric == "l2":
        if not sparse.issparse(X):
            shift = centres.mean(axis=0, dtype=np.float64).astype(dtype)
        scales[0] = _power_of_two_near(_largest(centres if shift is None else centres - shift), dtype)
    rows = Rows(X, dtype, shift, scales, None, np.empty(0), np.arange(X.shape[0]))
    return rows, *place_centres(centres, rows, metric)


def rows_and_centres(X: Matrix, centres: np.ndarray, metric: str) -> tuple[Rows, np.ndarray, np.ndarray]:
    """Dense rows and centres as the method sees them, with what |x − C|² takes: under cosine both of unit length."""
    if metric == "cosine":
        rows = prepare(X, metric)
        placed, _ = place_centres(centres, rows, metric)
        return rows, placed, np.ones(len(centres))
    rows, placed, squares = prepare_for(X, centres, metric)
    return replace(rows, sq_norms=sq_norms_of(rows, rows.pulling)), placed, squares


def place_centres(centres: np.ndarray, rows: Rows, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Centres from the space of the data to that of the finished rows, and their squared norms.

    The nearest centre is the one of least ``sq_norms − 2 x·C``. Under cosine the centres are unit vectors whose
    squared norms count as 0, so that is the one of largest cosine, whatever the lengths of the rows.
    """
    centres = centres.astype(np.float64)
    dtype = np.float64 if rows.is_sparse else rows.dtype
    if metric == "cosine":
        lengths = np.linalg.norm(centres, axis=1, keepdims=True)
        return (centres / np.where(lengths > 0, lengths, 1.0)).astype(dtype), np.zeros(len(centres))
    if rows.shift is not None:
        centres = centres - rows.shift
    centres = centres * rows.scales[0]
    return centres.astype(dtype), np.einsum("rt,rt->r", centres, centres)


def _largest(block: Matrix) -> float:
    return float(np.abs(block.data if sparse.issparse(block) else block).max(initial=0.0))


def sq_norms_of(rows: Rows, ids: np.ndarray) -> np.ndarray:
    """x·x of the finished rows, in float64; zero for rows without weight, which nobody asks for."""
    sq_norms = np.zeros(rows.n)

    def measure(part: np.ndarray) -> None:
        if rows.is_sparse:
            block = rows.read(part, np.float64)
            sq_norms[part] = block.multiply(block).sum(axis=1)
        else:
            sq_norms[part] = _squares(rows.read(part))

    for _ in in_order(measure, rows.blocks_of(ids)):
        pass
    return sq_norms


def _squares(block: np.ndarray) -> np.ndarray:
    """x·x of each row, in float64, with the same bits wherever in a block it is."""
    return np.square(block, dtype=np.float64).sum(axis=1)


def _lengths(rows: Rows) -> np.ndarray:
    """|x| of all rows; the largest entry is taken out first, so that squares neither overflow nor vanish."""
    lengths = np.empty(rows.n)
    for ids in rows.blocks_of(np.arange(rows.n)):
        block = rows.read(ids, np.float64)
        largest = abs(block).max(axis=1)
        largest = largest.toarray().ravel() if rows.is_sparse else largest
        safe = np.where(largest > 0, largest, 1.0)
        if rows.is_sparse:
            block.data /= np.repeat(safe, np.diff(block.indptr))
            squares = np.asarray(block.multiply(block).sum(axis=1)).ravel()
        else:
            block /= safe[:, None]
            squares = np.square(block).sum(axis=1)  # the same bits however many rows there are
        lengths[ids] = largest * np.sqrt(squares)
    return lengths


def _power_of_two_near(largest: float, dtype: np.dtype[Any]) -> float:
    """1 for ordinary magnitudes, else the power of two that brings them near 1, as far as the type can hold it."""
    if largest == 0.0 or 2.0**-20 < largest < 2.0**20:
        return 1.0
    most = 100 if dtype == np.float32 else 900
    return float(2.0 ** np.clip(-np.frexp(largest)[1], -most, most))
