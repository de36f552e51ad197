"""Fig. 3(c, d)."""

from __future__ import annotations

import numpy as np

from ksums.reproduce.claims.claim import HOLDS, IN_PART, NOT, Claim, gap_of, verdict
from ksums.reproduce.experiment import Result
from ksums.reproduce.measured import Runs, middle
from ksums.reproduce.sequential import SEQUENTIAL


def judge_sequential(result: Result) -> list[Claim]:
    runs = Runs(result)
    arrived = runs.by_method[SEQUENTIAL[0]][0]["arrived"]
    quarter = len(arrived) // 4 - 1
    rising = {
        (method, measure): middle(runs.curves(method, measure)[:, quarter]) < middle(runs.final(method, measure))
        for method in SEQUENTIAL
        for measure in ("E_m", "E_s")
    }
    rows = [
        Claim(
            "Fig. 3c, d",
            "All curves rise as more samples join.",
            "no figure",
            f"{sum(rising.values())} of {len(rising)} curves are higher at the end than after a quarter of the samples",
            verdict(sum(rising.values()), len(rising)),
        )
    ]
    for method, measure in ((SEQUENTIAL[1], "E_m"), (SEQUENTIAL[2], "E_s")):
        others = [other for other in SEQUENTIAL if other != method]
        medians = {m: np.median(runs.curves(m, measure), axis=0) for m in SEQUENTIAL}
        wins = sum(all(medians[method][at] < medians[o][at] for o in others) for at in range(len(arrived)))
        rows.append(
            Claim(
                "Fig. 3c" if measure == "E_m" else "Fig. 3d",
                f"{method} has the lowest {measure} at any time.",
                "lowest in each iteration",
                f"lowest median at {wins} of {len(arrived)} moments, {gap_of(runs, method, others, measure)} at last",
                verdict(wins, len(arrived)),
            )
        )
        ranges = {m: float(np.ptp(runs.final(m, measure)) / middle(runs.final(m, measure))) for m in SEQUENTIAL}
        rows.append(
            Claim(
                "Fig. 3c" if measure == "E_m" else "Fig. 3d",
                f"{method} varies much less in {measure} than Sequential k-means.",
                "much narrower variation range",
                f"largest minus least, relative: {ranges[method]:.2%}, Sequential k-means {ranges[SEQUENTIAL[0]]:.2%}",
                HOLDS
                if ranges[method] < 0.5 * ranges[SEQUENTIAL[0]]
                else IN_PART
                if ranges[method] < ranges[SEQUENTIAL[0]]
                else NOT,
            )
        )
    return rows
