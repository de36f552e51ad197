"""Figs. 4 and 5."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ksums.reproduce.claims.claim import LIKE, Claim, named, signed, verdict
from ksums.reproduce.curves import RELEASED
from ksums.reproduce.experiment import Result
from ksums.reproduce.measured import Runs, lowest, middle

_RIVALS = ("k-means++", "k-means#", "Hartigan")
_EARLY = 5  # passes: what falls fast is low by then
_SETTLED = 0.001  # relative change over the last passes of a curve that is flat
_LAST = 5  # passes
_PAR = 1.25  # times as long
_BESIDE = "Relative to the best of the others"


@dataclass(frozen=True)
class _OnSets:
    """Claims that are looked at on each data set."""

    sets: dict[str, Runs]
    members: int  # samples per cluster

    def claim(
        self, where: str, claim: str, paper: str, kept: Callable[[Runs], bool], tell: Callable[[Runs], str], what: str
    ) -> Claim:
        """``what`` is told of each set."""
        good = [name for name, runs in self.sets.items() if kept(runs)]
        told = "; ".join(f"{name}: {tell(runs)}" for name, runs in self.sets.items())
        of = len(self.sets)
        ours = f"{self.members} samples per cluster, on {len(good)} of {of} sets. {what}: {told}"
        return Claim(where, claim, paper, ours, verdict(len(good), of))


def judge_large_scale(result: Result) -> list[Claim]:
    """The rows."""
    passes = result["settings"]["passes"]
    sets = {part["name"]: Runs(result, part["name"]) for part in result["data"]}
    on_sets = _OnSets(sets, result["settings"]["members"])
    rows = []
    for method in ("k-sums-Im", RELEASED, "k-sums-Is"):
        rows += _is_lowest(on_sets, method, passes)
    rows += [_gap_widens(on_sets, method, passes) for method in ("k-sums-Im", RELEASED)]
    return [*rows, _ranking_varies(on_sets), *_others(on_sets, passes)]


def _below(runs: Runs, method: str, measure: str, number: int) -> np.ndarray:
    """(runs,) How far a method is below the best of the others after some passes, relatively, seed by seed."""
    others = (*_RIVALS, "k-sums-Im" if method == "k-sums-Is" else "k-sums-Is")
    best = np.min([runs.at(other, measure, number) for other in others], axis=0)
    return 1 - runs.at(method, measure, number) / best


def _is_lowest(on_sets: _OnSets, method: str, passes: int) -> list[Claim]:
    measure, where = ("E_s", "Fig. 5") if method == "k-sums-Is" else ("E_m", "Fig. 4")
    return [
        on_sets.claim(
            where,
            f"{named(method)} has the lowest {measure} after {passes} passes.",
            "the best on all four, one run each",
            lambda runs: bool((_below(runs, method, measure, passes) > 0).all()),
            lambda runs: signed(_below(runs, method, measure, passes)),
            _BESIDE,
        ),
        on_sets.claim(
            where,
            f"With {named(method)}, {measure} falls at a much faster pace: it is the lowest after {_EARLY} passes.",
            "no figure",
            lambda runs: bool((_below(runs, method, measure, _EARLY) > 0).all()),
            lambda runs: signed(_below(runs, method, measure, _EARLY)),
            _BESIDE,
        ),
    ]


def _gap_widens(on_sets: _OnSets, method: str, passes: int) -> Claim:
    def early(runs: Runs) -> np.ndarray:
        return _below(runs, method, "E_m", passes // 3)

    def late(runs: Runs) -> np.ndarray:
        return _below(runs, method, "E_m", passes)

    return on_sets.claim(
        "Fig. 4",
        f"The gap between {named(method)} and the others gets wider with the number of passes.",
        "no figure",
        lambda runs: middle(late(runs)) > max(0.0, middle(early(runs))),
        lambda runs: f"{signed(early(runs))}, then {signed(late(runs))}",
        f"{_BESIDE} after {passes // 3} and after {passes} passes",
    )


def _ranking_varies(on_sets: _OnSets) -> Claim:
    better = {
        name: lowest({method: middle(runs.final(method, "E_m")) for method in ("k-means++", "k-means#")})
        for name, runs in on_sets.sets.items()
    }
    return Claim(
        "Fig. 4",
        "Which of k-means++ and k-means# is better varies across the data sets.",
        "varies",
        f"{on_sets.members} samples per cluster. " + "; ".join(f"{name}: {method}" for name, method in better.items()),
        verdict(int(len(set(better.values())) > 1), 1),
    )


def _others(on_sets: _OnSets, passes: int) -> list[Claim]:
    def still(runs: Runs) -> float:
        """What the last passes bring."""
        return max(
            1 - middle(runs.final(method, "E_m")) / middle(runs.at(method, "E_m", passes - _LAST))
            for method in ("k-means++", "k-means#")
        )

    def apart(runs: Runs) -> float:
        return abs(middle(runs.final("k-means#", "E_m")) / middle(runs.final("Hartigan", "E_m")) - 1)

    def excess(runs: Runs) -> np.ndarray:
        return (
            runs.final("k-sums-Is", "E_m") / np.max([runs.final(m, "E_m") for m in (*_RIVALS, "k-sums-Im")], axis=0) - 1
        )

    def times(runs: Runs, method: str, other: str) -> float:
        """Seconds of a pass, the first one and the seeding aside, beside those of another method."""

        def each(method: str) -> float:
            seconds = runs.by_method[method][0]["seconds"]
            return (seconds[-1] - seconds[0]) / (len(seconds) - 1)

        return each(method) / each(other)

    return [
        on_sets.claim(
            "Sec. 4.2",
            "A pass of k-sums takes as long as one of k-means.",
            "on the same par",
            lambda runs: times(runs, "k-sums-Im", "k-means++") < _PAR,
            lambda runs: f"{times(runs, 'k-sums-Im', 'k-means++'):.2f}",
            f"Time of a pass over that of k-means (the same: up to {_PAR})",
        ),
        on_sets.claim(
            "Sec. 4.2",
            "A pass of Hartigan's method takes much longer than one of k-sums.",
            "much higher than it is supposed to be",
            lambda runs: times(runs, "Hartigan", "k-sums-Im") > _PAR,
            lambda runs: f"{times(runs, 'Hartigan', 'k-sums-Im'):.2f}",
            f"Time of a pass over that of k-sums (much longer: from {_PAR} on; here both work with sums)",
        ),
        on_sets.claim(
            "Fig. 4",
            f"k-means++ and k-means# are saturated within {passes} passes.",
            "generally saturated",
            lambda runs: still(runs) < _SETTLED,
            lambda runs: f"{still(runs):.3%}",
            f"What the last {_LAST} passes bring, at most",
        ),
        on_sets.claim(
            "Fig. 4",
            "The trends of k-means# and Hartigan are similar.",
            "similar",
            lambda runs: apart(runs) < LIKE,
            lambda runs: f"{apart(runs):.3%}",
            "Apart (here they are the same rule)",
        ),
        on_sets.claim(
            "Fig. 4",
            "k-sums-I_s has a higher E_m than all the others.",
            "poorer than the others",
            lambda runs: middle(excess(runs)) > 0,
            lambda runs: signed(-excess(runs)),
            "Relative to the highest of the others",
        ),
    ]
