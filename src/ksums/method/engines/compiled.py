"""What the compiled engines share: the rule as numbers, the clusters as the kernels read them, blocks of rows."""

from __future__ import annotations

import numpy as np

from ksums.method.data.rows import Rows
from ksums.method.engines.kernels.moves import Block
from ksums.method.engines.protocol import Engine
from ksums.method.state.limits import Limits
from ksums.method.state.state import ClusterState
from ksums.rules.compiled import Clusters, Scan, numbers_of
from ksums.rules.kinds import Rule


def kernel_dtype(rows: Rows) -> np.dtype:
    """The arithmetic of the kernels: that of the rows, and float64 for sparse ones."""
    return np.dtype(np.float64) if rows.is_sparse else rows.dtype


def empty_scan(rows: Rows, state: ClusterState) -> Scan:
    """Room for the clusters as the kernels read them."""
    (k, d), dtype = state.composites.shape, kernel_dtype(rows)
    composites = state.composites if rows.is_sparse else np.empty((k, d), dtype)
    a, b, c = np.empty((3, k), dtype)
    return Scan(composites, a, b, c, np.empty((k, 3), dtype))


def clusters_for(rows: Rows, state: ClusterState, scan: Scan, rule: Rule, limits: Limits) -> Clusters:
    """What kernels know of the clusters."""
    heaviest = rows.heaviest if np.isfinite(limits.high).any() else 0.0
    numbers = numbers_of(rule, kernel_dtype(rows), rows.weights is not None, heaviest)
    return Clusters(numbers, state, scan, limits)


class CompiledEngine(Engine):
    """An engine with the clusters as kernels read them, and with blocks of rows for them."""

    def __init__(self, rows: Rows, state: ClusterState, rule: Rule, limits: Limits) -> None:
        super().__init__(rows, state, rule, limits)
        self.dtype, self.scan = kernel_dtype(rows), empty_scan(rows, state)
        self.use_rule(rule)

    def use_rule(self, rule: Rule) -> None:
        """See ``protocol.Engine``."""
        super().use_rule(rule)
        self.clusters = clusters_for(self.rows, self.state, self.scan, rule, self.limits)

    def empty_block(self, length: int) -> Block:
        """Room for ``length`` rows; weights are 1."""
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
