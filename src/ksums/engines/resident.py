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

_PASSES_A_CALL = 8


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
    state = states.build(rows, labels, k)
    engine = _Resident(rows, state, driver, no_limits(k), kernel="rows")
    stop = Stop(float(tol), driver.patience, driver.monotone)
    moves, values = np.zeros(max_iter, np.int64), np.zeros(max_iter)
    best, best_labels = np.array([driver.value(state)]), state.labels.copy()
    passes, settled = 0, False
    while passes < max_iter and not settled:
        orders = np.tile(np.arange(rows.n), (min(_PASSES_A_CALL, max_iter - passes), 1))
        rng.permuted(orders, axis=1, out=orders)
        passes, settled = resident_passes(
            *engine.arguments, stop, engine.block, orders, passes, moves, values, best, best_labels, *engine.work
        )
    if not driver.monotone and (state.labels != best_labels).any():
        state = states.build(rows, best_labels, k)
    return Settled(state, float(best[0]), passes, int(moves.sum()))
