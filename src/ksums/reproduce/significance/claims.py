"""The claims about Fig. 3(a, b), and those of Sec. 4.2 about convergence."""

from __future__ import annotations

import numpy as np

from ksums.reproduce.claim import NEARLY_EQUAL, NO_NUMBER, Claim, verdict_by_count, verdict_if
from ksums.reproduce.measured import Runs, lowest, median
from ksums.reproduce.method_names import PUBLISHED_CODE, full_name
from ksums.reproduce.significance.run import PAPER_METHODS
from ksums.reproduce.store import Results
from ksums.reproduce.wording import change_to_best, listed, number, spread

_EARLY = 4
"""The first pass that the paper means by "after 3 iterations"."""
_WHERE = {"E_m": "Fig. 3a", "E_s": "Fig. 3b"}
_CASES = (("k-sums-Im", "E_m"), (PUBLISHED_CODE, "E_m"), ("k-sums-Is", "E_s"))
"""Each k-sums method with the measure that it minimises."""


def judge(results: Results) -> list[Claim]:
    """All claims."""
    runs, passes, n = Runs(results), results["settings"]["passes"], results["data"][0]["n"]
    claims = [_is_lowest(runs, method, measure, passes) for method, measure in _CASES]
    if runs.count > 1:
        claims += [_gap_exceeds_variation(runs, method, measure) for method, measure in _CASES]
    claims += [_hartigan_is_trapped(runs, method) for method in ("k-sums-Im", PUBLISHED_CODE)]
    claims += [
        _overlap(runs, "Hartigan", "k-means#", "Hartigan and k-means# nearly overlap.", "nearly overlap"),
        _overlap(
            runs,
            "k-means",
            "k-means++",
            "The gap between k-means and k-means++ is nearly invisible.",
            "nearly invisible",
        ),
    ]
    return [*claims, *(_converges(runs, method, passes, n) for method, _ in _CASES)]


def _rivals(runs: Runs, method: str) -> list[str]:
    """The paper's other methods, without the printed version of the method itself."""
    return [other for other in PAPER_METHODS if other in runs and other != method.partition(" ")[0]]


def _is_lowest(runs: Runs, method: str, measure: str, passes: int) -> Claim:
    rivals = _rivals(runs, method)
    wins = [
        done
        for done in range(_EARLY, passes + 1)
        if lowest({other: median(runs.after(other, measure, done)) for other in [*rivals, method]}) == method
    ]
    total = passes - _EARLY + 1
    change = change_to_best(runs, method, rivals, measure)
    return Claim(
        _WHERE[measure],
        f"{full_name(method)} has the lowest {measure} from pass {_EARLY} onwards.",
        "lowest after 3 iterations",
        f"lowest median in {len(wins)} of {total} passes; final {measure} {spread(runs.final(method, measure))}, "
        f"{change}",
        verdict_if(len(wins) == total, in_part=passes in wins or len(wins) > total / 2),
        headline="" if method == PUBLISHED_CODE else f"in {len(wins)} of {total} passes; final value {change}",
    )


def _gap_exceeds_variation(runs: Runs, method: str, measure: str) -> Claim:
    rivals = _rivals(runs, method)
    worst = runs.final(method, measure).max()
    below = [other for other in rivals if worst < runs.final(other, measure).min()]
    not_below = [other for other in rivals if other not in below]
    return Claim(
        _WHERE[measure],
        f"The gap in {measure} between {full_name(method)} and the other methods exceeds the variation between runs.",
        "much more significant",
        f"its worst run is below the best run of: {listed(below)}; not of: {listed(not_below)}",
        verdict_by_count(len(below), len(rivals)),
        headline=f"the worst run is below every run of {len(below)} of {len(rivals)} methods"
        if method == "k-sums-Im"
        else "",
    )


def _hartigan_is_trapped(runs: Runs, method: str) -> Claim:
    lower = runs.final(method, "E_m") < runs.final("Hartigan", "E_m")
    change = change_to_best(runs, method, ["Hartigan"], "E_m")
    differences = runs.final("Hartigan", "E_m") - runs.final(method, "E_m")
    return Claim(
        "Sec. 4.2",
        f"Hartigan's method is trapped in a local minimum more easily: {full_name(method)} ends with a lower E_m.",
        NO_NUMBER,
        f"lower with {int(lower.sum())} of {runs.count} seeds, {change}",
        verdict_if(bool(lower.all()), in_part=bool(np.median(differences) > 0)),
    )


def _overlap(runs: Runs, one: str, other: str, statement: str, paper: str) -> Claim:
    a, b = runs.final(one, "E_m"), runs.final(other, "E_m")
    difference = abs(median(a) / median(b) - 1)
    return Claim(
        "Fig. 3a",
        statement,
        paper,
        f"{one} {spread(a)}, {other} {spread(b)}: they differ by {difference:.2%}",
        verdict_if(difference < NEARLY_EQUAL),
    )


def _converges(runs: Runs, method: str, passes: int, n: int) -> Claim:
    last, half = runs.after(method, "moves", passes), median(runs.after(method, "moves", passes // 2))
    control = runs.after("Hartigan", "moves", passes)
    return Claim(
        "Sec. 4.2",
        f"{full_name(method)} reaches a pass in which no sample moves.",
        f"an argument; {NO_NUMBER}",
        f"{spread(last)} of {n:,} samples move in pass {passes}, {number(half)} in pass {passes // 2}; with Hartigan's "
        f"rule, which must converge, {spread(control)} in pass {passes}",
        verdict_if(last.max() == 0, in_part=median(last) < 0.5 * half),
    )
