"""Algorithm 1 exactly, compiled: takes the kernel that suits the shape of the data and feeds it block by block.

==========  ==================================  =============================================================
kernel      for                                 file
==========  ==================================  =============================================================
panels      more than 16 clusters               ``kernels/panels.py``; the only one that uses threads
rows        up to 16 clusters                   ``kernels/direct.py``; as fast there, and compiles sooner
columns     CPUs whose vectors are not known    ``kernels/direct.py``; the plain twin of the panels
sparse      CSR data                            ``kernels/sparse.py``
==========  ==================================  =============================================================

``planning/engines.py`` says which one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import numpy as np

from ksums.compute import vectors
from ksums.compute.arrays import blocks
from ksums.compute.sharing import ALONE, team
from ksums.compute.threads import threads
from ksums.method.data.rows import Rows
from ksums.method.engines.compiled import CompiledEngine
from ksums.method.engines.kernels.direct import columns_block, row_work, rows_block
from ksums.method.engines.kernels.moves import refresh_all
from ksums.method.engines.kernels.panels import CHUNK, Panels, panel_block
from ksums.method.engines.kernels.sparse import SparseBlock, sparse_block
from ksums.method.state.limits import Limits
from ksums.method.state.state import ClusterState
from ksums.planning.engines import exact_kernel
from ksums.rules.kinds import Rule

logger = logging.getLogger("ksums")

_SPARSE_BLOCK = 1024
"""Sparse rows that one call of the kernel visits."""


class ExactEngine(CompiledEngine):
    """See ``protocol.Engine``; ``kernel`` is for tests."""

    def __init__(self, rows: Rows, state: ClusterState, rule: Rule, limits: Limits, kernel: str | None = None) -> None:
        super().__init__(rows, state, rule, limits)
        k = len(state.sizes)
        self.kernel = kernel or exact_kernel(k, rows.is_sparse, vectors.USE_VECTORS)
        if self.kernel == "columns" and kernel is None:
            logger.warning("ksums does not know the vectors of this CPU and uses plain loops, which are slower.")
        self._threads = min(threads(), max(1, k // CHUNK)) if self.kernel == "panels" else 1
        self._block_length = _SPARSE_BLOCK if rows.is_sparse else rows.block_length()
        self._work = row_work(k, self.dtype)
        if self.kernel == "columns":
            self._columns = np.zeros((rows.d, len(self._work.scores)), self.dtype)
        if self.kernel == "panels":
            self._make_panels(k, rows.d)
        if self.kernel != "sparse":
            padding = len(self._panels.own) if self.kernel == "panels" else 0
            self._block = self.empty_block(self._block_length + padding)
            self._in_order = np.arange(self._block_length)

    def visit(self, order: np.ndarray) -> Iterator[int]:
        """Lines 5–12 of Algorithm 1; yields the number of moves, block by block."""
        self.comparisons = len(order) * len(self.state.sizes)
        refresh_all(self.clusters)
        if self.kernel == "columns":
            self._columns[:, : len(self.scan.a)] = self.scan.composites.T
        if self.kernel == "panels":  # compiles, if need be, before there are threads
            ALONE.run(panel_block, self.clusters, self._block, 0, self._tile, self._panels)
        operations = 2.0 * min(len(order), self._block_length) * self.scan.composites.size
        with team(operations, self._threads) as workers:
            for part in blocks(len(order), self._block_length):
                ids = order[part]
                if self.kernel == "sparse":
                    yield int(sparse_block(self.clusters, self._read_sparse(ids), self._work))
                    continue
                block, count = self.fill_block(self._block, ids), len(ids)
                if self.kernel == "panels":
                    yield int(workers.run(panel_block, self.clusters, block, count, self._tile, self._panels))
                elif self.kernel == "rows":
                    yield int(rows_block(self.clusters, block, self._in_order[:count], self._work))
                else:
                    yield int(columns_block(self.clusters, block, count, self._columns, self._work))

    def _read_sparse(self, ids: np.ndarray) -> SparseBlock:
        block = self.rows.read(ids, np.float64)
        sq_norms, weights = self.rows.sq_norms[ids], self.rows.weights_of(ids)
        return SparseBlock(block.data, block.indices, block.indptr, sq_norms, weights, ids)

    def _make_panels(self, k: int, d: int) -> None:
        """Tiles of about √k clusters, so that the best of all is found in about 2√k steps.

        The tile is a multiple of 8, the most clusters scored at a time, so that no thread writes into another's tiles.
        """
        width, length = vectors.panel_width(self.dtype), self._block_length
        self._tile = max(8, min(256, round(k**0.5 / 8) * 8))
        self._panels = Panels(
            np.zeros((self._threads, d, width), self.dtype),
            np.zeros((k, width), self.dtype),
            np.zeros((-(-k // self._tile), width), self.dtype),
            np.zeros(width, np.int64),
            np.minimum(np.arange(k + 1), k - 1),
            np.zeros(2, np.int64),
            np.arange(length + 2 * width),
        )
        self._block_length = max(1, length // width) * width  # whole panels: only the last of a pass is cut short
