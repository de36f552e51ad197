"""The plans of flat fits: what "auto" means for ``KSums`` and the data at hand, and the plans of the baselines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ksums.planning import effort as efforts
from ksums.planning.annealing import annealing_plan
from ksums.planning.constraints import constrained_plan
from ksums.planning.engines import copies_rows, reason_for_lists
from ksums.planning.plan import EnginePlan, Plan, StartPlan, Stop
from ksums.planning.samples import sample_plan, stop_of_passes, uses_samples
from ksums.planning.search import copy_is_small, is_offered, search_plan
from ksums.planning.shape import Shape
from ksums.planning.starts import start_plan
from ksums.rules.annealing import Annealed
from ksums.rules.kinds import Rule, rule_for

_TOL = 1e-5
"""Rules that may move samples indefinitely stop at this tolerance."""
_TOL_OF_LISTS = 2e-4
"""With neighbour lists a fit stops here, because later passes gain less than longer lists would
(``benchmarks/large_k.py``)."""
_TOL_OF_LISTS_LOW = 2e-3
"""At low effort a fit with neighbour lists stops as soon as passes gain little (``benchmarks/large_k.py``)."""
_STARTS = 4
"""Runs at high effort where no search can mend a bad start: in a trial with three clear topics, a single run merged two
of them in 12 of 100 seeds, the best of four runs in none (``tests/test_estimator.py`` repeats it with 12 seeds)."""
_MOST_FOR_STARTS = 500
"""For k ≥ 500 there is one run, because it takes long and a bad start of a few clusters adds little to the objective.
This is a judgement, not a measurement."""


def schedule_of(rule: Any) -> Annealed | None:
    """The annealing schedule behind the ``rule`` parameter, if there is one."""
    if isinstance(rule, Annealed):
        return rule
    return Annealed() if isinstance(rule, str) and rule in ("auto", "annealed") else None


def flat_rule(parameters: Mapping[str, Any]) -> Rule:
    """The rule of the exact passes, which lower the objective after annealing."""
    annealed = schedule_of(parameters["rule"])
    return rule_for(parameters["objective"], parameters["metric"], "annealed" if annealed else parameters["rule"])


def plan_flat(parameters: Mapping[str, Any], shape: Shape) -> Plan:
    """The plan for checked parameters of ``KSums`` and data of this shape; ``init`` is a name or a checked array."""
    plan = _plan_without_constraints(parameters, replace(shape, constraints=()))
    if not shape.constraints:
        return plan
    under = constrained_plan(shape, plan.engine, plan.stop, parameters["effort"], parameters["tol"])
    return replace(plan, shape=shape, constrained=under)


def _plan_without_constraints(parameters: Mapping[str, Any], shape: Shape) -> Plan:
    annealed, rule, effort = schedule_of(parameters["rule"]), flat_rule(parameters), parameters["effort"]
    notes: list[str] = []
    lists = _uses_lists(parameters, annealed, shape, notes)
    if not lists and _uses_samples(parameters, annealed, rule, shape):
        return _plan_with_samples(parameters, rule, shape)
    search = _searches(parameters, annealed, rule, lists, shape, notes)
    max_iter = int(parameters["max_iter"])
    if lists:
        rounds = efforts.list_rounds(effort, annealed, max_iter)
    else:
        rounds = efforts.rounds_for(effort, annealed, search, max_iter, shape)
    return Plan(
        shape=shape,
        rule=rule,
        start=start_plan(parameters["init"], lists, shape),
        engine=_engine(parameters, lists, shape),
        stop=Stop(max_iter, _tolerance(parameters, annealed, lists)),
        rounds=rounds,
        annealing=annealing_plan(annealed, shape, len(rounds), lists),
        search=search_plan(efforts.heat_of(effort), len(rounds), efforts.is_timed(effort)) if search else None,
        polish=parameters["polish"] if lists else None,
        runs=_runs(parameters, annealed, rule, shape, notes),
        seconds=min(_seconds(parameters["time_budget"]), float(effort) if efforts.is_timed(effort) else np.inf),
        longer_lists=lists and efforts.is_timed(effort) and parameters["n_neighbors"] is None,
        notes=tuple(notes),
    )


def _plan_with_samples(parameters: Mapping[str, Any], rule: Rule, shape: Shape) -> Plan:
    """Annealing and search on samples, then passes with bounds over all rows."""
    effort = parameters["effort"]

    def plan_of(small: Shape, effort_of_sample: str | float) -> Plan:
        own = {"effort": effort_of_sample, "engine": "exact", "n_init": 1, "tol": None, "time_budget": None}
        return _plan_without_constraints({**parameters, **own}, small)

    return Plan(
        shape=shape,
        rule=rule,
        start=StartPlan("samples"),
        engine=EnginePlan("blocks"),
        stop=stop_of_passes(shape.k, int(parameters["max_iter"]), parameters["tol"]),
        samples=sample_plan(shape, effort, plan_of),
        runs=int(parameters["n_init"]),
        seconds=min(_seconds(parameters["time_budget"]), float(effort) if efforts.is_timed(effort) else np.inf),
    )


def plan_single(shape: Shape, rule: Rule, start: str, engine: EnginePlan, stop: Stop, runs: int) -> Plan:
    """The plan of a method that is one rule, one start and one engine, such as the paper's baselines."""
    return Plan(shape, rule, start_plan(start, False, shape), engine, stop, runs=runs)


