"""What the paper claims, what we measured, and the verdict, which follows from the results by these functions alone."""

from __future__ import annotations

from ksums.reproduce.claims.claim import HOLDS, IN_PART, NOT, Claim
from ksums.reproduce.claims.documents import judge_documents
from ksums.reproduce.claims.large_scale import judge_large_scale
from ksums.reproduce.claims.sequential import judge_sequential
from ksums.reproduce.claims.significance import judge_significance
from ksums.reproduce.claims.steps import judge_steps
from ksums.reproduce.experiment import Result

__all__ = ["HOLDS", "IN_PART", "NOT", "Claim", "claims"]

_JUDGES = {
    "steps": judge_steps,
    "significance": judge_significance,
    "sequential": judge_sequential,
    "large_scale": judge_large_scale,
    "large_scale_100": judge_large_scale,
    "documents": judge_documents,
}


def claims(results: dict[str, Result]) -> list[Claim]:
    """The rows for all experiments that have results."""
    return [claim for name, judge in _JUDGES.items() if name in results for claim in judge(results[name])]
