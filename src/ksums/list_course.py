"""One run under way in which samples look at the nearest clusters only: how long the lists are, how long it anneals."""

from __future__ import annotations

import time

import numpy as np

from ksums.annealing import Annealed
from ksums.course import Course
from ksums.drivers import Driver
from ksums.effort import LONGER_LISTS
from ksums.engines import Engine, ListingEngine, exact_engine, nearest_centres
from ksums.exchange import exchange_pass
from ksums.history import passes_of
from ksums.plan import Listener, Plan
from ksums.rows import Rows
from ksums.seeding import centres_of, fill_empty
from ksums.state import Limits

_LEAST_START = 4.0  # relaxation to start with, where there are passes enough to let it fall
_PASSES_PER_RELAXATION = 2  # at least, that it takes to fall by 1
_FEWEST = 6  # passes: fewer of annealing are worse than none
_SHARE_OF_TIME = 0.9  # that annealing may take; the rest is for the passes after it
_BESIDE = 60  # what a pass takes besides comparing a sample with those in its list, in such comparisons
_QUIET = 0.01  # of the samples: exchanges are looked for when no more than these move by themselves


class ListCourse(Course):
    """See ``course.Course``."""

    def __init__(self, rows: Rows, plan: Plan, rng: np.random.Generator, listener: Listener) -> None:
        super().__init__(rows, plan, rng, listener)
        assert plan.effort is not None
        self.effort, self.length = plan.effort, plan.effort.lists
        self.most, self.each = 0, 0.0  # passes of annealing, and seconds that one takes

    def _make_engine(self, driver: Driver) -> Engine:
        engine = super()._make_engine(driver)
        assert isinstance(engine, ListingEngine)
        engine.lengthen(self.length)
        return engine

    # ------------------------------------------------------------------------------------ annealing
    def _schedule(self, annealed: Annealed, passes: int) -> tuple[int, float]:
        """Where time is limited, what a pass takes is measured first."""
        if passes and np.isfinite(self.effort.seconds):
            self.settle(1)  # makes the lists, and reads the rows for the first time
            began = time.perf_counter()
            self.settle(1)
            passes = min(passes, self.plan.max_iter - passes_of(self.run.records))
            self.most, self.each = passes, time.perf_counter() - began
            passes = self._plan()
        start = annealed.start_for(len(self.rows.pulling) / self.plan.k, least=_LEAST_START)
        if annealed.start is None:
            start = min(start, 1.0 + passes / _PASSES_PER_RELAXATION)
        return passes, start

    def _left(self) -> float:
        """Seconds left for annealing."""
        until = min(self.plan.deadline, self.started + self.effort.seconds)
        return _SHARE_OF_TIME * (until - self.started) - (time.perf_counter() - self.started)

    def _plan(self) -> int:
        """How many passes there is time for, with longer lists if that suits."""
        left, length = self._left(), self.length
        if self.effort.timed_lists:
            for longer, fewest in LONGER_LISTS:
                if longer < 2 * self.plan.k and left >= fewest * self.each * (_BESIDE + longer) / (
                    _BESIDE + self.length
                ):
                    length = longer
        if length != self.length:
            self.each *= (_BESIDE + length) / (_BESIDE + self.length)
            self.length = length
            assert isinstance(self.engine, ListingEngine)
            self.engine.lengthen(length)
        affordable = int(left / self.each)
        return min(self.most, affordable) if affordable >= _FEWEST else 0

    def _replan(self, done: int, passes: int, took: float) -> int:
        """Hot passes take longer than cool ones, and those that make lists longer than others: the mean counts."""
        if np.isinf(self.effort.seconds):
            return passes
        self.each += (took - self.each) / 3
        return min(self.most, done + max(0, int(self._left() / self.each)))

    # ------------------------------------------------------------------------------------ size limits
    def _exchange(self, driver: Driver, limits: Limits, moves: int) -> int:
        """They cost more than a pass: only when few samples move by themselves."""
        if moves > _QUIET * len(self.rows.pulling):
            return 0
        assert isinstance(self.engine, ListingEngine)
        return exchange_pass(self.rows, self.run.state, driver, limits, self.plan.deadline, self.engine.lists())

    # ------------------------------------------------------------------------------------ the last check
    def polish(self) -> None:
        """A last look at all clusters, if that is wanted."""
        plan, run = self.plan, self.run
        if plan.polish is None or self.stopped:
            return
        if plan.polish == "pass":
            converged = run.converged
            self.engine = exact_engine(self.rows, run.state, plan.driver, self.limits, plan.n_threads)
            self._pass(plan.driver, "polish")
            run.converged = converged and not self.stopped
            return
        self.listener.pass_begins()
        moves = self._take(self._assigned())
        self._record(moves, "polish", comparisons=len(self.rows.pulling) * plan.k)
        self._told_to_stop()

    def _assigned(self) -> np.ndarray:
        """The nearest centre for each sample."""
        state, labels = self.run.state, self.run.state.labels.copy()
        centres, sq_centres = centres_of(state.composites, state.sizes, self.rows.cosine)
        pulling = self.rows.pulling
        labels[pulling] = nearest_centres(self.rows, pulling, centres, sq_centres, self.plan.n_threads)
        fill_empty(labels, pulling, self.plan.k, self.rng)
        return labels
