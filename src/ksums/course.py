"""One run under way: order, pass, record, stop, keep the best; annealing and search."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ksums import checks
from ksums import state as states
from ksums.annealing import Annealed, relaxations
from ksums.drivers import Driver, relaxed
from ksums.effort import Effort, Round
from ksums.engines import Engine, ListingEngine, RelaxingEngine, merge_split
from ksums.exchange import exchange_pass
from ksums.history import PassRecord, passes_of
from ksums.plan import Listener, Plan, Run
from ksums.rows import Rows
from ksums.seeding import first_labels
from ksums.size_limits import fit_into
from ksums.state import Limits, no_limits
from ksums.two_level import two_level_labels

if TYPE_CHECKING:
    from ksums.engines.merge_split import MergeSplit

_SHARE_OF_PASSES = 0.4  # of max_iter that annealing may take,
_SHARE_OF_TIME = 0.3  # and of the seconds, where these are limited
RECORDS_OF_SEARCH = 10
_ASTRAY = 1e-5
_KEPT_FOR_THE_END = 0.1  # of the seconds: the passes after the search


class Course:
    """One run under way."""

    def __init__(self, rows: Rows, plan: Plan, rng: np.random.Generator, listener: Listener) -> None:
        self.started = time.perf_counter()
        self.rows, self.plan, self.rng, self.listener = rows, plan, rng, listener
        self.stopped = False
        self.limits = plan.limits or no_limits(plan.k)
        self.run = Run(states.build(rows, self._first_labels(), plan.k))
        self.driven_by = plan.driver
        self.engine: Engine | None = None  # for the present state; made when it is needed
        self.settling_from = 0  # the record with which the present passes began
        self.last = plan.driver.value(self.run.state)  # the objective of the record before
        self._keep_best(self.last, steady=plan.driver.steady and plan.annealed is None)

    def _first_labels(self) -> np.ndarray:
        plan = self.plan
        if isinstance(plan.init, str) and plan.init == "two-level":
            until = plan.deadline if plan.effort is None else min(plan.deadline, self.started + plan.effort.seconds)
            labels = two_level_labels(self.rows, plan.k, plan.driver, self.rng, plan.n_threads, until)
            return labels if plan.limits is None else fit_into(self.rows, labels, plan.k, plan.limits, plan.n_threads)
        return first_labels(plan.init, self.rows, plan.k, plan.metric, plan.limits, self.rng, plan.n_threads)

    def _make_engine(self, driver: Driver) -> Engine:
        return self.plan.make_engine(self.rows, self.run.state, driver, self.limits, self.plan.n_threads)

    def _go_on_from(self, labels: np.ndarray) -> None:
        self.run.state = states.build(self.rows, labels, self.plan.k)
        self.engine = None

    # ------------------------------------------------------------------------------------ annealing
    def rounds(self) -> Iterator[Round]:
        """The rounds of annealing and search, cut to the passes that there may be."""
        plan = self.plan
        if plan.effort is None:
            return
        planned = sum(work.annealing for work in plan.effort.rounds)
        most = min(planned, int(_SHARE_OF_PASSES * plan.max_iter))
        if plan.annealed is not None and plan.annealed.passes is not None:
            most = min(plan.annealed.passes, plan.max_iter - 1)
        done = 0
        for at, work in enumerate(plan.effort.rounds, start=1):
            done += work.annealing
            asked = most * done // planned if planned else most * at // len(plan.effort.rounds)
            already = sum(record.stage == "annealing" for record in self.run.records)
            left = plan.max_iter - passes_of(self.run.records)
            yield work._replace(annealing=max(0, min(asked - already, left)))

    def anneal(self, annealed: Annealed, passes: int) -> None:
        """Passes with falling relaxation; then on from the best state seen, be it the first one."""
        plan, run = self.plan, self.run
        passes, start = self._schedule(annealed, passes)
        done, run.best_labels, run.converged = 0, run.labels.copy(), False
        heaviest = 1.0 if self.rows.weights is None else float(self.rows.weights.max())
        while done < passes and not self.stopped:
            began = time.perf_counter()
            self._pass(relaxed(plan.driver, relaxations(start, passes)[done], heaviest), "annealing")
            done += 1
            if run.records[-1].moves == 0:  # nor would any move at a lower relaxation
                break
            passes = self._replan(done, passes, time.perf_counter() - began)
        if self.stopped:
            return
        if run.best < plan.driver.value(run.state):
            self._go_on_from(run.best_labels)
        run.best_labels = None  # from here on the last state is the best

    def _schedule(self, annealed: Annealed, passes: int) -> tuple[int, float]:
        """Passes of annealing, and the relaxation to start with."""
        assert self.plan.effort is not None
        return passes, annealed.start_for(len(self.rows.pulling) / self.plan.k, len(self.plan.effort.rounds))

    def _replan(self, done: int, passes: int, took: float) -> int:
        """How many passes of annealing there are to be in all, now that one more has taken so many seconds."""
        assert self.plan.effort is not None
        seconds = self.plan.effort.seconds
        if done > 1 or len(self.run.records) > 1 or np.isinf(seconds):
            return passes
        return min(passes, max(1, int(_SHARE_OF_TIME * seconds / took)))

    # ------------------------------------------------------------------------------------ search
    def search(self, comparisons: float) -> None:
        """Merge–split trials, as many as the effort allows; their result is taken if it is better."""
        plan, run, effort = self.plan, self.run, self.plan.effort
        assert effort is not None
        until = min(plan.deadline, self.started + (1.0 - _KEPT_FOR_THE_END) * effort.seconds)
        alone = plan.k in (1, len(self.rows.pulling))
        if self.stopped or alone or run.best <= 0 or time.perf_counter() >= until:
            return
        run.converged = False
        search = merge_split(self.rows, run.state, self.limits, self.rng)
        if effort.timed:
            parts = self._timed_parts(search, effort, until)
        else:
            parts = self._counted_parts(search, effort, comparisons, until)
        try:
            before = search.comparisons
            for trials, kept in parts:
                moves = self._take(search.labels())
                self._record(moves, "merge-split", search.comparisons - before, trials=trials, kept=kept)
                before = search.comparisons
                astray = search.distortion < run.best * (1.0 - _ASTRAY)  # it believes what is not so: rounding
                if self._told_to_stop() or astray:
                    return
        except KeyboardInterrupt:
            self._take(search.labels())
            raise

    def _take(self, labels: np.ndarray) -> int:
        """Go on from these labels, if they are better; gives the number of those that are other than now."""
        run, before = self.run, self.run.state
        moves = int(np.count_nonzero(labels != before.labels))
        if not moves:
            return 0
        state = states.build(self.rows, labels, self.plan.k)
        if not self.plan.driver.value(state) < run.best:
            return 0
        if checks.switched_on():
            checks.check_state(self.rows, state, self.plan.limits)
        run.state, self.engine, run.best, run.best_labels = state, None, self.plan.driver.value(state), None
        return moves

    def _counted_parts(
        self, search: MergeSplit, effort: Effort, comparisons: float, until: float
    ) -> Iterator[tuple[int, int]]:
        parts = RECORDS_OF_SEARCH // len(effort.rounds)
        for part in range(1, parts + 1):
            self.listener.pass_begins()
            yield search.run(comparisons * part / parts, comparisons, effort.heat, until)
            if search.exhausted:
                return

    def _timed_parts(self, search: MergeSplit, effort: Effort, until: float) -> Iterator[tuple[int, int]]:
        began = time.perf_counter()
        for part in range(1, RECORDS_OF_SEARCH + 1):
            self.listener.pass_begins()
            share = began + (until - began) * part / RECORDS_OF_SEARCH
            yield search.run_until(share, began, until, effort.heat)

    # ------------------------------------------------------------------------------------ passes
    def settle(self, most: int) -> None:
        """Passes of the plan's own driver, until no sample moves, or so many of them, or another stop rule holds."""
        run, plan = self.run, self.plan
        self.settling_from = len(run.records)
        while passes_of(run.records) < plan.max_iter and len(run.records) - self.settling_from < most:
            if self.stopped:
                return
            self._pass(plan.driver, "pass")
            if run.converged:
                return

    def _pass(self, driver: Driver, stage: str) -> None:
        """One pass, recorded."""
        plan, rows, run = self.plan, self.rows, self.run
        self.listener.pass_begins()
        if self.engine is None:
            self.engine = self._make_engine(driver)
        elif driver != self.driven_by:
            assert isinstance(self.engine, RelaxingEngine)
            self.engine.drive(driver)
        self.driven_by = driver
        order = rows.pulling[self.rng.permutation(len(rows.pulling))]
        moves, whole = 0, True
        try:
            for moved in self._visit(driver, order, exchange=stage == "pass"):
                moves += moved
                if time.perf_counter() > plan.deadline:
                    whole = False
                    break
        except KeyboardInterrupt:  # the labels are whole at any time; the sums perhaps not
            run.state = states.build(rows, run.state.labels, plan.k)
            run.interrupted = self.stopped = True
        states.renew_sq_composites(run.state)
        compared = self.engine.comparisons if isinstance(self.engine, ListingEngine) else len(order) * plan.k
        self._record(moves, stage, compared, relaxation=driver.p if stage == "annealing" else 1.0)
        if run.interrupted:
            run.converged = False
            return
        run.converged = stage == "pass" and whole and (moves == 0 or self._settled())
        self._told_to_stop()

    def _visit(self, driver: Driver, order: np.ndarray, exchange: bool) -> Iterator[int]:
        """Each sample once in order; then, under size limits, exchanges. Yields the number of moves now and then."""
        plan, rows, state, check = self.plan, self.rows, self.run.state, checks.switched_on()
        before = state.labels.copy()
        assert self.engine is not None
        if check and isinstance(self.engine, ListingEngine):
            order = self.engine.turns(order)
        moves = 0
        for moved in self.engine.visit(order):
            moves += moved
            yield moved
        states.renew_sq_composites(state)
        if check:
            checks.check_state(rows, state, plan.limits)
            checks.check_pass(rows, before, state, order, driver)
        if plan.limits is None or not exchange:
            return
        before[:], objective = state.labels, driver.value(state)
        try:
            yield self._exchange(driver, plan.limits, moves)
        except KeyboardInterrupt:  # between the two moves of an exchange the limits do not hold
            state.labels[:] = before
            raise
        if check:
            states.renew_sq_composites(state)
            checks.check_state(rows, state, plan.limits)
            checks.check_exchange(driver, objective, driver.value(state))

    def _exchange(self, driver: Driver, limits: Limits, moves: int) -> int:
        """Exchanges, after so many samples have moved by themselves."""
        return exchange_pass(self.rows, self.run.state, driver, limits, self.plan.deadline)

    def _told_to_stop(self) -> bool:
        self.stopped = self.listener.pass_ends(self.run) or time.perf_counter() > self.plan.deadline
        return self.stopped

    def _keep_best(self, objective: float, steady: bool) -> None:
        """A steady rule is at its best now; of any other the labels of the best pass are kept."""
        run = self.run
        if objective < run.best or steady:
            labels = None if steady else run.state.labels.copy()
            run.best, run.best_labels = objective, labels

    def _record(
        self, moves: int, stage: str, comparisons: int, relaxation: float = 1.0, trials: int = 0, kept: int = 0
    ) -> None:
        run, driver, unit, sizes = self.run, self.plan.driver, self.rows.measure_unit, self.run.state.sizes
        objective = driver.value(run.state)
        gain = self.last - objective if stage == "merge-split" else 0.0
        self.last = objective
        run.records.append(
            PassRecord(
                index=len(run.records) + 1,
                stage=stage,
                objective=objective * unit,
                distortion=states.distortion(run.state) * unit,
                pairwise=states.pairwise(run.state) * unit,
                moves=moves,
                comparisons=comparisons,
                relaxation=relaxation,
                trials=trials,
                kept=kept,
                gain=gain * unit,
                smallest=float(sizes.min()),
                largest=float(sizes.max()),
                seconds=time.perf_counter() - self.started,
            )
        )
        self._keep_best(objective, steady=driver.steady and stage != "annealing")

    def _settled(self) -> bool:
        """Whether the best objective has fallen by no more than ``tol``, relatively, over the last passes."""
        records = self.run.records[self.settling_from :]
        passes, values = self.plan.driver.patience, [record.objective for record in records]
        if self.plan.tol == 0 or len(values) <= passes:
            return False
        earlier, now = min(values[:-passes]), min(values)
        return earlier - now <= self.plan.tol * earlier
