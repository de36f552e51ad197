"""The frame of fits that are made by a ``Partition``: callbacks, progress, time limits, seeds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ksums.compute.compat import callback_context
from ksums.compute.threads import computing
from ksums.estimators.callbacks import Listening, check_callbacks
from ksums.estimators.interruption import FitInterrupted
from ksums.estimators.seeds import seeds_for
from ksums.method.fitting.budget import Budget
from ksums.method.fitting.listener import Listener
from ksums.method.fitting.partitions import PartitionRun
from ksums.method.fitting.records import passes_of
from ksums.planning.plan import PartitionPlan


def fit_by_moves(
    estimator: Any,
    data: dict[str, Any],
    plan: PartitionPlan,
    started: float,
    fit: Callable[[Listener, Budget, list[int]], PartitionRun[Any]],
    attributes_of: Callable[[Any], dict[str, Any]],
) -> PartitionRun[Any]:
    """Run ``fit`` with whoever listens, and give the estimator its attributes."""
    protocol, functions = check_callbacks(type(estimator).__name__, estimator.callbacks)
    seeds = seeds_for(estimator.random_state, plan.runs)
    context = callback_context(estimator, protocol, plan.runs if plan.runs > 1 else plan.most_records)
    with (
        computing(estimator.n_threads),
        Listening(estimator, context, data, functions, attributes_of, plan) as listener,
    ):
        run = fit(listener, Budget.of(plan.seconds, plan.runs, started), seeds)
    estimator.__dict__.update(attributes_of(run))
    if run.interrupted:
        passes = passes_of(run.records)
        warnings.warn(
            f"The fit was interrupted after {passes} passes; the model holds the best labels found so far.",
            FitInterrupted,
            stacklevel=4,
        )
    return run


def attributes_of_run(run: PartitionRun[Any]) -> dict[str, Any]:
    """What every such model has of its run."""
    return {
        "n_iter_": passes_of(run.records),
        "converged_": run.converged,
        "history_": list(run.records),
        "plan_": run.plan,
    }
