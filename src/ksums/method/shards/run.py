"""A fit of data in blocks, from the sample to the last round."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from ksums.method.fitting.budget import Budget
from ksums.method.fitting.checkpoint import CheckpointFile
from ksums.method.fitting.job import Job
from ksums.method.fitting.listener import Listener, OfSample
from ksums.method.fitting.records import PassRecord
from ksums.method.shards import checkpoint
from ksums.method.shards.blocks import Blocks
from ksums.method.shards.rounds import Rounds, Standing, first_standing
from ksums.method.shards.start import centres_of_sample
from ksums.method.shards.sums import clusters_of
from ksums.planning.plan import ShardPlan
from ksums.rules.objectives import objective_value

_MANY_ROUNDS = 1000
"""If as many rounds as that may follow, nobody knows how many it will be."""


class ShardJob(NamedTuple):
    """What a fit of blocks is handed."""

    blocks: Blocks
    plan: ShardPlan
    listener: Listener
    budget: Budget
    seed: int
    checkpoint: CheckpointFile | None = None


class ShardRun:
    """One fit under way."""

    def __init__(self, job: ShardJob) -> None:
        self.job, self.blocks, self.plan = job, job.blocks, job.plan
        self.started = time.perf_counter()
        self.records: list[PassRecord] = []
        self.converged = self.interrupted = self.stopped = False
        self.k = job.plan.k
        self._saved = 0  # records in the checkpoint

    @property
    def labels(self) -> Any:
        return self.blocks.labels

    def go(self) -> ShardRun:
        """First labels, or those of the checkpoint; then round after round."""
        resumed = None if self.job.checkpoint is None else checkpoint.load(self.job.checkpoint, self.blocks)
        if resumed is None:
            standing = self._begin()
        else:
            standing, self.records = resumed
            self.started -= self.records[-1].seconds
            self._saved = len(self.records)
        self.rounds = Rounds(self.blocks, self.blocks.frame, self.plan, self.job.seed, standing)
        if resumed is None:
            self._record("samples", 0, self.blocks.frame.n * self.k)
        try:
            while not self._is_over():
                self._round()
        except KeyboardInterrupt:  # the labels of the last whole round
            self.rounds.recover()
            self.interrupted = True
        self._save()
        return self

    def _begin(self) -> Standing:
        """Cluster a sample, and give each row the nearest of its centres."""
        job, plan = self.job, self.plan
        job.listener.pass_begins()
        job.listener.show("reading a sample")
        X, weights = self.blocks.sample(plan.sample.shape.n, job.seed)
        rows = self.blocks.frame.rows(X, weights)
        budget = Budget(job.budget.deadline, plan.sample.seconds)
        centres, stopped = centres_of_sample(
            Job(rows, plan.sample, OfSample(job.listener, "clustering a sample"), budget), job.seed
        )
        if stopped:  # there is no first state yet
            raise KeyboardInterrupt
        job.listener.show("assigning all rows")
        return first_standing(self.blocks, self.blocks.assign(centres), self.blocks.frame, plan)

    def _is_over(self) -> bool:
        """Whether all rounds are done, or the last one gained little, or time is up, or somebody said stop."""
        if self.stopped or self.job.budget.is_over():
            return True
        done = self.rounds.standing.round - len(self.plan.relaxations)
        if done >= self.plan.settling:
            return True
        exact = [record for record in self.records if record.stage == "pass"]
        if exact and exact[-1].moves == 0:
            self.converged = True
        elif len(exact) > 1:
            before, now = exact[-2].objective, exact[-1].objective
            self.converged = before - now <= self.plan.tol * before
        return self.converged

    def _round(self) -> None:
        self.job.listener.pass_begins()
        self.blocks.show = self._progress()
        done = self.rounds.round()
        stage = "annealing" if done.relaxation > 1.0 else "pass"
        self._record(stage, done.moves, done.comparisons, done.relaxation)

    def _progress(self) -> Callable[[int], None]:
        """Shows how far a round is, how fast, and what is left if all rounds are made."""
        at, most = self.rounds.standing.round + 1, len(self.plan.relaxations) + self.plan.settling
        began, count = time.perf_counter(), self.blocks.count

        def show(done: int) -> None:
            took = (time.perf_counter() - began) / done  # by a block
            speed = self.blocks.frame.n / count / max(took, 1e-9)
            words = f"round {at}, block {done} of {count}, {speed:,.0f} rows/s, {took * (count - done):.0f} s left"
            if most < _MANY_ROUNDS:
                words += f" in this round, {took * (count - done + count * (most - at)):.0f} s in all, at most"
            self.job.listener.show(words)

        return show

    def _save(self) -> None:
        """Write the checkpoint, if it does not hold the last round already."""
        if self.job.checkpoint is not None and len(self.records) > self._saved:
            records = self.records[: self.rounds.standing.round + 1]  # after Ctrl-C the last one may be missing
            checkpoint.save(self.job.checkpoint, self.rounds.standing, records, self.blocks)
            self._saved = len(self.records)

    def _record(self, stage: str, moves: int, comparisons: int, relaxation: float = 1.0) -> None:
        """Leave a record; then the checkpoint, and whoever listens."""
        standing, frame = self.rounds.standing, self.blocks.frame
        state = clusters_of(standing.sums, frame.units)
        unit = 1.0 if frame.cosine else frame.scale**-2.0
        self.records.append(
            PassRecord(
                index=len(self.records) + 1,
                stage=stage,
                objective=standing.value * unit,
                distortion=objective_value("distortion", state) * unit,
                pairwise=objective_value("pairwise", state) * unit,
                moves=moves,
                comparisons=comparisons,
                relaxation=relaxation,
                smallest=float(state.sizes.min()),
                largest=float(state.sizes.max()),
                seconds=time.perf_counter() - self.started,
            )
        )
        if self.job.checkpoint is not None and self.job.checkpoint.is_due():
            self._save()
        self.stopped = self.job.listener.pass_ends(self)
