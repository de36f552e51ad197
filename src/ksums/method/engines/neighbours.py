"""For huge k: a sample is offered only to the clusters nearest to its own, so a pass takes n·L·d steps for any k.

The samples are visited cluster by cluster, the clusters in random order. If a copy of the rows may be held, it is
sorted by the first clusters once, so that the members of a cluster lie together in memory; otherwise the rows are read
again in each pass, some clusters at a time. The plain twin is ``reference.ReferenceNeighbours``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ksums.compute.arrays import blocks
from ksums.compute.jit import kernel
from ksums.compute.sharing import ALONE, team
from ksums.compute.threads import in_order, threads
from ksums.compute.vectors import CLUSTERS, panel_width
from ksums.method.data.rows import Rows
from ksums.method.data.sums import sort_by_cluster
from ksums.method.engines.compiled import CompiledEngine
from ksums.method.engines.kernels.moves import Block, refresh_all
from ksums.method.engines.kernels.neighbours import ListWork, Visit, neighbour_batches
from ksums.method.nearest.list_kernels import Neighbours, list_length
from ksums.method.nearest.lists import NeighbourLists
from ksums.method.state.limits import Limits
from ksums.method.state.state import ClusterState
from ksums.rules.kinds import Rule

_LENGTH = 64
"""Clusters in a list by default."""
_READ_BYTES = 1 << 25
"""Without a copy, rows are read in parts of this size."""
_BATCH = 128
"""Clusters that propose against the same state; a sixteenth of all where there are fewer."""
_CALL = 3e9
"""Operations in one call of the kernel, some hundredths of a second: Ctrl-C is only heard between calls."""
_DRIFT = 1.5
"""Lists are made again when this many times n samples have moved since they were made (``benchmarks/large_k.py``)."""

_NONE = np.zeros(0, np.int64)
_NOBODY = Visit(_NONE, _NONE, _NONE, _NONE, np.zeros(0, np.int32))


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
    """See ``protocol.Engine``."""

    def __init__(
        self,
        rows: Rows,
        state: ClusterState,
        rule: Rule,
        limits: Limits,
        *,
        length: int = _LENGTH,
        copy_rows: bool = True,
        neighbours: Neighbours | None = None,  # lists of this state and rule, if they are known
    ) -> None:
        super().__init__(rows, state, rule, limits)
        k, members = len(state.sizes), -(-len(rows.active) // len(state.sizes))
        in_memory = _READ_BYTES // (members * rows.d * self.dtype.itemsize)
        self.batch = int(np.clip(min(k // 16, in_memory), 1, _BATCH))
        self._width = panel_width(self.dtype)
        self._finder = NeighbourLists(self.dtype)
        self._copy_rows, self._copy = copy_rows, None  # type: bool, Block | None
        self._positions = np.arange(len(rows.active))  # of the samples in the copy
        self.neighbours: Neighbours | None
        self.use_lists(length)
        self.neighbours = neighbours

    def use_lists(self, length: int) -> None:
        """See ``protocol.Engine``."""
        (k, d), width = self.state.composites.shape, self._width
        count = self._threads = threads()
        self._length, self._moved = list_length(length, k), 0
        self.neighbours = None
        self._work = ListWork(
            np.zeros((count, d, width), self.dtype),
            np.zeros((count, CLUSTERS, width), self.dtype),
            np.zeros((count, width), self.dtype),
            np.zeros((count, width), np.int32),
            np.zeros((count, width)),
            np.zeros((count, self._length), np.int64),
            np.zeros((count, 3, self._length), self.dtype),
            np.zeros((count, 2, width), self.dtype),
        )

    def memory(self) -> dict[str, np.ndarray]:
        """See ``protocol.Engine``."""
        if self.neighbours is None:
            return {}
        found = {"lists": self.neighbours.lists, "filled": self.neighbours.filled, "moved": np.array(self._moved)}
        return {**found, **self._finder.memory()}

    def remember(self, memory: dict[str, np.ndarray]) -> None:
        """See ``protocol.Engine``."""
        self.use_lists(memory["lists"].shape[1])
        self.neighbours = Neighbours(memory["lists"], memory["filled"])
        self._moved = int(memory["moved"])
        self._finder.remember(memory)

    def lists(self) -> np.ndarray | None:
        """See ``protocol.Engine``; None before the first visit."""
        return None if self.neighbours is None else self.neighbours.lists

    # ------------------------------------------------------------------------------------ a pass
    def visit(self, order: np.ndarray) -> Iterator[int]:
        """Each sample once, cluster by cluster; yields the number of moves now and then."""
        refresh_all(self.clusters)
        self.comparisons = 0
        if self.neighbours is None or self._moved > _DRIFT * len(order):
            self.neighbours = self._finder.make(self.state, self.rule, self._length)
            self.comparisons, self._moved = self._finder.comparisons, 0
        self.comparisons += int(self.state.counts @ self.neighbours.filled)
        ALONE.run(neighbour_batches, *self._arguments(self.empty_block(0), _NOBODY))  # compiles, if need be
        with team(2.0 * len(order) * self._length * self.rows.d, self._threads) as workers:
            for block, visit in self._visits(order):
                moves = int(workers.run(neighbour_batches, *self._arguments(block, visit)))
                self._moved += moves
                yield moves

    def visiting_order(self, order: np.ndarray) -> np.ndarray:
        """See ``protocol.Engine``."""
        return np.concatenate(
            [block.ids[visit.members[at]] for block, visit in self._visits(order) for at in visit.rows]
        )

    def _arguments(self, block: Block, visit: Visit, only_propose: bool = False) -> tuple[Any, ...]:
        """Of ``neighbour_batches``."""
        return (self.clusters, block, visit, self.batch, self.neighbours, only_propose, self._work)

    def move_all_at_once(self, neighbours: Neighbours) -> np.ndarray:
        """All samples go to the best cluster of these lists at once, and no cluster changes; returns who moved."""
        refresh_all(self.clusters)
        self.use_lists(neighbours.lists.shape[1])
        self.neighbours, moved = neighbours, []
        ALONE.run(neighbour_batches, *self._arguments(self.empty_block(0), _NOBODY, True))
        with team(2.0 * len(self.rows.active) * self._length * self.rows.d, self._threads) as workers:
            for block, visit in self._visits(self.rows.active):
                workers.run(neighbour_batches, *self._arguments(block, visit, True))
                positions = np.concatenate([np.arange(at.start, at.stop) for at in visit.rows])
                positions = positions[visit.targets[positions] >= 0]
                ids = block.ids[visit.members[positions]]
                self.state.labels[ids] = visit.targets[positions]
                moved.append(ids)
        return np.sort(np.concatenate(moved))

    def _visits(self, order: np.ndarray) -> Iterator[tuple[Block, Visit]]:
        """Some clusters at a time with their rows, as they are at the start of a pass."""
        ids, k = self.rows.active, len(self.state.sizes)
        if self._copy is None and self._copy_rows:
            self._make_copy()
        clusters = np.empty(k, np.int64)
        clusters = clusters[: _first_seen(self.state.labels, order, np.zeros(k, np.int8), clusters)]
        starts, in_cluster = sort_by_cluster(self.state.labels[ids], k)
        members, targets = np.zeros(len(ids) + self._width, np.int64), np.empty(len(ids), np.int32)
        members[: len(ids)] = self._positions[in_cluster]
        operations = 2.0 * self._length * self.rows.d * len(ids) / len(clusters)
        batches = max(1, int(_CALL / operations / self.batch)) if self._copy is not None else 1
        parts = (clusters[at] for at in blocks(len(clusters), batches * self.batch))
        if self._copy is not None:
            for part in parts:
                yield self._copy, Visit(part, starts[part], starts[part + 1], members, targets)
            return

        def read(part: np.ndarray) -> tuple[Block, Visit]:
            positions = np.concatenate([members[starts[r] : starts[r + 1]] for r in part])
            stops = np.cumsum(starts[part + 1] - starts[part])
            block = self.fill_block(self.empty_block(len(positions)), ids[positions])
            rows = np.minimum(np.arange(len(positions) + self._width), len(positions) - 1)
            firsts = np.concatenate([[0], stops[:-1]])
            return block, Visit(part, firsts, stops, rows, np.empty(len(positions), np.int32))

        yield from in_order(read, parts)

    def _make_copy(self) -> None:
        """The rows sorted by cluster."""
        ids = self.rows.active
        _, members = sort_by_cluster(self.state.labels[ids], len(self.state.sizes))
        block = self.empty_block(len(ids))

        def fill(part: slice) -> None:
            self.fill_block(Block(*(array[part] for array in block)), ids[members[part]])

        for _ in in_order(fill, blocks(len(ids), self.rows.block_length())):
            pass
        self._copy, self._positions = block, np.empty_like(members)
        self._positions[members] = np.arange(len(ids))