def _uses_lists(parameters: Mapping[str, Any], annealed: Annealed | None, shape: Shape, notes: list[str]) -> bool:
    """Whether samples look at the nearest clusters only."""
    if parameters["engine"] != "auto":
        return parameters["engine"] == "neighbors"
    if parameters["n_neighbors"] is not None:
        return True
    reason = reason_for_lists(shape)
    if reason is None or annealed is None or parameters["refine"] == "merge-split":
        return False
    notes.append(f"neighbour lists, because {reason}")
    return True


def _uses_samples(parameters: Mapping[str, Any], annealed: Annealed | None, rule: Rule, shape: Shape) -> bool:
    """Whether annealing and search are made on samples; ``"blocks"`` is refused by then where that is not offered."""
    if parameters["engine"] == "blocks":
        return True
    automatic = parameters["engine"] == "auto" and parameters["refine"] == "auto"
    named = isinstance(parameters["init"], str) and annealed is not None
    return automatic and named and is_offered(rule) and uses_samples(shape, parameters["effort"])


def _searches(
    parameters: Mapping[str, Any],
    annealed: Annealed | None,
    rule: Rule,
    lists: bool,
    shape: Shape,
    notes: list[str],
) -> bool:
    """Whether there are merge–split trials."""
    if lists or not _wants_search(parameters, annealed, rule):
        if parameters["refine"] == "auto" and annealed is not None and not lists:
            notes.append(f"no search, because it is not offered for this objective ({rule.objective})")
        return False
    if shape.sparse:
        notes.append("no search, because the rows are sparse")
        return False
    if parameters["refine"] == "auto" and not copy_is_small(shape):
        notes.append("no search, because its copy of the rows would be too large (refine='merge-split' asks for it)")
        return False
    return True


def _wants_search(parameters: Mapping[str, Any], annealed: Annealed | None, rule: Rule) -> bool:
    """Whether the parameters ask for a search, whatever the data is."""
    if parameters["refine"] == "auto":
        return annealed is not None and is_offered(rule)
    return parameters["refine"] == "merge-split"


def _engine(parameters: Mapping[str, Any], lists: bool, shape: Shape) -> EnginePlan:
    if lists:
        length = efforts.list_length(parameters["effort"], parameters["n_neighbors"])
        return EnginePlan("neighbors", {"length": length, "copy_rows": copies_rows(shape)})
    return EnginePlan("exact" if parameters["engine"] == "auto" else parameters["engine"])


def _runs(parameters: Mapping[str, Any], annealed: Annealed | None, rule: Rule, shape: Shape, notes: list[str]) -> int:
    """Where no search can mend a bad start, high effort means several starts."""
    asked = int(parameters["n_init"])
    mendable = _wants_search(parameters, annealed, rule) and not shape.sparse
    many = parameters["engine"] == "neighbors" or parameters["n_neighbors"] is not None or shape.k >= _MOST_FOR_STARTS
    given = not isinstance(parameters["init"], str)
    if parameters["effort"] != "high" or annealed is None or mendable or many or given or asked >= _STARTS:
        return asked
    notes.append(f"{_STARTS} runs, because no search can mend a bad start")
    return _STARTS


def _tolerance(parameters: Mapping[str, Any], annealed: Annealed | None, lists: bool) -> float:
    if parameters["tol"] is not None:
        return float(parameters["tol"])
    if lists:
        return _TOL_OF_LISTS_LOW if parameters["effort"] == "low" else _TOL_OF_LISTS
    return 0.0 if annealed else _TOL


def _seconds(time_budget: float | None) -> float:
    return np.inf if time_budget is None else float(time_budget)
