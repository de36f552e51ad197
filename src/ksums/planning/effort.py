"""How much annealing and search a level of ``effort`` allows. Amounts of work are counted, not timed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.planning.plan import Round
from ksums.planning.shape import Shape
from ksums.rules.annealing import Annealed

EFFORT_NAMES = ("low", "default", "high")


class _Level(NamedTuple):
    annealing: int  # passes
    comparisons: tuple[int, int, int]  # of the search: in all, per row, and per row and cluster
    heat: float  # of the search


_LEVELS = {
    "low": _Level(10, (50_000, 30, 2), 0.0),
    "default": _Level(40, (400_000, 180, 8), 0.03),
    "high": _Level(80, (4_000_000, 3_000, 160), 0.03),
}
"""The levels: low is about twice the time of one k-means run, default half the time of breathing k-means, and high ends
within 0.1 % of the best known optimum (``benchmarks/quality.py``, ``quality_levels.py``)."""

_TIMED = _Level(120, (0, 0, 0), 0.03)
"""With a number of seconds: as many annealing passes as pay, then search until the time is up."""

_LIST_LEVELS = {"low": (64, 0), "default": (128, 10), "high": (512, 25)}
"""Length of the neighbour lists and annealing passes of each level: longer lists pay before more passes do
(``benchmarks/large_k.py``)."""

_TIMED_LISTS = (64, 100)
"""With a number of seconds: short lists first, made longer where there is time, and annealing until the time is up."""

_SHARE_OF_PASSES = 0.4
"""Annealing takes at most two fifths of ``max_iter``, so that the exact passes after it can settle."""

_MANY_DIMENSIONS, _MANY_CLUSTERS = 16, 100
"""With more than 16 dimensions and at least 100 clusters the search pays most before the long annealing, so there are
three rounds (``benchmarks/quality.py``: MNIST, GloVe)."""

_SHARES_OF_ROUNDS = 1 / 8, 1 / 4, 3 / 2
"""Annealing passes of the three rounds, as shares of those of a single round: the last one is the longest."""

_MOST_DIMENSIONS = 24
"""More than 24 dimensions do not make a search longer: a trial concerns nearly all clusters anyway
(``benchmarks/quality.py``)."""

_FEW_DIMENSIONS, _FEW_CLUSTERS, _MORE_IN_THE_PLANE = 3, 32, 4
"""In up to three dimensions, with up to 32 clusters, comparisons are cheap, and four times as many of them are needed
to end as low as high effort does (D15112 and pla33810, ``benchmarks/common_case.py``)."""


def is_timed(effort: str | float) -> bool:
    """Whether the effort is a time in seconds."""
    return not isinstance(effort, str)


def heat_of(effort: str | float) -> float:
    """The temperature of the search: its walk goes uphill too, except at low effort, where it would not come down."""
    return _level(effort).heat


def rounds_for(
    effort: str | float, annealed: Annealed | None, search: bool, max_iter: int, shape: Shape
) -> tuple[Round, ...]:
    """Rounds of annealing and search for an engine that looks at all clusters.

    In few dimensions annealing brings little that the search does not bring as well, so there is less of it. In many
    dimensions a trial concerns more clusters and rows, and there are fewer trials per cluster.
    """
    level = _level(effort)
    passes = min(level.annealing, 2 * max(1, shape.d - 1))
    if is_timed(effort):
        return _limited([(passes, np.inf)], annealed, max_iter)
    in_all, per_row, per_pair = level.comparisons
    spread = min(shape.d, _MOST_DIMENSIONS)
    comparisons = in_all + shape.n * (per_row * (1 + spread / 3) + per_pair * shape.k / (1 + spread / 5))
    if effort == "default" and shape.d <= _FEW_DIMENSIONS and shape.k <= _FEW_CLUSTERS:
        comparisons *= _MORE_IN_THE_PLANE
    if search and shape.d > _MANY_DIMENSIONS and shape.k >= _MANY_CLUSTERS:
        return _limited([(round(passes * share), comparisons / 3) for share in _SHARES_OF_ROUNDS], annealed, max_iter)
    return _limited([(passes, comparisons)], annealed, max_iter)


def list_rounds(effort: str | float, annealed: Annealed | None, max_iter: int) -> tuple[Round, ...]:
    """One round of annealing and no search, for an engine with neighbour lists."""
    _, passes = _list_level(effort)
    return _limited([(passes, 0.0)], annealed, max_iter)


def list_length(effort: str | float, wanted: int | None) -> int:
    """Length of the neighbour lists: what the user wants, or what suits the effort."""
    length, _ = _list_level(effort)
    return wanted or length


def _level(effort: str | float) -> _Level:
    return _LEVELS[effort] if isinstance(effort, str) else _TIMED


def _list_level(effort: str | float) -> tuple[int, int]:
    return _LIST_LEVELS[effort] if isinstance(effort, str) else _TIMED_LISTS


def _limited(rounds: list[tuple[int, float]], annealed: Annealed | None, max_iter: int) -> tuple[Round, ...]:
    """Rounds with the annealing passes that ``max_iter`` and the user's schedule allow, added up round by round."""
    planned = sum(passes for passes, _ in rounds)
    most = min(planned, int(_SHARE_OF_PASSES * max_iter))
    if annealed is not None and annealed.passes is not None:
        most = min(annealed.passes, max_iter - 1)
    done, found = 0, []
    for at, (passes, comparisons) in enumerate(rounds, start=1):
        done += passes
        found.append(Round(most * done // planned if planned else most * at // len(rounds), comparisons))
    return tuple(found)
