"""One split: Algorithm 1 with two clusters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ksums.method.data.rows import Rows
from ksums.method.fitting.job import Job
from ksums.method.fitting.listener import Silence
from ksums.method.fitting.run import Run
from ksums.method.starts.first_labels import StartTask, first_labels
from ksums.method.state.state import ClusterState, build_state
from ksums.planning.plan import EnginePlan, Plan, StartPlan
from ksums.planning.shape import Shape
from ksums.planning.trees import split_start, splits_in_blocks

Split = tuple[float, ClusterState, int]
"""The objective, the state of the two halves, and the number of moves."""


def split(part: Rows, plan: Plan, tries: int, seeds: list[int]) -> Split:
    """The best of several tries."""
    rng = np.random.default_rng(seeds)
    return min((_split_once(part, plan, rng) for _ in range(tries)), key=lambda one: one[0])


def halve(part: Rows) -> Split:
    """Copies of one row, divided into equal numbers."""
    halves = (np.arange(part.n) * 2 // part.n).astype(np.int32)
    return 0.0, build_state(part, halves, 2), 0


def is_separable(part: Rows) -> bool:
    """Whether the rows of a cluster are not all copies of one; directions that agree to the last digits are copies."""
    slack = 8 * float(np.finfo(part.dtype).eps) if part.cosine else 0.0
    first = part.read(np.zeros(1, np.int64))
    for ids in (part.active[-1:], *part.blocks_of(part.active)):  # nearly always the last row differs from the first
        block = part.read(ids)
        if part.is_sparse:
            terms = first.indices
            if (np.diff(block.indptr) != len(terms)).any():
                return True
            if len(terms) == 0:  # all are rows of zeros
                continue
            if (block.indices.reshape(-1, len(terms)) != terms).any():
                return True
            block, values = block.data.reshape(-1, len(terms)), first.data
        else:
            values = first[0]
        if block.size and float(np.abs(block - values).max()) > slack:
            return True
    return False


def _split_once(part: Rows, plan: Plan, rng: np.random.Generator) -> Split:
    in_memory = plan.engine.name == "exact" and part.ids is None and not part.is_sparse
    shape = Shape(part.n, part.d, 2, part.dtype.name, part.is_sparse, part.weights is not None)
    start = split_start(plan.start.name, shape, in_memory)

    def split_sample(few: Rows) -> tuple[float, np.ndarray]:
        objective, state, _ = _split_once(few, plan, rng)
        return objective, state.labels

    labels = first_labels(start, part, StartTask(2, plan.rule, rng, cluster_sample=split_sample))
    if splits_in_blocks(shape, plan.rule, plan.engine.name):
        plan = replace(plan, engine=EnginePlan("blocks"))
    elif in_memory:
        from ksums.method.engines.resident import settle  # Numba is loaded by the first fit, not by the import

        done = settle(part, labels, 2, plan.rule, plan.stop, rng)
        return done.objective, done.state, done.moves
    plan = replace(plan, shape=shape, start=StartPlan("labels"))
    run = Run(Job(part, plan, Silence(), given=labels), rng).go()
    if run.interrupted:
        raise KeyboardInterrupt
    state = run.state if run.best.labels is None else build_state(part, run.best.labels, 2)
    return run.best.value, state, sum(record.moves for record in run.records)
