"""The nearest of k centres for many rows, at the speed of a matrix product; the same for any number of threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ksums._jit import kernel
from ksums.engines import _vectors
from ksums.engines._panel_kernels import best_cluster
from ksums.engines._vectors import (
    CLUSTERS,
    VECTORS,
    pack_panel,
    panel_scores_many,
    panel_scores_pair,
    tile_minimum_all,
)
from ksums.rows import Rows

_TILE = 64


@kernel
def _nearest_block(
    rows,  # IN   (count + padding, d)
    count,  # IN
    centres,  # IN   (k, d)
    coefficients,  # IN   three arrays (k,) that make the score |C|² − 2 x·C
    nothing,  # IN   zeros, as many as a panel is wide
    every,  # IN   (k + 1,)  0 … k−1, k−1
    turns,  # IN   0, 1, 2 …: the rows in order
    panel,  # OUT  (d, width)     work space
    scores,  # OUT  (k, width)     work space
    minima,  # OUT  (tiles, width) work space
    labels,  # OUT  (count,)
):
    """All rows of a block, panel by panel."""
    k, width = scores.shape
    a, b, c = coefficients
    for first in range(0, count, width):
        pack_panel(rows, turns, first, VECTORS, panel)
        at = 0
        while at + CLUSTERS <= k:
            panel_scores_many(panel, centres, a, b, c, nothing, 0, every, at, scores)
            at += CLUSTERS
        while at < k:
            panel_scores_pair(panel, centres, a, b, c, nothing, 0, every, at, scores)
            at += 2
        for g in range(minima.shape[0]):
            tile_minimum_all(scores, g * _TILE, min(g * _TILE + _TILE, k), minima, g)
        for lane in range(min(width, count - first)):
            r = best_cluster(scores, minima, _TILE, lane, np.inf)
            labels[first + lane] = r if r >= 0 and abs(scores[r, lane]) < np.inf else -1  # −1: overflow


class _Nearest:
    """One thread's work on some blocks of rows."""

    def __init__(self, rows: Rows, centres: np.ndarray, sq_centres: np.ndarray, length: int) -> None:
        (k, d), dtype = centres.shape, rows.dtype
        width = _vectors.panel_width(dtype)
        self.rows, self.block = rows, np.zeros((length + width, d), dtype)
        self.arguments = (
            centres,
            (np.zeros(k, dtype), np.full(k, 2, dtype), sq_centres.astype(dtype)),
            np.zeros(width, dtype),
            np.minimum(np.arange(k + 1), k - 1),
            np.arange(length + width),
            np.empty((d, width), dtype),
            np.empty((k, width), dtype),
            np.empty((-(-k // _TILE), width), dtype),
        )

    def run(self, ids: np.ndarray, labels: np.ndarray) -> None:
        self.rows.read(ids, self.rows.dtype, out=self.block[: len(ids)])
        _nearest_block(self.block, len(ids), *self.arguments, labels)


def nearest_centres(
    rows: Rows, ids: np.ndarray, centres: np.ndarray, sq_centres: np.ndarray, n_threads: int
) -> np.ndarray:
    """For each of the rows, the centre of least ``sq_centres − 2 x·C``; the lowest index on ties."""
    labels = np.empty(len(ids), np.int32)
    if rows.is_sparse:
        first = 0
        for part in rows.blocks_of(ids, len(centres)):
            products = rows.read(part, np.float64) @ centres.T
            labels[first : first + len(part)] = np.argmin(sq_centres - 2 * products, axis=1)
            first += len(part)
        return labels
    length = rows.block_length()
    starts = range(0, len(ids), length)
    centres = np.ascontiguousarray(centres, rows.dtype)

    def work_through(starts: range) -> None:
        worker = _Nearest(rows, centres, sq_centres, min(length, len(ids)))
        for first in starts:
            worker.run(ids[first : first + length], labels[first : first + length])

    _Nearest(rows, centres, sq_centres, 1).run(ids[:0], labels[:0])  # compiles, if need be, before there are threads
    threads = min(n_threads, len(starts))
    if threads <= 1:
        work_through(starts)
    else:
        with ThreadPoolExecutor(threads) as pool:  # each takes every so-manieth block
            list(pool.map(work_through, [starts[thread::threads] for thread in range(threads)]))
    if len(labels) and labels.min() < 0:
        raise ValueError(
            f"row {int(ids[labels.argmin()])} is so far from the centres that {rows.dtype} overflows; convert X to "
            "float64, or divide it by a constant."
        )
    return labels


def nearest_of(points: np.ndarray, centres: np.ndarray, n_threads: int) -> np.ndarray:
    """The same for the rows of an array as they are, by squared distance."""
    everything = np.arange(len(points))
    rows = Rows(points, points.dtype, None, np.ones(1), None, np.empty(0), everything)
    return nearest_centres(rows, everything, centres, np.einsum("rt,rt->r", centres, centres), n_threads)
