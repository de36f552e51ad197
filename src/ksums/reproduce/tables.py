"""Tab. 2 from the results: mean entropy over the sets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.reproduce.experiment import Result


class Entropies(NamedTuple):
    """One row of Tab. 2."""

    best: tuple[float, ...]  # for each k: of the run with the lowest objective, averaged over the sets
    mean: tuple[float, ...]  # for each k: of all runs
    noise: float  # standard deviation of a mean over the sets and ks from one seed to the next
    runs: int  # the fewest on a set
    by_set: dict[str, float]  # the first one, set by set, averaged over k

    def ahead_of(self, other: Entropies) -> int:
        """On how many sets it is better."""
        return sum(value < other.by_set[name] for name, value in self.by_set.items())


def entropies(result: Result) -> dict[str, Entropies]:
    """A row for each method."""
    found: dict[str, dict[str, list[Result]]] = {}
    for name, unit in result["units"].items():
        data, method, _ = name.split("|")
        found.setdefault(method, {}).setdefault(data, []).append(unit)
    rows = {}
    for method, sets in found.items():
        values = [np.array([unit["entropy"] for unit in units]) for units in sets.values()]  # each (runs, ks)
        chosen = [np.argmin([unit["objective"] for unit in units], axis=0) for units in sets.values()]
        best = np.array([v[c, range(v.shape[1])] for v, c in zip(values, chosen, strict=True)])  # (sets, ks)
        runs = min(len(v) for v in values)
        over_sets = np.mean([v[:runs] for v in values], axis=(0, 2))  # (runs,)
        rows[method] = Entropies(
            tuple(best.mean(axis=0).tolist()),
            tuple(np.mean([v.mean(axis=0) for v in values], axis=0).tolist()),
            float(over_sets.std()),
            runs,
            dict(zip(sets, best.mean(axis=1).tolist(), strict=True)),
        )
    return rows
