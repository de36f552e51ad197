"""Algorithm 1 for few rows and few clusters: the rows are read once and stay in the cache, all passes are one call.

A pass then takes microseconds, as in the thousands of splits of a bisecting fit, and what surrounds it would take most
of the time. The decisions are those of the exact engine's ``rows`` kernel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.method.data.rows import Rows
from ksums.method.engines.compiled import clusters_for, empty_scan
from ksums.method.engines.kernels.direct import row_work
from ksums.method.engines.kernels.moves import Block
from ksums.method.engines.kernels.resident import StopNumbers, resident_passes
from ksums.method.state.limits import no_limits
from ksums.method.state.state import ClusterState, renew_sq_composites
from ksums.planning.plan import Stop
from ksums.rules.kinds import Rule
from ksums.rules.objectives import objective_value

_VISITS = 1 << 20
"""Visits in one call, some tenths of a second: Ctrl-C is only heard between calls."""


class Settled(NamedTuple):
    """Where the passes ended."""

    state: ClusterState  # of the best pass
    objective: float
    passes: int
    moves: int


def settle(rows: Rows, labels: np.ndarray, k: int, rule: Rule, stop: Stop, rng: np.random.Generator) -> Settled:
    """Passes from given labels until a stop rule of ``fitting/stopping.py`` holds; the best pass is kept as there.

    ``rows`` is a small subset of dense data (``data.rows.subset``), whose X holds the prepared rows.
    """
    state, limits = _state_of(rows, labels, k), no_limits(k)
    clusters = clusters_for(rows, state, empty_scan(rows, state), rule, limits)
    stop_numbers = StopNumbers(float(stop.tol), rule.patience, rule.monotone)
    block, work = _all_rows(rows), row_work(k, rows.dtype)
    moves, values = np.zeros(stop.max_iter, np.int64), np.zeros(stop.max_iter)
    best, best_labels = np.array([objective_value(rule.objective, state)]), state.labels.copy()
    passes, settled = 0, False
    order, seed = np.arange(rows.n), np.array([rng.integers(2**63)], np.uint64)
    while passes < stop.max_iter and not settled:
        until = min(stop.max_iter, passes + max(1, _VISITS // rows.n))
        passes, settled = resident_passes(
            clusters, stop_numbers, block, order, seed, passes, until, moves, values, best, best_labels, work
        )
    if not rule.monotone and (state.labels != best_labels).any():
        state = _state_of(rows, best_labels, k)
    return Settled(state, float(best[0]), passes, int(moves.sum()))


def _all_rows(rows: Rows) -> Block:
    """A block of all rows, which need no copy."""
    weights = rows.weights_of(rows.active)
    return Block(
        rows.X, rows.sq_norms.astype(rows.dtype), weights.astype(rows.dtype), rows.sq_norms, weights, rows.active
    )


def _state_of(rows: Rows, labels: np.ndarray, k: int) -> ClusterState:
    """``build_state`` for rows that are in memory and all active."""
    members = (labels == np.arange(k)[:, None]) * rows.weights_of(rows.active)
    composites = members @ rows.X.astype(np.float64, copy=False)
    sums = (composites, members.sum(axis=1), np.bincount(labels, minlength=k), members @ rows.sq_norms, np.empty(k))
    state = ClusterState(labels.astype(np.int32), *sums)
    renew_sq_composites(state)
    return state
