"""First centres for data in blocks: from a fit of a sample, drawn block by block."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ksums.method.data.centres import Centres, centres_of
from ksums.method.data.rows import Rows
from ksums.method.fitting.fit import fit
from ksums.method.fitting.job import Job
from ksums.method.shards.frame import Frame, active_of
from ksums.method.state.state import build_state
from ksums.planning.plan import Plan

_DRAWS = 1
"""Keeps the random numbers that draw the sample apart from those of the rounds."""


def sample_counts(active: list[int], count: int) -> list[int]:
    """How many rows of each block are in the sample: in proportion to its active rows."""
    ends = np.cumsum(active)
    total = int(ends[-1])
    edges = [0, *(int(end) * count // total for end in ends)]
    return [after - before for before, after in pairwise(edges)]


def drawn(active: int, count: int, seed: int, block: int) -> np.ndarray:
    """Some of the active rows of a block, in storage order: their numbers among these."""
    return np.sort(np.random.default_rng((_DRAWS, seed, block)).choice(active, count, replace=False))


def sample_of_block(
    X: np.ndarray, weights: np.ndarray | None, ids: np.ndarray, frame: Frame
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a block with these numbers among the active ones, and their weights."""
    if weights is not None or frame.cosine:
        ids = np.flatnonzero(active_of(X, weights, frame.cosine, frame.dtype))[ids]
    return X[ids], np.ones(len(ids)) if weights is None else weights[ids]


def centres_of_sample(job: Job[Plan], seed: int) -> tuple[Centres, bool]:
    """The centres of a fit of the sample, and whether that was interrupted."""
    run = fit(job, np.random.default_rng((_DRAWS, seed)).integers(2**31, size=job.plan.runs).tolist())
    rows: Rows = job.rows
    state = build_state(rows, run.labels, job.plan.k)
    return centres_of(state.composites, state.sizes, rows.cosine), run.interrupted
