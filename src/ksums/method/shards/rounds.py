"""The rounds of a fit: they know the sums of the clusters and ask the blocks for steps, wherever these are.

Blocks that move at the same time creep rather than overshoot, because each of them sees only its own moves. So while
the relaxation falls, they compare with composites that are half a step ahead: D' = n (C + ½ (C − C_last)). A round at
p = 1 is taken only if the objective, known from the sums alone, does not rise; otherwise fewer blocks keep their moves.
A single block alone cannot raise it. E_s depends on sizes, and there blocks overshoot by far: so a round has turns, in
which few blocks move, and each of them assumes that the others of its turn do the same. No cluster is ever empty:
moves out of one that would be are taken back.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.method.shards.blocks import Blocks
from ksums.method.shards.frame import Frame
from ksums.method.shards.orders import Order
from ksums.method.shards.sums import Sums, centroids_of, clusters_of
from ksums.planning.plan import ShardPlan
from ksums.rules.annealing import relaxed
from ksums.rules.objectives import objective_value

_AHEAD = 0.5
"""How far ahead: half of what the centroids moved in the last round (method.md, "Shards")."""


class Standing(NamedTuple):
    """Where the clusters stand after a round: all that the next one depends on, besides the labels."""

    round: int  # rounds that are done
    turn: int  # turns of the next one that are done
    sums: Sums
    last: np.ndarray | None  # (k, d)  centroids a round ago
    value: float  # of the objective


class Done(NamedTuple):
    """What happened in a round."""

    moves: int
    comparisons: int
    relaxation: float


class Rounds:
    """Makes one round after another, starting from first sums."""

    def __init__(self, blocks: Blocks, frame: Frame, plan: ShardPlan, seed: int, standing: Standing) -> None:
        self.blocks, self.frame, self.plan, self.seed, self.standing = blocks, frame, plan, seed, standing
        self._ending: tuple[int, Standing] | None = None  # of a round that is decided, but not yet ended

    def round(self) -> Done:
        """One round: annealing while there is some planned, then p = 1. All blocks move at once, or some at a time."""
        moves, comparisons, at = 0, 0, self.standing.round
        while self.standing.round == at:
            done = self._turn()
            moves, comparisons = moves + done.moves, comparisons + done.comparisons
        return done._replace(moves=moves, comparisons=comparisons)

    def _turn(self) -> Done:
        at, turn, planned, turns = self.standing.round, self.standing.turn, self.plan.relaxations, self.plan.turns
        relaxation = planned[at] if at < len(planned) else 1.0
        exact = relaxation == 1.0
        rule = self.plan.rule if exact else relaxed(self.plan.rule, relaxation, self.frame.heaviest)
        sums, last, value = self.standing.sums, self.standing.last, self.standing.value
        centroids = centroids_of(sums, self.frame.units)
        pairwise = rule.objective == "pairwise"
        ahead = None if exact or last is None or pairwise else self._ahead(centroids, last)
        clusters, foreseen = (
            clusters_of(sums, self.frame.units, ahead),
            -(-self.blocks.count // turns) if pairwise else 0,
        )
        step = self.blocks.step(
            Order(clusters, self.frame.units, rule, self.plan.engine, (self.seed, at), foreseen, turn, turns)
        )
        after = sums.plus(step.changes)
        while (emptied := after.counts <= 0).any():
            after = after.plus(self.blocks.take_back(emptied))
        stride, now = 1, objective_of(after, self.frame, self.plan)
        while exact and now > value and stride:
            stride = stride * 2 if stride < self.blocks.count else 0
            after = sums.plus(self.blocks.changes_of_every(stride)) if stride else sums
            now = objective_of(after, self.frame, self.plan)
        following = (at, turn + 1) if turn + 1 < turns else (at + 1, 0)
        self._ending = stride, Standing(*following, after, centroids, now)
        self._end_round()
        return Done(step.moves, step.comparisons, relaxation)

    def _end_round(self) -> None:
        assert self._ending is not None
        stride, standing = self._ending
        self.blocks.keep(stride)
        self.standing, self._ending = standing, None

    def recover(self) -> None:
        """After Ctrl-C at any moment: end the round if it is decided, otherwise take it back as a whole."""
        if self._ending is not None:
            self._end_round()
        elif self.blocks.is_open:
            self.blocks.keep(0)

    def _ahead(self, centroids: np.ndarray, last: np.ndarray) -> np.ndarray:
        sizes = self.standing.sums.sizes / self.frame.units.weight
        return (centroids + _AHEAD * (centroids - last)) * sizes[:, None]


def first_standing(blocks: Blocks, sums: Sums, frame: Frame, plan: ShardPlan) -> Standing:
    """The standing after first labels; a cluster that got no rows gets one from the largest cluster."""
    counts = blocks.counts() if (sums.counts == 0).any() else np.zeros((0, 0), np.int64)
    while (empty := np.flatnonzero(sums.counts == 0)).size:
        src, dst = int(np.argmax(sums.counts)), int(empty[0])
        block = int(np.argmax(counts[:, src]))
        sums = sums.plus(blocks.give_away(block, src, dst))
        counts[block, src] -= 1
        counts[block, dst] += 1
    return Standing(0, 0, sums, None, objective_of(sums, frame, plan))


def objective_of(sums: Sums, frame: Frame, plan: ShardPlan) -> float:
    """The objective from the sums alone; infinite if a cluster is empty."""
    if sums.counts.min() <= 0:
        return np.inf
    return objective_value(plan.rule.objective, clusters_of(sums, frame.units))
