"""A block of rows as kernels read it, and the one compiled function that moves a sample."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.compute.jit import helper_inlined, helper_once, helper_reordering, kernel
from ksums.rules.compiled import join_cost, refresh


class Block(NamedTuple):
    """Rows in visiting order, ready for arithmetic, with room behind them for whole panels."""

    rows: np.ndarray  # (count + padding, d)
    sq_norms: np.ndarray  # (count + padding,)  rounded like the rows, for the scan
    weights: np.ndarray  # (count + padding,)  the same
    exact_sq_norms: np.ndarray  # (count + padding,)  float64, for the sums
    exact_weights: np.ndarray  # (count + padding,)
    ids: np.ndarray  # (count + padding,)  which samples they are


@helper_reordering
def row_dot(rows, i, composites, r):
    """rows[i]·composites[r]. Rows are named by index, here and below, because a view would cost a reference count."""
    total = rows[i, 0] * composites[r, 0]
    for t in range(1, rows.shape[1]):
        total += rows[i, t] * composites[r, t]
    return total


@kernel
def refresh_all(clusters):
    """Coefficients and rounded composites of all clusters from the state."""
    state, scan = clusters.state, clusters.scan
    k, d = state.composites.shape
    for r in range(k):
        refresh(clusters, r)
        for t in range(d):
            scan.composites[r, t] = state.composites[r, t]


@helper_inlined
def may_leave(clusters, src, weight):
    """A cluster never gives up its last sample, nor one it needs for its smallest size."""
    state = clusters.state
    return src < 0 or (state.counts[src] > 1 and state.sizes[src] - weight >= clusters.limits.low[src])


@helper_once
def move_sums(
    clusters,  # INOUT  all but the composites
    i,  # IN     sample
    sq_norm,  # IN
    weight,  # IN
    src,  # IN     cluster it leaves; −1: none
    dst,  # IN     cluster it joins
    from_src,  # IN     x·D_src before the move
    from_dst,  # IN     x·D_dst before the move
):
    """Everything of a move but D ± w x: label, n ± w, Q ± w x·x, |D ± w x|²."""
    state = clusters.state
    state.labels[i] = dst
    state.counts[dst] += 1
    state.sizes[dst] += weight
    state.norm_sums[dst] += weight * sq_norm
    state.sq_composites[dst] += weight * (weight * sq_norm + 2.0 * from_dst)
    refresh(clusters, dst)
    if src >= 0:
        state.counts[src] -= 1
        state.sizes[src] -= weight
        state.norm_sums[src] -= weight * sq_norm
        state.sq_composites[src] += weight * (weight * sq_norm - 2.0 * from_src)
        refresh(clusters, src)


@helper_once
def reallocate_if_better(
    clusters,  # INOUT
    to_beat,  # IN     stay cost, less rounding
    block,  # IN
    row,  # IN     the sample's row in the block
    src,  # IN     its cluster; −1: none yet
    dst,  # IN     the cluster of least score
    from_src,  # IN     x·D_src
    from_dst,  # IN     x·D_dst
):
    """Move a sample and update both clusters, if that really is a gain; returns whether it moved.

    The scan that found ``dst`` rounds as its data type does. Here both costs are computed alike, in float64.
    """
    weight, sq_norm = block.exact_weights[row], block.exact_sq_norms[row]
    if not join_cost(clusters, dst, sq_norm, weight, from_dst) < to_beat:
        return False
    rows, state, scan = block.rows, clusters.state, clusters.scan
    for t in range(rows.shape[1]):
        joined = state.composites[dst, t] + weight * rows[row, t]
        state.composites[dst, t] = joined
        scan.composites[dst, t] = joined
    if src >= 0:
        for t in range(rows.shape[1]):
            left = state.composites[src, t] - weight * rows[row, t]
            state.composites[src, t] = left
            scan.composites[src, t] = left
    move_sums(clusters, block.ids[row], sq_norm, weight, src, dst, from_src, from_dst)
    return True
