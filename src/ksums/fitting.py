"""The loop around the passes: order, pass, record, stop, keep the best; and restarts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ksums import checks
from ksums import state as states
from ksums.drivers import Driver
from ksums.engines import Engine, EngineMaker
from ksums.exchange import exchange_pass
from ksums.history import PassRecord
from ksums.rows import Rows
from ksums.seeding import first_labels
from ksums.state import ClusterState, Limits, no_limits


@dataclass(frozen=True)
class Plan:
    """What a fit is to do, as checked parameters."""

    k: int
    driver: Driver
    metric: str
    init: str | np.ndarray
    make_engine: EngineMaker
    max_iter: int
    tol: float
    n_threads: int
    limits: Limits | None = None
    deadline: float = np.inf  # by time.perf_counter()


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
    def k(self) -> int:
        return len(self.state.sizes)

    @property
    def labels(self) -> np.ndarray:
        return self.state.labels if self.best_labels is None else self.best_labels


class Listener(Protocol):
    """Who is told what happens, and may stop it: the answers of the last two say whether to.

    The run told of is a ``Run`` or its like: with ``records``, ``labels`` and ``k``.
    """

    def run_begins(self) -> None: ...
    def pass_begins(self) -> None: ...
    def pass_ends(self, run: Any) -> bool: ...
    def run_ends(self) -> bool: ...


class Silence:
    """A listener who hears nothing and stops nothing."""

    def run_begins(self) -> None:
        pass

    def pass_begins(self) -> None:
        pass

    def pass_ends(self, run: Run) -> bool:
        return False

    def run_ends(self) -> bool:
        return False


def fit(rows: Rows, plan: Plan, seeds: list[int], listener: Listener) -> Run:
    """The best of several runs. After the deadline, or after Ctrl-C, no other is started."""
    best: Run | None = None
    for seed in seeds:
        try:
            listener.run_begins()
            run = fit_once(rows, plan, np.random.default_rng(seed), listener)
            stop = listener.run_ends()
        except KeyboardInterrupt:  # before there was a first state
            if best is None:
                raise
            best.interrupted = True
            break
        if best is None or run.best < best.best:
            best = run
        if stop or run.interrupted or time.perf_counter() > plan.deadline:
            best.interrupted |= run.interrupted
            break
    assert best is not None
    return best


def fit_once(rows: Rows, plan: Plan, rng: np.random.Generator, listener: Listener) -> Run:
    """Algorithm 1: from first labels, pass after pass, until a stop rule holds.

    Interrupted by Ctrl-C, it returns what it has.
    """
    started = time.perf_counter()
    k, driver = plan.k, plan.driver
    labels = first_labels(plan.init, rows, k, plan.metric, plan.limits, rng, plan.n_threads)
    run = Run(states.build(rows, labels, k))
    _keep_best(run, driver, driver.value(run.state))
    engine = plan.make_engine(rows, run.state, driver, plan.limits or no_limits(k), plan.n_threads)
    try:
        while len(run.records) < plan.max_iter:
            listener.pass_begins()
            order = rows.pulling[rng.permutation(len(rows.pulling))]
            moves, whole = 0, True
            try:
                for moved in _pass(engine, rows, run.state, plan, order):
                    moves += moved
                    if time.perf_counter() > plan.deadline:
                        whole = False
                        break
            except KeyboardInterrupt:  # the labels are whole at any time; the sums perhaps not
                run.state = states.build(rows, run.state.labels, k)
                run.interrupted = True
            states.renew_sq_composites(run.state)
            _record(run, rows, driver, moves, started)
            run.converged = whole and not run.interrupted and (moves == 0 or _settled(run, plan))
            if run.interrupted or listener.pass_ends(run) or run.converged or time.perf_counter() > plan.deadline:
                break
    except KeyboardInterrupt:
        run.interrupted = True
    return run


def _pass(engine: Engine, rows: Rows, state: ClusterState, plan: Plan, order: np.ndarray) -> Iterator[int]:
    """Each sample once in order; then, under size limits, exchanges. Yields the number of moves now and then."""
    check = checks.switched_on()
    before = state.labels.copy()
    yield from engine.visit(order)
    states.renew_sq_composites(state)
    if check:
        checks.check_state(rows, state, plan.limits)
        checks.check_pass(rows, before, state, order, plan.driver)
    if plan.limits is None:
        return
    before[:], objective = state.labels, plan.driver.value(state)
    try:
        yield exchange_pass(rows, state, plan.driver, plan.limits, plan.deadline)
    except KeyboardInterrupt:  # between the two moves of an exchange the limits do not hold
        state.labels[:] = before
        raise
    if check:
        states.renew_sq_composites(state)
        checks.check_state(rows, state, plan.limits)
        checks.check_exchange(plan.driver, objective, plan.driver.value(state))


def _keep_best(run: Run, driver: Driver, objective: float) -> None:
    """A steady rule is at its best now; of any other the labels of the best pass are kept."""
    if objective < run.best or driver.steady:
        run.best = objective
        if not driver.steady:
            run.best_labels = run.state.labels.copy()


def _record(run: Run, rows: Rows, driver: Driver, moves: int, started: float) -> None:
    objective, unit, sizes = driver.value(run.state), rows.measure_unit, run.state.sizes
    run.records.append(
        PassRecord(
            index=len(run.records) + 1,
            objective=objective * unit,
            distortion=states.distortion(run.state) * unit,
            pairwise=states.pairwise(run.state) * unit,
            moves=moves,
            smallest=float(sizes.min()),
            largest=float(sizes.max()),
            seconds=time.perf_counter() - started,
        )
    )
    _keep_best(run, driver, objective)


def _settled(run: Run, plan: Plan) -> bool:
    """Whether the best objective has fallen by no more than ``tol``, relatively, over the last passes."""
    passes, values = plan.driver.patience, [record.objective for record in run.records]
    if plan.tol == 0 or len(values) <= passes:
        return False
    earlier, now = min(values[:-passes]), min(values)
    return earlier - now <= plan.tol * earlier
