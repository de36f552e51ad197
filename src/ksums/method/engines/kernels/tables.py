"""Rows as blocks of a table, and how they are compared with centroids: what the kernels of blocks share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.compute.jit import helper, helper_inlined, helper_reordering, kernel
from ksums.compute.panels import pack_panel
from ksums.compute.two_nearest import two_nearest
from ksums.compute.vectors import VECTORS
from ksums.method.engines.kernels.bounds import Relaxation, join_factor, stay_factor


class Table(NamedTuple):
    """Rows as they are stored; (x − shift)·scale is a prepared row."""

    X: np.ndarray  # (rows, d)  in the arithmetic of the kernels
    first: int  # number of the first of these rows
    shift: np.ndarray  # (d,)
    scale: np.ndarray  # (1,)
    weights: np.ndarray  # (n,)  float64; (0,): all weights are 1
    relaxation: Relaxation


class Layout(NamedTuple):
    """How rows are divided."""

    n: int
    block: int  # rows of a block
    piece: int  # rows of a piece
    rel: float  # of bounds.py
    margin: float  # of bounds.py


class Centroids(NamedTuple):
    """The clusters as they are compared with rows."""

    vectors: np.ndarray  # (padded k, d)  rounded to the arithmetic of the kernels; infinitely far beyond k
    join: np.ndarray  # (padded k,)    a²
    stay_over_join: np.ndarray  # (k,)  b²/a²
    stamps: np.ndarray  # (k,)  the clock when the cluster last changed
    clock: np.ndarray  # (1,)  counts blocks
    reach: np.ndarray  # (2,)  length of the longest centroid the margin allows for; of the longest there was


class Work(NamedTuple):
    """Work space of the threads: rows of a piece, with room for a whole panel behind them."""

    due: np.ndarray  # (threads, room)  positions in the table
    some: np.ndarray  # (threads, room)  of these, the ones compared with a group of clusters
    index: np.ndarray  # (threads, room)  where these are in ``due``
    best: np.ndarray  # (threads, room)
    second: np.ndarray  # (threads, room)
    which: np.ndarray  # (threads, room)
    stay: np.ndarray  # (threads, room)  upper bound of b_w |x − C_w|
    lowest: np.ndarray  # (threads, room)  lower bound of a_v |x − C_v|
    limits: np.ndarray  # (threads, k)  rows of a cluster with no more slack than this are due
    panels: np.ndarray  # (threads, d, width)


@helper_inlined
def weight_of(table, i):
    return table.weights[i] if len(table.weights) > 0 else 1.0


@helper
def compare(table, members, count, first, stop, centres, factors, panel, best, which, second):
    """Nearest and second nearest of some centroids for ``count`` rows; ``members`` has room for a panel behind them."""
    d, width = panel.shape
    last, scale = members[count - 1], table.scale[0]
    for j in range(count, count + width):
        members[j] = last
    for at in range(0, count, width):
        pack_panel(table.X, members, at, VECTORS, panel)
        for t in range(d):
            shift = table.shift[t]
            for lane in range(width):
                panel[t, lane] = (panel[t, lane] - shift) * scale
        two_nearest(panel, centres, factors, first, stop, best, which, second, at)


@helper_reordering
def sq_distance_to_centre(table, at, centres, r):
    """|x − C_r|² in the arithmetic of the rows."""
    total, scale = table.X[at, 0] - table.X[at, 0], table.scale[0]
    for t in range(table.X.shape[1]):
        away = (table.X[at, t] - table.shift[t]) * scale - centres[r, t]
        total += away * away
    return np.float64(total)


@helper_reordering
def exact_sq_distance(table, at, composites, r, inverse):
    """|x − D_r/n_r|² in float64."""
    total, scale = 0.0, table.scale[0]
    for t in range(table.X.shape[1]):
        away = np.float64((table.X[at, t] - table.shift[t]) * scale) - composites[r, t] * inverse
        total += away * away
    return total


@helper_reordering
def terms_of_distance(table, at, composites, r, inverse):
    """|x|² + |D_r/n_r|² in float64, the terms of a squared distance."""
    total, scale = 0.0, table.scale[0]
    for t in range(table.X.shape[1]):
        x, c = np.float64((table.X[at, t] - table.shift[t]) * scale), composites[r, t] * inverse
        total += x * x + c * c
    return total


@helper
def renew(r, state, relaxation, centroids):
    """Rounded centroid and factors of cluster r from its sums."""
    n = state.sizes[r]
    inverse, squares = 1.0 / n, 0.0
    for t in range(state.composites.shape[1]):
        value = state.composites[r, t] * inverse
        centroids.vectors[r, t] = value
        squares += value * value
    join = join_factor(n, relaxation.heaviest, relaxation)
    centroids.join[r] = join
    centroids.stay_over_join[r] = stay_factor(n, relaxation.heaviest, relaxation) / join
    centroids.reach[1] = max(centroids.reach[1], np.sqrt(squares))


@kernel
def renew_all(state, relaxation, centroids):
    """The clusters as they are compared with rows, from their sums."""
    for r in range(len(state.sizes)):
        renew(r, state, relaxation, centroids)
