"""One run under constraints: a run without them first, then labels that keep to them, then passes that do, too."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ksums.method.constrained.cycles import cycle_pass
from ksums.method.constrained.entering import constrained_labels, matched_labels
from ksums.method.constrained.exchange import exchange_pass
from ksums.method.constrained.held import objective_with
from ksums.method.constrained.linked import visit_linked
from ksums.method.constrained.relocation import relocated
from ksums.method.constrained.transport import InfeasibleError
from ksums.method.constrained.weighted import fit_into_limits
from ksums.method.data.rows import gathered
from ksums.method.engines.protocol import Engine
from ksums.method.fitting.budget import Budget
from ksums.method.fitting.job import Job
from ksums.method.fitting.listener import Listener, OfSample, Silence
from ksums.method.fitting.records import passes_of
from ksums.method.fitting.resuming import EndedRun, SavedRun
from ksums.method.fitting.run import Run
from ksums.method.starts.first_labels import StartTask, fill_empty, first_labels
from ksums.method.state import invariants
from ksums.method.state.constraints import Constraints, check_constraints, hold_centres, limits_of
from ksums.method.state.limits import Limits
from ksums.method.state.state import ClusterState, build_state, renew_sums
from ksums.planning.constraints import FAR, FREE_SHARE, HOPEFUL, LEAST_GAIN, PASSES_GAIN, QUIET
from ksums.planning.plan import MOST_ROUNDS, EnginePlan, Plan, StartPlan, Stop
from ksums.rules.kinds import Rule
from ksums.rules.objectives import objective_value


class ConstrainedRun(Run):
    """See ``run.Run``. A checkpoint holds the run without constraints; what follows is repeated when it is resumed."""

    def __init__(
        self, job: Job[Plan], rng: np.random.Generator, saved: SavedRun | None = None, without: EndedRun | None = None
    ) -> None:
        assert job.constraints is not None
        assert job.plan.constrained is not None
        self.constraints, self.under = job.constraints, job.plan.constrained
        self._saved_without, self._checkpoint, self._given = saved, job.checkpoint, without
        self.prices: np.ndarray | None = None
        self._first = 0  # the first record under constraints
        super().__init__(job._replace(checkpoint=None), rng)

    def _start(self) -> None:
        """The run without constraints, then its clusters under the constraints."""
        job = self.job
        self.limits = limits_of(self.constraints, self.k)
        without = self._given or Run(self._job_without(), self.rng, self._saved_without).go()
        self._without = without.value  # the objective without constraints
        self.records, self.interrupted = list(without.records), without.interrupted
        state = self._matched(without.labels)
        job.listener.pass_begins()
        self._use(self._assigned(state if self.under.sample is None or self.interrupted else self._of_sample(state)))
        self.last = self._objective()
        self._first = len(self.records)
        moves = np.count_nonzero(self.state.labels != state.labels)
        self._record(int(moves), "assign", self.rows.n_active * self.k)
        try:
            self.stopped = self._told_to_stop() or self.interrupted
        except KeyboardInterrupt:  # the first labels are there
            self.interrupted = self.stopped = True

    @property
    def stop_rule(self) -> Stop:
        """See ``run.Run``."""
        return self.under.stop

    @property
    def engine_plan(self) -> EnginePlan:
        """See ``run.Run``."""
        return self.under.engine

    def _of_sample(self, state: ClusterState) -> ClusterState:
        """The centres of a sample under limits in proportion, as those of a state."""
        assert self.under.sample is not None
        assert self.constraints.limits is not None
        rows, listener = self.rows, OfSample(self.job.listener, "a sample under constraints")
        chosen = np.sort(self.rng.choice(rows.active, self.under.sample.rows, replace=False))
        share = len(chosen) / rows.n_active
        low, high = self.constraints.limits
        limits = Limits(np.floor(low * share), np.ceil(high * share))
        shape = replace(self.plan.shape, n=len(chosen))
        plan = replace(self.plan, shape=shape, constrained=self.under.sample.plan)
        small = gathered(rows, chosen)
        job = self.job._replace(rows=small, plan=plan, listener=listener, constraints=Constraints(limits))
        labels = state.labels[chosen]
        fill_empty(labels, small.active, self.k, self.rng)
        value = objective_value(self.plan.rule.objective, build_state(small, labels, self.k))
        without = EndedRun(labels, self.k, records=[], converged=True, value=value)
        run = ConstrainedRun(job, self.rng, without=without).go()
        self.prices, self.interrupted = run.prices, run.interrupted
        return run.state._replace(labels=state.labels)

    def _job_without(self) -> Job[Plan]:
        """The job of the run without constraints, which may take a part of the time."""
        job, budget = self.job, self.job.budget
        if np.isfinite(budget.run_seconds):
            now = time.perf_counter()
            share = FREE_SHARE * max(min(budget.deadline - now, budget.run_seconds), 0.0)
            budget = Budget(now + share, share)
        plan = replace(job.plan, constrained=None, polish=None, shape=replace(job.plan.shape, constraints=()))
        return job._replace(plan=plan, budget=budget, constraints=None, checkpoint=self._checkpoint)

    def go(self) -> ConstrainedRun:
        """Assignments, passes and trials, until a stop rule holds. Interrupted by Ctrl-C, it returns what it has."""
        try:
            self._assign_again()
            assigned = self._objective()
            self.settle(self.stop_rule.max_iter)
            self._search(to_gain=PASSES_GAIN * (assigned - self._objective()))
            if self.plan.polish is not None:
                self.polish()
        except KeyboardInterrupt:
            self.interrupted, self.converged = True, False
        self._engine = None
        return self

    # ------------------------------------------------------------------------------------ states
    def _matched(self, labels: np.ndarray) -> ClusterState:
        """The state of labels, under the numbers that suit the constraints."""
        state = build_state(self.rows, labels, self.k)
        return build_state(self.rows, matched_labels(self.rows, state, self.constraints), self.k)

    def _use(self, labels: np.ndarray) -> None:
        """Continue from these labels."""
        self._engine, self.state = None, build_state(self.rows, labels, self.k)
        if self.constraints.centres is not None:
            hold_centres(self.state, self.constraints.centres)

    def _sums(self) -> ClusterState:
        """The sums of the present labels, also of clusters whose centres do not move."""
        return self.state if self.constraints.centres is None else build_state(self.rows, self.state.labels, self.k)

    def _assigned(self, state: ClusterState) -> np.ndarray:
        """Labels that keep to the constraints, for the centres of a state."""
        if self.under.assignment == "moves":
            assert self.constraints.limits is not None
            return fit_into_limits(self.rows, state.labels, self.k, self.constraints.limits)
        labels, self.prices = constrained_labels(self.rows, state, self.plan.rule, self.constraints, self.prices)
        return labels

    # ------------------------------------------------------------------------------------ assignments, passes
    def _assign_again(self, to_beat: float = np.inf) -> None:
        """Assign the rows to the centres that the last assignment gave, as long as that helps.

        A trial has a value ``to_beat``: it ends when as much progress again and again would not reach it.
        """
        if self.under.assignment == "moves":
            return
        value = self._objective()
        for _ in range(MOST_ROUNDS):
            if self.stopped:
                return
            before = self.state.labels
            self.job.listener.pass_begins()
            try:
                self._use(self._assigned(self._sums()))
            except InfeasibleError:  # not with these weights and these centres
                return
            last, value = value, self._objective()
            if not value < last:
                self._use(before)
                return
            self._record(int(np.count_nonzero(self.state.labels != before)), "assign", self.rows.n_active * self.k)
            if self._told_to_stop() or last - value < self.under.round_gain * last:
                return
            if value - HOPEFUL * (last - value) > to_beat:
                return

    def _check(self, rule: Rule, engine: Engine, order: np.ndarray) -> invariants.PassCheck:
        """See ``run.Run``. A state with centres that stay is not that of its labels."""
        return super()._check(rule, engine, order) if self.constraints.centres is None else invariants.NoCheck()

    def _to_visit(self, order: np.ndarray) -> np.ndarray:
        """Rows that may move by themselves; an engine with lists visits whole clusters."""
        return order if self.engine_plan.name == "neighbors" else self.constraints.unlinked(order)

    def _after_visit(self, rule: Rule, engine: Engine, order: np.ndarray, moves: int) -> int:
        """Moves of rows that must not meet others, then exchanges and cycles."""
        rows, state, constraints = self.rows, self.state, self.constraints
        before, more = self._objective() if invariants.switched_on() else 0.0, 0
        if len(linked := constraints.linked(order)):
            more += self._undone_by_ctrl_c(lambda: visit_linked(rows, state, rule, constraints, self.limits, linked))
        if self._wants_exchanges(moves + more):
            more += self._undone_by_ctrl_c(lambda: self._exchange(rule, engine.lists()))
        if invariants.switched_on():
            renew_sums(rows, state)
            check_constraints(rows, state.labels, self.k, constraints)
            if constraints.centres is None:
                invariants.check_state(rows, state)
            assert not rule.monotone or self._objective() <= before * (1 + 1e-9), "exchanges raised the objective"
        return more

    def _wants_exchanges(self, moves: int) -> bool:
        limited = self.constraints.limits is not None
        wanted = (limited and self.under.cycles) or self.constraints.conflicts is not None
        return wanted and moves <= QUIET * self.rows.n_active

    def _exchange(self, rule: Rule, lists: np.ndarray | None) -> int:
        rows, state, constraints = self.rows, self.state, self.constraints
        deadline = self.job.budget.deadline
        if self.under.assignment != "exact":
            return exchange_pass(rows, state, rule, constraints, deadline, lists)
        moved = 0
        if constraints.limits is not None:
            moved, self.prices = cycle_pass(rows, state, rule, constraints, self.prices)
        if constraints.conflicts is not None:
            moved += exchange_pass(rows, state, rule, constraints, deadline)
        return moved

    def _undone_by_ctrl_c(self, work: Callable[[], int]) -> int:
        """Work in whose middle constraints may not hold."""
        before = self.state.labels.copy()
        try:
            return work()
        except KeyboardInterrupt:
            self.state.labels[:] = before
            raise

    def one_pass(self, rule: Rule, stage: str) -> None:
        """See ``run.Run``."""
        super().one_pass(rule, stage)
        if self.constraints.centres is not None:
            self._use(self.state.labels)

    # ------------------------------------------------------------------------------------ trials
    def _search(self, to_gain: float) -> None:
        """Trials, until several in a row have failed; passes may gain this much after the assignments of each."""
        if self._objective() > self._without * (1 + FAR):
            for _ in range(self.under.restarts):
                if not self.stopped:
                    self._trial(self._other_start(), to_gain)
        failures, left = 0, self.under.most_trials
        while failures < self.under.trials and left > 0 and not self.stopped:
            elsewhere = relocated(self.rows, self._sums(), self.plan.rule, self.constraints, self.rng)
            if elsewhere is None:
                return
            kept = self._trial(elsewhere, to_gain)
            failures, left = 0 if kept else failures + 1, left - 1

    def _other_start(self) -> ClusterState:
        """Clusters around random rows: there are more of these where rows are dense, which suits limited sizes."""
        task = StartTask(self.k, self.plan.rule, self.rng)
        return self._matched(first_labels(StartPlan("random-points"), self.rows, task))

    def _trial(self, elsewhere: ClusterState, to_gain: float) -> bool:
        """Continue from another state; undone unless the result is better. Leaves a record; returns whether it was."""
        before, value, prices, converged = self.state.labels, self._objective(), self.prices, self.converged
        records, job = len(self.records), self.job
        self.job = job._replace(listener=_OfTrial(job.listener))
        to_beat = value * (1 - LEAST_GAIN)
        try:
            self._use(self._assigned(elsewhere))
            self._assign_again(to_beat)
            if self._objective() - to_gain < to_beat:
                self._settle_below(to_beat)
            kept = self._objective() < to_beat and not self.interrupted
        except InfeasibleError:
            kept = False
        except KeyboardInterrupt:
            kept, self.interrupted = False, True
        self.job = job
        del self.records[records:]
        moves = int(np.count_nonzero(self.state.labels != before)) if kept else 0
        if not kept:
            self._use(before)
            self.prices, self.converged = prices, converged and not self.interrupted
        self._record(moves, "trial", self.rows.n_active * self.k, trials=1, kept=int(kept))
        self.stopped = self._told_to_stop() or self.interrupted
        return kept

    def _settle_below(self, to_beat: float) -> None:
        """Passes, as long as as much progress again and again would get below this value."""
        self.converged, value = False, np.inf
        while not (self.converged or self.stopped) and self._passes_left() > 0:
            self.settle(1)
            last, value = value, self._objective()
            if value - HOPEFUL * (last - value) > to_beat:
                return

    # ------------------------------------------------------------------------------------ records
    def _objective(self, name: str | None = None) -> float:
        """See ``run.Run``."""
        return objective_with(self.constraints.centres, name or self.plan.rule.objective, self._sums())

    def _sizes(self) -> np.ndarray:
        return self._sums().sizes

    def _passes_left(self) -> int:
        return self.stop_rule.max_iter - passes_of(self.records[self._first :])


class _OfTrial(Silence):
    """Listens to a trial on behalf of the run that makes it."""

    def __init__(self, outer: Listener) -> None:
        self.outer = outer

    def pass_ends(self, run: Any) -> bool:
        return self.outer.wants_to_stop()
