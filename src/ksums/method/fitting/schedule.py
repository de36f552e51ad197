"""How much annealing and search a run makes: as planned, or as much as there is time for.

A run asks its schedule and does not know which one it has. The numbers behind its decisions are in
``planning/timing.py``.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ksums.method.fitting.budget import Budget
from ksums.planning import timing
from ksums.planning.plan import Plan

if TYPE_CHECKING:
    from ksums.method.search.merge_split import MergeSplit


class Schedule:
    """Amounts of work as planned, so that a fit is the same each time."""

    def __init__(self, plan: Plan, budget: Budget, started: float) -> None:
        self.plan, self.budget, self.started = plan, budget, started
        self.list_length = plan.engine.options.get("length")
        """Length of the neighbour lists, if there are any."""

    def annealing_passes(self, planned: int, time_a_pass: Callable[[], tuple[float, int]]) -> int:
        """Annealing passes of a round. ``time_a_pass`` makes exact passes: what one takes, and how many are left."""
        return planned

    def relaxation(self, passes: int) -> float:
        """The relaxation at the start of a round of ``passes`` passes."""
        assert self.plan.annealing is not None
        start, slowly = self.plan.annealing.start, self.plan.annealing.passes_per_relaxation
        return min(start, 1.0 + passes / slowly) if slowly else start

    def annealing_passes_now(self, done: int, passes: int, took: float) -> int:
        """Annealing passes of the round in all, after ``done`` of them; the last one ``took`` so long."""
        return passes

    def search_end(self) -> float:
        """When the search must end."""
        return self.budget.end_of_run(self.started, timing.SHARE_FOR_SEARCH)

    def search_parts(
        self, search: MergeSplit, comparisons: float, begin: Callable[[], None]
    ) -> Iterator[tuple[int, int]]:
        """The search, part by part: trials made and kept. ``begin`` is called before each part."""
        assert self.plan.search is not None
        parts, heat, until = self.plan.search.records, self.plan.search.heat, self.search_end()
        for part in range(1, parts + 1):
            begin()
            yield search.run(comparisons * part / parts, comparisons, heat, until)
            if search.exhausted:
                return


class TimedSchedule(Schedule):
    """A limited time for annealing and search over all clusters."""

    def __init__(self, plan: Plan, budget: Budget, started: float) -> None:
        super().__init__(plan, budget, started)
        self._measured = False

    def annealing_passes_now(self, done: int, passes: int, took: float) -> int:
        """The first annealing pass shows how many there is time for."""
        if self._measured:
            return passes
        self._measured = True
        return timing.passes_before_search(passes, self.budget.run_seconds, took)

    def search_parts(
        self, search: MergeSplit, comparisons: float, begin: Callable[[], None]
    ) -> Iterator[tuple[int, int]]:
        """By the clock, if the effort is a time."""
        if not np.isinf(comparisons):
            yield from super().search_parts(search, comparisons, begin)
            return
        assert self.plan.search is not None
        parts, heat, until = self.plan.search.records, self.plan.search.heat, self.search_end()
        began = time.perf_counter()
        for part in range(1, parts + 1):
            begin()
            yield search.run_until(began + (until - began) * part / parts, began, until, heat)


class TimedListSchedule(Schedule):
    """A limited time for annealing with neighbour lists, and longer lists where there is time for them."""

    def __init__(self, plan: Plan, budget: Budget, started: float) -> None:
        super().__init__(plan, budget, started)
        self._most, self._per_pass = 0, 0.0

    def annealing_passes(self, planned: int, time_a_pass: Callable[[], tuple[float, int]]) -> int:
        """What a pass takes is measured first; that also makes the lists and reads the rows for the first time."""
        if not planned:
            return 0
        self._per_pass, passes_left = time_a_pass()
        self._most = min(planned, passes_left)
        left, length = self._left(), self.list_length
        assert length is not None
        if self.plan.longer_lists:
            longer = timing.longer_list(length, self.plan.k, left, self._per_pass)
            self._per_pass *= timing.cost_of_length(longer, length)
            self.list_length = longer
        return timing.passes_with_lists(self._most, left, self._per_pass)

    def annealing_passes_now(self, done: int, passes: int, took: float) -> int:
        """Hot passes take longer than cool ones, and those that make lists longer than others: take a running mean."""
        self._per_pass += (took - self._per_pass) / 3
        return timing.more_passes_with_lists(done, self._most, self._left(), self._per_pass)

    def _left(self) -> float:
        seconds = self.budget.end_of_run(self.started) - self.started
        return timing.time_for_lists(seconds, time.perf_counter() - self.started)


def schedule_for(plan: Plan, budget: Budget, started: float) -> Schedule:
    """The schedule of a run that ``started`` then."""
    if not timing.is_limited(budget.run_seconds):
        return Schedule(plan, budget, started)
    kind = TimedListSchedule if plan.engine.name == "neighbors" else TimedSchedule
    return kind(plan, budget, started)
