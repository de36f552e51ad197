"""Invariants, recomputed from scratch after each pass when ``KSUMS_CHECK=1`` (the tests switch it on).

Each sample is visited once in a pass, so the labels before and after it and the order of the visits tell every
single move: the pass is replayed in float64 and each move's effect on the objective is looked at.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
from scipy import sparse

from ksums import state as states
from ksums.drivers import Driver
from ksums.rows import Rows
from ksums.state import ClusterState, Limits


def switched_on() -> bool:
    return os.environ.get("KSUMS_CHECK", "0") not in ("", "0")


def replay(rows: Rows, before: np.ndarray, after: np.ndarray, order: np.ndarray, k: int) -> Iterator[ClusterState]:
    """The state after every single move of a pass, computed in float64."""
    state = states.build(rows, before, k)
    for i in order[before[order] != after[order]]:
        block = rows.read(np.array([i]), np.float64)
        x = block.toarray()[0] if sparse.issparse(block) else block[0]
        states.reallocate(state, i, x, float(rows.weights_of(np.array([i]))[0]), before[i], after[i])
        yield state


def check_state(rows: Rows, state: ClusterState, limits: Limits | None) -> None:
    """Raise AssertionError where the state is not that of its labels, or breaks a promise."""
    fresh = states.build(rows, state.labels, len(state.sizes))
    tolerance = _tolerance(rows)
    scale = max(float(fresh.norm_sums.max()), 1e-300)
    assert (fresh.counts > 0).all(), "a cluster is empty"
    assert (fresh.counts == state.counts).all(), "counts are not those of the labels"
    assert np.allclose(fresh.sizes, state.sizes, rtol=1e-9), "sizes are not those of the labels"
    reach = tolerance * (scale * float(fresh.sizes.max())) ** 0.5
    assert np.allclose(fresh.composites, state.composites, atol=reach), "composites are not those of the labels"
    assert np.allclose(fresh.norm_sums, state.norm_sums, atol=tolerance * scale), (
        "norm sums are not those of the labels"
    )
    if limits is not None:
        assert (fresh.sizes >= limits.low - 1e-9).all(), "a cluster is smaller than size_min"
        assert (fresh.sizes <= limits.high + 1e-9).all(), "a cluster is larger than size_max"


def check_pass(rows: Rows, before: np.ndarray, state: ClusterState, order: np.ndarray, driver: Driver) -> None:
    """Raise AssertionError where a single move of a monotone rule raised its objective."""
    if not driver.monotone:
        return
    k = len(state.sizes)
    start = states.build(rows, before, k)
    last = driver.value(start)
    slack = _tolerance(rows) * (last + float(start.norm_sums.sum() / start.sizes.sum()))
    for moved in replay(rows, before, state.labels, order, k):
        value = driver.value(moved)
        assert value <= last + slack, f"a move raised the objective from {last!r} to {value!r}"
        last = value


def check_exchange(driver: Driver, before: float, after: float) -> None:
    """Raise AssertionError where exchanges of a monotone rule raised its objective."""
    assert not driver.monotone or after <= before * (1 + 1e-9), f"exchanges raised it from {before!r} to {after!r}"


def _tolerance(rows: Rows) -> float:
    return 1e-9 if rows.dtype == np.float64 or rows.is_sparse else 1e-4
