"""The definition of right: Algorithm 1 of the paper in plain NumPy, float64, one sample at a time.

Never optimised. Every other engine is tested against one of these three, pass by pass.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ksums.compute.arrays import as_dense
from ksums.method.data.rows import Rows
from ksums.method.engines.protocol import Engine
from ksums.method.engines.pushed import PushedEngine
from ksums.method.state.limits import Limits
from ksums.method.state.state import ClusterState, reallocate, renew_sq_composites
from ksums.rules.kinds import Rule
from ksums.rules.plain import plain_form


class ReferenceEngine(Engine):
    """Each sample is offered to all clusters: the twin of ``exact.ExactEngine``."""

    def visit(self, order: np.ndarray) -> Iterator[int]:
        """Lines 5–12 of Algorithm 1; yields the number of moves, a few samples at a time."""
        self.comparisons = len(order) * len(self.state.sizes)
        for ids in self.rows.blocks_of(order):
            block, weights = as_dense(self.rows.read(ids, np.float64)), self.rows.weights_of(ids)
            yield sum(self._visit_one(i, x, w) for i, x, w in zip(ids, block, weights, strict=True))

    def _visit_one(self, i: int, x: np.ndarray, weight: float) -> bool:
        state, limits = self.state, self.limits
        src = int(state.labels[i])
        costs = plain_form(self.rule).join_costs(self.rule, x, weight, state)
        costs[state.sizes + weight > limits.high] = np.inf
        if src < 0:
            reallocate(state, i, x, weight, src, int(np.argmin(costs)))
            return True
        if state.counts[src] == 1 or state.sizes[src] - weight < limits.low[src]:
            return False
        costs[src] = np.inf
        dst = int(np.argmin(costs))
        if not costs[dst] < _to_beat(self.rule, x, weight, state, src):
            return False
        reallocate(state, i, x, weight, src, dst)
        return True


class ReferenceBlocks(PushedEngine):
    """Blocks of samples propose moves against one state: the twin of ``blocks.BlockEngine``.

    The proposals of a block are verified one by one against the present state, and those that are still gains are made.
    """

    def __init__(self, rows: Rows, state: ClusterState, rule: Rule, limits: Limits, *, length: int) -> None:
        super().__init__(rows, state, rule, limits)
        self.length = length

    def visit(self, order: np.ndarray) -> Iterator[int]:
        """Block after block, each in storage order; yields the number of moves of each, less than 0 if taken back."""
        blocks_of_rows = self.rows.active // self.length
        everything, moves, self.comparisons = np.arange(len(self.state.sizes)), 0, 0
        for _ in self.attempts():
            if moves:
                yield -moves
            moves = 0
            self.comparisons += len(self.rows.active) * len(self.state.sizes)
            for b in order:
                members = self.rows.active[blocks_of_rows == b]
                proposals = [_propose(self, i, int(self.state.labels[i]), everything) for i in members]
                made = sum(_move(self, *proposal) for proposal in proposals if proposal is not None)
                moves += made
                yield made

    def renew(self) -> None:
        """See ``pushed.PushedEngine``."""
        renew_sq_composites(self.state)

    def look_again_at(self, ids: np.ndarray) -> None:
        """All rows are looked at in every pass anyway."""


class ReferenceNeighbours(Engine):
    """Each sample is offered to the clusters in given lists: the twin of ``neighbours.NeighbourEngine``.

    Batches of clusters propose moves against one state; then the proposals are verified one by one against the present
    state, and those that are still gains are made.
    """

    def __init__(
        self,
        rows: Rows,
        state: ClusterState,
        rule: Rule,
        limits: Limits,
        *,
        lists: np.ndarray,  # (k, L)  clusters, each list starting with its own
        filled: np.ndarray,  # (k,)    entries that count
        batch: int,  # clusters that propose against one state
    ) -> None:
        super().__init__(rows, state, rule, limits)
        self._lists, self.filled, self.batch = lists, filled, batch

    def lists(self) -> np.ndarray:
        """See ``protocol.Engine``."""
        return self._lists

    def visit(self, order: np.ndarray) -> Iterator[int]:
        """Samples cluster by cluster, the clusters in the order of their first samples; yields moves per batch."""
        before = self.state.labels.copy()
        clusters = before[order][np.sort(np.unique(before[order], return_index=True)[1])]
        self.comparisons = int(self.state.counts @ self.filled)
        for first in range(0, len(clusters), self.batch):
            proposals = [
                proposal
                for w in clusters[first : first + self.batch]
                for i in order[before[order] == w]
                if (proposal := _propose(self, i, w, self._lists[w, 1 : self.filled[w]])) is not None
            ]
            yield sum(_move(self, *proposal) for proposal in proposals)


_Proposal = tuple[int, np.ndarray, float, int, int]
"""Sample, its prepared row and weight, its cluster and the one it would join."""


def _propose(engine: Engine, i: int, src: int, candidates: np.ndarray) -> _Proposal | None:
    """Sample i with the candidate that it would join, on the present state."""
    rule, state = engine.rule, engine.state
    x, weight = engine.rows.read(np.array([i]), np.float64)[0], float(engine.rows.weights_of(np.array([i]))[0])
    others = candidates[candidates != src]
    costs = plain_form(rule).join_costs(rule, x, weight, state)[others]
    costs[state.sizes[others] + weight > engine.limits.high[others]] = np.inf
    if state.counts[src] <= 1 or not costs.min(initial=np.inf) < _to_beat(rule, x, weight, state, src):
        return None
    return i, x, weight, src, int(others[costs.argmin()])


def _move(engine: Engine, i: int, x: np.ndarray, weight: float, src: int, dst: int) -> bool:
    """Make a proposed move, if it is a gain now; returns whether it was."""
    rule, state, limits = engine.rule, engine.state, engine.limits
    if state.counts[src] <= 1 or state.sizes[src] - weight < limits.low[src]:
        return False
    if state.sizes[dst] + weight > limits.high[dst]:
        return False
    cost = plain_form(rule).join_costs(rule, x, weight, state)[dst]
    if not cost < _to_beat(rule, x, weight, state, src):
        return False
    reallocate(state, i, x, weight, src, dst)
    return True


def _to_beat(rule: Rule, x: np.ndarray, weight: float, state: ClusterState, src: int) -> float:
    """The stay cost, less what may be rounding."""
    form = plain_form(rule)
    return form.stay_cost(rule, x, weight, state, src) - form.rounding_margin(x, state, src)
