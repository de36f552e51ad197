"""Tab. 2 from our results: mean entropies over the document sets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.reproduce.store import Record, Results


class Entropies(NamedTuple):
    """The entropies of one method."""

    best: tuple[float, ...]  # for each k: of the run with the lowest objective, averaged over the data sets
    mean: tuple[float, ...]  # for each k: of all runs, averaged over the data sets
    seed_std: float  # standard deviation over the seeds of the mean over all data sets and k
    runs: int  # the number of runs on the data set with the fewest
    by_set: dict[str, float]  # for each data set: ``best``, averaged over k

    @property
    def mean_best(self) -> float:
        """``best``, averaged over k."""
        return float(np.mean(self.best))

    def wins_over(self, other: Entropies) -> int:
        """The number of data sets on which it is better."""
        return sum(value < other.by_set[name] for name, value in self.by_set.items())


def entropies(results: Results) -> dict[str, Entropies]:
    """The entropies of every method."""
    found: dict[str, dict[str, list[Record]]] = {}
    for name, unit in results["units"].items():
        data_set, method, _ = name.split("|")
        found.setdefault(method, {}).setdefault(data_set, []).append(unit)
    return {method: _entropies(sets) for method, sets in found.items()}


def _entropies(sets: dict[str, list[Record]]) -> Entropies:
    values = [np.array([unit["entropy"] for unit in units]) for units in sets.values()]  # each (runs, ks)
    chosen = [np.argmin([unit["objective"] for unit in units], axis=0) for units in sets.values()]  # each (ks,)
    best = np.array([v[c, range(v.shape[1])] for v, c in zip(values, chosen, strict=True)])  # (sets, ks)
    runs = min(len(v) for v in values)
    by_seed = np.mean([v[:runs] for v in values], axis=(0, 2))  # (runs,)
    return Entropies(
        tuple(best.mean(axis=0).tolist()),
        tuple(np.mean([v.mean(axis=0) for v in values], axis=0).tolist()),
        float(by_seed.std()),
        runs,
        dict(zip(sets, best.mean(axis=1).tolist(), strict=True)),
    )
