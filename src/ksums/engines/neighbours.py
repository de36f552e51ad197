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
from ksums.computing import in_order
from ksums.drivers import Driver
from ksums.engines import _vectors
from ksums.engines._compiled import CompiledEngine
from ksums.engines._neighbour_kernels import ListWork, Neighbours, Visit, list_length, neighbour_batches
from ksums.engines._score_kernels import Block, refresh_all
from ksums.engines._threads import share, thread_pool
from ksums.engines.neighbour_lists import NeighbourLists
from ksums.rows import Rows
from ksums.state import ClusterState, Limits

_COPIED_BYTES = 1 << 30
_READ_BYTES = 1 << 25  # where there is no copy: rows read at a time
_LENGTH = 64  # of the lists, if nobody says otherwise
_BATCH = 128  # clusters that propose against the same state; a sixteenth of all, where they are few
_CALL = 3e9  # operations in a call of the kernel, some hundredths of a second: Ctrl-C is heard between calls
_DRIFT = 1.5  # lists are made anew when so many samples, of all, have moved since they were made


_NONE = np.zeros(0, np.int64)
_NOBODY = Visit(_NONE, _NONE, _NONE, _NONE, np.zeros(0, np.int32))


@kernel
def _members_by_cluster(
    labels,  # IN   (count,)  of samples in order
    places,  # IN   (count,)  their rows in the block
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
        members[starts[labels[i]]] = places[i]
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
    """See ``engines.ListingEngine``."""

    def __init__(self, rows: Rows, state: ClusterState, driver: Driver, limits: Limits, n_threads: int = 1) -> None:
        super().__init__(rows, state, driver, limits)
        k, members = len(state.sizes), -(-len(rows.pulling) // len(state.sizes))
        in_memory = _READ_BYTES // (members * rows.d * self.dtype.itemsize)
        self._batch = int(np.clip(min(k // 16, in_memory), 1, _BATCH))
        self._width = _vectors.panel_width(self.dtype)
        self._finder = NeighbourLists(self.dtype, n_threads)
        self._copy: Block | None = None
        self._places = np.arange(len(rows.pulling))  # of the samples in the copy
        self.n_threads, self.comparisons = n_threads, 0
        self.lengthen(_LENGTH)

    def lengthen(self, length: int) -> None:
        """See ``engines.ListingEngine``."""
        k, d = self.state.composites.shape
        length = list_length(length, k)
        threads, width = self.n_threads, self._width
        self._length, self._moved = length, 0
        self._lists: Neighbours | None = None
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
        self.comparisons += int(self.state.counts @ self._lists.filled)
        self._visit_one(None, self.empty_block(0), _NOBODY)  # compiles, if need be, before there are threads
        with thread_pool(self.n_threads, 2.0 * len(order) * self._length * self.rows.d) as pool:
            for block, visit in self._visits(order):
                moves = self._visit_one(pool, block, visit)
                self._moved += moves
                yield moves

    def turns(self, order: np.ndarray) -> np.ndarray:
        """See ``engines.ListingEngine``."""
        return np.concatenate(
            [block.ids[visit.members[at]] for block, visit in self._visits(order) for at in visit.rows]
        )

    def lists(self) -> np.ndarray:
        """See ``engines.ListingEngine``."""
        assert self._lists is not None
        return self._lists.lists

    def _visit_one(
        self, pool: ThreadPoolExecutor | None, block: Block, visit: Visit, only_proposed: bool = False
    ) -> int:
        arguments = (*self.arguments, block, visit, self._batch, self._lists, only_proposed, self._work)
        return int(share(pool, self.n_threads, neighbour_batches, *arguments))

    def step(self, lists: Neighbours) -> np.ndarray:
        """All samples go at once to the best cluster in these lists, and no cluster changes; which samples went."""
        refresh_all(*self.arguments[:3])
        self.lengthen(lists.lists.shape[1])
        self._lists, went = lists, []
        self._visit_one(None, self.empty_block(0), _NOBODY, True)
        with thread_pool(self.n_threads, 2.0 * len(self.rows.pulling) * self._length * self.rows.d) as pool:
            for block, visit in self._visits(self.rows.pulling):
                self._visit_one(pool, block, visit, True)
                places = np.concatenate([np.arange(at.start, at.stop) for at in visit.rows])
                places = places[visit.targets[places] >= 0]
                ids = block.ids[visit.members[places]]
                self.state.labels[ids] = visit.targets[places]
                went.append(ids)
        return np.sort(np.concatenate(went))

    def _visits(self, order: np.ndarray) -> Iterator[tuple[Block, Visit]]:
        """Some clusters at a time with their rows, as they are at the beginning of a pass."""
        ids, k = self.rows.pulling, len(self.state.sizes)
        if self._copy is None and len(ids) * self.rows.d * self.dtype.itemsize <= _COPIED_BYTES:
            self._make_copy()
        clusters, starts = np.empty(k, np.int64), np.empty(k + 1, np.int64)
        clusters = clusters[: _first_seen(self.state.labels, order, np.zeros(k, np.int8), clusters)]
        members, targets = np.zeros(len(ids) + self._width, np.int64), np.empty(len(ids), np.int32)
        _members_by_cluster(self.state.labels[ids], self._places, starts, members)
        operations = 2.0 * self._length * self.rows.d * len(ids) / len(clusters)
        batches = max(1, int(_CALL / operations / self._batch)) if self._copy is not None else 1
        parts = (clusters[at : at + batches * self._batch] for at in range(0, len(clusters), batches * self._batch))
        if self._copy is not None:
            for part in parts:
                yield self._copy, Visit(part, starts[part], starts[part + 1], members, targets)
            return

        def read(part: np.ndarray) -> tuple[Block, Visit]:
            places = np.concatenate([members[starts[r] : starts[r + 1]] for r in part])
            stops = np.cumsum(starts[part + 1] - starts[part])
            block = self.fill_block(self.empty_block(len(places)), ids[places])
            rows = np.minimum(np.arange(len(places) + self._width), len(places) - 1)
            firsts = np.concatenate([[0], stops[:-1]])
            return block, Visit(part, firsts, stops, rows, np.empty(len(places), np.int32))

        yield from in_order(read, parts)

    def _make_copy(self) -> None:
        """The rows sorted by cluster."""
        ids = self.rows.pulling
        starts, members = np.empty(len(self.state.sizes) + 1, np.int64), np.empty(len(ids), np.int64)
        _members_by_cluster(self.state.labels[ids], self._places, starts, members)
        block, length = self.empty_block(len(ids)), self.rows.block_length()

        def fill(first: int) -> None:
            part = slice(first, first + length)
            self.fill_block(Block(*(array[part] for array in block)), ids[members[part]])

        for _ in in_order(fill, range(0, len(ids), length)):
            pass
        self._copy, self._places = block, np.empty_like(members)
        self._places[members] = np.arange(len(ids))
