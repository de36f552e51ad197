"""Decisions by the clock, for fits that are given a number of seconds. Labels then depend on the machine."""

from __future__ import annotations

import numpy as np

_SHARE_FOR_ANNEALING = 0.3
"""Annealing may take this share of the time before a search (``benchmarks/quality_levels.py``)."""
SHARE_FOR_SEARCH = 0.9
"""The search ends when this share of the time is over; the rest is for the passes after it."""
_SHARE_FOR_LISTS = 0.9
"""Annealing with neighbour lists may take this share of the time; the rest is for the passes after it."""
_FEWEST_PASSES = 6
"""Fewer annealing passes than this end higher than none (``benchmarks/large_k.py``)."""
_LONGER_LISTS = ((128, 7), (256, 12), (512, 18), (1024, 26))
"""Lengths of lists, each with the number of passes there must be time for: longer lists pay before more passes do
(``benchmarks/large_k.py``)."""
_FIXED_COST = 60
"""Apart from comparing a sample with the clusters of its list, a pass costs as much as 60 such comparisons
(``benchmarks/large_k.py passes``)."""


def passes_before_search(planned: int, seconds: float, per_pass: float) -> int:
    """Annealing passes before a search, now that the first one took ``per_pass`` seconds."""
    return min(planned, max(1, int(_SHARE_FOR_ANNEALING * seconds / per_pass)))


def time_for_lists(seconds: float, spent: float) -> float:
    """Seconds left for annealing with lists."""
    return _SHARE_FOR_LISTS * seconds - spent


def longer_list(length: int, k: int, left: float, per_pass: float) -> int:
    """The longest lists for which there is time for enough passes."""
    found = length
    for longer, passes in _LONGER_LISTS:
        if longer < 2 * k and left >= passes * per_pass * cost_of_length(longer, length):
            found = longer
    return found


def cost_of_length(longer: int, length: int) -> float:
    """What a pass with longer lists costs, relative to one with shorter lists."""
    return (_FIXED_COST + longer) / (_FIXED_COST + length)


def passes_with_lists(most: int, left: float, per_pass: float) -> int:
    """Annealing passes with lists that there is time for, or 0 if they are too few to be worth it."""
    affordable = int(left / per_pass)
    return min(most, affordable) if affordable >= _FEWEST_PASSES else 0


def more_passes_with_lists(done: int, most: int, left: float, per_pass: float) -> int:
    """Annealing passes in all, after some are done."""
    return min(most, done + max(0, int(left / per_pass)))


def is_limited(seconds: float) -> bool:
    return bool(np.isfinite(seconds))
