"""What the compiled engines share: the driver as numbers, the clusters as the kernels read them, blocks of rows."""

from __future__ import annotations

import numpy as np

from ksums.drivers import FAMILY, ROUNDING, WEIGHTED, Driver
from ksums.engines._score_kernels import Block, Fast, Rule
from ksums.rows import Rows
from ksums.state import ClusterState, Limits


class CompiledEngine:
    """Data, state and limits with the arguments that every kernel begins with."""

    def __init__(self, rows: Rows, state: ClusterState, driver: Driver, limits: Limits) -> None:
        k, d = state.composites.shape
        self.rows, self.state, self.limits = rows, state, limits
        self.dtype = np.dtype(np.float64) if rows.is_sparse else rows.dtype
        composites = state.composites if rows.is_sparse else np.empty((k, d), self.dtype)
        a, b, c = np.empty((3, k), self.dtype)
        self.fast = Fast(composites, a, b, c, np.empty((k, 3), self.dtype))
        self.drive(driver)

    def drive(self, driver: Driver) -> None:
        """See ``engines.RelaxingEngine``."""
        rows, limits = self.rows, self.limits
        heaviest = 1.0 if rows.weights is None else float(rows.weights.max())
        rule = Rule(
            WEIGHTED if driver.kind == FAMILY and rows.weights is not None else driver.kind,
            driver.p,
            driver.q,
            driver.per_size,
            ROUNDING[self.dtype],
            heaviest if np.isfinite(limits.high).any() else 0.0,
        )
        self.arguments = (rule, self.state, self.fast, limits)

    def empty_block(self, length: int) -> Block:
        """Room for so many rows; weights are 1."""
        return Block(
            np.zeros((length, self.rows.d), self.dtype),
            np.zeros(length, self.dtype),
            np.ones(length, self.dtype),
            np.zeros(length),
            np.ones(length),
            np.zeros(length, np.int64),
        )

    def fill_block(self, block: Block, ids: np.ndarray) -> Block:
        """Put these rows into a block, ready for the kernels."""
        count = len(ids)
        self.rows.read(ids, self.dtype, out=block.rows[:count])
        block.sq_norms[:count] = block.exact_sq_norms[:count] = self.rows.sq_norms[ids]
        block.ids[:count] = ids
        if self.rows.weights is not None:
            block.weights[:count] = block.exact_weights[:count] = self.rows.weights[ids]
        return block
