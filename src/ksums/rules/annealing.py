"""Annealed reallocation: relaxation that starts high and falls to 1, pass by pass."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ksums.rules.kinds import Rule

MEMBERS_PER_RELAXATION = 8
"""A cluster of m samples is relaxed by at most m/8. Hotter annealing tears small clusters apart before they are found:
without this limit E_m ended up to 92 % higher on a set with outliers (``page`` of ``benchmarks/quality.py``)."""


@dataclass(frozen=True)
class Annealed:
    """The rule ``"annealed"`` with a schedule of your own: ``rule=Annealed(start=6)``.

    Parameters
    ----------
    start : float, default=None
        Relaxation p of the first pass. A sample counts as p samples when it is decided whether it should leave or join
        a cluster, so it moves more readily, even where the objective rises a little. p falls evenly to 1. Small
        clusters are relaxed less: a cluster of m samples by at most m/8, and by at least 1. None: m/8 for the mean
        cluster (m/16 for many clusters in many dimensions), and at least 6; with the engine ``"neighbors"`` at least
        4, but no more than can fall by 1 every two passes.
    passes : int, default=None
        Number of passes in which p falls. None: as many as the level of ``effort`` allows, and no more than two fifths
        of ``max_iter``. For many clusters in many dimensions they are divided into three rounds, each with a p that
        falls and each followed by a search.
    """

    start: float | None = None
    passes: int | None = None


def relaxed(rule: Rule, relaxation: float, heaviest: float = 1.0) -> Rule:
    """The rule of one annealing pass, for samples that weigh at most ``heaviest``."""
    return replace(rule, p=relaxation, q=relaxation, relaxation_per_size=1.0 / (MEMBERS_PER_RELAXATION * heaviest))


def relaxations(start: float, passes: int) -> list[float]:
    """p of each annealing pass; the passes after them have p = 1.

    >>> relaxations(6.0, 5)
    [6.0, 5.0, 4.0, 3.0, 2.0]
    """
    return [start - (start - 1.0) * at / passes for at in range(passes)]
