"""The data as the method reads it: a few rows at a time, ready for arithmetic, never a copy of the whole.

Prepared rows are float32 or float64, and

* for l2, dense: shifted by the mean, because the expansion x·x − 2x·D/n + D·D/n² loses digits on data far from the
  origin, and scaled by a power of two, so that squares neither overflow nor vanish. Both leave the labels as they are;
  the power of two does not change a single bit.
* for cosine: scaled to unit length.

A row is *active* if it has a weight and, under cosine, a direction. Rows that are not active are never visited, change
no cluster, and get a label at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ksums.compute.arrays import Matrix, arithmetic_of, blocks
from ksums.compute.threads import in_order
from ksums.method.data import norms
from ksums.method.data.sums import column_sums

_BLOCK_BYTES = 1 << 20
"""Rows are read in blocks of this size, which stays in the second-level cache."""
_READS = 8
"""Blocks that a thread reads one after another into the same room, where nothing but a number of each row is kept."""
_SPARSE_BLOCK = 4096
"""Sparse rows are read this many at a time: their size is not known before they are read."""
_GATHERED_BYTES = 16 << 20
"""A subset of the rows up to this size is read once and kept."""


@dataclass(frozen=True)
class Rows:
    """``X`` with what turns its rows into prepared rows."""

    X: Matrix  # (n, d)
    dtype: np.dtype  # float32 or float64: the arithmetic of the compiled engines
    shift: np.ndarray | None  # (d,)  subtracted from each row
    scales: np.ndarray  # (1,) or (n,)  each row is multiplied by this afterwards
    weights: np.ndarray | None  # (n,)  float64; None: all are 1
    known_sq_norms: np.ndarray | None = None  # None: computed when they are needed
    known_active: np.ndarray | None = None  # None: all rows are active
    ids: np.ndarray | None = None  # which rows of X these are; None: all of them
    inner: np.ndarray | None = None  # (n,)  Σ w |x − mean|² inside a row that stands for several; None: 0
    cosine: bool = False  # whether only the directions of the rows count, so that they have unit length

    @property
    def n(self) -> int:
        return self.X.shape[0] if self.ids is None else len(self.ids)

    @property
    def d(self) -> int:
        return self.X.shape[1]

    @cached_property
    def sq_norms(self) -> np.ndarray:
        """(n,) x·x of the prepared rows that are active, in float64."""
        return sq_norms_of(self, self.active) if self.known_sq_norms is None else self.known_sq_norms

    @cached_property
    def active(self) -> np.ndarray:
        """The active rows, in order."""
        return np.arange(self.n) if self.known_active is None else self.known_active

    def with_active(self, active: np.ndarray) -> Rows:
        """The same rows, of which others are active."""
        return replace(self, known_active=active, known_sq_norms=self.sq_norms)

    @property
    def n_active(self) -> int:
        """The number of active rows."""
        return self.n if self.known_active is None else len(self.known_active)

    @cached_property
    def is_sparse(self) -> bool:
        return sparse.issparse(self.X)

    @property
    def sq_unit(self) -> float:
        """A squared distance of 1 between prepared rows, in the units of the data."""
        return 1.0 if self.cosine else float(self.scales[0]) ** -2.0

    @property
    def heaviest(self) -> float:
        """The largest weight of a row."""
        return 1.0 if self.weights is None else float(self.weights.max())

    @property
    def inner_distortion(self) -> float:
        """What rows that stand for several add to E_m, whatever the labels are."""
        return 0.0 if self.inner is None else float(self.inner.sum() / self.weights_of(self.active).sum())

    def weights_of(self, ids: np.ndarray | slice) -> np.ndarray:
        if self.weights is not None:
            return self.weights[ids]
        return np.ones(ids.stop - ids.start if isinstance(ids, slice) else len(ids))

    def block_length(self) -> int:
        """Dense rows that are read at once."""
        return max(1, _BLOCK_BYTES // (max(self.d, 1) * self.dtype.itemsize))

    def blocks_of(self, ids: np.ndarray, columns: int = 0) -> Iterator[np.ndarray]:
        """The ids in parts short enough to read at once, and to hold ``columns`` float64 numbers for each row."""
        length = self.block_length() if not self.is_sparse else _SPARSE_BLOCK
        if columns:
            length = max(1, min(length, _BLOCK_BYTES // columns))
        for part in blocks(len(ids), length):
            yield ids[part]

    def active_blocks(self) -> Iterator[np.ndarray | slice]:
        """The active rows in parts short enough to read at once: slices if all of them are active."""
        if self.known_active is not None:
            return self.blocks_of(self.known_active)
        return blocks(self.n, self.block_length() if not self.is_sparse else _SPARSE_BLOCK)

    def read(self, ids: np.ndarray | slice, dtype=None, out: np.ndarray | None = None) -> Matrix:
        """Prepared rows: an array (``out``, if given), or a CSR array for sparse data. A slice is read fastest."""
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        by_row = len(self.scales) > 1
        if self.ids is not None:
            ids = self.ids[ids]
        scales = (self.scales[ids] if by_row else self.scales).astype(dtype)
        if self.is_sparse:
            block = self.X[ids].astype(dtype)
            block.data *= np.repeat(scales, np.diff(block.indptr)) if by_row else scales
            return block
        shift = None if self.shift is None else self.shift.astype(dtype, copy=False)
        if isinstance(ids, slice):
            block = self.X[ids]
            out = np.empty(block.shape, dtype) if out is None else out
            np.subtract(block, 0 if shift is None else shift, out=out, dtype=dtype, casting="unsafe")
        else:
            out = np.empty((len(ids), self.d), dtype) if out is None else out
            if self.X.dtype == dtype:
                np.take(self.X, ids, axis=0, out=out, mode="clip")  # with mode="raise" NumPy would buffer the output
            else:
                out[...] = self.X[ids]
            if shift is not None:
                out -= shift
        if by_row:
            out *= scales[:, None]
        elif scales[0] != 1:
            out *= scales[0]
        return out


def listed(ids: np.ndarray | slice) -> np.ndarray:
    """The numbers of the rows of a part."""
    return np.arange(ids.start, ids.stop) if isinstance(ids, slice) else ids


def plain_rows(points: np.ndarray) -> Rows:
    """The rows of a dense array as they are."""
    return Rows(points, points.dtype, None, np.ones(1), None)


def prepare(X: Matrix, metric: str, weights: np.ndarray | None = None) -> Rows:
    """Read the data once or twice and decide how its rows are prepared. ``X`` is finite."""
    n, dtype = X.shape[0], arithmetic_of(X)
    weighty = None if weights is None else np.flatnonzero(weights > 0)
    unprepared = Rows(X, dtype, None, np.ones(1), weights, known_active=weighty)
    if metric == "cosine":
        lengths = _lengths(unprepared)
        # A shorter row would need a scale outside the range of the arithmetic: it counts as zero.
        directed = lengths > 4 * float(np.finfo(dtype).tiny)
        scales = np.divide(1.0, lengths, out=np.zeros(n), where=directed)
        active, sq_norms = unprepared.active[directed[unprepared.active]], directed.astype(np.float64)
        return replace(unprepared, scales=scales, known_sq_norms=sq_norms, known_active=active, cosine=True)
    shift = None
    if not sparse.issparse(X):
        shift, largest = _mean_and_reach(unprepared)
    else:
        largest = max(largest_entry(unprepared.read(ids)) for ids in unprepared.blocks_of(unprepared.active))
    return replace(unprepared, shift=shift, scales=np.array([power_of_two_near(largest, dtype)]))


def subset(rows: Rows, ids: np.ndarray) -> Rows:
    """Some of the rows as data of their own, numbered from 0; for l2, dense rows are centred again.

    So a cluster far from the mean of all rows loses no digits. A small subset is read once and kept; of sparse rows,
    only the columns that occur.
    """
    of_all = ids if rows.ids is None else rows.ids[ids]
    small = _bytes_of(rows, of_all) <= _GATHERED_BYTES
    weights, everything = None if rows.weights is None else rows.weights[ids], np.arange(len(ids))
    inner = None if rows.inner is None else rows.inner[ids]
    own = replace(rows, ids=of_all, weights=weights, known_sq_norms=None, known_active=None, inner=inner)
    if rows.is_sparse or rows.cosine:
        own = replace(own, known_sq_norms=rows.sq_norms[ids])
    if rows.is_sparse:
        if not small:
            return own
        block = rows.read(ids)
        terms, columns = np.unique(block.indices, return_inverse=True)
        block = sparse.csr_array((block.data, columns, block.indptr), shape=(len(ids), max(len(terms), 1)))
        return replace(own, X=block, ids=None, scales=np.ones(1))
    if rows.cosine:
        return replace(own, X=own.read(everything), ids=None, scales=np.ones(1)) if small else own
    uncentred = replace(own, shift=None, scales=np.ones(1))
    if small:
        block = uncentred.read(everything)
        block -= block.mean(axis=0, dtype=np.float64).astype(rows.dtype)
        if rows.scales[0] != 1:
            block *= rows.scales.astype(rows.dtype)
        return replace(uncentred, X=block, ids=None)
    sums = (uncentred.read(part).sum(axis=0, dtype=np.float64) for part in uncentred.blocks_of(everything))
    mean = sum(sums, np.zeros(rows.d)) / len(ids)
    return replace(own, shift=mean.astype(rows.dtype))


def gathered(rows: Rows, ids: np.ndarray) -> Rows:
    """Some of the dense rows as data of their own, numbered from 0: a copy of them, prepared."""
    weights = None if rows.weights is None else rows.weights[ids]
    inner = None if rows.inner is None else rows.inner[ids]
    return replace(
        rows, X=rows.read(ids), shift=None, scales=np.ones(1), weights=weights, known_sq_norms=None, known_active=None,
        ids=None, inner=inner,
    )  # fmt: skip


def sq_norms_of(rows: Rows, ids: np.ndarray) -> np.ndarray:
    """(n,) x·x of these prepared rows, in float64; 0 for the others."""
    found = np.zeros(rows.n)

    def measure_dense(some: np.ndarray) -> None:
        room = np.empty((min(len(some), rows.block_length()), rows.d), rows.dtype)
        for part in rows.blocks_of(some):
            found[part] = norms.exact_sq_norms(rows.read(part, out=room[: len(part)]))

    def measure_sparse(some: np.ndarray) -> None:
        found[some] = norms.exact_sq_norms(rows.read(some, np.float64))

    measure, length = (
        (measure_sparse, _SPARSE_BLOCK) if rows.is_sparse else (measure_dense, _READS * rows.block_length())
    )
    for _ in in_order(measure, (ids[part] for part in blocks(len(ids), length))):
        pass
    return found


def largest_entry(block: Matrix) -> float:
    """The largest absolute value in a block."""
    return float(np.abs(block.data if sparse.issparse(block) else block).max(initial=0.0))


def power_of_two_near(largest: float, dtype: np.dtype[Any]) -> float:
    """1 for ordinary magnitudes, else the power of two that scales them to about 1, as far as the type can hold it."""
    if largest == 0.0 or 2.0**-20 < largest < 2.0**20:
        return 1.0
    most = 100 if dtype == np.float32 else 900
    return float(2.0 ** np.clip(-np.frexp(largest)[1], -most, most))


def _mean_and_reach(rows: Rows) -> tuple[np.ndarray, float]:
    """Mean of the active rows of dense data, in their arithmetic, and the largest distance from it along any axis."""

    def measure(part: np.ndarray | slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        block = rows.X[part].astype(rows.dtype, copy=False) if isinstance(part, slice) else rows.read(part)
        return column_sums(block), *norms.column_range(block)

    parts: Any = blocks(rows.n, rows.block_length())  # without a copy
    if rows.known_active is not None:
        parts = rows.blocks_of(rows.active)
    sums, least, most = zip(*in_order(measure, parts), strict=True)
    mean = (np.sum(sums, axis=0) / rows.n_active).astype(rows.dtype)
    return mean, float(np.maximum(np.max(most, axis=0) - mean, mean - np.min(least, axis=0)).max(initial=0.0))


def _lengths(rows: Rows) -> np.ndarray:
    """|x| of all rows."""
    found = np.empty(rows.n)
    for ids in rows.blocks_of(np.arange(rows.n)):
        found[ids] = norms.lengths(rows.read(ids, np.float64))
    return found


def _bytes_of(rows: Rows, ids: np.ndarray) -> int:
    if not rows.is_sparse:
        return len(ids) * rows.d * rows.dtype.itemsize
    entries = int((rows.X.indptr[ids + 1] - rows.X.indptr[ids]).sum())
    return entries * (rows.X.data.itemsize + rows.X.indices.itemsize)
