"""The plan of a bisecting fit, and the start of each split."""

from __future__ import annotations

from dataclasses import replace

from ksums.planning.plan import EnginePlan, Plan, StartPlan, Stop
from ksums.planning.search import is_offered
from ksums.planning.shape import Shape
from ksums.planning.starts import start_plan
from ksums.rules.kinds import Rule

_SAMPLE = 10_000
"""A cluster of more than 20,000 rows is first split by a sample of 10,000 of them (``benchmarks/bisecting.py``)."""
_TRIES = 4
"""The sample is split four times and the best split is taken, which costs less than one pass over all rows."""
IN_BLOCKS = 8192
"""From this many rows on, a split is settled by passes with bounds, which use all threads
(``benchmarks/bisecting.py``)."""


def splits_in_blocks(shape: Shape, rule: Rule, engine: str) -> bool:
    """Whether the passes of a split have bounds."""
    return engine == "exact" and not shape.sparse and is_offered(rule) and rule.monotone and shape.n >= IN_BLOCKS


def plan_split(shape: Shape, rule: Rule, init: str, engine: EnginePlan, stop: Stop) -> Plan:
    """The plan of every split, a fit of two clusters; ``split_start`` says what its start is for a cluster."""
    return Plan(replace(shape, k=2), rule, StartPlan(init), engine, stop)


def split_start(init: str, shape: Shape, in_memory: bool) -> StartPlan:
    """The start of one split: large clusters are split by a sample first, small ones in memory have a fast start."""
    if init == "auto" and shape.n > 2 * _SAMPLE:
        return StartPlan("sample", _SAMPLE, _TRIES)
    if in_memory and init in ("auto", "k-means++"):
        return StartPlan("two-seeds")
    return start_plan(init, False, shape)
