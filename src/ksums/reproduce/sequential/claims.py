"""The claims about Fig. 3(c, d)."""

from __future__ import annotations

import numpy as np

from ksums.reproduce.claim import NO_NUMBER, Claim, verdict_by_count, verdict_if
from ksums.reproduce.measured import Runs, median
from ksums.reproduce.method_names import full_name
from ksums.reproduce.sequential.run import K_MEANS, K_SUMS_IM, K_SUMS_IS, METHODS
from ksums.reproduce.store import Results
from ksums.reproduce.wording import change_to_best

_WHERE = {"E_m": "Fig. 3c", "E_s": "Fig. 3d"}
_MUCH_NARROWER = 0.5
"""A range is much narrower than another if it is less than this fraction of it."""


def judge(results: Results) -> list[Claim]:
    """All claims."""
    runs = Runs(results)
    claims = [_curves_rise(runs)]
    for method, measure in ((K_SUMS_IM, "E_m"), (K_SUMS_IS, "E_s")):
        claims += [_is_lowest(runs, method, measure), _varies_less(runs, method, measure)]
    return claims


def _curves_rise(runs: Runs) -> Claim:
    parts = len(runs.by_method[K_MEANS][0]["arrived"])
    rising = [
        median(runs.after(method, measure, parts // 4)) < median(runs.final(method, measure))
        for method in METHODS
        for measure in ("E_m", "E_s")
    ]
    return Claim(
        "Fig. 3c, d",
        "All curves rise as more samples arrive.",
        NO_NUMBER,
        f"{sum(rising)} of {len(rising)} curves are higher at the end than after a quarter of the samples",
        verdict_by_count(sum(rising), len(rising)),
    )


def _is_lowest(runs: Runs, method: str, measure: str) -> Claim:
    others = [other for other in METHODS if other != method]
    medians = {name: np.median(runs.curves(name, measure), axis=0) for name in METHODS}
    lower = np.all([medians[method] < medians[other] for other in others], axis=0)
    wins, points = int(lower.sum()), len(lower)
    change = change_to_best(runs, method, others, measure)
    return Claim(
        _WHERE[measure],
        f"{full_name(method)} has the lowest {measure} at any time.",
        "lowest in each iteration",
        f"lowest median at {wins} of {points} points in time; final value {change}",
        verdict_by_count(wins, points),
        headline=f"at {wins} of {points} points in time; final value {change}",
    )


def _varies_less(runs: Runs, method: str, measure: str) -> Claim:
    ours, theirs = (
        float(np.ptp(runs.final(name, measure)) / median(runs.final(name, measure))) for name in (method, K_MEANS)
    )
    return Claim(
        _WHERE[measure],
        f"{full_name(method)} varies much less in {measure} than {K_MEANS}.",
        "much narrower variation range",
        f"range relative to the median: {ours:.2%}, {K_MEANS} {theirs:.2%}",
        verdict_if(ours < _MUCH_NARROWER * theirs, in_part=ours < theirs),
        headline=f"range {ours:.2%}, {K_MEANS} {theirs:.2%}" if measure == "E_m" else "",
    )
