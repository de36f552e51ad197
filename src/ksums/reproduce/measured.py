"""Stored results, grouped by method over the seeds."""

from __future__ import annotations

import numpy as np

from ksums.reproduce.store import Record, Results


def complete_rounds(results: Results, methods: tuple[str, ...]) -> Results:
    """Only the seeds that all methods have run, and only the data sets that then still have results."""
    rounds: dict[tuple[str, int], dict[str, Record]] = {}  # by data set and seed, then by method
    for name, unit in results["units"].items():
        *data_set, method, seed = name.split("|")
        rounds.setdefault(("|".join(data_set), int(seed)), {})[method] = unit
    complete = {key: rounds[key] for key in sorted(rounds) if set(rounds[key]) >= set(methods)}
    units = {
        "|".join([*filter(None, [data_set]), method, str(seed)]): by_method[method]
        for (data_set, seed), by_method in complete.items()
        for method in methods
    }
    left = {data_set for data_set, _ in complete}  # {""} where there is a single data set
    data = [part for part in results["data"] if left <= {""} or part["name"] in left]
    return {**results, "units": units, "data": data}


class Runs:
    """The runs on one data set, by method, in the order of the seeds."""

    def __init__(self, results: Results, data_set: str | None = None) -> None:
        """``data_set`` is needed only where there are several."""
        self.by_method: dict[str, list[Record]] = {}
        for name, unit in results["units"].items():
            *of_set, method, _ = name.split("|")
            if data_set is None or of_set == [data_set]:
                self.by_method.setdefault(method, []).append(unit)

    def __contains__(self, method: str) -> bool:
        return method in self.by_method

    @property
    def count(self) -> int:
        """The number of runs of each method."""
        return len(next(iter(self.by_method.values())))

    def curves(self, method: str, measure: str) -> np.ndarray:
        """(runs, passes) All values; a run that converged early keeps its last value."""
        rows = [unit[measure] for unit in self.by_method[method]]
        length = max(map(len, rows))
        return np.array([row + row[-1:] * (length - len(row)) for row in rows])

    def final(self, method: str, measure: str) -> np.ndarray:
        """(runs,) The last value of each run."""
        return self.curves(method, measure)[:, -1]

    def after(self, method: str, measure: str, passes: int) -> np.ndarray:
        """(runs,) The value of each run after this many passes."""
        curves = self.curves(method, measure)
        return curves[:, min(passes, curves.shape[1]) - 1]


def median(values: np.ndarray) -> float:
    """The median as a Python number."""
    return float(np.median(values))


def lowest(values: dict[str, float]) -> str:
    """The name with the lowest value."""
    return min(values, key=lambda name: values[name])
