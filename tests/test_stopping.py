"""When a run has settled, what it keeps, and how much time it has."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksums.compute.jit import kernel
from ksums.method.engines.kernels import resident
from ksums.method.fitting.budget import Budget
from ksums.method.fitting.stopping import Best, has_settled


@kernel
def _has_settled(stop, values, passes):
    return resident.has_settled(stop, values, passes)


@given(
    st.lists(st.floats(0.1, 10.0), min_size=1, max_size=12),
    st.sampled_from([0.0, 1e-5, 0.01, 0.5]),
    st.sampled_from([1, 3]),
)
def test_the_compiled_stop_rule_equals_the_plain_one(values, tol, patience):
    stop = resident.StopNumbers(tol, patience, patience == 1)
    compiled = _has_settled(stop, np.array(values), len(values))
    assert bool(compiled) == has_settled(values, tol, patience)


@pytest.mark.parametrize(
    ("values", "tol", "patience", "expected"),
    [
        ([10.0, 5.0], 0.1, 1, False),
        ([10.0, 5.0, 4.9], 0.1, 1, True),
        ([10.0, 5.0, 4.9], 0.0, 1, False),  # With tol=0 a run settles only when nothing moves.
        ([10.0], 0.1, 1, False),
        ([10.0, 5.0, 7.0, 6.0], 0.1, 3, False),
        ([5.0, 7.0, 6.0, 8.0], 0.1, 3, True),  # The last three passes are no better than the first.
    ],
)
def test_when_a_run_has_settled_by_hand(values, tol, patience, expected):
    assert has_settled(values, tol, patience) == expected


def test_the_best_labels_are_kept():
    best = Best()
    best.update(5.0, np.array([0, 1]), steady=False)
    best.update(7.0, np.array([1, 1]), steady=False)
    assert best.value == 5.0
    assert best.labels.tolist() == [0, 1]
    best.update(6.0, np.array([1, 0]), steady=True)  # A steady rule is always at its best.
    assert best.value == 6.0
    assert best.labels is None


def test_a_budget_is_divided_among_the_runs():
    started = time.perf_counter()
    budget = Budget.of(10.0, 4, started)
    assert budget.run_seconds == 2.5
    assert budget.end_of_run(started) == started + 2.5
    assert budget.end_of_run(started + 9.0) == started + 10.0
    assert not budget.is_over()
    assert budget.is_over(soon=11.0)
    assert not Budget().is_over(soon=1e9)
