"""Algorithm 1 for few rows and few clusters: the rows are read once and stay in cache, all passes are one call.

Where a pass takes microseconds, as in the thousands of splits of a bisecting fit, what surrounds it would take most
of the time. The decisions are those of the exact engine's ``rows`` kernel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums import state as states
from ksums.drivers import Driver
from ksums.engines._resident_kernels import Stop, resident_passes
from ksums.engines._score_kernels import Block
from ksums.engines.exact import ExactEngine
from ksums.rows import Rows
from ksums.state import ClusterState, no_limits

_VISITS = 1 << 20  # in one call, some tenths of a second: only between calls can Ctrl-C be heard


class Settled(NamedTuple):
    """Where the passes ended."""

    state: ClusterState  # of the best pass
    objective: float
    passes: int
    moves: int


class _Resident(ExactEngine):
    """An exact engine whose one block are all the rows, as they are."""

    def _make_block(self) -> Block:
        rows, weights = self.rows, self.rows.weights_of(self.rows.pulling)
        sq_norms = rows.sq_norms.astype(self.dtype)
        return Block(rows.X, sq_norms, weights.astype(self.dtype), rows.sq_norms, weights, rows.pulling)


def settle(
    rows: Rows, labels: np.ndarray, k: int, driver: Driver, max_iter: int, tol: float, rng: np.random.Generator
) -> Settled:
    """Passes from given labels until a stop rule of ``fitting.fit_once`` holds; the best pass is kept as there.

    ``rows`` is a small part of dense data (``rows.part_of``), whose X are the finished rows.
    """
    state = _state_of(rows, labels, k)
    engine = _Resident(rows, state, driver, no_limits(k), kernel="rows")
    stop = Stop(float(tol), driver.patience, driver.monotone)
    moves, values = np.zeros(max_iter, np.int64), np.zeros(max_iter)
    best, best_labels = np.array([driver.value(state)]), state.labels.copy()
    passes, settled = 0, False
    order, seed = np.arange(rows.n), np.array([rng.integers(2**63)], np.uint64)
    while passes < max_iter and not settled:
        until = min(max_iter, passes + max(1, _VISITS // rows.n))
        passes, settled = resident_passes(
            *engine.arguments,
            stop,
            engine.block,
            order,
            seed,
            passes,
            until,
            moves,
            values,
            best,
            best_labels,
            *engine.work,
        )
    if not driver.monotone and (state.labels != best_labels).any():
        state = _state_of(rows, best_labels, k)
    return Settled(state, float(best[0]), passes, int(moves.sum()))


def _state_of(rows: Rows, labels: np.ndarray, k: int) -> ClusterState:
    """``state.build`` for rows that are at hand and all pull."""
    members = (labels == np.arange(k)[:, None]) * rows.weights_of(rows.pulling)
    composites = members @ rows.X.astype(np.float64, copy=False)
    sums = (composites, members.sum(axis=1), np.bincount(labels, minlength=k), members @ rows.sq_norms, np.empty(k))
    state = ClusterState(labels.astype(np.int32), *sums)
    states.renew_sq_composites(state)
    return state
