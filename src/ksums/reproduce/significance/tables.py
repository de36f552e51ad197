"""The final values of all methods, and what else the results show."""

from __future__ import annotations

import numpy as np

from ksums.reproduce.measured import Runs, median
from ksums.reproduce.method_names import OURS, OURS_HIGH_EFFORT, PUBLISHED_CODE, full_name
from ksums.reproduce.pieces import Table
from ksums.reproduce.significance.run import PAPER_METHODS
from ksums.reproduce.store import Results
from ksums.reproduce.wording import described, spread


def tables(results: Results) -> list[Table]:
    """The final E_m and E_s of each method."""
    runs, k, passes = Runs(results), results["settings"]["k"], results["settings"]["passes"]
    rows = [
        (full_name(method), *(spread(runs.final(method, measure)) for measure in ("E_m", "E_s")))
        for method in runs.by_method
    ]
    caption = (
        f"Final values. {described(results['data'][0])}, k = {k}, after {passes} passes (our own methods: when they "
        f"stop), {runs.count} seeds: median, smallest and largest value."
    )
    return [Table(("method", "E_m", "E_s"), rows, caption)]


def remarks(results: Results) -> list[str]:
    """Further observations, each only if the results support it."""
    runs = Runs(results)
    e_m = {method: median(runs.final(method, "E_m")) for method in runs.by_method}
    best = min(e_m[method] for method in PAPER_METHODS)
    published, ours, high = (1 - e_m[method] / best for method in (PUBLISHED_CODE, OURS, OURS_HIGH_EFFORT))
    found = []
    if np.array_equal(runs.final("k-means#", "E_m"), runs.final("Hartigan", "E_m")):
        found.append("k-means# and Hartigan apply the same rule: from the same labels they make the same moves.")
    if published > 0:
        found.append(f"With the published code, E_m ends {published:.2%} below the best of the paper's methods.")
    if 0 < ours < high:
        found.append(f"Our default ends {ours:.2%} below that best, and {high:.2%} below it with high effort.")
    return found
