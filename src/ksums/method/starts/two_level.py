"""The start for huge k: coarse clusters of a sample, then clusters inside each. Nothing takes n·k work or memory.

1. √k coarse clusters of a sample of the rows; every row goes to the nearest of them. Its rows are a *cell*.
2. Each cell gets its share of the k clusters.
3. Inside each cell, independently: as many rows as it has clusters are drawn, some others join one after another and go
   through a few passes with falling relaxation; then all the rest join, and there are passes over all.

The shares go by the objective: by the sum of squared distances to the coarse centre (of the sample), or, for pairwise
distances, which favour clusters of equal size, by size. ``planning/starts.py`` has the numbers.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from ksums.compute.threads import threads, use_threads
from ksums.method.data.centres import Centres
from ksums.method.data.norms import sq_norms
from ksums.method.data.rows import Rows, subset
from ksums.method.data.sums import members_by_cluster
from ksums.method.engines.protocol import make_engine
from ksums.method.nearest.centres import nearest_centres
from ksums.method.state.limits import no_limits
from ksums.method.state.state import build_state, renew_sq_composites, singleton_state
from ksums.planning.starts import (
    COARSE,
    FINE,
    IN_HASTE,
    LEAST_MEMBERS,
    SAMPLE_PER_CELL,
    SHARE_FOR_CELLS,
    UNEVEN,
    CellPasses,
    coarse_clusters,
)
from ksums.rules.kinds import Rule, rule_for


def two_level_labels(rows: Rows, k: int, rule: Rule, rng: np.random.Generator, deadline: float = np.inf) -> np.ndarray:
    """Labels (n,) of k clusters, none of them empty. Where time is short there are fewer passes inside the cells."""
    labels = np.zeros(rows.n, np.int32)
    cells, spreads = _cells(rows, k, rng)
    sizes = np.array([rows.weights_of(cell).sum() for cell in cells])
    wanted = sizes if rule.objective == "pairwise" else sizes * spreads
    shares = _shares(wanted, np.array([len(cell) for cell in cells]), k)
    firsts = np.concatenate([[0], np.cumsum(shares)])
    seeds = rng.integers(2**63, size=len(cells))

    def fill(c: int, passes: CellPasses = FINE) -> None:
        with use_threads(1):
            part, own_rng = subset(rows, cells[c]), np.random.default_rng(seeds[c])
            if work[c] > UNEVEN * len(rows.active) and len(cells[c]) < len(rows.active):
                own = two_level_labels(part, int(shares[c]), rule, own_rng, deadline)
            else:
                own = _cluster(part, int(shares[c]), rule, passes, own_rng)
        labels[cells[c]] = firsts[c] + own

    work = [len(cell) * int(share) for cell, share in zip(cells, shares, strict=True)]  # n each, if all are alike
    largest_first = np.argsort(work, kind="stable")[::-1].tolist()
    middle, count = largest_first[len(largest_first) // 2], threads()
    fill(middle, IN_HASTE)  # compiles, if need be, before there are threads and before it is timed
    began = time.perf_counter()
    fill(middle)
    took = (time.perf_counter() - began) * sum(work) / work[middle] / count
    passes = FINE if took <= SHARE_FOR_CELLS * (deadline - began) else IN_HASTE
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(lambda c: fill(c, passes), [c for c in largest_first if c != middle]))
    return labels


def _cells(rows: Rows, k: int, rng: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray]:
    """The active rows of each coarse cluster, none of which is empty, and the distortion of the sample in each."""
    active, count = rows.active, coarse_clusters(k)
    drawn = np.sort(rng.choice(active, min(len(active), SAMPLE_PER_CELL * count), replace=False))
    with use_threads(1):
        own = _cluster(subset(rows, drawn), count, rule_for("distortion", "l2", "hartigan"), COARSE, rng)
    labels = np.zeros(rows.n, np.int32)
    labels[drawn] = own
    sample = build_state(rows.with_active(drawn), labels, count)
    centres = sample.composites / sample.sizes[:, None]
    squares = sq_norms(centres)
    coarse = nearest_centres(rows, active, Centres(centres, squares))
    spreads = np.maximum(sample.norm_sums / sample.sizes - squares, 0.0)
    cells = members_by_cluster(active, coarse, count)
    kept = [c for c in range(count) if len(cells[c])]
    return [cells[c] for c in kept], spreads[kept]


def _shares(wanted: np.ndarray, most: np.ndarray, k: int) -> np.ndarray:
    """How many of the k clusters each cell gets: at least one, at most as many as it has rows."""
    wanted = wanted + 1e-9 * (wanted.sum() + 1.0) * most / most.sum()  # some order where all is zero
    shares = np.clip(np.floor(wanted / wanted.sum() * k).astype(np.int64), 1, most)
    while (missing := k - int(shares.sum())) != 0:
        free = np.flatnonzero(shares < most if missing > 0 else shares > 1)
        more = np.trunc(missing * wanted[free] / wanted[free].sum()).astype(np.int64)
        if not more.any():  # fewer than there are cells: those that are furthest from what they want get one each
            step = 1 if missing > 0 else -1
            urgency = step * (wanted[free] / wanted.sum() * k - shares[free])
            more[np.argsort(-urgency, kind="stable")[: abs(missing)]] = step
        shares[free] = np.clip(shares[free] + more, 1, most[free])
    return shares


def _cluster(rows: Rows, k: int, rule: Rule, passes: CellPasses, rng: np.random.Generator) -> np.ndarray:
    """Labels after a few passes, in the first of which rows join k of them that were drawn."""
    if k == 1:
        return np.zeros(rows.n, np.int32)
    order = rng.permutation(rows.n)
    some = max(round(passes.share * rows.n), min(rows.n, LEAST_MEMBERS * k))
    state = singleton_state(rows, order[:k])
    engine = make_engine("exact", rows, state, rule, no_limits(k))
    plan = [(p, some) for p in passes.some] + [(p, rows.n) for p in passes.all]
    for at, (relaxation, count) in enumerate(plan):
        engine.use_rule(replace(rule, p=relaxation, q=relaxation))
        for _ in engine.visit(order[k:count] if at == 0 else rng.permutation(order[:count])):
            pass
        renew_sq_composites(state)
    return state.labels
