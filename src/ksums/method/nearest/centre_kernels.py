"""The nearest centre of each row of a block, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.compute.jit import kernel
from ksums.compute.panels import best_cluster, pack_panel, panel_scores_many, panel_scores_pair, tile_minimum_all
from ksums.compute.vectors import CLUSTERS, VECTORS, panel_width

_TILE = 64
"""Centres whose scores have a minimum of their own, so that the best of all is found in few steps."""


class NearestWork(NamedTuple):
    """Centres as the kernel reads them, and work space."""

    rows: np.ndarray  # (length + width, d)  to be filled by the caller
    centres: np.ndarray  # (k, d)
    a: np.ndarray  # (k,)  coefficients that make the score |C|² − 2 x·C: 0,
    b: np.ndarray  # (k,)  2,
    c: np.ndarray  # (k,)  and |C|²
    zeros: np.ndarray  # (width,)
    every: np.ndarray  # (k + 1,)  0 … k−1, k−1
    in_order: np.ndarray  # (length + width,)  0, 1, 2 …: the rows in order
    panel: np.ndarray  # (d, width)
    scores: np.ndarray  # (k, width)
    minima: np.ndarray  # (tiles, width)


def workspace(centres: np.ndarray, squares: np.ndarray, length: int) -> NearestWork:
    """What ``nearest_block`` needs for blocks of up to ``length`` rows."""
    (k, d), dtype = centres.shape, centres.dtype
    width = panel_width(dtype)
    return NearestWork(
        np.zeros((length + width, d), dtype),
        centres,
        np.zeros(k, dtype),
        np.full(k, 2, dtype),
        squares.astype(dtype),
        np.zeros(width, dtype),
        np.minimum(np.arange(k + 1), k - 1),
        np.arange(length + width),
        np.empty((d, width), dtype),
        np.empty((k, width), dtype),
        np.empty((-(-k // _TILE), width), dtype),
    )


@kernel
def nearest_block(
    count,  # IN     rows in the block
    work,  # INOUT
    labels,  # OUT    (count,)  −1: overflow
):
    """All rows of a block, panel by panel."""
    scores, minima = work.scores, work.minima
    k, width = scores.shape
    for first in range(0, count, width):
        pack_panel(work.rows, work.in_order, first, VECTORS, work.panel)
        at = 0
        while at + CLUSTERS <= k:
            panel_scores_many(work.panel, work.centres, work.a, work.b, work.c, work.zeros, 0, work.every, at, scores)
            at += CLUSTERS
        while at < k:
            panel_scores_pair(work.panel, work.centres, work.a, work.b, work.c, work.zeros, 0, work.every, at, scores)
            at += 2
        for g in range(minima.shape[0]):
            tile_minimum_all(scores, g * _TILE, min(g * _TILE + _TILE, k), minima, g)
        for lane in range(min(width, count - first)):
            r = best_cluster(scores, minima, _TILE, lane, np.inf)
            labels[first + lane] = r if r >= 0 and abs(scores[r, lane]) < np.inf else -1
