"""The loop around the passes: order, pass, record, stop, keep the best; and restarts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ksums import checks
from ksums import state as states
from ksums.drivers import Driver
from ksums.engines import make_engine
from ksums.exchange import exchange_pass
from ksums.history import PassRecord
from ksums.rows import Rows
from ksums.seeding import first_labels
from ksums.state import ClusterState, Limits

_PATIENCE = 3  # passes without progress after which a rule that may go up as well as down is stopped

Listener = Callable[["Run"], bool]
"""Told after each pass; answers whether to stop."""


@dataclass(frozen=True)
class Plan:
    """What a fit is to do, as checked parameters."""

    k: int
    driver: Driver
    init: str | np.ndarray
    engine: str
    max_iter: int
    tol: float
    limits: Limits | None
    deadline: float  # by time.perf_counter(); infinite without a budget
    n_threads: int


@dataclass
class Run:
    """One run from one start: its state, its records, and the labels of its best pass."""

    state: ClusterState
    records: list[PassRecord] = field(default_factory=list)
    best_labels: np.ndarray | None = None
    best: float = np.inf
    converged: bool = False
    interrupted: bool = False

    @property
    def labels(self) -> np.ndarray:
        return self.state.labels if self.best_labels is None else self.best_labels


def fit_once(rows: Rows, plan: Plan, rng: np.random.Generator, listener: Listener) -> Run:
    """Algorithm 1: from first labels, pass after pass, until a stop rule holds.

    Interrupted by Ctrl-C, it returns what it has.
    """
    started = time.perf_counter()
    k = plan.k
    labels = first_labels(plan.init, rows, k, plan.limits, rng, plan.n_threads)
    run = Run(states.build(rows, labels, k))
    _keep_best(run, plan.driver, _objective(run.state, plan.driver))
    limits = plan.limits or Limits(np.zeros(k), np.full(k, np.inf))
    engine = make_engine(plan.engine, rows, run.state, plan.driver, limits, plan.n_threads)
    try:
        while len(run.records) < plan.max_iter:
            order = rows.pulling[rng.permutation(len(rows.pulling))]
            before = run.state.labels.copy() if checks.switched_on() else None
            moves, whole = 0, True
            try:
                for moved in engine.visit(order):
                    moves += moved
                    if time.perf_counter() > plan.deadline:
                        whole = False
                        break
                states.renew_sq_composites(run.state)
                if before is not None:
                    checks.check_pass(rows, before, run.state, order, plan.driver, plan.limits)
                if plan.limits is not None and whole:
                    moves += exchange_pass(rows, run.state, plan.driver, plan.limits)
            finally:  # an interrupted pass counts: the state is whole between two blocks
                states.renew_sq_composites(run.state)
                _record(run, plan.driver, moves, started)
            run.converged = whole and (moves == 0 or _settled(run, plan))
            if listener(run) or run.converged or time.perf_counter() > plan.deadline:
                break
    except KeyboardInterrupt:
        run.interrupted = True
    return run


def fit(rows: Rows, plan: Plan, seeds: list[int], listener: Listener) -> Run:
    """The best of several runs; runs that would start after the deadline are left out."""
    best: Run | None = None
    for seed in seeds:
        run = fit_once(rows, plan, np.random.default_rng(seed), listener)
        if best is None or run.best < best.best:
            run.interrupted |= best is not None and best.interrupted
            best = run
        if run.interrupted or time.perf_counter() > plan.deadline:
            best.interrupted |= run.interrupted
            break
    assert best is not None
    return best


def _objective(state: ClusterState, driver: Driver) -> float:
    return driver.value(states.distortion(state), states.pairwise(state))


def _keep_best(run: Run, driver: Driver, objective: float) -> None:
    """A monotone rule is at its best now; of any other the labels of the best pass are kept."""
    if objective < run.best or driver.monotone:
        run.best = objective
        if not driver.monotone:
            run.best_labels = run.state.labels.copy()


def _record(run: Run, driver: Driver, moves: int, started: float) -> None:
    distortion, pairwise = states.distortion(run.state), states.pairwise(run.state)
    objective = driver.value(distortion, pairwise)
    sizes = run.state.sizes
    run.records.append(
        PassRecord(
            index=len(run.records) + 1,
            objective=objective,
            distortion=distortion,
            pairwise=pairwise,
            moves=moves,
            smallest=float(sizes.min()),
            largest=float(sizes.max()),
            seconds=time.perf_counter() - started,
        )
    )
    _keep_best(run, driver, objective)


def _settled(run: Run, plan: Plan) -> bool:
    """Whether the best objective has fallen by no more than ``tol``, relatively, over the last passes."""
    passes = 1 if plan.driver.monotone else _PATIENCE
    values = [record.objective for record in run.records]
    if plan.tol == 0 or len(values) <= passes:
        return False
    earlier, now = min(values[:-passes]), min(values)
    return earlier - now <= plan.tol * earlier
