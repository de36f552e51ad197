"""The nearest of k centres for many rows, at the speed of a matrix product; the same for any number of threads."""

from __future__ import annotations

import numpy as np

from ksums.engines import _vectors
from ksums.engines._jit import helper, kernel
from ksums.engines._panel_kernels import best_cluster
from ksums.engines._threads import (
    PIECE,
    close,
    finish_piece,
    is_closed,
    next_piece,
    open_round,
    pause,
    share,
    thread_pool,
    wait_for_round,
)
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


@helper
def _nearest_panel(
    first,  # IN   the panel's first row
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
    k, width = scores.shape
    a, b, c = coefficients
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


@kernel
def _nearest_block(
    thread,  # IN
    threads,  # IN
    board,  # INOUT  see ``_threads.py``: one round, a piece is a panel
    rows,  # IN   (count + padding, d)
    count,  # IN
    centres,  # IN   (k, d)
    coefficients,  # IN   three arrays (k,) that make the score |C|² − 2 x·C
    nothing,  # IN   zeros, as many as a panel is wide
    every,  # IN   (k + 1,)  0 … k−1, k−1
    turns,  # IN   0, 1, 2 …: the rows in order
    panels,  # OUT  (threads, d, width)     work space
    all_scores,  # OUT  (threads, k, width)     work space
    all_minima,  # OUT  (threads, tiles, width) work space
    labels,  # OUT  (count,)
):
    """All rows of a block, panel by panel."""
    panel, scores, minima = panels[thread], all_scores[thread], all_minima[thread]
    width = scores.shape[1]
    pieces = -(-count // width)
    if thread == 0:
        open_round(1, pieces, threads, board)
    spins, ticket = 0, np.int64(0)
    while not is_closed(board) and (thread > 0 or ticket >= 0):
        ticket = next_piece(thread, threads, pieces, board)
        if ticket < 0:
            spins += 1
            pause(spins)
        else:
            first = (ticket & PIECE) * width
            _nearest_panel(
                first, rows, count, centres, coefficients, nothing, every, turns, panel, scores, minima, labels
            )
            finish_piece(board)
    if thread == 0:
        wait_for_round(pieces, board)
        close(board)


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
    k, d = centres.shape
    dtype = rows.dtype
    width = VECTORS * _vectors.lanes_of(dtype.itemsize)
    length = max(1, rows.block_length() // (n_threads * width)) * n_threads * width
    block = np.zeros((length + width, d), dtype)
    coefficients = (np.zeros(k, dtype), np.full(k, 2, dtype), sq_centres.astype(dtype))
    work = (
        np.zeros(width, dtype),
        np.minimum(np.arange(k + 1), k - 1),
        np.arange(length + width),
        np.empty((n_threads, d, width), dtype),
        np.empty((n_threads, k, width), dtype),
        np.empty((n_threads, -(-k // _TILE), width), dtype),
    )
    arguments = (np.ascontiguousarray(centres, dtype), coefficients, *work)
    share(None, 1, _nearest_block, block, 0, *arguments, labels)  # compiles, if need be
    with thread_pool(n_threads, 2.0 * min(len(ids), length) * centres.size) as pool:
        for first in range(0, len(ids), length):
            part = ids[first : first + length]
            rows.read(part, dtype, out=block[: len(part)])
            share(pool, n_threads, _nearest_block, block, len(part), *arguments, labels[first : first + len(part)])
    if len(labels) and labels.min() < 0:
        raise ValueError(
            f"row {int(ids[labels.argmin()])} is so far from the centres that {dtype} overflows; convert X to float64, "
            "or divide it by a constant."
        )
    return labels


def nearest_of(points: np.ndarray, centres: np.ndarray, n_threads: int) -> np.ndarray:
    """The same for the rows of an array as they are, by squared distance."""
    everything = np.arange(len(points))
    rows = Rows(points, points.dtype, None, np.ones(1), None, np.empty(0), everything)
    return nearest_centres(rows, everything, centres, np.einsum("rt,rt->r", centres, centres), n_threads)
