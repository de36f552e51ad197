"""Many passes over a block of rows in one call."""

from __future__ import annotations

from typing import NamedTuple

from ksums.compute.jit import helper, kernel
from ksums.compute.random import random_below
from ksums.method.engines.kernels.direct import rows_block
from ksums.method.engines.kernels.moves import refresh_all
from ksums.rules.compiled import objective_value


class StopNumbers(NamedTuple):
    """The stop rule as plain numbers (see ``fitting/stopping.py``)."""

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
def has_settled(stop, values, passes):
    """The twin of ``stopping.has_settled``."""
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
    clusters,  # INOUT
    stop,  # IN
    block,  # IN     all rows
    order,  # INOUT  (n,)  of the last pass
    seed,  # INOUT  (1,)  uint64
    passes,  # IN     passes done before
    stop_after,  # IN     most passes done after this call
    moves,  # INOUT  (max_iter,)
    values,  # INOUT  (max_iter,)  the objective after each pass
    best,  # INOUT  (1,)         the least of them
    best_labels,  # INOUT  (n,)         the labels it had
    work,  # OUT
):
    """Some more passes; returns how many are done in all and whether the run has settled."""
    refresh_all(clusters)
    while passes < stop_after:
        _shuffle(order, seed)
        moved = rows_block(clusters, block, order, work)
        _renew_sq_composites(clusters.state)
        refresh_all(clusters)
        value = objective_value(clusters)
        moves[passes], values[passes] = moved, value
        passes += 1
        if value < best[0] or stop.monotone:
            best[0] = value
            if not stop.monotone:
                for i in range(best_labels.shape[0]):
                    best_labels[i] = clusters.state.labels[i]
        if moved == 0 or has_settled(stop, values, passes):
            return passes, True
    return passes, False
