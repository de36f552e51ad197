"""Splits made ahead of their turn, on the threads that are free."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from ksums.compute.threads import threads
from ksums.method.data.rows import subset
from ksums.method.trees.leaves import Leaves
from ksums.method.trees.splitting import Split, is_separable, split
from ksums.planning.plan import TreePlan
from ksums.planning.trees import IN_BLOCKS


class Splits:
    """The split of each node. It depends on the node alone, so it does not matter when it is made, or on which thread.

    Large splits use all threads by themselves and are made when it is their turn.
    """

    def __init__(self, leaves: Leaves, plan: TreePlan, seed: int) -> None:
        self._leaves, self._plan, self._seed = leaves, plan, seed
        self._begun: dict[int, Future[Split | None]] = {}
        helpers = threads() - 1
        self._pool = ThreadPoolExecutor(helpers) if helpers else None

    def begin(self, nodes: list[int]) -> None:
        """Begin with some splits, if threads are free."""
        if self._pool is None:
            return
        waiting = sum(not future.done() for future in self._begun.values())
        for node in nodes:
            if waiting >= threads() - 1:
                return
            if node not in self._begun and len(self._leaves.ids(node)) < IN_BLOCKS:
                self._begun[node] = self._pool.submit(self._split, node)
                waiting += 1

    def take(self, node: int) -> Split | None:
        """The split of a node; None if its rows are copies of one row."""
        future = self._begun.pop(node, None)
        return self._split(node) if future is None else future.result()

    def close(self) -> None:
        """Drop what was begun and is not needed."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def _split(self, node: int) -> Split | None:
        part = subset(self._leaves.rows, self._leaves.ids(node))
        return split(part, self._plan.split, self._plan.tries, [self._seed, node]) if is_separable(part) else None
