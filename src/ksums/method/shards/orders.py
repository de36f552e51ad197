"""What all blocks are handed in a round."""

from __future__ import annotations

from typing import NamedTuple

from ksums.method.shards.sums import Units
from ksums.method.state.state import ClusterState
from ksums.planning.plan import EnginePlan
from ksums.rules.kinds import Rule


class Order(NamedTuple):
    """What all blocks are handed in a round."""

    clusters: ClusterState  # of all rows, without labels; the composites may be ahead of the true ones
    units: Units
    rule: Rule
    engine: EnginePlan
    seed: tuple[int, ...]  # of the fit and the round
    foreseen: int = 0  # number of blocks that a block assumes to move as it does, itself included; 0: only itself
    turn: int = 0  # blocks with a number of turn, turn + turns, turn + 2 turns … move
    turns: int = 1

    def is_for(self, block: int) -> bool:
        """Whether a block moves."""
        return block % self.turns == self.turn
