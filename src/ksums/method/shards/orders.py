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
    foreseen: bool = False  # whether a block supposes that all others do as it does
