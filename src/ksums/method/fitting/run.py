"""One run under way: first labels, then annealing, search and passes as planned; it keeps the best it finds."""

from __future__ import annotations

import time
from collections import deque

import numpy as np

from ksums.method.data.centres import centres_of
from ksums.method.engines.protocol import Engine, make_engine
from ksums.method.fitting.job import Job
from ksums.method.fitting.records import PassRecord, passes_of
from ksums.method.fitting.resuming import SavedRun
from ksums.method.fitting.samples import SampleSearch
from ksums.method.fitting.schedule import schedule_for
from ksums.method.fitting.stopping import Best, has_settled
from ksums.method.nearest.centres import nearest_centres
from ksums.method.search.ahead import wait_for_search
from ksums.method.starts.first_labels import StartTask, fill_empty, first_labels
from ksums.method.state import invariants
from ksums.method.state.limits import no_limits
from ksums.method.state.state import build_state, renew_sums
from ksums.planning.plan import EnginePlan, Plan, Stop
from ksums.rules.annealing import relaxations, relaxed
from ksums.rules.kinds import Rule
from ksums.rules.objectives import objective_value

_DRIFTED = 1e-5
"""A search that believes to be lower than its labels are, by this share, has drifted by rounding and ends."""


class Run:
    """One run from one start."""

    def __init__(self, job: Job[Plan], rng: np.random.Generator, saved: SavedRun | None = None) -> None:
        self.started = time.perf_counter()
        self.job, self.rows, self.plan, self.rng = job, job.rows, job.plan, rng
        self.records: list[PassRecord] = []
        self.search_ends: list[int] = []  # how many records there were at the end of each search
        self._saved, self._to_replay = saved, deque[PassRecord]() if saved is None else saved.records()
        self.converged = self.interrupted = self.stopped = False
        self.schedule, self.best = schedule_for(job.plan, job.budget, self.started), Best()
        self.limits = no_limits(self.k)
        self._engine: Engine | None = None  # for the present state; made when it is needed
        self._settling_from = 0  # the record with which the present exact passes began
        if saved is not None:
            self.started -= self._to_replay[-1].seconds
            job.listener.show(f"resuming after {len(self._to_replay)} records of the checkpoint")
            if self._to_replay[0].stage == "samples":
                self._replay()
            return
        self._start()
        self.last = self._objective()  # of the record before
        self.best.update(self.last, self.state.labels, steady=self.plan.rule.steady and self.plan.annealing is None)

    def _start(self) -> None:
        """The first state."""
        job, plan = self.job, self.plan
        if plan.samples is None:
            deadline = job.budget.end_of_run(self.started)
            task = StartTask(self.k, plan.rule, self.rng, job.given, deadline)
            self.state = build_state(self.rows, first_labels(plan.start, self.rows, task), self.k)
            return
        job.listener.pass_begins()
        start = SampleSearch(job, self.rng, _run_on).start()
        self._engine, self.state, self.interrupted = start.engine, start.engine.state, start.interrupted
        self.last = self._objective()
        self._record(0, "samples", start.comparisons)
        self.stopped = self._told_to_stop() or self.interrupted
        if job.checkpoint is not None and not self.interrupted:
            job.checkpoint.save(self)  # whatever it takes, the searches took longer

    @property
    def k(self) -> int:
        return self.plan.k

    @property
    def stop_rule(self) -> Stop:
        """When the exact passes end."""
        return self.plan.stop

    @property
    def engine_plan(self) -> EnginePlan:
        """Which engine makes the passes."""
        return self.plan.engine

    @property
    def labels(self) -> np.ndarray:
        """The best labels so far."""
        return self.state.labels if self.best.labels is None else self.best.labels

    @property
    def value(self) -> float:
        """The lowest objective so far."""
        return self.best.value

    def go(self) -> Run:
        """Algorithm 1, pass after pass, until a stop rule holds; annealing and search come first where planned.

        Interrupted by Ctrl-C, it returns with what it has.
        """
        plan = self.plan
        try:
            for work in plan.rounds:
                if plan.annealing is not None:
                    self.anneal(work.annealing)
                if plan.search is not None:
                    self.settle(plan.search.passes_before)
                    self.search(work.comparisons)
            self.settle(self.stop_rule.max_iter)
            if plan.polish is not None:
                self.polish()
        except KeyboardInterrupt:
            self.interrupted, self.converged = True, False
        self._engine = None  # it may hold a copy of the rows
        return self

    # ------------------------------------------------------------------------------------ annealing
    def anneal(self, until: int) -> None:
        """Passes with falling relaxation until there are ``until`` in all; then continue from the best state seen."""
        already = sum(record.stage == "annealing" for record in self.records)
        planned = max(0, min(until - already, self._passes_left()))
        length, passes = self.schedule.list_length, self.schedule.annealing_passes(planned, self._time_a_pass)
        if self._engine is not None and self.schedule.list_length not in (None, length):
            self._engine.use_lists(self.schedule.list_length)
        start, done, self.converged = self.schedule.relaxation(passes), 0, False
        if not self._to_replay:
            self.best.labels = self.labels.copy()
        while done < passes and not self.stopped:
            began = time.perf_counter()
            relaxation = relaxations(start, passes)[done]
            self.one_pass(relaxed(self.plan.rule, relaxation, self.rows.heaviest), "annealing")
            done += 1
            if self.records[-1].moves == 0:  # nor would any sample move at a lower relaxation
                break
            passes = self.schedule.annealing_passes_now(done, passes, time.perf_counter() - began)
        if self.stopped or self._to_replay:
            return
        if self.best.labels is not None and self.best.value < self._objective():
            self.state, self._engine = build_state(self.rows, self.best.labels, self.k), None
        self.best.labels = None  # from here on the last state is the best

    def _time_a_pass(self) -> tuple[float, int]:
        """Two exact passes; returns what the second one took, and how many passes are left."""
        self.settle(1)
        began = time.perf_counter()
        self.settle(1)
        return time.perf_counter() - began, self._passes_left()

    # ------------------------------------------------------------------------------------ search
    def search(self, comparisons: float) -> None:
        """Merge–split trials, as many as the schedule allows; their result is taken if it is better."""
        if self._replay_search():
            return
        from ksums.method.search.merge_split import MergeSplit  # Numba is loaded by the first fit, not by the import

        trivial = self.k in (1, self.rows.n_active) or self.best.value <= 0
        if self.stopped or trivial or time.perf_counter() >= self.schedule.search_end():
            self.search_ends.append(len(self.records))
            return
        self.converged = False
        wait_for_search(self.rows.dtype)
        search = MergeSplit(self.rows, self.state, self.rng, self.job.listener.wants_to_stop)
        try:
            before = search.comparisons
            for trials, kept in self.schedule.search_parts(search, comparisons, self.job.listener.pass_begins):
                moves = self._take(search.labels())
                self._record(moves, "merge-split", search.comparisons - before, trials=trials, kept=kept)
                before = search.comparisons
                if self._told_to_stop() or search.distortion + self.rows.inner_distortion < self.best.value * (
                    1.0 - _DRIFTED
                ):
                    break
        except KeyboardInterrupt:
            self._take(search.labels())
            raise
        self.search_ends.append(len(self.records))
        if self.job.checkpoint is not None and not self.stopped:
            self.job.checkpoint.after_pass(self)

    def _take(self, labels: np.ndarray) -> int:
        """Continue from these labels if they are better; returns how many rows they move."""
        moves = int(np.count_nonzero(labels != self.state.labels))
        if not moves:
            return 0
        state = build_state(self.rows, labels, self.k)
        value = objective_value(self.plan.rule.objective, state)
        if not value < self.best.value:
            return 0
        if invariants.switched_on():
            invariants.check_state(self.rows, state)
        self.state, self._engine = state, None
        self.best.value, self.best.labels = value, None
        return moves

    # ------------------------------------------------------------------------------------ passes
    def settle(self, most: int) -> None:
        """Passes of the plan's rule, until no sample moves, ``most`` are made, or another stop rule holds."""
        self._settling_from = len(self.records)
        while self._passes_left() > 0 and len(self.records) - self._settling_from < most:
            if self.stopped:
                return
            self.one_pass(self.plan.rule, "pass")
            if self.converged:
                return

    def one_pass(self, rule: Rule, stage: str) -> None:
        """One pass: each sample once in random order. Leaves a record."""
        if self._replay():
            self.converged = stage == "pass" and (self.records[-1].moves == 0 or self._has_settled())
            return
        job = self.job
        job.listener.pass_begins()
        engine = self._engine_for(rule)
        order = engine.draw_order(self.rng)
        check = self._check(rule, engine, order)
        moves, whole = 0, True
        try:
            for moved in engine.visit(self._to_visit(order)):
                moves += moved
                if job.budget.is_over():
                    whole = False
                    break
            else:
                renew_sums(self.rows, self.state)
                check.after_visit(engine.each_move_gains)
                moves += self._after_visit(rule, engine, order, moves)
                whole = not job.budget.is_over()
        except KeyboardInterrupt:  # the labels are consistent at any time; the sums perhaps not
            self.state = build_state(self.rows, self.state.labels, self.k)
            self.interrupted = self.stopped = True
        renew_sums(self.rows, self.state)
        self._record(moves, stage, engine.comparisons, relaxation=rule.p if stage == "annealing" else 1.0)
        if self.interrupted:
            self.converged = False
            return
        self.converged = stage == "pass" and whole and (moves == 0 or self._has_settled())
        self._told_to_stop()
        if job.checkpoint is not None and whole:
            job.checkpoint.after_pass(self, last=self.stopped)

    def _check(self, rule: Rule, engine: Engine, order: np.ndarray) -> invariants.PassCheck:
        """The checks of a pass, if they are switched on. Under E_s, engines do not know the scatter inside a row."""
        if self.rows.inner is not None and rule.objective == "pairwise":
            return invariants.NoCheck()
        return invariants.PassCheck(self.rows, self.state, rule, lambda: engine.visiting_order(order))

    def _to_visit(self, order: np.ndarray) -> np.ndarray:
        """What the engine visits of a random order."""
        return order

    def _after_visit(self, rule: Rule, engine: Engine, order: np.ndarray, moves: int) -> int:
        """What a pass does after single moves; returns further moves."""
        return 0

    def _engine_for(self, rule: Rule) -> Engine:
        """The engine of the present state, with this rule."""
        if self._engine is None:
            options = dict(self.engine_plan.options)
            if self.schedule.list_length is not None and "length" in options:
                options["length"] = self.schedule.list_length
            self._engine = make_engine(self.engine_plan.name, self.rows, self.state, rule, self.limits, **options)
        elif self._engine.rule != rule:
            self._engine.use_rule(rule)
        return self._engine

    # ------------------------------------------------------------------------------------ the last check
    def polish(self) -> None:
        """A last check of all clusters."""
        if self.stopped:
            return
        if self.plan.polish == "pass":
            converged = self.converged
            if not self._to_replay:
                self._engine = make_engine("exact", self.rows, self.state, self.plan.rule, self.limits)
            self.one_pass(self.plan.rule, "polish")
            self.converged = converged and not self.stopped
            return
        if self._replay():
            return
        self.job.listener.pass_begins()
        moves = self._take(self._nearest())
        self._record(moves, "polish", comparisons=self.rows.n_active * self.k)
        self._told_to_stop()

    def _nearest(self) -> np.ndarray:
        """The nearest centre for each sample."""
        labels, active = self.state.labels.copy(), self.rows.active
        centres = centres_of(self.state.composites, self.state.sizes, self.rows.cosine)
        labels[active] = nearest_centres(self.rows, active, centres)
        fill_empty(labels, active, self.k, self.rng)
        return labels

    # ------------------------------------------------------------------------------------ resuming
    def engine_memory(self) -> dict[str, np.ndarray]:
        """What the engine remembers from pass to pass and labels depend on."""
        return {} if self._engine is None else self._engine.memory()

    def _replay(self) -> bool:
        """Take the next record from the checkpoint, and with the last one the state; False if there are none left."""
        if not self._to_replay:
            return False
        self.records.append(self._to_replay.popleft())
        if not self._to_replay:
            self._restore()
        return True

    def _replay_search(self) -> bool:
        """The same for all records of a search."""
        if not self._to_replay:
            return False
        assert self._saved is not None
        end = self._saved.about["search_ends"][len(self.search_ends)]
        while len(self.records) < end:
            self._replay()
        self.search_ends.append(end)
        self.converged = False
        return True

    def _restore(self) -> None:
        assert self._saved is not None
        about, self.state = self._saved.about, self._saved.state()
        self.rng.bit_generator.state = about["rng"]
        self.best.value, self.best.labels, self.last = about["value"], self._saved.arrays.get("best"), about["last"]
        self.schedule.list_length = about["list_length"]
        if memory := self._saved.engine():
            self._engine_for(self.plan.rule).remember(memory)
        self._saved = None

    # ------------------------------------------------------------------------------------ records
    def _objective(self, name: str | None = None) -> float:
        """The objective of the plan, or the one of this name."""
        return objective_value(name or self.plan.rule.objective, self.state)

    def _sizes(self) -> np.ndarray:
        return self.state.sizes

    def _passes_left(self) -> int:
        return self.stop_rule.max_iter - passes_of(self.records)

    def _has_settled(self) -> bool:
        values = [record.objective for record in self.records[self._settling_from :]]
        if len(values) <= self.stop_rule.exact_passes:
            return False
        return has_settled(values, self.stop_rule.tol, self.plan.rule.patience)

    def _told_to_stop(self) -> bool:
        self.stopped = self.job.listener.pass_ends(self) or self.job.budget.is_over()
        return self.stopped

    def _record(
        self, moves: int, stage: str, comparisons: int, relaxation: float = 1.0, trials: int = 0, kept: int = 0
    ) -> None:
        unit, sizes, objective = self.rows.sq_unit, self._sizes(), self._objective()
        gain = self.last - objective if stage == "merge-split" else 0.0
        self.last = objective
        self.records.append(
            PassRecord(
                index=len(self.records) + 1,
                stage=stage,
                objective=objective * unit,
                distortion=self._objective("distortion") * unit,
                pairwise=self._objective("pairwise") * unit,
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
        self.best.update(objective, self.state.labels, steady=self.plan.rule.steady and stage != "annealing")


def _run_on(job: Job[Plan], rng: np.random.Generator) -> Run:
    return Run(job, rng).go()
