"""When there is a merge–split search, and how its trials are made."""

from __future__ import annotations

from typing import NamedTuple

from ksums.planning.plan import SearchPlan
from ksums.planning.shape import Shape
from ksums.rules.kinds import SQUARES, Rule

_COPIED_BYTES = 256 << 20
"""A search that the user did not ask for copies at most 256 MiB of rows, so that memory does not double by surprise."""
_BYTES_PER_ROW = 48
"""Weight, labels, lists and log of the search, for each row."""
_RECORDS = 10
"""Records that the search leaves in all: enough to see its progress."""
_PASSES_BEFORE = 3
"""Exact passes before the search, so that it starts near an optimum (``benchmarks/quality.py``)."""


def is_offered(rule: Rule) -> bool:
    """Whether a search exists for a rule: trials are counted in squares and end in exact passes."""
    return rule.kind is SQUARES


def copy_is_small(shape: Shape) -> bool:
    """Whether the copy that a search makes is small enough to be made without asking."""
    return shape.bytes + shape.n * _BYTES_PER_ROW <= _COPIED_BYTES


def search_plan(heat: float, rounds: int, timed: bool) -> SearchPlan:
    """The search of a plan with this number of rounds."""
    return SearchPlan(heat, _RECORDS if timed else _RECORDS // rounds, _PASSES_BEFORE)


class TrialPlan(NamedTuple):
    """How merge–split trials are made."""

    neighbours: int  # nearest clusters of a cluster that are known
    rounds: int  # rounds of relaxation after a split, at most
    changed_share: float  # a cluster whose members changed by less than this share is relaxed no further
    reach: int  # neighbours of a changed cluster whose rows are offered to it
    hope: float  # a trial is given up unless this many times the last round's gain could still make it pay
    tournament: int  # clusters of which the most promising is taken
    optimism: float  # a trial is not begun where dissolving costs more than this many times what splitting gains
    most_rounds_of_all: int  # a trial may compare all rows this many times with all neighbours of their cluster
    trials_per_cluster: int  # fewer than this, and the walk only goes downhill: it would not come down again
    idle_share: float  # the search ends when this share of all comparisons brought no new best


_OPTIMISM = 8.0
"""Where dissolving costs more than 8 times what splitting gains, trials hardly ever pay: in trial runs on some twenty
sets, a limit of 20 ended no lower and took longer on clear clusters, and a limit of 4 missed good trials."""
_LOW_DIMENSION = 3
"""In up to three dimensions a cluster has few neighbours, and trials stay small (``benchmarks/quality.py``)."""


def trial_plan(k: int, d: int) -> TrialPlan:
    """Trials for k clusters in d dimensions; all numbers without a reason of their own are from
    ``benchmarks/quality.py``.
    """
    low = d <= _LOW_DIMENSION
    return TrialPlan(
        neighbours=min(k, 8 if low else 32),
        rounds=6,
        changed_share=0.01 if low else 0.06,
        reach=8,
        hope=2.0 if low else 4.0,
        tournament=max(4, k // 16),
        optimism=_OPTIMISM,
        most_rounds_of_all=4,
        trials_per_cluster=5,
        idle_share=0.4,
    )
