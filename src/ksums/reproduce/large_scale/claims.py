"""The claims about Figs. 4 and 5, and those of Sec. 4.2 about the time of a pass. Each is checked on every data set."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ksums.reproduce.claim import NEARLY_EQUAL, NO_NUMBER, Claim, verdict_by_count, verdict_if
from ksums.reproduce.measured import Runs, lowest, median
from ksums.reproduce.method_names import PUBLISHED_CODE, full_name
from ksums.reproduce.store import Results
from ksums.reproduce.wording import change_spread, signed_percent

_RIVALS = ("k-means++", "k-means#", "Hartigan")
_EARLY = 5
"""A method that falls fast is the lowest after this many passes."""
_SATURATED = 0.001
"""A curve is saturated if the last passes lower it by less than this, relatively."""
_LAST = 5
"""The number of last passes that tell whether a curve is saturated."""
_SAME_TIME = 1.25
"""Two passes take equally long if neither takes more than this many times as long as the other."""
_TO_BEST = "relative to the best other method"

Sets = dict[str, Runs]
"""The runs on each data set."""


def judge(results: Results) -> list[Claim]:
    """All claims."""
    passes = results["settings"]["passes"]
    sets = _by_data_set(results)
    claims = []
    for method in ("k-sums-Im", PUBLISHED_CODE, "k-sums-Is"):
        claims += [_is_lowest(sets, method, passes), _falls_faster(sets, method)]
    claims += [_gap_widens(sets, method, passes) for method in ("k-sums-Im", PUBLISHED_CODE)]
    return [
        *claims,
        _ranking_varies(sets),
        _pass_takes_as_long(sets),
        _hartigan_takes_longer(sets),
        _rivals_saturate(sets, passes),
        _trends_are_similar(sets),
        _is_has_highest_e_m(sets),
    ]


def remarks(results: Results) -> list[str]:
    """Further observations, each only if the results support it."""
    lower = [
        median(runs.final("k-sums-Im", "E_m")) < median(runs.final(PUBLISHED_CODE, "E_m"))
        for runs in _by_data_set(results).values()
    ]
    if not any(lower) or results["settings"]["members"] >= 100:
        return []
    return [
        f"The paper has 100 to 500 samples per cluster, this run has {results['settings']['members']}. In such small "
        "clusters the rule of the published code is too relaxed: it ends with a higher E_m than the printed rule on "
        f"{sum(lower)} of {len(lower)} data sets."
    ]


def _by_data_set(results: Results) -> Sets:
    return {part["name"]: Runs(results, part["name"]) for part in results["data"]}


def _claim_on_sets(
    sets: Sets,
    where: str,
    statement: str,
    paper: str,
    meaning: str,
    *,
    holds: Callable[[Runs], bool],
    value: Callable[[Runs], str],
    headline: str = "",
) -> Claim:
    """A claim that is checked on every data set; ``meaning`` says what the values are."""
    count = sum(holds(runs) for runs in sets.values())
    on_sets = f"on {count} of {len(sets)} data sets"
    values = "; ".join(f"{name}: {value(runs)}" for name, runs in sets.items())
    verdict = verdict_by_count(count, len(sets))
    return Claim(
        where,
        statement,
        paper,
        f"{on_sets}. {meaning}: {values}",
        verdict,
        f"{on_sets}; {headline}" if headline else "",
    )


# ------------------------------------------------------------------------------------------ quality
def _change(runs: Runs, method: str, measure: str, passes: int) -> np.ndarray:
    """(runs,) The value of a method relative to the best other method after some passes, seed by seed."""
    others = (*_RIVALS, "k-sums-Im" if method == "k-sums-Is" else "k-sums-Is")
    best = np.min([runs.after(other, measure, passes) for other in others], axis=0)
    return runs.after(method, measure, passes) / best - 1


def _measure_of(method: str) -> tuple[str, str]:
    """The measure that a method minimises, and its figure."""
    return ("E_s", "Fig. 5") if method == "k-sums-Is" else ("E_m", "Fig. 4")


def _is_lowest(sets: Sets, method: str, passes: int) -> Claim:
    measure, where = _measure_of(method)
    changes = [median(_change(runs, method, measure, passes)) for runs in sets.values()]
    return _claim_on_sets(
        sets,
        where,
        f"{full_name(method)} has the lowest {measure} after {passes} passes.",
        "the best on all four, one run each",
        _TO_BEST.capitalize(),
        holds=lambda runs: bool((_change(runs, method, measure, passes) < 0).all()),
        value=lambda runs: change_spread(_change(runs, method, measure, passes)),
        headline=f"{signed_percent(min(changes))} to {signed_percent(max(changes))} {_TO_BEST}"
        if method != PUBLISHED_CODE
        else "",
    )


def _falls_faster(sets: Sets, method: str) -> Claim:
    measure, where = _measure_of(method)
    return _claim_on_sets(
        sets,
        where,
        f"With {full_name(method)}, {measure} falls much faster: it is the lowest after {_EARLY} passes.",
        NO_NUMBER,
        _TO_BEST.capitalize(),
        holds=lambda runs: bool((_change(runs, method, measure, _EARLY) < 0).all()),
        value=lambda runs: change_spread(_change(runs, method, measure, _EARLY)),
    )


def _gap_widens(sets: Sets, method: str, passes: int) -> Claim:
    def early(runs: Runs) -> np.ndarray:
        return _change(runs, method, "E_m", passes // 3)

    def late(runs: Runs) -> np.ndarray:
        return _change(runs, method, "E_m", passes)

    return _claim_on_sets(
        sets,
        "Fig. 4",
        f"The gap between {full_name(method)} and the other methods widens with the number of passes.",
        NO_NUMBER,
        f"{_TO_BEST.capitalize()} after {passes // 3} and after {passes} passes",
        holds=lambda runs: median(late(runs)) < min(0.0, median(early(runs))),
        value=lambda runs: f"{change_spread(early(runs))}, then {change_spread(late(runs))}",
    )


def _ranking_varies(sets: Sets) -> Claim:
    better = {
        name: lowest({method: median(runs.final(method, "E_m")) for method in ("k-means++", "k-means#")})
        for name, runs in sets.items()
    }
    return Claim(
        "Fig. 4",
        "Which of k-means++ and k-means# is better varies between the data sets.",
        "varies",
        "the better one: " + "; ".join(f"{name}: {method}" for name, method in better.items()),
        verdict_if(len(set(better.values())) > 1),
    )


def _rivals_saturate(sets: Sets, passes: int) -> Claim:
    def late_fall(runs: Runs) -> float:
        return max(
            1 - median(runs.final(method, "E_m")) / median(runs.after(method, "E_m", passes - _LAST))
            for method in ("k-means++", "k-means#")
        )

    return _claim_on_sets(
        sets,
        "Fig. 4",
        f"k-means++ and k-means# are saturated within {passes} passes.",
        "generally saturated",
        f"The larger fall of E_m in the last {_LAST} passes",
        holds=lambda runs: late_fall(runs) < _SATURATED,
        value=lambda runs: f"{late_fall(runs):.3%}",
    )


def _trends_are_similar(sets: Sets) -> Claim:
    def difference(runs: Runs) -> float:
        return abs(median(runs.final("k-means#", "E_m")) / median(runs.final("Hartigan", "E_m")) - 1)

    return _claim_on_sets(
        sets,
        "Fig. 4",
        "The trends of k-means# and Hartigan are similar.",
        "similar",
        "Difference (here they apply the same rule)",
        holds=lambda runs: difference(runs) < NEARLY_EQUAL,
        value=lambda runs: f"{difference(runs):.3%}",
    )


def _is_has_highest_e_m(sets: Sets) -> Claim:
    def change(runs: Runs) -> np.ndarray:
        highest = np.max([runs.final(method, "E_m") for method in (*_RIVALS, "k-sums-Im")], axis=0)
        return runs.final("k-sums-Is", "E_m") / highest - 1

    return _claim_on_sets(
        sets,
        "Fig. 4",
        "k-sums-I_s has a higher E_m than all other methods.",
        "poorer than the others",
        "Relative to the highest other method",
        holds=lambda runs: median(change(runs)) > 0,
        value=lambda runs: change_spread(change(runs)),
    )


# ------------------------------------------------------------------------------------------ time
def _time_ratio(runs: Runs, method: str, other: str) -> float:
    """The time of a pass relative to that of another method, without the start and the first pass."""

    def seconds_per_pass(method: str) -> float:
        seconds = runs.by_method[method][0]["seconds"]
        return (seconds[-1] - seconds[0]) / (len(seconds) - 1)

    return seconds_per_pass(method) / seconds_per_pass(other)


def _pass_takes_as_long(sets: Sets) -> Claim:
    ratios = [_time_ratio(runs, "k-sums-Im", "k-means++") for runs in sets.values()]
    return _claim_on_sets(
        sets,
        "Sec. 4.2",
        "A pass of k-sums takes as long as a pass of k-means.",
        "on the same par",
        f"Time of a pass relative to k-means (equal: below {_SAME_TIME})",
        holds=lambda runs: _time_ratio(runs, "k-sums-Im", "k-means++") < _SAME_TIME,
        value=lambda runs: f"{_time_ratio(runs, 'k-sums-Im', 'k-means++'):.2f}",
        headline=f"{min(ratios):.2f} to {max(ratios):.2f} times the time of k-means",
    )


def _hartigan_takes_longer(sets: Sets) -> Claim:
    return _claim_on_sets(
        sets,
        "Sec. 4.2",
        "A pass of Hartigan's method takes much longer than a pass of k-sums.",
        "much higher than it is supposed to be",
        f"Time of a pass relative to k-sums (much longer: above {_SAME_TIME}; here both use composite vectors)",
        holds=lambda runs: _time_ratio(runs, "Hartigan", "k-sums-Im") > _SAME_TIME,
        value=lambda runs: f"{_time_ratio(runs, 'Hartigan', 'k-sums-Im'):.2f}",
    )
