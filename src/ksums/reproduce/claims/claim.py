"""A claim of the paper with its verdict, and the words in which figures are told."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ksums.reproduce.curves import RELEASED
from ksums.reproduce.measured import Runs, lowest, middle

HOLDS, IN_PART, NOT = "holds", "holds in part", "does not hold here"

LIKE = 0.002  # relative: on an axis of some percents, curves that are closer lie over each other


@dataclass(frozen=True)
class Claim:
    """A row of the table."""

    where: str
    """In the paper."""
    claim: str
    paper: str
    """The paper's figure, where it prints one."""
    ours: str
    verdict: str


def verdict(kept: int, of: int) -> str:
    """From how often something is as claimed."""
    return HOLDS if kept == of else IN_PART if kept > 0 else NOT


def named(method: str) -> str:
    return {
        "k-sums-Im": "k-sums-I_m as printed",
        RELEASED: "k-sums-I_m as in the published code",
        "k-sums-Is": "k-sums-I_s",
        "bisecting k-sums-Im": "bisecting k-sums-I_m",
        "bisecting k-sums-Is": "bisecting k-sums-I_s",
    }.get(method, method)


def percent(shares: np.ndarray) -> str:
    low, high = f"{shares.min():.2%}", f"{shares.max():.2%}"
    return low if low == high else f"{low} to {high}"


def signed(gaps: np.ndarray) -> str:
    """How far below, as a change; the median over the runs and, where there are several, the least and the largest."""
    words = [f"{-gap:+.2%}".replace("-", "−") for gap in (np.median(gaps), np.max(gaps), np.min(gaps))]
    return words[0] if len(gaps) == 1 else f"{words[0]} ({words[1]} to {words[2]})"


def gap_of(runs: Runs, method: str, others: list[str], measure: str) -> str:
    medians = {other: middle(runs.final(other, measure)) for other in others}
    best = lowest(medians)
    return f"{signed(1 - runs.final(method, measure) / runs.final(best, measure))} to {best}"
