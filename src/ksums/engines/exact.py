"""Algorithm 1 exactly, compiled: picks the kernel that suits the shape of the data and feeds it block by block.

==========  ==================================  ========================================================
kernel      for                                 file
==========  ==================================  ========================================================
panels      more than 16 clusters               ``_panel_kernels.py``; the only one that uses threads
rows        up to 16 clusters                   ``_direct_kernels.py``; as fast there, and compiled sooner
columns     CPUs whose vectors are not known    ``_direct_kernels.py``; the plain twin of the panels
sparse      CSR data                            ``_sparse_kernels.py``
==========  ==================================  ========================================================
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ksums.drivers import Driver
from ksums.engines import _vectors
from ksums.engines._compiled import CompiledEngine
from ksums.engines._direct_kernels import RUN, columns_block, rows_block
from ksums.engines._panel_kernels import CHUNK, Panels, panel_block
from ksums.engines._score_kernels import Block, refresh_all
from ksums.engines._sparse_kernels import SparseBlock, sparse_block
from ksums.engines._threads import share, thread_pool
from ksums.rows import Rows
from ksums.state import ClusterState, Limits

logger = logging.getLogger("ksums")


def choose_kernel(k: int, is_sparse: bool) -> str:
    """The kernel for a shape, from measurements; it depends on nothing else, so results repeat."""
    if is_sparse:
        return "sparse"
    if k <= 16:
        return "rows"
    if not _vectors.USE_VECTORS:
        logger.warning("This CPU has no vectors that ksums knows: plain loops are used, which are slower.")
        return "columns"
    return "panels"


class ExactEngine(CompiledEngine):
    """See ``engines.Engine``."""

    def __init__(
        self,
        rows: Rows,
        state: ClusterState,
        driver: Driver,
        limits: Limits,
        n_threads: int = 1,
        kernel: str | None = None,
    ) -> None:
        super().__init__(rows, state, driver, limits)
        k, d = state.composites.shape
        self.kernel = kernel or choose_kernel(k, rows.is_sparse)
        self.n_threads = min(n_threads, max(1, k // CHUNK)) if self.kernel == "panels" else 1
        padded = -(-k // RUN) * RUN
        self.work = (np.zeros(padded, self.dtype), np.full(padded, np.inf, self.dtype), np.empty(RUN, self.dtype))
        self._columns = np.zeros((d, padded), self.dtype) if self.kernel == "columns" else None
        self._panels = self._make_panels() if self.kernel == "panels" else None
        self._block_length = self._choose_block_length()
        self.block = None if rows.is_sparse else self._make_block()
        self._turns = np.arange(self._block_length)

    # ------------------------------------------------------------------------------------ a pass
    def visit(self, order: np.ndarray) -> Iterator[int]:
        """Lines 5–12 of Algorithm 1; yields the number of moves, block by block."""
        refresh_all(*self.arguments[:3])
        if self._columns is not None:
            self._columns[:, : len(self.fast.a)] = self.fast.composites.T
        if self.kernel == "panels":
            self._visit_block(None, order[:0])  # compiles, if need be, before there are threads
        operations = 2.0 * min(len(order), self._block_length) * self.fast.composites.size
        with thread_pool(self.n_threads, operations) as pool:
            for first in range(0, len(order), self._block_length):
                yield self._visit_block(pool, order[first : first + self._block_length])

    def _visit_block(self, pool: ThreadPoolExecutor | None, ids: np.ndarray) -> int:
        if self.kernel == "sparse":
            return int(sparse_block(*self.arguments, self._read_sparse(ids), *self.work))
        assert self.block is not None
        block, count = self.fill_block(self.block, ids), len(ids)
        if self.kernel == "rows":
            return int(rows_block(*self.arguments, block, self._turns[:count], *self.work))
        if self.kernel == "columns":
            return int(columns_block(*self.arguments, block, count, self._columns, *self.work))
        panels = (block, count, self._tile, self._panels)
        return int(share(pool, self.n_threads, panel_block, *self.arguments, *panels))

    def _read_sparse(self, ids: np.ndarray) -> SparseBlock:
        block = self.rows.read(ids, np.float64)
        return SparseBlock(
            block.data, block.indices, block.indptr, self.rows.sq_norms[ids], self.rows.weights_of(ids), ids
        )

    # -------------------------------------------------------------------------------- work space
    def _choose_block_length(self) -> int:
        if self.rows.is_sparse:
            return 1024
        length = self.rows.block_length()
        if self._panels is not None:  # whole panels, so that only the last of a pass is cut short
            width = len(self._panels.own)
            length = max(1, length // width) * width
        return length

    def _make_block(self) -> Block:
        return self.empty_block(self._block_length + (0 if self._panels is None else len(self._panels.own)))

    def _make_panels(self) -> Panels:
        """Tiles of about √k clusters, so that the best of all is found in about 2√k steps.

        A multiple of 8, the most clusters scored at a time, so that no thread writes into another's tiles.
        """
        k, d = self.fast.composites.shape
        width = _vectors.panel_width(self.dtype)
        self._tile = max(8, min(256, round(k**0.5 / 8) * 8))
        return Panels(
            np.zeros((self.n_threads, d, width), self.dtype),
            np.zeros((k, width), self.dtype),
            np.zeros((-(-k // self._tile), width), self.dtype),
            np.zeros(width, np.int64),
            np.minimum(np.arange(k + 1), k - 1),
            np.zeros(2, np.int64),
            np.arange(self.rows.block_length() + 2 * width),
        )
