"""The definition of right: Algorithm 1 of the paper in plain NumPy, float64, one sample at a time.

Never optimised. Every other engine is tested against it, pass by pass.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from ksums.drivers import Driver, join_costs, rounding_margin, stay_cost
from ksums.rows import Rows
from ksums.state import ClusterState, Limits, reallocate


class ReferenceEngine:
    """See ``engines.Engine``."""

    def __init__(self, rows: Rows, state: ClusterState, driver: Driver, limits: Limits) -> None:
        self.rows, self.state, self.driver, self.limits = rows, state, driver, limits

    def drive(self, driver: Driver) -> None:
        """See ``engines.RelaxingEngine``."""
        self.driver = driver

    def visit(self, order: np.ndarray) -> Iterator[int]:
        """Lines 5–12 of Algorithm 1; yields the number of moves, a few samples at a time."""
        for ids in self.rows.blocks_of(order):
            block = self.rows.read(ids, np.float64)
            if sparse.issparse(block):
                block = block.toarray()
            weights = self.rows.weights_of(ids)
            yield sum(self._visit_one(i, x, w) for i, x, w in zip(ids, block, weights, strict=True))

    def _visit_one(self, i: int, x: np.ndarray, weight: float) -> bool:
        state, limits = self.state, self.limits
        src = int(state.labels[i])
        costs = join_costs(self.driver, x, weight, state)
        costs[state.sizes + weight > limits.high] = np.inf
        if src < 0:
            reallocate(state, i, x, weight, src, int(np.argmin(costs)))
            return True
        if state.counts[src] == 1 or state.sizes[src] - weight < limits.low[src]:
            return False
        costs[src] = np.inf
        dst = int(np.argmin(costs))
        margin = rounding_margin(self.driver, x, state, src)
        if not costs[dst] < stay_cost(self.driver, x, weight, state, src) - margin:
            return False
        reallocate(state, i, x, weight, src, dst)
        return True
