"""Results of runs put together: by method, over seeds."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ksums.reproduce.experiment import Result


def comparable(result: Result, methods: tuple[str, ...]) -> Result:
    """Without the seeds for which not all methods are done, and without data sets of which then nothing is left."""
    found: dict[tuple[str, int], dict[str, Result]] = {}  # by set and seed, then by method
    for name, unit in result["units"].items():
        *of, method, seed = name.split("|")
        found.setdefault(("|".join(of), int(seed)), {})[method] = unit
    whole = {key: found[key] for key in sorted(found) if set(found[key]) >= set(methods)}
    units = {
        "|".join([*filter(None, [data]), method, str(seed)]): by_method[method]
        for (data, seed), by_method in whole.items()
        for method in methods
    }
    sets = {data for data, _ in whole}
    return {**result, "units": units, "data": [d for d in result["data"] if sets <= {""} or d["name"] in sets]}


class Runs:
    """The runs of an experiment, by method, in the order of the seeds."""

    def __init__(self, result: Result, data: str | None = None) -> None:
        """Those of one data set, where there are several."""
        self.by_method: dict[str, list[Result]] = {}
        for name, unit in result["units"].items():
            *of, method, _ = name.split("|")
            if data is None or of == [data]:
                self.by_method.setdefault(method, []).append(unit)

    def __contains__(self, method: str) -> bool:
        return method in self.by_method

    @property
    def count(self) -> int:
        """Runs of each method."""
        return len(next(iter(self.by_method.values())))

    def curves(self, method: str, measure: str) -> np.ndarray:
        """(runs, passes) Values; a run that settled before the others stays at its last value."""
        rows = [unit[measure] for unit in self.by_method[method]]
        length = max(map(len, rows))
        return np.array([row + row[-1:] * (length - len(row)) for row in rows])

    def final(self, method: str, measure: str) -> np.ndarray:
        """(runs,) The last value of each run."""
        return self.curves(method, measure)[:, -1]

    def at(self, method: str, measure: str, number: int) -> np.ndarray:
        """(runs,) The value after so many passes."""
        curves = self.curves(method, measure)
        return curves[:, min(number, curves.shape[1]) - 1]


def middle(values: np.ndarray) -> float:
    """The median."""
    return float(np.median(values))


def number(value: float) -> str:
    """As many digits as a reader wants."""
    if value == 0:
        return "0"
    if abs(value) >= 1e6:
        return f"{value:.4g}".replace("e+0", "e")
    return f"{value:,.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


def spread(values: np.ndarray) -> str:
    """Median, least and largest."""
    if len(values) == 1:
        return f"{number(float(values[0]))} (one run)"
    return f"{number(middle(values))} ({number(values.min())} to {number(values.max())})"


def lowest(values: dict[str, float]) -> str:
    """The name with the least value."""
    return min(values, key=lambda name: values[name])


def listed(names: Iterable[str]) -> str:
    """Words with commas."""
    return ", ".join(names) or "none"
