"""Algorithm 1 in plain loops: one sample against all clusters, for few clusters or few dimensions.

``columns_block`` runs over the clusters in its inner loop and takes each dot product as one chain of fused
multiply-adds over the dimensions: the arithmetic of the panel kernels, so it is also their plain twin, bit for
bit, and serves the CPUs they do not. ``rows_block`` runs over the dimensions, which is faster for a handful of
clusters and adds up in another order.
"""

from __future__ import annotations

import numpy as np

from ksums._jit import helper, helper_reordering, kernel
from ksums.drivers import COSINE, LENGTH, WEIGHTED
from ksums.engines._score_kernels import (
    cosine_score,
    cost_to_beat,
    exponent,
    length_score,
    may_leave,
    reallocate_if_better,
    row_dot,
    weighted_score,
)
from ksums.engines._vectors import fma

RUN = 16  # scores compared at a time; the score buffer is padded to a multiple of it


@helper_reordering
def products_by_rows(
    rows,  # IN   (n, d)
    row,  # IN
    composites,  # IN   (k, d)
    products,  # OUT  (≥ k,)
):
    """x·D_r for all r, four composites at a time so that each coordinate of x is loaded once for four."""
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
    """x·D_r for all r, one coordinate of all composites after the other."""
    d, padded = columns.shape
    for r in range(padded):
        products[r] = 0
    for t in range(d):
        x = rows[row, t]
        for r in range(padded):
            products[r] = fma(x, columns[t, r], products[r])


@helper
def score_all(
    rule,  # IN
    state,  # IN
    fast,  # IN
    limits,  # IN
    sq_norm,  # IN
    weight,  # IN
    products,  # IN   (≥ k,)
    scores,  # OUT  (padded k,)  infinite beyond k
):
    """Join costs of one sample for all clusters."""
    k = fast.a.shape[0]
    if rule.kind == COSINE:
        for r in range(k):
            scores[r] = cosine_score(fast.more[r, 2], weight, products[r])
    elif rule.kind == LENGTH:
        for r in range(k):
            scores[r] = length_score(fast.more[r, 0], fast.more[r, 1], fast.more[r, 2], weight, products[r])
    elif rule.kind == WEIGHTED:
        for r in range(k):
            p = exponent(rule, rule.p, state.sizes[r])
            scores[r] = weighted_score(
                fast.more[r, 0], fast.more[r, 1], fast.more[r, 2], p, sq_norm, weight, products[r]
            )
    else:
        for r in range(k):
            scores[r] = fma(-fast.b[r], products[r], fma(fast.a[r], sq_norm, fast.c[r]))
    if rule.heaviest > 0.0:
        for r in range(k):
            if weight > limits.high[r] - state.sizes[r]:
                scores[r] = np.inf


@helper
def least_score(
    scores,  # IN   (padded k,)
    least,  # OUT  (RUN,)  work space
    bound,  # IN   the cost to beat
):
    """Lowest-numbered cluster of least score, or −1 if none is below the bound.

    A minimum over a run-long buffer first: LLVM makes vectors of it, and of a search for the index it does not.
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
    rule,  # IN
    state,  # INOUT
    fast,  # INOUT
    limits,  # IN
    block,  # IN
    order,  # IN     rows of the block, in the order of their turns
    products,  # OUT    (padded k,)  work space
    scores,  # OUT    (padded k,)  work space, infinite beyond k
    least,  # OUT    (RUN,)       work space
):
    """Samples of a block in a given order; returns the number of moves."""
    moves = 0
    for turn in range(order.shape[0]):  # the body is no helper: handing all these arrays over would take longer than it
        row = order[turn]
        src = state.labels[block.ids[row]]
        weight = block.exact_weights[row]
        if not may_leave(src, weight, state, limits):
            continue
        products_by_rows(block.rows, row, fast.composites, products)
        from_src = float(products[src]) if src >= 0 else 0.0
        to_beat = cost_to_beat(rule, src, state, block.exact_sq_norms[row], weight, from_src)
        score_all(rule, state, fast, limits, block.sq_norms[row], block.weights[row], products, scores)
        if src >= 0:
            scores[src] = np.inf
        dst = least_score(scores, least, to_beat)
        if dst >= 0:
            from_dst = float(products[dst])
            moves += reallocate_if_better(rule, to_beat, block, row, src, dst, from_src, from_dst, state, fast)
    return moves


@kernel
def columns_block(
    rule,  # IN
    state,  # INOUT
    fast,  # INOUT
    limits,  # IN
    block,  # IN
    count,  # IN     real rows in the block
    columns,  # INOUT  (d, padded k)  the composites, transposed
    products,  # OUT    (padded k,)  work space
    scores,  # OUT    (padded k,)  work space, infinite beyond k
    least,  # OUT    (RUN,)       work space
):
    """All samples of a block in order; returns the number of moves."""
    moves = 0
    for row in range(count):
        src = state.labels[block.ids[row]]
        weight = block.exact_weights[row]
        if not may_leave(src, weight, state, limits):
            continue
        from_src = float(row_dot(block.rows, row, fast.composites, src)) if src >= 0 else 0.0
        to_beat = cost_to_beat(rule, src, state, block.exact_sq_norms[row], weight, from_src)
        _products_by_columns(block.rows, row, columns, products)
        score_all(rule, state, fast, limits, block.sq_norms[row], block.weights[row], products, scores)
        if src >= 0:
            scores[src] = np.inf
        dst = least_score(scores, least, to_beat)
        if dst >= 0:
            from_dst = float(row_dot(block.rows, row, fast.composites, dst))
            if reallocate_if_better(rule, to_beat, block, row, src, dst, from_src, from_dst, state, fast):
                moves += 1
                for t in range(columns.shape[0]):
                    columns[t, dst] = fast.composites[dst, t]
                    if src >= 0:
                        columns[t, src] = fast.composites[src, t]
    return moves
