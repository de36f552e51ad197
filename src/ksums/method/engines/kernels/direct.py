"""Algorithm 1 in plain loops: one sample against all clusters, for few clusters or few dimensions.

``columns_block`` has the clusters in its inner loop and computes each dot product as one chain of fused multiply-adds
over the dimensions. This is the arithmetic of the panel kernels, so it is their plain twin, bit for bit, and it serves
the CPUs whose vectors we do not know. ``rows_block`` has the dimensions in its inner loop, which is faster for a
handful of clusters and adds up in another order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.compute.jit import helper, helper_reordering, kernel
from ksums.compute.vectors import fma
from ksums.method.engines.kernels.moves import may_leave, reallocate_if_better, row_dot
from ksums.rules.compiled import cost_to_beat, score_all

RUN = 16
"""Scores are compared this many at a time; the score buffer is padded to a multiple of it."""


class RowWork(NamedTuple):
    """Work space for one sample against all clusters."""

    products: np.ndarray  # (padded k,)
    scores: np.ndarray  # (padded k,)  infinite beyond k
    least: np.ndarray  # (RUN,)


def row_work(k: int, dtype: np.dtype) -> RowWork:
    """Work space for k clusters."""
    padded = -(-k // RUN) * RUN
    return RowWork(np.zeros(padded, dtype), np.full(padded, np.inf, dtype), np.empty(RUN, dtype))


@helper_reordering
def products_by_rows(
    rows,  # IN   (n, d)
    row,  # IN
    composites,  # IN   (k, d)
    products,  # OUT  (≥ k,)
):
    """x·D_r for all r, four composites at a time, so that each coordinate of x is loaded once for four."""
    k, d = composites.shape
    nothing = rows[row, 0] - rows[row, 0]
    r = 0
    while r + 4 <= k:
        p0, p1, p2, p3 = nothing, nothing, nothing, nothing
        for t in range(d):
            x = rows[row, t]
            p0 += x * composites[r, t]
            p1 += x * composites[r + 1, t]
            p2 += x * composites[r + 2, t]
            p3 += x * composites[r + 3, t]
        products[r], products[r + 1], products[r + 2], products[r + 3] = p0, p1, p2, p3
        r += 4
    while r < k:
        products[r] = row_dot(rows, row, composites, r)
        r += 1


@helper
def _products_by_columns(
    rows,  # IN   (n, d)
    row,  # IN
    columns,  # IN   (d, padded k)  the composites, transposed
    products,  # OUT  (padded k,)
):
    """x·D_r for all r, one coordinate of all composites after another."""
    d, padded = columns.shape
    for r in range(padded):
        products[r] = 0
    for t in range(d):
        x = rows[row, t]
        for r in range(padded):
            products[r] = fma(x, columns[t, r], products[r])


@helper
def least_score(
    scores,  # IN   (padded k,)
    least,  # OUT  (RUN,)  work space
    bound,  # IN   the cost to beat
):
    """Lowest-numbered cluster of least score, or −1 if none is below the bound.

    The minimum of a short buffer comes first: LLVM vectorises that, but not a search for an index.
    """
    for j in range(RUN):
        least[j] = scores[j]
    for first in range(RUN, scores.shape[0], RUN):
        for j in range(RUN):
            least[j] = scores[first + j] if scores[first + j] < least[j] else least[j]
    best = least[0]
    for j in range(1, RUN):
        best = least[j] if least[j] < best else best
    if not best < bound:
        return -1
    r = 0
    while scores[r] != best:
        r += 1
    return r


@kernel
def rows_block(
    clusters,  # INOUT
    block,  # IN
    order,  # IN     rows of the block, in visiting order
    work,  # OUT
):
    """Samples of a block in a given order; returns the number of moves."""
    state, scan, products, scores, moves = clusters.state, clusters.scan, work.products, work.scores, 0
    for turn in range(order.shape[0]):  # the body is not a helper, because passing all these arrays would cost more
        row = order[turn]
        src = np.int64(state.labels[block.ids[row]])
        weight = block.exact_weights[row]
        if not may_leave(clusters, src, weight):
            continue
        products_by_rows(block.rows, row, scan.composites, products)
        from_src = float(products[src]) if src >= 0 else 0.0
        to_beat = cost_to_beat(clusters, src, block.exact_sq_norms[row], weight, from_src)
        score_all(clusters, block.sq_norms[row], block.weights[row], products, scores)
        if src >= 0:
            scores[src] = np.inf
        dst = least_score(scores, work.least, to_beat)
        if dst >= 0:
            from_dst = float(products[dst])
            moves += reallocate_if_better(clusters, to_beat, block, row, src, dst, from_src, from_dst)
    return moves


@kernel
def columns_block(
    clusters,  # INOUT
    block,  # IN
    count,  # IN     real rows in the block
    columns,  # INOUT  (d, padded k)  the composites, transposed
    work,  # OUT
):
    """All samples of a block in order; returns the number of moves."""
    state, scan, products, scores, moves = clusters.state, clusters.scan, work.products, work.scores, 0
    for row in range(count):
        src = np.int64(state.labels[block.ids[row]])
        weight = block.exact_weights[row]
        if not may_leave(clusters, src, weight):
            continue
        from_src = float(row_dot(block.rows, row, scan.composites, src)) if src >= 0 else 0.0
        to_beat = cost_to_beat(clusters, src, block.exact_sq_norms[row], weight, from_src)
        _products_by_columns(block.rows, row, columns, products)
        score_all(clusters, block.sq_norms[row], block.weights[row], products, scores)
        if src >= 0:
            scores[src] = np.inf
        dst = least_score(scores, work.least, to_beat)
        if dst >= 0:
            from_dst = float(row_dot(block.rows, row, scan.composites, dst))
            if reallocate_if_better(clusters, to_beat, block, row, src, dst, from_src, from_dst):
                moves += 1
                for t in range(columns.shape[0]):
                    columns[t, dst] = scan.composites[dst, t]
                    if src >= 0:
                        columns[t, src] = scan.composites[src, t]
    return moves
