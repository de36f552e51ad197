"""Many small problems on a graphics card at a time."""

from __future__ import annotations

from typing import NamedTuple

from ksums.planning.gpu import are_small, first_relaxation
from ksums.rules.annealing import relaxations

_BATCH_LEVELS = {"low": (5, 3, 0), "default": (10, 5, 4), "high": (30, 10, 12)}
"""For each level of effort, passes with falling relaxation, at p = 1, and with moves made apart."""
_SEED_ROUNDS = 8
"""The seeds of a batch are drawn in this many parts, each by squared distance to those before it …"""
_TRIED, _TRIED_MEMBERS = 1024, 4
"""… from this many rows of a problem, in all and for each cluster, at most."""


class BatchPlan(NamedTuple):
    """How each problem of a batch is clustered. All passes are made, so that no problem depends on the others."""

    blocks: int
    relaxations: tuple[float, ...]
    passes: int  # at p = 1 after them
    settling: int  # passes with moves made apart, where clusters are small
    pushed: bool  # whether centres are pushed, where they are not
    rounds: int  # in which seeds are drawn
    tried: int  # rows from which they are drawn, at most


def plan_batch(n: int, k: int, effort: str) -> BatchPlan:
    """The plan for problems of n rows and k clusters."""
    annealing, passes, settling = _BATCH_LEVELS[effort]
    small = are_small(n / k)
    start = min(first_relaxation(n / k), 1.0 + 0.5 * annealing)
    return BatchPlan(
        blocks=min(n, 4 if small else 2),
        relaxations=tuple(relaxations(start, annealing)),
        passes=passes,
        settling=settling if small else 0,
        pushed=not small,
        rounds=min(k, _SEED_ROUNDS),
        tried=max(_TRIED, _TRIED_MEMBERS * k),
    )
