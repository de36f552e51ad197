"""Two samples change places where neither may move alone."""

from itertools import pairwise

import numpy as np
import pytest
from helpers import RULES
from scipy import sparse

from ksums import KSums
from ksums import state as states
from ksums.drivers import block_costs, driver_for, join_costs, stay_cost
from ksums.exchange import exchange_pass
from ksums.rows import prepare
from ksums.state import Limits


def test_by_hand():
    """0 and 11 against 10 and 1, two to a cluster: 11 goes where 10 is, 1 comes for it."""
    X = np.array([[0.0], [11.0], [10.0], [1.0]])
    rows, driver = prepare(X, "l2"), driver_for("distortion", "l2", "hartigan")
    limits = Limits(np.full(2, 2.0), np.full(2, 2.0))
    state = states.build(rows, [0, 0, 1, 1], 2)
    assert exchange_pass(rows, state, driver, limits) == 2
    assert state.labels.tolist() in ([0, 1, 1, 0], [1, 0, 0, 1])
    assert states.distortion(state) == pytest.approx(4 * 0.25 / 4)
    assert exchange_pass(rows, state, driver, limits) == 0


@pytest.mark.parametrize("metric", ["l2", "cosine"])
@pytest.mark.parametrize(("objective", "rule"), RULES)
def test_costs_of_a_block_are_those_of_its_samples(objective, rule, metric, rng):
    X, weights, k = rng.standard_normal((60, 5)), rng.uniform(0.5, 2, 60), 7
    rows, driver = prepare(X, metric, weights), driver_for(objective, metric, rule)
    state = states.build(rows, np.arange(60) % k, k)
    ids = np.arange(60)
    block = rows.read(ids)
    stay, join = block_costs(driver, block @ state.composites.T, rows.sq_norms, weights, state.labels, state)
    for i in ids:
        expected = join_costs(driver, block[i], weights[i], state)
        own = state.labels[i]
        assert stay[i] == pytest.approx(stay_cost(driver, block[i], weights[i], state, own))
        np.testing.assert_allclose(np.delete(join[i], own), np.delete(expected, own))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", ["l2", "cosine"])
@pytest.mark.parametrize(("objective", "rule"), RULES)
def test_exchanges_keep_the_limits_and_pay(objective, rule, metric, weighted, kind, rng):
    X = rng.standard_normal((120, 4))
    weights = rng.uniform(0.9, 1.1, 120) if weighted else None
    total = 120 if weights is None else weights.sum()
    low, high = (total / 6 - 1, total / 6 + 1) if weighted else (20, 20)
    rule = "paper" if rule == "auto" else rule
    model = KSums(6, objective=objective, rule=rule, metric=metric, size_min=low, size_max=high, random_state=0)
    model.fit(kind(X), sample_weight=weights)
    assert model.sizes_.min() >= low - 1e-9
    assert model.sizes_.max() <= high + 1e-9
    assert sum(record.moves for record in model.history_) > 0
    values = [record.objective for record in model.history_]
    if driver_for(objective, metric, rule).monotone:
        assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(values))
    assert min(values) <= values[0]


@pytest.mark.parametrize("objective", ["distortion", "pairwise"])
@pytest.mark.parametrize("seed", range(10))
def test_exchanges_of_unequal_weights_pay_too(objective, seed):
    """Checked after each exchange pass by the invariants."""
    rng = np.random.default_rng(seed)
    X, weights = rng.standard_normal((60, 2)), rng.choice([1.0, 2.0, 5.0], 60)
    share = weights.sum() / 4
    rule = "hartigan" if objective == "distortion" else "paper"
    model = KSums(4, objective=objective, rule=rule, size_min=share - 3, size_max=share + 3, random_state=seed)
    model.fit(X, sample_weight=weights)
    values = [record.objective for record in model.history_]
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(values))


def test_no_exchange_where_everybody_is_free(rng):
    rows, driver = prepare(rng.standard_normal((60, 3)), "l2"), driver_for("distortion", "l2", "hartigan")
    state = states.build(rows, np.arange(60) % 4, 4)
    assert exchange_pass(rows, state, driver, Limits(np.ones(4), np.full(4, 60.0))) == 0


def test_tight_limits_still_find_a_good_clustering(rng):
    """Where no single move is possible, most of what random labels lose is won back."""
    X = np.concatenate([rng.standard_normal((100, 2)) + np.array([8 * i, 0]) for i in range(4)])
    model = KSums(4, size_min=100, size_max=100, init="random-labels", random_state=0).fit(X)
    best = np.repeat(np.arange(4), 100)
    assert model.inertia_ == pytest.approx(KSums(4, init=best, random_state=0).fit(X).inertia_, rel=0.02)
