"""The start for huge k: coarse clusters of a sample, then clusters inside each of them. Nowhere n·k work or memory.

1. √k coarse clusters of a sample of the rows; every row goes to the nearest.
2. Each coarse cluster gets its share of the k clusters.
3. Inside each, on its own: as many rows as it has clusters are drawn, some others join one after the other and go
   through a few passes with falling relaxation; then all the rest join, and there is a pass over all.

The shares are by what is to be brought down: by the sum of squared distances to the coarse centre (of the sample),
or, for pairwise distances, which ask for clusters of equal size, by size.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ksums import state as states
from ksums.drivers import PAIRWISE, Driver, driver_for
from ksums.engines import RelaxingEngine, exact_engine, nearest_centres
from ksums.rows import Rows, part_of
from ksums.state import no_limits
from ksums.sums import members_by_cluster

_SAMPLE = 200  # rows for each coarse cluster
_LEAST_MEMBERS = 3  # rows for each cluster in a cell, among those that join first
_SHARE_OF_TIME = 0.4  # that step 3 may take of what is left
_UNEVEN = 8  # times the work of a cell among equals: such a one is itself divided into coarse clusters


class _Schedule(NamedTuple):
    """Passes: the relaxation of each."""

    some: tuple[float, ...]  # over some of the rows, then
    all: tuple[float, ...]  # over all of them
    share: float = 0.4  # of the rows: so many are some


_COARSE = _Schedule((), (2.0, 1.5, 1.0))
_FINE = _Schedule((2.0, 2.0, 1.5), (1.0, 1.0))
_IN_HASTE = _Schedule((2.0,), (1.0,))


def two_level_labels(
    rows: Rows, k: int, driver: Driver, rng: np.random.Generator, n_threads: int, deadline: float = np.inf
) -> np.ndarray:
    """Labels (n,) of k clusters, none of them empty. Where time is short there are fewer passes inside the cells."""
    labels = np.zeros(rows.n, np.int32)
    cells, spreads = _cells(rows, k, rng, n_threads)
    sizes = np.array([rows.weights_of(cell).sum() for cell in cells])
    wanted = sizes if driver.kind == PAIRWISE else sizes * spreads
    shares = _shares(wanted, np.array([len(cell) for cell in cells]), k)
    firsts = np.concatenate([[0], np.cumsum(shares)])
    seeds = rng.integers(2**63, size=len(cells))

    def fill(c: int, schedule: _Schedule = _FINE) -> None:
        part, own_rng = part_of(rows, cells[c]), np.random.default_rng(seeds[c])
        if work[c] > _UNEVEN * len(rows.pulling) and len(cells[c]) < len(rows.pulling):
            own = two_level_labels(part, int(shares[c]), driver, own_rng, 1, deadline)
        else:
            own = _cluster(part, int(shares[c]), driver, schedule, own_rng)
        labels[cells[c]] = firsts[c] + own

    work = [len(cell) * int(share) for cell, share in zip(cells, shares, strict=True)]  # n each, if all are alike
    largest_first = np.argsort(work, kind="stable")[::-1].tolist()
    middle = largest_first[len(largest_first) // 2]
    fill(middle, _IN_HASTE)  # compiles, if need be, before there are threads and before it is timed
    began = time.perf_counter()
    fill(middle)
    took = (time.perf_counter() - began) * sum(work) / work[middle] / n_threads
    schedule = _FINE if took <= _SHARE_OF_TIME * (deadline - began) else _IN_HASTE
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(lambda c: fill(c, schedule), [c for c in largest_first if c != middle]))
    return labels


def _cells(rows: Rows, k: int, rng: np.random.Generator, n_threads: int) -> tuple[list[np.ndarray], np.ndarray]:
    """The pulling rows by coarse cluster, none of which is without rows, and the distortion of the sample in each."""
    pulling, count = rows.pulling, max(1, round(k**0.5))
    drawn = np.sort(rng.choice(pulling, min(len(pulling), _SAMPLE * count), replace=False))
    own = _cluster(part_of(rows, drawn), count, driver_for("distortion", "l2", "hartigan"), _COARSE, rng)
    labels = np.zeros(rows.n, np.int32)
    labels[drawn] = own
    sample = states.build(replace(rows, pulling=drawn), labels, count)
    centres = sample.composites / sample.sizes[:, None]
    squares = np.einsum("rt,rt->r", centres, centres)
    coarse = nearest_centres(rows, pulling, centres, squares, n_threads)
    spreads = np.maximum(sample.norm_sums / sample.sizes - squares, 0.0)
    cells = members_by_cluster(pulling, coarse, count)
    kept = [c for c in range(count) if len(cells[c])]
    return [cells[c] for c in kept], spreads[kept]


def _shares(wanted: np.ndarray, most: np.ndarray, k: int) -> np.ndarray:
    """How many of the k clusters each cell gets: at least one, at most as many as it has rows."""
    wanted = wanted + 1e-9 * (wanted.sum() + 1.0) * most / most.sum()  # some order where all is zero
    shares = np.clip(np.floor(wanted / wanted.sum() * k).astype(np.int64), 1, most)
    while (missing := k - int(shares.sum())) != 0:
        free = np.flatnonzero(shares < most if missing > 0 else shares > 1)
        more = np.trunc(missing * wanted[free] / wanted[free].sum()).astype(np.int64)
        if not more.any():  # fewer than there are cells: to those that are furthest from what they want
            step = 1 if missing > 0 else -1
            urgency = step * (wanted[free] / wanted.sum() * k - shares[free])
            more[np.argsort(-urgency, kind="stable")[: abs(missing)]] = step
        shares[free] = np.clip(shares[free] + more, 1, most[free])
    return shares


def _cluster(rows: Rows, k: int, driver: Driver, schedule: _Schedule, rng: np.random.Generator) -> np.ndarray:
    """Labels after a few passes, in the first of which rows join k of them that were drawn."""
    if k == 1:
        return np.zeros(rows.n, np.int32)
    order = rng.permutation(rows.n)
    some = max(round(schedule.share * rows.n), min(rows.n, _LEAST_MEMBERS * k))
    state = states.singletons(rows, order[:k])
    engine = exact_engine(rows, state, driver, no_limits(k), 1)
    assert isinstance(engine, RelaxingEngine)
    passes = [(p, some) for p in schedule.some] + [(p, rows.n) for p in schedule.all]
    for at, (relaxation, count) in enumerate(passes):
        engine.drive(replace(driver, p=relaxation, q=relaxation))
        for _ in engine.visit(order[k:count] if at == 0 else rng.permutation(order[:count])):
            pass
        states.renew_sq_composites(state)
    return state.labels
