"""Algorithm 1 for sparse rows, in float64: each term of a row adds to the products with all k composites."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.compute.jit import helper, kernel
from ksums.method.engines.kernels.direct import least_score
from ksums.method.engines.kernels.moves import may_leave, move_sums
from ksums.rules.compiled import cost_to_beat, join_cost, score_all


class SparseBlock(NamedTuple):
    """Some rows in visiting order, as CSR."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    sq_norms: np.ndarray
    weights: np.ndarray
    ids: np.ndarray


@helper
def _products(
    block,  # IN
    row,  # IN
    composites,  # IN   (k, d), contiguous along k
    products,  # OUT  (padded k,)
):
    k = composites.shape[0]
    for r in range(k):
        products[r] = 0.0
    for at in range(block.indptr[row], block.indptr[row + 1]):
        x, t = block.data[at], block.indices[at]
        for r in range(k):
            products[r] += x * composites[r, t]


@kernel
def sparse_block(
    clusters,  # INOUT  the composites of the scan are the state's own
    block,  # IN
    work,  # OUT
):
    """All samples of a block in order; returns the number of moves."""
    state, products, scores, moves = clusters.state, work.products, work.scores, 0
    for row in range(block.ids.shape[0]):
        i = block.ids[row]
        src = state.labels[i]
        weight, sq_norm = block.weights[row], block.sq_norms[row]
        if not may_leave(clusters, src, weight):
            continue
        _products(block, row, state.composites, products)
        from_src = products[src] if src >= 0 else 0.0
        to_beat = cost_to_beat(clusters, src, sq_norm, weight, from_src)
        score_all(clusters, sq_norm, weight, products, scores)
        if src >= 0:
            scores[src] = np.inf
        dst = least_score(scores, work.least, to_beat)
        if dst < 0 or not join_cost(clusters, dst, sq_norm, weight, products[dst]) < to_beat:
            continue
        for at in range(block.indptr[row], block.indptr[row + 1]):
            weighted, t = weight * block.data[at], block.indices[at]
            state.composites[dst, t] += weighted
            if src >= 0:
                state.composites[src, t] -= weighted
        move_sums(clusters, i, sq_norm, weight, src, dst, from_src, products[dst])
        moves += 1
    return moves
