"""Many passes over a block of rows in one call."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums._jit import helper, kernel
from ksums.drivers import ANGLE, COSINE, LENGTH, PAIRWISE
from ksums.engines._direct_kernels import rows_block
from ksums.engines._random import random_below
from ksums.engines._score_kernels import refresh_all


class Stop(NamedTuple):
    """When to stop (see ``fitting.py``)."""

    tol: float
    patience: int
    monotone: bool


@helper
def _shuffle(
    order,  # INOUT  (n,)
    seed,  # INOUT  (1,)  uint64
):
    for last in range(order.shape[0] - 1, 0, -1):
        other = random_below(last + 1, seed)
        order[last], order[other] = order[other], order[last]


@helper
def _renew_sq_composites(state):
    k, d = state.composites.shape
    for r in range(k):
        total = 0.0
        for t in range(d):
            total += state.composites[r, t] * state.composites[r, t]
        state.sq_composites[r] = total


@helper
def _objective(rule, state):
    """``Driver.value`` of the state."""
    total, size = 0.0, 0.0
    for r in range(state.sizes.shape[0]):
        n, composite_sq = state.sizes[r], state.sq_composites[r]
        size += n
        if rule.kind == PAIRWISE:
            total += n * state.norm_sums[r] - composite_sq
        elif rule.kind == COSINE or rule.kind == ANGLE or rule.kind == LENGTH:
            total += n - np.sqrt(composite_sq)
        else:
            total += state.norm_sums[r] - composite_sq / n
    return max(total, 0.0) / size


@helper
def _settled(stop, values, passes):
    """Whether the best value has fallen by no more than tol, relatively, over the last passes."""
    if stop.tol == 0.0 or passes <= stop.patience:
        return False
    earlier = values[0]
    for p in range(1, passes - stop.patience):
        earlier = min(earlier, values[p])
    now = earlier
    for p in range(passes - stop.patience, passes):
        now = min(now, values[p])
    return earlier - now <= stop.tol * earlier


@kernel
def resident_passes(
    rule,  # IN
    state,  # INOUT
    fast,  # INOUT
    limits,  # IN
    stop,  # IN
    block,  # IN     all rows
    order,  # INOUT  (n,)  of the last pass
    seed,  # INOUT  (1,)  uint64
    passes,  # IN     done before
    stop_after,  # IN     most passes to have done after this call
    moves,  # INOUT  (max_iter,)
    values,  # INOUT  (max_iter,)  the objective after each pass
    best,  # INOUT  (1,)         the least of them
    best_labels,  # INOUT  (n,)         the labels it had
    products,  # OUT    (padded k,)  work space
    scores,  # OUT    (padded k,)  work space, infinite beyond k
    least,  # OUT    (RUN,)       work space
):
    """Some more passes; returns how many are done in all, and whether the fit has settled."""
    refresh_all(rule, state, fast)
    while passes < stop_after:
        _shuffle(order, seed)
        moved = rows_block(rule, state, fast, limits, block, order, products, scores, least)
        _renew_sq_composites(state)
        refresh_all(rule, state, fast)
        value = _objective(rule, state)
        moves[passes], values[passes] = moved, value
        passes += 1
        if value < best[0] or stop.monotone:
            best[0] = value
            if not stop.monotone:
                for i in range(best_labels.shape[0]):
                    best_labels[i] = state.labels[i]
        if moved == 0 or _settled(stop, values, passes):
            return passes, True
    return passes, False
