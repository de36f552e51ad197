"""A row of weight w counts as w equal rows that move together; a row of weight 0 does not count."""

import numpy as np
import pytest
from helpers import RULES, engine_for
from scipy import sparse

from ksums import KSums, metrics
from ksums.method.data.rows import prepare
from ksums.method.state.state import build_state, renew_sq_composites
from ksums.rules.objectives import objective_value


@pytest.fixture
def weighted(rng):
    X = rng.standard_normal((80, 6))
    weights = rng.integers(1, 5, 80)
    return X, weights, np.repeat(np.arange(80), weights)


@pytest.mark.parametrize("metric", ["l2", "cosine"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_sums_and_measures_equal_those_of_repeated_rows(metric, kind, weighted, rng):
    X, weights, repeated = weighted
    labels = rng.integers(0, 5, 80)
    one = build_state(prepare(kind(X), metric, weights.astype(float)), labels, 5)
    many = build_state(prepare(kind(X[repeated]), metric), labels[repeated], 5)
    assert objective_value("pairwise", one) == pytest.approx(objective_value("pairwise", many))
    assert objective_value("distortion", one) == pytest.approx(objective_value("distortion", many))
    for measure in (metrics.distortion, metrics.pairwise):
        assert measure(kind(X), labels, metric=metric, sample_weight=weights) == pytest.approx(
            measure(kind(X[repeated]), labels[repeated], metric=metric)
        )


@pytest.mark.parametrize("objective", ["distortion", "pairwise"])
def test_a_weighted_move_lowers_the_objective(objective, weighted, rng):
    """Each move lowers the objective, for any weight (Hartigan and I_s)."""
    X, weights, _ = weighted
    engine = engine_for(X, rng.integers(0, 5, 80), 5, objective=objective, weights=weights.astype(float), kernel="rows")
    before = objective_value(objective, engine.state)
    for i in rng.permutation(80):
        moved = sum(engine.visit(np.array([i])))
        renew_sq_composites(engine.state)
        after = objective_value(objective, engine.state)
        assert after < before if moved else after == pytest.approx(before)
        before = after


@pytest.mark.parametrize(("objective", "rule"), RULES)
@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_equal_weights_do_not_change_labels(objective, rule, metric, rng):
    X = rng.standard_normal((150, 7))
    options = {"n_clusters": 10, "objective": objective, "rule": rule, "metric": metric, "max_iter": 8}
    plain = KSums(random_state=0, **options).fit(X)
    ones = KSums(random_state=0, **options).fit(X, sample_weight=np.ones(150))
    np.testing.assert_array_equal(plain.labels_, ones.labels_)


def test_repeated_rows_and_weights_find_the_same_clear_clusters(blobs, rng):
    weights = rng.integers(0, 4, len(blobs))
    one = KSums(5, random_state=0).fit(blobs, sample_weight=weights)
    many = KSums(5, random_state=0).fit(np.repeat(blobs, weights, axis=0))
    assert one.inertia_ == pytest.approx(many.inertia_)
    assert one.pairwise_ == pytest.approx(many.pairwise_)
    assert sorted(one.sizes_) == sorted(many.sizes_)


@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_rows_of_weight_zero_count_as_absent(metric, rng):
    X = rng.standard_normal((100, 6))
    weights = (np.arange(100) % 5 > 0).astype(float)
    start = np.arange(100) % 7
    model = KSums(7, metric=metric, init=start, random_state=1).fit(X, sample_weight=weights)
    without = KSums(7, metric=metric, init=start[weights > 0], random_state=1).fit(X[weights > 0])
    np.testing.assert_array_equal(model.labels_[weights > 0], without.labels_)
    np.testing.assert_allclose(model.cluster_centers_, without.cluster_centers_)
    np.testing.assert_array_equal(model.labels_[weights == 0], model.predict(X[weights == 0]))
    assert model.sizes_.sum() == weights.sum()


def test_rows_of_weight_zero_do_not_affect_the_shift(rng):
    X = np.concatenate([rng.normal(c, 0.1, (20, 3)) for c in (0, 1, 2)] + [np.full((1, 3), 1e10)]).astype(np.float32)
    weights = np.r_[np.ones(60), 0]
    model = KSums(3, random_state=0).fit(X, sample_weight=weights)
    assert sorted(model.sizes_) == [20, 20, 20]


@pytest.mark.parametrize("objective", ["distortion", "pairwise"])
@pytest.mark.parametrize("metric", ["l2", "cosine"])
@pytest.mark.parametrize("k", [4, 20])
def test_weights_that_float32_cannot_hold(objective, metric, k, rng):
    """The sums match the labels for any type of data; the invariants check this after each pass."""
    X, weights = rng.standard_normal((300, 5)).astype(np.float32), np.exp(3 * rng.standard_normal(300))
    model = KSums(k, objective=objective, metric=metric, init="random-labels", random_state=0)
    model.fit(X, sample_weight=weights)
    np.testing.assert_allclose(model.sizes_, np.bincount(model.labels_, weights))
    best = min(model.history_, key=lambda record: record.objective)
    assert best.distortion == pytest.approx(model.distortion_, rel=1e-4)


def test_score_is_weighted(blobs, rng):
    model = KSums(5, random_state=0).fit(blobs)
    weights = rng.integers(0, 4, len(blobs))
    assert model.score(blobs, sample_weight=weights) == pytest.approx(model.score(np.repeat(blobs, weights, axis=0)))
