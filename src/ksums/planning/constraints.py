"""What a fit under constraints does after it has been made without them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ksums.planning.effort import is_timed
from ksums.planning.plan import ConstrainedPlan, EnginePlan, SampleUnder, Stop
from ksums.planning.shape import Shape

SIZES, APART, TOGETHER = "limited sizes", "rows kept apart", "rows kept together"
STAY, CENTRES = "rows that stay", "centres that stay"
"""The kinds of constraints, as a plan names them. Rows kept together are named only where their costs are special: for
E_s, to which their scatter matters."""

_TRIALS = {"low": 0, "default": 12, "high": 100}
"""Trials in a row that may fail, by effort: one cluster dissolved, another one split (``benchmarks/limits.py``)."""
_MOST_TRIALS = 10
"""Times as many trials are made in all, at most."""
_RESTARTS = {"low": 0, "default": 6, "high": 32}
"""Trials from random rows as centres, by effort, where the constraints raise the objective by more than ``FAR``: then
the clusters found without them may be far from the best ones under them."""
FAR = 0.05
_WORK = 5e9
"""All trials together take about this many multiplications at most: some seconds."""
_WORK_OF_TRIAL, _LEAST_COLUMNS = 40.0, 16
"""Comparisons of each row with each cluster in a trial, by passes and by assignments under the limits; a comparison of
rows with fewer columns takes as long as with these."""
_SAMPLE, _SAMPLE_PER_CLUSTER = 20_000, 100
"""Of more than twice as many rows a sample is clustered under limits in proportion, and its centres are taken: trials
and cycles of all rows would take far longer than the fit without limits (``benchmarks/limits.py growth``)."""
_ROUND_GAIN, _ROUND_GAIN_AFTER_SAMPLE = 1e-6, 1e-3
"""Assignments to the centres of the last one end when one gains less: passes and cycles gain the rest faster."""
_TOL_AFTER_SAMPLE = 3e-4
"""Passes over all rows after a sample end when one gains less."""
_MOST_FOR_CYCLES = 3e7
"""For more comparisons than this, n·k, cycles of all rows take longer than everything before and gain little after a
sample."""
_MOST_CLUSTERS = 512
"""A path in the graph of k clusters takes k² steps: for more clusters rows that are too many move to near clusters."""
HOPEFUL = 3.0
"""A trial goes on if as much progress as in its last assignment or pass, three times over, would make it better."""
LEAST_GAIN = 1e-6
"""A trial is kept if it gains more than this share."""
PASSES_GAIN = 2.0
"""A trial goes on with passes if it would be better if these gained twice what they gained before the trials."""
QUIET = 0.01
"""Cycles and exchanges cost more than a pass: they wait until no more than this share of the rows moves."""
FREE_SHARE = 0.5
"""With a time limit, the fit without constraints may take half of the time."""


def constrained_plan(shape: Shape, engine: EnginePlan, stop: Stop, effort: Any, tol: float | None) -> ConstrainedPlan:
    """The plan for a shape with constraints; ``engine`` and ``stop`` are those of the fit without them."""
    comparisons = shape.n * shape.k
    lists = engine.name == "neighbors" and comparisons > _MOST_FOR_CYCLES
    if shape.constraints == (SIZES,) and not shape.sparse and (lists or shape.k > _MOST_CLUSTERS):
        return ConstrainedPlan(shape.constraints, engine if lists else EnginePlan("exact"), stop)
    engine = EnginePlan("reference" if engine.name == "reference" else "exact")
    assignment, rows = "weighted" if shape.weighted else "exact", max(_SAMPLE, _SAMPLE_PER_CLUSTER * shape.k)
    if assignment == "exact" and shape.constraints == (SIZES,) and shape.n > 2 * rows:
        under = constrained_plan(replace(shape, n=rows), engine, stop, effort, tol)
        stop = stop if tol is not None else Stop(stop.max_iter, _TOL_AFTER_SAMPLE)
        return ConstrainedPlan(
            shape.constraints,
            engine,
            stop,
            sample=SampleUnder(rows, under),
            round_gain=_ROUND_GAIN_AFTER_SAMPLE,
            assignment=assignment,
            cycles=comparisons <= _MOST_FOR_CYCLES,
        )
    level = "high" if is_timed(effort) else effort
    work = int(_WORK / (_WORK_OF_TRIAL * comparisons * max(shape.d, _LEAST_COLUMNS)))
    trials = min(_TRIALS[level], work) if shape.k > 2 else 0
    return ConstrainedPlan(
        shape.constraints,
        engine,
        stop,
        trials=trials,
        most_trials=min(_MOST_TRIALS * trials, work),
        restarts=min(_RESTARTS[level], work // 2),
        round_gain=_ROUND_GAIN,
        assignment=assignment,
    )
