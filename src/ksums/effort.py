"""How much work a fit may do, by a level or by a number of seconds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Round(NamedTuple):
    """Annealing, then search."""

    annealing: int  # passes with falling relaxation, at most
    comparisons: float  # of a row with a cluster, in merge–split trials


class Effort(NamedTuple):
    """Amounts of work. They are counted, not timed, unless ``seconds`` is finite."""

    rounds: tuple[Round, ...]
    heat: float  # of the trials: see ``engines/merge_split.py``
    seconds: float = np.inf  # cut short so that the fit takes about this long
    lists: int = 0  # length of the lists of nearest clusters, to begin with; 0: each sample looks at all clusters
    timed_lists: bool = False  # whether longer lists are taken where there is time for them

    @property
    def timed(self) -> bool:
        """Whether the search goes on until the seconds are spent."""
        return bool(np.isinf(self.rounds[-1].comparisons))


class _Level(NamedTuple):
    annealing: int  # passes
    comparisons: tuple[int, int, int]  # in all, per row, and per row and cluster
    heat: float


LEVELS = {
    "low": _Level(10, (50_000, 30, 2), 0.0),
    "default": _Level(40, (400_000, 180, 8), 0.03),
    "high": _Level(80, (4_000_000, 3_000, 160), 0.03),
}
_TIMED = _Level(120, (0, 0, 0), 0.03)

_MANY_DIMENSIONS, _MANY_CLUSTERS = 16, 100


def planned(effort: str | float, n: int, d: int, k: int, search: bool) -> Effort:
    """The work for so many rows, dimensions and clusters, with a search or without; all rules are from measurements.

    In few dimensions annealing brings little that the search does not bring as well, so there is less of it. In many,
    a trial concerns more clusters and rows and there are fewer of them per cluster. There, with many clusters, the
    search pays most before the long annealing: there are three rounds.
    """
    level = LEVELS[effort] if isinstance(effort, str) else _TIMED
    annealing = min(level.annealing, 2 * max(1, d - 1))
    if not isinstance(effort, str):
        return Effort((Round(annealing, np.inf),), level.heat, float(effort))
    in_all, per_row, per_pair = level.comparisons
    spread = min(d, 24)
    comparisons = in_all + n * (per_row * (1 + spread / 3) + per_pair * k / (1 + spread / 5))
    if search and d > _MANY_DIMENSIONS and k >= _MANY_CLUSTERS:
        shares = 1 / 8, 1 / 4, 3 / 2
        return Effort(tuple(Round(round(annealing * share), comparisons / 3) for share in shares), level.heat)
    return Effort((Round(annealing, comparisons),), level.heat)


LISTS = {"low": (64, 0), "default": (128, 10), "high": (512, 25)}
"""Length of the lists and passes of annealing, for fits that look at the nearest clusters only."""

_TIMED_LISTS = (64, 100)
LONGER_LISTS = ((128, 7), (256, 12), (512, 18), (1024, 26))
"""Lengths, each with the number of passes that there must be time for: longer lists pay before more passes do."""


def planned_lists(effort: str | float, length: int | None) -> Effort:
    """The work of a fit with lists, of a given length or of one that suits the effort; from measurements."""
    own, annealing = LISTS[effort] if isinstance(effort, str) else _TIMED_LISTS
    seconds = np.inf if isinstance(effort, str) else float(effort)
    timed = not isinstance(effort, str) and length is None
    return Effort((Round(annealing, 0.0),), 0.0, seconds, length or own, timed)
