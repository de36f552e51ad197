"""Plans for tables with gaps or words, and for distances: fits that only know what a move would change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ksums.planning.effort import is_timed
from ksums.planning.flat import plan_flat
from ksums.planning.plan import PartitionPlan, Plan
from ksums.planning.shape import Shape
from ksums.rules.annealing import relaxations

_START = 6.0
"""The relaxation of the first pass: hotter starts end no lower where a search follows (``benchmarks/distances.py``)."""

_LEVELS = {"low": (10, 0.0), "default": (20, 1.0), "high": (40, 5.0)}
"""Annealing passes, and trials that may fail in a row, as a multiple of ``_failures``."""

_TIMED = 40, np.inf
"""With a number of seconds: long annealing, then search until the time is up."""

_FEW, _MOST_FAILURES = 4, 10
"""A search may fail once for each cluster in a row, at least 4 and at most 10 times: later trials promise less."""

_PASSES_OF_TRIAL = 30
"""A trial settles in a few passes; those that need more gain little."""


_MANY_ROWS, _SAMPLE, _SAMPLE_PER_CLUSTER = 50_000, 20_000, 200
"""For more than 50,000 rows a sample of 20,000, or of 200 for each cluster, is searched, and exact passes over all rows
follow (``benchmarks/tables.py``)."""


_MANY_SAMPLES = 4_000
"""For at least 4,000 samples with distances half of the annealing passes and failures are planned, which raises the
objective a little: FasterPAM's time is the measure there (``benchmarks/distances.py time``)."""

_LEAST_FAILURES = 2
"""Distances are always searched a little, because annealing alone gets stuck (``benchmarks/distances.py``: s2, zoo)."""


_STARTS_OF_TWO = ((2_000, 8), (5_000, 4))
"""Two clusters cannot be searched by trials, which merge two of them and split a third. So up to 2,000 samples are
started eight times, up to 5,000 four times, and more of them twice: a single start often misses the optimum of a few
samples (``tests/test_pairwise.py`` tries all divisions), and of heavy tails."""


def plan_distances(parameters: Mapping[str, Any], shape: Shape, notes: tuple[str, ...]) -> PartitionPlan:
    """The plan for a matrix of distances."""
    plan = plan_partition(parameters, shape, "greedy seeds", notes=notes)
    if parameters["effort"] == "default" and shape.n >= _MANY_SAMPLES:
        shorter = relaxations(_START, len(plan.relaxations) // 2)
        plan = replace(plan, relaxations=tuple(shorter), failures=plan.failures / 2)
    if shape.k == 1:
        return plan
    if shape.k == 2:
        starts = next((starts for most, starts in _STARTS_OF_TWO if shape.n <= most), 2)
        return replace(plan, failures=0.0, runs=max(plan.runs, starts))
    return replace(plan, failures=max(plan.failures, _LEAST_FAILURES))


_TOLERANCE = 1e-6
"""Passes over all rows of a large table end when one of them gains no more than this, relatively: the many that would
follow gain as little together (``benchmarks/tables.py``)."""

_STARTS = ((1_000_000, 4), (4_000_000, 2))
"""Tables with up to this many rows × columns × clusters are started several times, since a single start is unreliable
on the small tables of ``benchmarks/tables.py``."""

_SEEDS, _FILLED = "k-means++ seeds, compared by observed cells", "the clusters of rows with gaps filled in"
"""Rows of numbers with means instead of gaps are clustered fast and searched well, and exact passes over observed cells
end lower from there on large tables (``benchmarks/gaps.py``: letter, MNIST). Other starts may still be better, so small
tables have them, too."""

_RUNS_OF_FILLED = 2
"""Runs over rows without gaps take little time beside passes over cells; a single one misses the optimum of MNIST for
some seeds (``benchmarks/gaps.py``)."""

_AUTOMATIC = {
    "metric": "l2",
    "rule": "auto",
    "init": "auto",
    "refine": "auto",
    "engine": "auto",
    "n_neighbors": None,
    "polish": None,
    "max_iter": 300,
    "tol": None,
    "time_budget": None,
}
"""Parameters of ``KSums`` as they are by default."""


def plan_table(
    parameters: Mapping[str, Any], shape: Shape, given: bool = False, numbers: bool = False
) -> PartitionPlan:
    """The plan for a table; large ones are searched by a sample.

    ``given``: the user has given the first labels. ``numbers``: there are no categories, only numbers with gaps.
    """
    if given:
        return plan_partition(parameters, shape, "the given labels")
    rows = max(_SAMPLE, _SAMPLE_PER_CLUSTER * shape.k)
    if shape.n > max(_MANY_ROWS, rows):
        sample = plan_table({**parameters, "n_init": 1}, replace(shape, n=rows), numbers=numbers)
        plan = plan_partition(parameters, shape, f"the centres of a search on {rows:,} rows")
        return replace(plan, relaxations=(), failures=0.0, tol=_TOLERANCE, sample=sample)
    plan = plan_partition(parameters, shape, _FILLED if numbers else _SEEDS)
    runs = max(plan.runs, _starts(parameters["effort"], shape))
    if numbers and runs > 1:
        plan = replace(plan, start=f"{_FILLED}; in other runs {_SEEDS}")
    return replace(plan, runs=runs, filled=_filled(parameters, shape) if numbers else None)


def _filled(parameters: Mapping[str, Any], shape: Shape) -> Plan:
    """The plan for the same rows without gaps."""
    effort = parameters["effort"]
    own = {
        "objective": parameters["objective"],
        "effort": "default" if is_timed(effort) else effort,
        "n_init": 1 if effort == "low" else _RUNS_OF_FILLED,
    }
    return plan_flat({**_AUTOMATIC, **own}, replace(shape, dtype="float32"))


def _starts(effort: str | float, shape: Shape) -> int:
    """Runs from different starts, whether or not the user asks for several."""
    if effort == "low" or is_timed(effort) or shape.k == 1:
        return 1
    work = shape.n * shape.d * shape.k
    return next((starts for most, starts in _STARTS if work <= most), 1)


def plan_partition(parameters: Mapping[str, Any], shape: Shape, start: str, **more: Any) -> PartitionPlan:
    """The plan for these parameters (``objective``, ``effort``, ``n_init``, ``max_iter``, ``time_budget``)."""
    effort = parameters["effort"]
    passes, tries = _TIMED if is_timed(effort) else _LEVELS[effort]
    failures = tries * min(max(shape.k, _FEW), _MOST_FAILURES) if tries and shape.k > 1 else 0.0
    limits = (effort if is_timed(effort) else np.inf, parameters["time_budget"] or np.inf)
    annealing = min(passes, max(1, 2 * parameters["max_iter"] // 5)) if shape.k > 1 else 0
    return PartitionPlan(
        shape=shape,
        objective=parameters["objective"],
        start=start,
        relaxations=tuple(relaxations(_START, annealing)),
        failures=failures,
        passes_of_trial=_PASSES_OF_TRIAL,
        max_iter=int(parameters["max_iter"]),
        runs=int(parameters["n_init"]),
        seconds=float(min(limits)),
        **more,
    )
