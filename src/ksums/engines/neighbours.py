"""For huge k: a sample looks only at the clusters nearest to its own, so a pass takes n·L·d steps, whatever k is.

The samples are visited cluster by cluster, the clusters in random order. Where a copy of the rows may be held, they are
sorted by their first clusters once, so that the members of a cluster lie together in memory; else they are read anew in
each pass, some clusters at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ksums._jit import kernel
from ksums.drivers import Driver
from ksums.engines import _vectors
from ksums.engines._compiled import CompiledEngine
from ksums.engines._neighbour_kernels import ListWork, Neighbours, Visit, neighbour_batches
from ksums.engines._score_kernels import Block, refresh_all
from ksums.engines._threads import share, thread_pool
from ksums.engines.neighbour_lists import NeighbourLists
from ksums.rows import Rows
from ksums.state import ClusterState, Limits

_COPIED_BYTES = 1 << 30
_BATCH = 128  # clusters that propose against the same state; a sixteenth of all, where they are few
_CALL = 3e9  # operations in a call of the kernel, some hundredths of a second: Ctrl-C is heard between calls
_DRIFT = 0.3  # lists are made anew when so many samples, of all, have moved since they were made


@kernel
def _members_by_cluster(
    labels,  # IN   (count,)  of the rows of the block
    starts,  # OUT  (k + 1,)
    members,  # OUT  (count + …,)  rows, cluster after cluster
):
    """A counting sort."""
    k = starts.shape[0] - 1
    for r in range(k + 1):
        starts[r] = 0
    for i in range(labels.shape[0]):
        starts[labels[i] + 1] += 1
    for r in range(k):
        starts[r + 1] += starts[r]
    for i in range(labels.shape[0]):
        members[starts[labels[i]]] = i
        starts[labels[i]] += 1
    for r in range(k, 0, -1):
        starts[r] = starts[r - 1]
    starts[0] = 0


@kernel
def _first_seen(
    labels,  # IN   (n,)
    order,  # IN   samples
    seen,  # INOUT  (k,)  zeros
    clusters,  # OUT  (k,)
):
    """Clusters in the order in which their first samples come; returns their number."""
    found = 0
    for i in order:
        r = labels[i]
        if not seen[r]:
            seen[r] = 1
            clusters[found] = r
            found += 1
    return found


class NeighbourEngine(CompiledEngine):
    """See ``engines.Engine``. ``lists`` is the number L of clusters in a list, the own one counted."""

    def __init__(
        self, rows: Rows, state: ClusterState, driver: Driver, limits: Limits, n_threads: int, length: int = 64
    ) -> None:
        super().__init__(rows, state, driver, limits)
        self.n_threads, self.comparisons = n_threads, 0
        k = len(state.sizes)
        self._batch = int(np.clip(k // 16, 1, _BATCH))
        self._width = _vectors.VECTORS * _vectors.lanes_of(self.dtype.itemsize)
        self._finder = NeighbourLists(self.dtype, n_threads)
        self.lengthen(length)
        self._copy = self._copied()

    def lengthen(self, length: int) -> None:
        """Go on with lists of another length."""
        k, d = self.state.composites.shape
        length = -(-min(length, k) // 8) * 8
        threads, width = self.n_threads, self._width
        self._length = length
        self._lists: Neighbours | None = None
        self._moved = 0
        self._work = ListWork(
            np.zeros((threads, d, width), self.dtype),
            np.zeros((threads, _vectors.CLUSTERS, width), self.dtype),
            np.zeros((threads, width), self.dtype),
            np.zeros((threads, width), np.int32),
            np.zeros((threads, width)),
            np.zeros((threads, length), np.int64),
            np.zeros((threads, 3, length), self.dtype),
            np.zeros((threads, 2, width), self.dtype),
        )

    # ------------------------------------------------------------------------------------ a pass
    def visit(self, order: np.ndarray) -> Iterator[int]:
        """Each sample once, cluster by cluster; yields the number of moves now and then."""
        refresh_all(*self.arguments[:3])
        self.comparisons = 0
        if self._lists is None or self._moved > _DRIFT * len(order):
            self._lists = self._finder.make(self.state, self.arguments[0].kind, self._length)
            self.comparisons, self._moved = self._finder.comparisons, 0
        k = len(self.state.sizes)
        clusters = np.empty(k, np.int64)
        clusters = clusters[: _first_seen(self.state.labels, order, np.zeros(k, np.int8), clusters)]
        if self._copy is None:
            visits = self._visits_reading(clusters, order)
        else:
            visits = self._visits(self._copy, clusters)
        self.comparisons += len(order) * self._length
        share(None, 1, neighbour_batches, *self._arguments(*next(self._visits_of_nobody())))
        with thread_pool(self.n_threads, 2.0 * len(order) * self._length * self.rows.d) as pool:
            for block, visit in visits:
                moves = int(share(pool, self.n_threads, neighbour_batches, *self._arguments(block, visit)))
                self._moved += moves
                yield moves

    def _arguments(self, block: Block, visit: Visit):
        return (*self.arguments, block, visit, self._batch, self._lists, self._work)

    def _visits_of_nobody(self):
        nobody = np.zeros(0, np.int64)
        yield self._copy or self.empty_block(1), Visit(nobody, nobody, nobody, nobody, np.zeros(0, np.int32))

    def _visits(self, block: Block, clusters: np.ndarray) -> Iterator[tuple[Block, Visit]]:
        count = len(self.rows.pulling)
        starts = np.empty(len(self.state.sizes) + 1, np.int64)
        members = np.zeros(count + self._width, np.int64)
        _members_by_cluster(self.state.labels[block.ids[:count]], starts, members)
        targets = np.empty(count, np.int32)
        operations = 2.0 * self._length * self.rows.d * count / len(clusters)
        step = max(1, int(_CALL / operations / self._batch)) * self._batch
        for first in range(0, len(clusters), step):
            part = clusters[first : first + step]
            yield block, Visit(part, starts[part], starts[part + 1], members, targets)

    def _visits_reading(self, clusters: np.ndarray, order: np.ndarray) -> Iterator[tuple[Block, Visit]]:
        raise NotImplementedError

    # ------------------------------------------------------------------------------------ the copy
    def _copied(self) -> Block | None:
        rows, ids = self.rows, self.rows.pulling
        if len(ids) * rows.d * self.dtype.itemsize > _COPIED_BYTES:
            return None
        starts, members = np.empty(len(self.state.sizes) + 1, np.int64), np.empty(len(ids), np.int64)
        _members_by_cluster(self.state.labels[ids], starts, members)
        ids = ids[members]
        block = self.empty_block(len(ids))
        parts = np.array_split(np.arange(len(ids)), max(1, len(ids) // rows.block_length()))

        def fill(part: np.ndarray) -> None:
            at = slice(part[0], part[-1] + 1)
            self.fill_block(Block(*(array[at] for array in block)), ids[at])

        with ThreadPoolExecutor(self.n_threads) as pool:
            list(pool.map(fill, parts))
        return block
