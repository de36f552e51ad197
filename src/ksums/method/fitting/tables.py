"""Runs over the cells of a table: where their first labels come from."""

from __future__ import annotations

import time

import numpy as np

from ksums.method.cells.cells import CellCentres, Cells
from ksums.method.cells.partition import CellPartition
from ksums.method.cells.starts import distances, seeded_labels, without_empty
from ksums.method.cells.sums import centres_of
from ksums.method.data.rows import prepare
from ksums.method.fitting.budget import Budget
from ksums.method.fitting.fit import fit
from ksums.method.fitting.job import Job
from ksums.method.fitting.listener import Listener, OfSample
from ksums.method.fitting.partitions import InterruptedStart, PartitionJob, PartitionRun, fit_partition
from ksums.planning.plan import PartitionPlan, Plan

_TIME_OF_START = 0.6
"""The share of a limited time that the search for a start gets: passes over all rows must follow."""

_BLOCK = 1 << 16
"""Rows whose distances to all centres are held at a time."""


def fit_cells(
    cells: Cells,
    plan: PartitionPlan,
    listener: Listener,
    budget: Budget,
    seeds: list[int],
    engine: str = "exact",
    given: np.ndarray | None = None,  # (n,)  labels to start from
) -> PartitionRun[CellPartition]:
    """The best of several runs over a table."""

    first = True

    def start(rng: np.random.Generator) -> CellPartition:
        nonlocal first
        interrupted = False
        if given is not None:
            labels = without_empty(given.copy(), plan.k, rng)
        elif plan.sample is not None:
            labels, interrupted = _labels_from_sample(cells, plan, listener, budget, rng)
        elif plan.filled is not None and first:
            labels, interrupted = _labels_of_filled(cells, plan, plan.filled, listener, budget, rng)
        else:
            labels = seeded_labels(cells, plan.k, rng)
        first = False
        partition = CellPartition(cells, labels, plan.k, plan.objective, engine)
        if interrupted:
            raise InterruptedStart(partition)
        return partition

    return fit_partition(PartitionJob(start, plan, listener, budget), seeds)


def _labels_from_sample(
    cells: Cells, plan: PartitionPlan, listener: Listener, budget: Budget, rng: np.random.Generator
) -> tuple[np.ndarray, bool]:
    """Cluster a sample of the rows, and give all rows the nearest of its centres; whether that was interrupted."""
    assert plan.sample is not None
    chosen = np.sort(rng.choice(cells.n, plan.sample.shape.n, replace=False))
    words = f"searching a sample of {len(chosen):,} rows"
    listener.show(words)
    seeds = rng.integers(2**31, size=plan.sample.runs).tolist()
    run = fit_cells(cells.take(chosen), plan.sample, OfSample(listener, words), _part_of(budget), seeds)
    found = CellPartition(run.partition.cells, run.labels, plan.k, plan.objective)
    labels = nearest_clusters(cells, centres_of(found.cells, found.sums))
    return without_empty(labels, plan.k, rng), run.interrupted


def _labels_of_filled(
    cells: Cells, plan: PartitionPlan, filled: Plan, listener: Listener, budget: Budget, rng: np.random.Generator
) -> tuple[np.ndarray, bool]:
    """Cluster rows of numbers with means, which are 0, instead of gaps; whether that was interrupted."""
    words = "clustering rows with gaps filled in"
    listener.show(words)
    X = np.nan_to_num(cells.numbers)
    X /= max(float(np.abs(X).max()), 1e-300)  # any unit fits into float32
    rows = prepare(X.astype(np.float32), "l2", cells.weights if len(cells.weights) else None)
    seeds = rng.integers(2**31, size=filled.runs).tolist()
    run = fit(Job(rows, filled, OfSample(listener, words), _part_of(budget)), seeds)
    return without_empty(run.labels.astype(np.int32), plan.k, rng), run.interrupted


def _part_of(budget: Budget) -> Budget:
    """The time that the search for a start may take."""
    now = time.perf_counter()
    return Budget(now + _TIME_OF_START * (budget.deadline - now))


def nearest_clusters(cells: Cells, centres: CellCentres) -> np.ndarray:
    """(n,) The nearest centre of each row by its observed cells."""
    labels = np.empty(cells.n, np.int32)
    for first in range(0, cells.n, _BLOCK):
        rows = np.arange(first, min(first + _BLOCK, cells.n))
        labels[rows] = distances(cells.take(rows), centres).argmin(axis=1)
    return labels
