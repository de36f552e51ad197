"""Runs of clusterings that are not made of rows and centres: annealing passes, exact passes, merge–split search."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Generic, NamedTuple

import numpy as np

from ksums.method.fitting.budget import Budget
from ksums.method.fitting.listener import Listener
from ksums.method.fitting.records import PassRecord, passes_of
from ksums.method.fitting.stopping import Best, has_settled
from ksums.method.search.partitions import LEAST_GAIN, AnyPartition, merge_split
from ksums.planning.plan import PartitionPlan

_HOPE = 10.0
"""A trial is given up if ten times the fall of its last pass would not make it better: falls get smaller."""


class PartitionJob(NamedTuple, Generic[AnyPartition]):
    """What such a fit is handed."""

    start: Callable[[np.random.Generator], AnyPartition]
    """Makes the first labels."""
    plan: PartitionPlan
    listener: Listener
    budget: Budget = Budget()


class InterruptedStart(KeyboardInterrupt):
    """Ctrl-C while the first labels were made; the ones found so far are a start nevertheless."""

    def __init__(self, partition: Any) -> None:
        super().__init__()
        self.partition = partition


class PartitionRun(Generic[AnyPartition]):
    """One run under way."""

    def __init__(self, job: PartitionJob[AnyPartition], seed: int) -> None:
        self.job, self.plan, self.k = job, job.plan, job.plan.k
        self.rng = np.random.default_rng(seed)
        self.started = time.perf_counter()
        self.records: list[PassRecord] = []
        self.converged = self.interrupted = self.stopped = False
        self._best = Best()
        try:
            self.partition = job.start(self.rng)
        except InterruptedStart as interrupted:
            self.partition, self.interrupted = interrupted.partition, True

    @property
    def labels(self) -> np.ndarray:
        """The best labels."""
        return self.partition.labels if self._best.labels is None else self._best.labels

    @property
    def value(self) -> float:
        """The lowest objective."""
        return self._best.value

    def go(self) -> PartitionRun[AnyPartition]:
        """All that the plan says."""
        if self.interrupted:
            self._best.update(self.partition.measures().objective, self.partition.labels, True)
            return self
        try:
            for relaxation in self.plan.relaxations:
                if self.stopped or passes_of(self.records) >= self.plan.max_iter:
                    return self
                self._pass("annealing", relaxation)
            self._settle()
            if self.plan.failures and self.k > 1 and not self.stopped:
                self._search()
                if not self.stopped:
                    self._settle()
        except KeyboardInterrupt:  # between two passes or trials, so labels and sums agree
            self.interrupted = True
        return self

    def _settle(self) -> None:
        """Exact passes until nothing moves, or until they gain little."""
        self.converged = False
        values: list[float] = []
        while not self.stopped and passes_of(self.records) < self.plan.max_iter:
            moves = self._pass("pass", 1.0)
            values.append(self.records[-1].objective)
            self.converged = moves == 0 or has_settled(values, self.plan.tol, 1)
            if self.converged:
                return

    def _pass(self, stage: str, relaxation: float) -> int:
        self.job.listener.pass_begins()
        moves = self.partition.visit(self.rng.permutation(len(self.partition.labels)), relaxation)
        self._record(stage, moves, comparisons=len(self.partition.labels) * self.k, relaxation=relaxation)
        return moves

    def _search(self) -> None:
        """Merge–split trials, in one record."""
        self.job.listener.pass_begins()
        rows = np.arange(len(self.partition.labels))
        comparisons = 0

        def settle(trial: AnyPartition) -> int:
            nonlocal comparisons
            best, moves, value = self.partition.measures().objective, 0, np.inf
            for _ in range(self.plan.passes_of_trial):
                moved, before = trial.visit(rows, 1.0), value
                value = trial.measures().objective
                moves += moved
                comparisons += len(rows) * self.k
                if not moved or value - _HOPE * (before - value) > best:
                    break
            return moves

        def keep(partition: AnyPartition) -> None:
            self.partition = partition
            self.job.listener.show(f"merge-split, objective {partition.measures().objective:.6g}")

        def is_over() -> bool:  # passes may take longer than their run's share of the time, a search may not
            late = time.perf_counter() > self.job.budget.end_of_run(self.started)
            return late or self.job.listener.wants_to_stop()

        found = merge_split(self.partition, self.plan.failures, self.rng, settle, keep, is_over)
        trials = {"trials": found.made, "kept": found.kept, "gain": found.gain}
        self._record("merge-split", found.moves, comparisons=comparisons, **trials)

    def _record(self, stage: str, moves: int, **more: Any) -> None:
        """Leave a record, remember the best labels, and tell whoever listens."""
        measures, sizes = self.partition.measures(), self.partition.sizes
        steady = stage != "annealing"
        self._best.update(measures.objective, self.partition.labels, steady)
        self.records.append(
            PassRecord(
                index=len(self.records) + 1,
                objective=measures.objective,
                distortion=measures.distortion,
                pairwise=measures.pairwise,
                moves=moves,
                smallest=float(sizes.min()),
                largest=float(sizes.max()),
                seconds=time.perf_counter() - self.started,
                stage=stage,
                **more,
            )
        )
        self.stopped = self.job.listener.pass_ends(self) or self.job.budget.is_over()


def fit_partition(job: PartitionJob[AnyPartition], seeds: list[int]) -> PartitionRun[AnyPartition]:
    """The best of several runs, one for each seed. After the deadline, or after Ctrl-C, no further run starts."""
    best: PartitionRun[AnyPartition] | None = None
    for seed in seeds:
        try:
            job.listener.run_begins()
            run = PartitionRun(job, seed).go()
        except KeyboardInterrupt:  # before there was a first state
            if best is None:
                raise
            best.interrupted = True
            break
        if best is None or run.value < best.value - LEAST_GAIN * abs(best.value):
            best = run
        stop = job.listener.run_ends()
        if stop or run.interrupted or job.budget.is_over():
            best.interrupted |= run.interrupted
            break
    assert best is not None
    return best
