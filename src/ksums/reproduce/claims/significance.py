"""Fig. 3(a, b)."""

from __future__ import annotations

import numpy as np

from ksums.reproduce.claims.claim import HOLDS, IN_PART, LIKE, NOT, Claim, gap_of, named, verdict
from ksums.reproduce.curves import RELEASED
from ksums.reproduce.experiment import Result
from ksums.reproduce.measured import Runs, listed, lowest, middle, number, spread
from ksums.reproduce.significance import METHODS_OF_PAPER

_EARLY = 4  # passes: "after 3 iterations"


def judge_significance(result: Result) -> list[Claim]:
    runs, passes = Runs(result), result["settings"]["passes"]
    paper = [method for method in METHODS_OF_PAPER if method in runs]
    n = result["data"][0]["n"]

    def rivals_of(method: str) -> list[str]:
        """Without those that are driven by the same function."""
        return [other for other in paper if other.partition(" ")[0] != method.partition(" ")[0]]

    def first(method: str, measure: str) -> Claim:
        others = rivals_of(method)
        wins = [
            p
            for p in range(_EARLY, passes + 1)
            if lowest({m: middle(runs.at(m, measure, p)) for m in [*others, method]}) == method
        ]
        gap = gap_of(runs, method, others, measure)
        of = passes - _EARLY + 1
        last = passes in wins
        return Claim(
            "Fig. 3a" if measure == "E_m" else "Fig. 3b",
            f"{named(method)} has the lowest {measure} from the {_EARLY}th pass on.",
            "lowest after 3 iterations",
            f"lowest median in {len(wins)} of {of} passes; at the end {spread(runs.final(method, measure))}, {gap}",
            HOLDS if len(wins) == of else IN_PART if last or len(wins) > of / 2 else NOT,
        )

    def apart(method: str, measure: str) -> Claim:
        others = rivals_of(method)
        worst = runs.final(method, measure).max()
        below = [other for other in others if worst < runs.final(other, measure).min()]
        not_below = [other for other in others if other not in below]
        return Claim(
            "Fig. 3a" if measure == "E_m" else "Fig. 3b",
            f"The gap in {measure} between {named(method)} and the others is larger than the variation between runs.",
            "much more significant",
            f"its worst run is below the best run of: {listed(below)}; not of: {listed(not_below)}",
            verdict(len(below), len(others)),
        )

    def alike(one: str, other: str, words: str) -> Claim:
        a, b = runs.final(one, "E_m"), runs.final(other, "E_m")
        relative = abs(middle(a) / middle(b) - 1)
        return Claim(
            "Fig. 3a",
            words,
            "nearly overlap" if "overlap" in words else "nearly invisible",
            f"{one} {spread(a)}, {other} {spread(b)}: {relative:.2%} apart",
            verdict(int(relative < LIKE), 1),
        )

    def trapped(method: str) -> Claim:
        below = runs.final("Hartigan", "E_m") - runs.final(method, "E_m")
        return Claim(
            "Sec. 4.2",
            f"Hartigan's method is trapped more easily: {named(method)} ends below it.",
            "no figure",
            f"below with {int((below > 0).sum())} of {runs.count} seeds, {gap_of(runs, method, ['Hartigan'], 'E_m')}",
            HOLDS if (below > 0).all() else IN_PART if np.median(below) > 0 else NOT,
        )

    def settles(method: str) -> Claim:
        last, half = runs.at(method, "moves", passes), middle(runs.at(method, "moves", passes // 2))
        control = runs.at("Hartigan", "moves", passes)
        return Claim(
            "Sec. 4.2",
            f"Driven by {named(method)}, there comes a moment when no sample moves.",
            "an argument, no figure",
            f"{spread(last)} of {n:,} samples move in pass {passes}, {number(half)} in pass {passes // 2}; with "
            f"Hartigan's rule, which must settle, {spread(control)} in pass {passes}",
            HOLDS if last.max() == 0 else IN_PART if middle(last) < 0.5 * half else NOT,
        )

    rows = [first("k-sums-Im", "E_m"), first(RELEASED, "E_m"), first("k-sums-Is", "E_s")]
    if runs.count > 1:
        rows += [apart("k-sums-Im", "E_m"), apart(RELEASED, "E_m"), apart("k-sums-Is", "E_s")]
    rows += [trapped("k-sums-Im"), trapped(RELEASED)]
    rows.append(alike("Hartigan", "k-means#", "Hartigan and k-means# nearly overlap."))
    rows.append(alike("k-means", "k-means++", "The gap between k-means and k-means++ is nearly invisible."))
    return [*rows, *(settles(method) for method in ("k-sums-Im", RELEASED, "k-sums-Is"))]
