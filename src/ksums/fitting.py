"""A fit: runs from several starts, each with annealing, search and passes as planned; the best is kept."""

from __future__ import annotations

import time

import numpy as np

from ksums.course import RECORDS_OF_SEARCH, Course
from ksums.list_course import ListCourse
from ksums.plan import Listener, Plan, Run
from ksums.rows import Rows

_BEFORE_SEARCH = 3  # passes at p = 1: the search begins near an optimum, and the passes after it end in one


def most_records(max_iter: int, search: bool, polish: bool) -> int:
    """The most records that a run can leave."""
    return max_iter + (RECORDS_OF_SEARCH if search else 0) + int(polish)


def fit(rows: Rows, plan: Plan, seeds: list[int], listener: Listener) -> Run:
    """The best of several runs. After the deadline, or after Ctrl-C, no other is started."""
    best: Run | None = None
    for seed in seeds:
        try:
            listener.run_begins()
            run = fit_once(rows, plan, np.random.default_rng(seed), listener)
            if best is None or run.best < best.best:
                best = run
            stop = listener.run_ends()
        except KeyboardInterrupt:  # before there was a first state
            if best is None:
                raise
            best.interrupted = True
            break
        to_begin = run.records[0].seconds if run.records else 0.0  # what a start takes is not cut short
        if stop or run.interrupted or time.perf_counter() + to_begin > plan.deadline:
            best.interrupted |= run.interrupted
            break
    assert best is not None
    return best


def fit_once(rows: Rows, plan: Plan, rng: np.random.Generator, listener: Listener) -> Run:
    """From first labels: annealing and search where planned, and Algorithm 1, pass after pass, until a stop rule holds.

    Interrupted by Ctrl-C, it returns what it has.
    """
    lists = plan.effort is not None and plan.effort.lists > 0
    course = (ListCourse if lists else Course)(rows, plan, rng, listener)
    try:
        for annealing, comparisons in course.rounds():
            if plan.annealed is not None:
                course.anneal(plan.annealed, annealing)
            if plan.search:
                course.settle(_BEFORE_SEARCH)
                course.search(comparisons)
        course.settle(plan.max_iter)
        if isinstance(course, ListCourse):
            course.polish()
    except KeyboardInterrupt:
        course.run.interrupted, course.run.converged = True, False
    return course.run
