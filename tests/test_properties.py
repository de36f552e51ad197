"""Properties that hold for any data."""

from itertools import pairwise

import numpy as np
import pytest
from helpers import join_costs, stay_cost
from hypothesis import given
from hypothesis import strategies as st

from ksums import METHODS, KSums, metrics
from ksums.method.data.rows import prepare
from ksums.method.state import invariants as checks
from ksums.method.state.state import build_state, reallocate
from ksums.rules.kinds import rule_for
from ksums.rules.objectives import objective_value

seeds = st.integers(0, 2**31 - 1)
"""A seed makes the data and the fit."""
shapes = st.tuples(st.integers(20, 120), st.integers(2, 24), st.integers(1, 20))
"""A shape is the number of samples n, of dimensions d and of clusters k."""
rules = st.sampled_from(["hartigan", "paper", "released", "online", 2.5])
"""These rules are for the objective "distortion"."""
metric_names = st.sampled_from(["l2", "cosine"])
"""These are all metrics."""


def data(seed, n, d):
    return np.random.default_rng(seed).standard_normal((n, d))


@given(seeds, shapes, rules, metric_names)
def test_sums_match_the_labels(seed, shape, rule, metric):
    n, d, k = shape
    X = data(seed, n, d)
    model = KSums(k, rule=rule, metric=metric, max_iter=6, random_state=seed).fit(X)
    np.testing.assert_array_equal(model.sizes_, np.bincount(model.labels_, minlength=k))
    assert model.sizes_.sum() == n
    assert model.sizes_.min() >= 1
    unit = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
    sums = np.array([unit[model.labels_ == r].sum(axis=0) for r in range(k)])
    np.testing.assert_allclose(model.composites_, sums, atol=1e-9)


@pytest.mark.parametrize("objective", ["distortion", "pairwise"])
@given(seeds, shapes, metric_names)
def test_labels_do_not_change_with_the_units_of_the_data(objective, seed, shape, metric):
    """X is scaled by a power of two, negated, or its columns are reversed."""
    n, d, k = shape
    X = data(seed, n, d)
    model = KSums(k, objective=objective, metric=metric, refine=None, max_iter=6, random_state=seed)
    labels = model.fit(X).labels_
    for other in (X * 2.0**40, X * 2.0**-7, -X, X[:, ::-1]):
        np.testing.assert_array_equal(labels, model.fit(other).labels_)


@pytest.mark.parametrize("name", METHODS)
@given(seeds, shapes, metric_names)
def test_every_method_has_correct_sums_and_ignores_units(name, seed, shape, metric):
    n, d, k = shape
    X = data(seed, n, d)
    metric = metric if metric in METHODS[name].metrics else "cosine"
    model = METHODS[name](k, metric, seed).fit(X)
    np.testing.assert_array_equal(model.sizes_, np.bincount(model.labels_, minlength=k))
    assert model.sizes_.min() >= 1
    unit = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
    sums = np.array([unit[model.labels_ == r].sum(axis=0) for r in range(k)])
    np.testing.assert_allclose(model.composites_, sums, atol=1e-9)
    assert model.objective_ <= min(record.objective for record in model.history_) * (1 + 1e-9) + 1e-12
    for other in (X * 2.0**40, -X):
        np.testing.assert_array_equal(model.labels_, METHODS[name](k, metric, seed).fit(other).labels_)


@given(seeds, shapes, metric_names, st.sampled_from(["distortion", "pairwise"]), st.booleans())
def test_the_profit_is_the_exact_decrease_of_the_objective(seed, shape, metric, objective, weighted):
    """For I_s and for Hartigan, n·(objective before − after) = weight · (stay − join)."""
    n, d, k = shape
    if k == 1:
        return
    rng = np.random.default_rng(seed)
    X = data(seed, n, d)
    weights = rng.uniform(0.5, 3, n) if weighted else np.ones(n)
    rule = rule_for(objective, metric, "hartigan")
    rows = prepare(X, metric, weights)
    state = build_state(rows, np.arange(n) % k, k)
    for i in rng.choice(n, 5, replace=False):
        src, dst = state.labels[i], (state.labels[i] + 1) % k
        if state.counts[src] < 2:
            continue
        x, before = rows.read(np.array([i]))[0], objective_value(objective, state)
        profit = stay_cost(rule, x, weights[i], state, src) - join_costs(rule, x, weights[i], state)[dst]
        reallocate(state, i, x, weights[i], src, dst)
        decrease = weights.sum() * (before - objective_value(objective, state))
        assert decrease == pytest.approx(weights[i] * profit, rel=1e-6, abs=1e-8 * weights.sum() * max(before, 1))


@given(seeds, shapes, st.sampled_from(["distortion", "pairwise"]))
def test_no_move_of_a_monotone_rule_raises_the_objective(seed, shape, objective):
    n, d, k = shape
    X, rule = data(seed, n, d), "hartigan" if objective == "distortion" else "paper"
    model = KSums(k, objective=objective, rule=rule, init="random-labels", max_iter=5, tol=0, random_state=seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KSUMS_CHECK", "1")
        model.fit(X)  # A move that raises the objective fails an assertion here.
    values = [record.objective for record in model.history_]
    assert all(later <= earlier * (1 + 1e-12) for earlier, later in pairwise(values))


@given(seeds, st.integers(2, 40), st.integers(1, 6), st.integers(1, 5))
def test_measures_equal_their_definitions(seed, n, d, k):
    rng = np.random.default_rng(seed)
    X, labels = rng.standard_normal((n, d)), rng.integers(0, k, n)
    squares = pairs = 0.0
    for r in range(k):
        members = X[labels == r]
        if len(members):
            squares += ((members - members.mean(axis=0)) ** 2).sum()
            pairs += ((members[:, None] - members) ** 2).sum() / 2
    assert metrics.distortion(X, labels) == pytest.approx(squares / n, abs=1e-12)
    assert metrics.pairwise(X, labels) == pytest.approx(pairs / n, abs=1e-12)


def test_the_replay_yields_the_state_after_every_move(rng):
    X = rng.standard_normal((100, 4))
    rows, before = prepare(X, "l2"), np.arange(100) % 6
    after = before.copy()
    after[[3, 50, 7]] = [0, 1, 2]
    order = rng.permutation(100)
    replayed = checks.replay(rows, before, after, order, 6)
    values = [(objective_value("distortion", state), objective_value("pairwise", state)) for state in replayed]
    assert len(values) == 3
    assert values[-1][0] == pytest.approx(metrics.distortion(X, after))
    assert values[-1][1] == pytest.approx(metrics.pairwise(X, after))


def test_the_check_notices_a_wrong_state(rng):
    X = rng.standard_normal((100, 4))
    rows, labels = prepare(X, "l2"), np.arange(100) % 6
    rule, order = rule_for("distortion", "l2", "hartigan"), np.arange(100)
    state = build_state(rows, labels, 6)
    checks.check_state(rows, state)
    state.composites[0] += 1
    with pytest.raises(AssertionError, match="composites"):
        checks.check_state(rows, state)
    fitted = KSums(6, init=labels, random_state=0).fit(X).labels_
    shuffled = fitted.copy()
    shuffled[:30] = np.roll(shuffled[:30], 7)
    with pytest.raises(AssertionError, match="raised the objective"):
        checks.check_pass(rows, fitted, build_state(rows, shuffled, 6), order, rule)
