"""Exchanges: two samples swap clusters where size limits let neither move alone."""

from itertools import pairwise

import numpy as np
import pytest
from helpers import RULES
from scipy import sparse

from ksums import KSums
from ksums.method.constrained.exchange import exchange_pass
from ksums.method.data.rows import prepare
from ksums.method.state.constraints import Constraints
from ksums.method.state.limits import Limits
from ksums.method.state.state import build_state
from ksums.rules.kinds import rule_for
from ksums.rules.objectives import objective_value


def under_constraints(model):
    """Return the objectives of a model from the record on at which the constraints hold."""
    records = model.history_
    return [record.objective for record in records[[record.stage for record in records].index("assign") :]]


def test_an_exchange_by_hand():
    """Clusters {0, 11} and {10, 1} must keep two samples each: 11 and 1 swap."""
    X = np.array([[0.0], [11.0], [10.0], [1.0]])
    rows, rule = prepare(X, "l2"), rule_for("distortion", "l2", "hartigan")
    limits = Constraints(Limits(np.full(2, 2.0), np.full(2, 2.0)))
    state = build_state(rows, [0, 0, 1, 1], 2)
    assert exchange_pass(rows, state, rule, limits) == 2
    assert state.labels.tolist() in ([0, 1, 1, 0], [1, 0, 0, 1])
    assert objective_value("distortion", state) == pytest.approx(4 * 0.25 / 4)
    assert exchange_pass(rows, state, rule, limits) == 0


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", ["l2", "cosine"])
@pytest.mark.parametrize(("objective", "rule"), RULES)
def test_exchanges_keep_the_limits_and_lower_the_objective(objective, rule, metric, weighted, kind, rng):
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
    values = under_constraints(model)
    if rule_for(objective, metric, rule).monotone:
        assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(values))
    assert min(values) <= values[0]


@pytest.mark.parametrize("objective", ["distortion", "pairwise"])
@pytest.mark.parametrize("seed", range(10))
def test_exchanges_of_unequal_weights_lower_the_objective(objective, seed):
    """The invariants check this after each exchange pass, too."""
    rng = np.random.default_rng(seed)
    X, weights = rng.standard_normal((60, 2)), rng.choice([1.0, 2.0, 5.0], 60)
    share = weights.sum() / 4
    rule = "hartigan" if objective == "distortion" else "paper"
    model = KSums(4, objective=objective, rule=rule, size_min=share - 3, size_max=share + 3, random_state=seed)
    model.fit(X, sample_weight=weights)
    values = under_constraints(model)
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(values))


def test_samples_that_can_move_alone_are_not_exchanged(rng):
    rows, rule = prepare(rng.standard_normal((60, 3)), "l2"), rule_for("distortion", "l2", "hartigan")
    state = build_state(rows, np.arange(60) % 4, 4)
    assert exchange_pass(rows, state, rule, Constraints(Limits(np.ones(4), np.full(4, 60.0)))) == 0


def test_tight_limits_still_find_a_good_clustering(rng):
    """No single move is possible, yet exchanges recover most of what random labels lose."""
    X = np.concatenate([rng.standard_normal((100, 2)) + np.array([8 * i, 0]) for i in range(4)])
    model = KSums(4, size_min=100, size_max=100, init="random-labels", random_state=0).fit(X)
    best = np.repeat(np.arange(4), 100)
    assert model.inertia_ == pytest.approx(KSums(4, init=best, random_state=0).fit(X).inertia_, rel=0.02)
