"""Annealed reallocation: relaxation that starts high and falls to 1, pass by pass."""

from __future__ import annotations

from dataclasses import dataclass

MEMBERS_PER_RELAXATION = 8
"""A cluster of m samples is relaxed by at most m/8: a hotter one would be torn apart before it can be told apart."""


@dataclass(frozen=True)
class Annealed:
    """The rule ``"annealed"`` with numbers of its own: ``rule=Annealed(start=6)``.

    Parameters
    ----------
    start : float, default=None
        Relaxation p of the first pass: a sample counts as p samples when it is asked whether it should leave or
        join a cluster, so that it moves more, also where the objective rises a little. p falls evenly to 1. Small
        clusters are relaxed less: by m/8 at most, with m samples, and at least by 1. None: m/8 for the mean number of
        samples in a cluster (m/16 for many clusters in many dimensions), and at least 6; with the engine
        ``"neighbors"`` at least 4, but no more than falls by 1 in two passes.
    passes : int, default=None
        Number of passes in which p falls. None: as many as the level of ``effort`` allows, and no more than
        two fifths of ``max_iter``. For many clusters in many dimensions they are divided into three rounds, each
        followed by a search, and each with a p that falls.
    """

    start: float | None = None
    passes: int | None = None

    def start_for(self, members: float, rounds: int = 1, least: float = 6.0) -> float:
        """The relaxation to start with, where a cluster has so many samples on average; half where there is a search
        between several rounds of annealing."""
        if self.start is not None:
            return float(self.start)
        return max(least, members / MEMBERS_PER_RELAXATION / min(rounds, 2))


def relaxations(start: float, passes: int) -> list[float]:
    """p of each of so many passes; the passes after them have p = 1.

    >>> relaxations(6.0, 5)
    [6.0, 5.0, 4.0, 3.0, 2.0]
    """
    return [start - (start - 1.0) * at / passes for at in range(passes)]
