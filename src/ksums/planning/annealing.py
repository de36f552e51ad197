"""How hot annealing starts."""

from __future__ import annotations

from ksums.planning.plan import AnnealingPlan
from ksums.planning.shape import Shape
from ksums.rules.annealing import MEMBERS_PER_RELAXATION, Annealed

_LEAST_START = 6.0
"""Annealing starts at least this hot, also where clusters are small (``benchmarks/quality.py``)."""
_LEAST_START_OF_LISTS = 4.0
"""The same with neighbour lists, which are made for small clusters (``benchmarks/large_k.py``)."""
_PASSES_PER_RELAXATION = 2.0
"""With neighbour lists the relaxation takes at least two passes to fall by 1: cooling faster ends higher
(``benchmarks/large_k.py``)."""


def annealing_plan(annealed: Annealed | None, shape: Shape, rounds: int, lists: bool) -> AnnealingPlan | None:
    """The start is an eighth of the mean cluster; half of that where a search comes between several rounds."""
    if annealed is None:
        return None
    slowly = _PASSES_PER_RELAXATION if lists and annealed.start is None else 0.0
    if annealed.start is not None:
        return AnnealingPlan(float(annealed.start), slowly)
    if lists:
        return AnnealingPlan(max(_LEAST_START_OF_LISTS, shape.members / MEMBERS_PER_RELAXATION), slowly)
    return AnnealingPlan(max(_LEAST_START, shape.members / MEMBERS_PER_RELAXATION / min(rounds, 2)), slowly)
