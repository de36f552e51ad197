"""Invariants, recomputed from scratch after each pass when ``KSUMS_CHECK=1`` (the tests switch it on).

Each sample is visited once in a pass, so the labels before and after it and the visiting order determine every single
move: the pass is replayed in float64, and the effect of each move on the objective is checked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np

from ksums.compute.arrays import as_dense
from ksums.method.data.rows import Rows
from ksums.method.state.state import ClusterState, build_state, reallocate
from ksums.rules.kinds import Rule
from ksums.rules.objectives import objective_value


def switched_on() -> bool:
    return os.environ.get("KSUMS_CHECK", "0") not in ("", "0")


def replay(rows: Rows, before: np.ndarray, after: np.ndarray, order: np.ndarray, k: int) -> Iterator[ClusterState]:
    """The state after every single move of a pass, computed in float64."""
    state = build_state(rows, before, k)
    for i in order[before[order] != after[order]]:
        x = as_dense(rows.read(np.array([i]), np.float64))[0]
        reallocate(state, i, x, float(rows.weights_of(np.array([i]))[0]), before[i], after[i])
        yield state


def check_state(rows: Rows, state: ClusterState) -> None:
    """Raise AssertionError where the state is not that of its labels, or breaks a promise."""
    fresh = build_state(rows, state.labels, len(state.sizes))
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


def check_pass(
    rows: Rows, before: np.ndarray, state: ClusterState, order: np.ndarray, rule: Rule, each_move: bool = True
) -> None:
    """Raise AssertionError where a single move of a monotone rule, or all moves together, raised its objective."""
    if not rule.monotone:
        return
    k = len(state.sizes)
    start = build_state(rows, before, k)
    last = objective_value(rule.objective, start)
    slack = _tolerance(rows) * (last + float(start.norm_sums.sum() / start.sizes.sum()))
    states = replay(rows, before, state.labels, order, k) if each_move else [build_state(rows, state.labels, k)]
    for moved in states:
        value = objective_value(rule.objective, moved)
        what = "a move" if each_move else "a pass"
        assert value <= last + slack, f"{what} raised the objective from {last!r} to {value!r}"
        last = value


class PassCheck:
    """The checks around one pass; none if they are switched off."""

    def __init__(
        self,
        rows: Rows,
        state: ClusterState,
        rule: Rule,
        visiting_order: Callable[[], np.ndarray],
    ) -> None:
        self.on = switched_on()
        if self.on:
            self.rows, self.state, self.rule = rows, state, rule
            self.before, self.order = state.labels.copy(), visiting_order()

    def after_visit(self, each_move: bool = True) -> None:
        """Raise AssertionError where the samples moved as they must not; ``each_move``: each of them must be a gain."""
        if self.on:
            check_state(self.rows, self.state)
            check_pass(self.rows, self.before, self.state, self.order, self.rule, each_move)


class NoCheck(PassCheck):
    """No checks, whether they are switched on or not."""

    def __init__(self) -> None:
        self.on = False


def _tolerance(rows: Rows) -> float:
    return 1e-9 if rows.dtype == np.float64 or rows.is_sparse else 1e-4
