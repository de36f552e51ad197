"""Numbers and lists as they are printed on the page."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ksums.reproduce.measured import Runs, lowest, median
from ksums.reproduce.method_names import full_name
from ksums.reproduce.store import Record


def number(value: float) -> str:
    """A number with about four digits.

    >>> number(8.20412), number(12345.6), number(6.0661e6)
    ('8.204', '12,346', '6.066e6')
    """
    if value == 0:
        return "0"
    if abs(value) >= 1e6:
        return f"{value:.4g}".replace("e+0", "e")
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


def spread(values: np.ndarray) -> str:
    """The median, then the smallest and the largest value.

    >>> spread(np.array([1.0, 2.0, 4.0]))
    '2 (1 to 4)'
    """
    if len(values) == 1:
        return f"{number(float(values[0]))} (one run)"
    return f"{number(median(values))} ({number(values.min())} to {number(values.max())})"


def percent_range(fractions: np.ndarray) -> str:
    """The smallest and the largest fraction, in percent."""
    low, high = f"{fractions.min():.2%}", f"{fractions.max():.2%}"
    return low if low == high else f"{low} to {high}"


def signed_percent(change: float) -> str:
    """A relative change, with its sign.

    >>> signed_percent(-0.0123)
    '−1.23%'
    """
    return f"{change:+.2%}".replace("-", "−")


def change_spread(changes: np.ndarray) -> str:
    """The median of relative changes, and their range where there are several runs."""
    middle, low, high = (signed_percent(value) for value in (median(changes), changes.min(), changes.max()))
    return middle if len(changes) == 1 else f"{middle} ({low} to {high})"


def change_to_best(runs: Runs, method: str, others: list[str], measure: str) -> str:
    """How a method ends relative to the best of some others, seed by seed."""
    best = lowest({other: median(runs.final(other, measure)) for other in others})
    changes = runs.final(method, measure) / runs.final(best, measure) - 1
    return f"{change_spread(changes)} relative to {full_name(best)}"


def listed(methods: Iterable[str]) -> str:
    """The names of some methods, separated by commas."""
    return ", ".join(map(full_name, methods)) or "none"


def described(data: Record) -> str:
    """Name and shape of a data set, for a caption."""
    return f"{data['name']}, n = {data['n']:,}, d = {data['d']}"
