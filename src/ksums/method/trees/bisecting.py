"""Algorithm 2: cluster after cluster is split in two by k-sums, until there are k."""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass, field, replace

import numpy as np

from ksums.method.data.rows import subset
from ksums.method.fitting.job import Job
from ksums.method.fitting.listener import Listener, Silence
from ksums.method.fitting.records import PassRecord
from ksums.method.fitting.run import Run
from ksums.method.state import invariants
from ksums.method.state.state import build_state
from ksums.method.trees.leaves import Leaves
from ksums.method.trees.splits import Splits
from ksums.method.trees.splitting import halve
from ksums.planning.plan import StartPlan, Stop, TreePlan
from ksums.rules.objectives import objective_value

_LOOK_AHEAD = 3
"""Clusters at the head of the queue whose splits are begun while the present one is made."""


@dataclass
class TreeRun:
    """What ``fitting.run.Run`` is to a flat fit: a record for each split, then one for each flat pass."""

    leaves: Leaves
    measures: dict[str, float]  # of the clusters so far, by name
    records: list[PassRecord] = field(default_factory=list)
    refined: Run | None = None
    converged: bool = False
    interrupted: bool = False

    @property
    def k(self) -> int:
        return len(self.leaves.nodes)

    @property
    def labels(self) -> np.ndarray:
        return self.leaves.labels() if self.refined is None else self.refined.labels

    @property
    def splits(self) -> np.ndarray:
        return np.array(self.leaves.splits, np.int64)


def grow(job: Job[TreePlan], seeds: list[int]) -> TreeRun:
    """Algorithm 2 with the plan of a split for each of them; then flat passes, if planned.

    The random numbers of a split depend on the seed and the node alone. Interrupted by Ctrl-C, or stopped by the
    listener, it returns the tree so far.
    """
    rows, plan, listener, seed = job.rows, job.plan, job.listener, seeds[0]
    started, leaves = time.perf_counter(), Leaves(rows, plan.k)
    names = {"distortion", "pairwise", plan.rule.objective}
    run = TreeRun(leaves, {name: leaves.within(name, 0) / leaves.sizes[0] for name in names})
    queue: list[tuple] = []
    _push(queue, leaves, 0, plan)
    splits = Splits(leaves, plan, seed)
    try:
        listener.run_begins()
        stop = False
        while run.k < plan.k and not stop:
            copies, _, _, node = heapq.heappop(queue)
            # the first entries of a heap are not quite the next ones, but nearly always
            splits.begin([entry[-1] for entry in queue[:_LOOK_AHEAD] if not entry[0]][: plan.k - run.k - 1])
            found = halve(subset(rows, leaves.ids(node))) if copies else splits.take(node)
            if found is None:
                _push(queue, leaves, node, plan, copies=True)  # it is split when all others are
                continue
            listener.pass_begins()
            _, state, moves = found
            for child in leaves.divide(node, state.labels, state):
                if leaves.bounds[child][1] - leaves.bounds[child][0] > 1:
                    _push(queue, leaves, child, plan, copies)
            _record(run, plan, moves, started)
            stop = listener.pass_ends(run)
        if plan.k == 1:  # nothing to split; yet every fit leaves a record
            listener.pass_begins()
            _record(run, plan, 0, started)
            stop = listener.pass_ends(run)
        run.converged = run.k == plan.k
        if plan.refine and run.converged and not stop:
            _refine(run, job, seed, started)
        listener.run_ends()
    except KeyboardInterrupt:
        run.interrupted, run.converged = True, False
        leaves.drop_unfinished()
    finally:
        splits.close()
    if invariants.switched_on() and not run.interrupted:
        _check(run)
    return run


def _push(queue: list[tuple], leaves: Leaves, node: int, plan: TreePlan, copies: bool = False) -> None:
    """Enqueue a cluster: the largest or loosest first, of equal ones the one with the lowest label."""
    loosest = plan.strategy == "loosest"
    urgency = leaves.within(plan.rule.objective, node) if loosest else leaves.sizes[node]
    heapq.heappush(queue, (copies, -urgency, leaves.label_of[node], node))


def _record(run: TreeRun, plan: TreePlan, moves: int, started: float) -> None:
    """E_m and E_s with one more cluster: only the cluster that was split and its two halves make a difference."""
    leaves = run.leaves
    if leaves.splits:
        left, right = len(leaves.sizes) - 2, len(leaves.sizes) - 1
        for name in run.measures:
            parent, one, other = (leaves.within(name, node) for node in (leaves.splits[-1], left, right))
            run.measures[name] = max(0.0, run.measures[name] - (parent - one - other) / leaves.sizes[0])
    sizes = leaves.cluster_sizes[: run.k]
    run.records.append(
        PassRecord(
            index=len(run.records) + 1,
            objective=run.measures[plan.rule.objective],
            distortion=run.measures["distortion"],
            pairwise=run.measures["pairwise"],
            moves=moves,
            smallest=float(sizes.min()),
            largest=float(sizes.max()),
            seconds=time.perf_counter() - started,
        )
    )


def _refine(run: TreeRun, job: Job[TreePlan], seed: int, started: float) -> None:
    """Flat passes over all clusters."""
    plan = job.plan
    stop = Stop(plan.refine, plan.split.stop.tol)
    flat = replace(plan.split, shape=plan.shape, start=StartPlan("labels"), stop=stop)
    listener = _Refining(run, job.listener, started)
    run.refined = Run(Job(job.rows, flat, listener, given=run.labels), np.random.default_rng(seed)).go()
    run.interrupted = run.refined.interrupted
    run.converged = not run.interrupted


class _Refining(Silence):
    """Appends the records of the flat passes to those of the splits, and passes them on."""

    def __init__(self, run: TreeRun, listener: Listener, started: float) -> None:
        self.run, self.listener = run, listener
        self.grown, self.late = len(run.records), time.perf_counter() - started

    def pass_begins(self) -> None:
        self.listener.pass_begins()

    def pass_ends(self, run: Run) -> bool:
        last = run.records[-1]
        self.run.refined = run
        self.run.records.append(replace(last, index=self.grown + last.index, seconds=self.late + last.seconds))
        return self.listener.pass_ends(self.run)


def _check(run: TreeRun) -> None:
    """Raise AssertionError where sizes or measures are not those of the labels."""
    leaves = run.leaves
    rows, measured = leaves.rows, build_state(leaves.rows, leaves.labels(), run.k)
    assert np.allclose(measured.sizes, [leaves.sizes[node] for node in leaves.nodes]), "sizes are not of the labels"
    slack = 1e-9 if rows.dtype == np.float64 else 1e-4
    for name in ("distortion", "pairwise"):
        whole = leaves.within(name, 0) / leaves.sizes[0]
        difference = objective_value(name, measured) * rows.sq_unit - run.measures[name]
        assert abs(difference) <= slack * whole, f"{name} is not that of the labels"
