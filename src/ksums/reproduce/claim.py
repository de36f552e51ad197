"""A claim of the paper, what we measured, and the verdict, which is always computed from the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold here"
PLURALS = {HOLDS: "hold", IN_PART: "hold in part", FAILS: "do not hold here"}
"""The verdicts as they are said of several claims."""

NEARLY_EQUAL = 0.002
"""Curves overlap in a figure if they differ by less than this, relatively."""

NO_NUMBER = "no number given"
"""Stands for the paper's value of a claim that the paper makes in words only."""


@dataclass(frozen=True)
class Claim:
    """A claim with its verdict: one row of the table of claims."""

    where: str
    """The figure, table or section of the paper."""
    statement: str
    """The claim in a sentence."""
    paper: str
    """The paper's value, or its words where it gives no value."""
    ours: str
    """Our value."""
    verdict: str
    """One of ``HOLDS``, ``IN_PART`` and ``FAILS``."""
    headline: str = ""
    """Our value in a few words, for the summary; empty for claims that are not in the summary."""


def verdict_by_count(count: int, total: int) -> str:
    """The verdict if ``count`` of ``total`` checks are as claimed."""
    return verdict_if(count == total, in_part=count > 0)


def verdict_if(holds: bool, in_part: bool = False) -> str:
    """The verdict from two conditions."""
    return HOLDS if holds else IN_PART if in_part else FAILS


def count_verdicts(claims: Sequence[Claim]) -> dict[str, int]:
    """The number of claims with each verdict."""
    return {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in PLURALS}


def verdict_summary(claims: Sequence[Claim]) -> str:
    """How many claims hold, in words.

    >>> verdict_summary([Claim("Fig. 1", "It falls.", "falls", "falls", HOLDS)])
    '1 claim: 1 holds, 0 hold in part, 0 do not hold here'
    """
    counts = [f"{count} {v if count == 1 else PLURALS[v]}" for v, count in count_verdicts(claims).items()]
    return f"{len(claims)} claim{'s' * (len(claims) != 1)}: {', '.join(counts)}"
