"""Annealed reallocation: its schedule, the optimum it reaches, and that it never ends worse than it starts."""

import warnings

import numpy as np
import pytest
from helpers import ANNEALED, engine_for, run_passes
from scipy import sparse
from sklearn.base import clone

from ksums import Annealed, KSums
from ksums.rules.annealing import relaxations, relaxed
from ksums.rules.kinds import rule_for

KINDS = [("distortion", "l2"), ("distortion", "cosine"), ("pairwise", "l2"), ("pairwise", "cosine")]
"""Each pair is an objective and a metric."""


@pytest.fixture
def cloud(rng):
    return rng.standard_normal((600, 12)) + 0.3


def records_of(model, stage):
    return [record for record in model.history_ if record.stage == stage]


def test_relaxation_falls_in_equal_steps_and_ends_above_one():
    values = relaxations(9.0, 16)
    assert values[0] == 9.0
    assert np.allclose(np.diff(values), -0.5)
    assert values[-1] == 1.5
    assert relaxations(9.0, 0) == []


def test_small_clusters_are_relaxed_less():
    rule = relaxed(rule_for("distortion", "l2", "annealed"), 12.0)
    counts = np.array([1, 4, 8, 16, 80, 96, 1000])
    assert rule.exponent_for(rule.p, counts).tolist() == [1, 1, 1, 2, 10, 12, 12]
    plain = rule_for("distortion", "l2", 2.5)
    assert plain.exponent_for(plain.p, counts).tolist() == [2.5] * 7
    heavy = relaxed(rule_for("distortion", "l2", "annealed"), 12.0, heaviest=10.0)
    assert heavy.exponent_for(heavy.p, np.array([80.0, 800.0])).tolist() == [1, 10]


@pytest.mark.parametrize(("objective", "metric"), KINDS)
def test_records_show_the_schedule(objective, metric, cloud):
    model = KSums(6, objective=objective, metric=metric, rule=Annealed(start=5.0, passes=8), random_state=0).fit(cloud)
    annealed = records_of(model, "annealing")
    assert [record.relaxation for record in annealed] == pytest.approx(relaxations(5.0, 8)[: len(annealed)])
    assert [record.index for record in annealed] == list(range(1, len(annealed) + 1))
    assert all(record.relaxation == 1 for record in model.history_[len(annealed) :])
    assert model.converged_
    assert model.history_[-1].moves == 0


def test_max_iter_limits_the_schedule(cloud):
    fits = {max_iter: KSums(6, max_iter=max_iter, random_state=0).fit(cloud) for max_iter in (5, 20, 300)}
    passes = {max_iter: len(records_of(model, "annealing")) for max_iter, model in fits.items()}
    assert passes[5] == 2
    assert passes[20] == 8
    assert 8 < passes[300] <= 40
    assert fits[5].n_iter_ <= 5
    assert records_of(KSums(6, rule=Annealed(passes=0), random_state=0).fit(cloud), "annealing") == []


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("objective", "metric"), KINDS)
def test_no_single_move_improves_the_result(objective, metric, weighted, kind, cloud, rng):
    X, weights = cloud[:200], rng.uniform(0.5, 2, 200) if weighted else None
    model = KSums(7, objective=objective, metric=metric, random_state=0).fit(kind(X), sample_weight=weights)
    exact = "ikm" if (objective, metric) == ("distortion", "cosine") else "hartigan"
    exact = "paper" if objective == "pairwise" else exact
    engine = engine_for(
        X, model.labels_, 7, objective=objective, metric=metric, rule=exact, weights=weights, reference=True
    )
    _, moves = run_passes(engine, [np.arange(200)])
    assert moves == [0]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("objective", "metric"), KINDS)
def test_the_result_is_never_worse_than_the_start(objective, metric, seed, cloud):
    options = {"objective": objective, "metric": metric, "random_state": seed}
    good = KSums(20, effort="high", n_init=2, **options).fit(cloud)
    again = KSums(20, init=good.labels_, effort="low", **options).fit(cloud)
    assert again.objective_ <= good.objective_ * (1 + 1e-12)


@pytest.mark.parametrize(("objective", "metric"), KINDS)
def test_annealing_beats_a_single_rule(objective, metric, rng):
    """On data without structure the start hardly matters; what counts is where the moves lead."""
    X = rng.standard_normal((1500, 16))
    single = "paper" if objective == "pairwise" or metric == "cosine" else "hartigan"

    def mean(**options):
        fits = (KSums(25, objective=objective, metric=metric, random_state=s, **options).fit(X) for s in range(5))
        return np.mean([model.objective_ for model in fits])

    assert mean(refine=None) < mean(rule=single) * 0.999


def test_far_outliers_keep_their_clusters(rng):
    """Without the limit for small clusters, relaxation 12 would pull a pair of outliers into a large cluster."""
    X = np.vstack([rng.standard_normal((500, 3)), [[60.0, 0, 0], [60.0, 3, 0], [0, -90.0, 0], [0, -90.0, 4]]])
    for seed in range(5):
        model = KSums(6, rule=Annealed(start=12.0, passes=20), refine=None, random_state=seed).fit(X)
        assert sorted(model.sizes_)[:2] == [2, 2]


@pytest.mark.parametrize(("objective", "metric"), KINDS)
def test_both_engines_anneal_in_the_same_way(objective, metric, cloud):
    options = {"objective": objective, "metric": metric, "rule": Annealed(passes=4), "refine": None, "max_iter": 8}
    fits = [KSums(9, engine=engine, random_state=0, **options).fit(cloud[:150]) for engine in ("exact", "reference")]
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
    assert [record.moves for record in fits[0].history_] == [record.moves for record in fits[1].history_]


def test_an_engine_can_change_its_relaxation_between_passes(cloud):
    labels, order = np.arange(600) % 30, np.arange(600)
    changing = engine_for(cloud, labels, 30, rule=ANNEALED)
    run_passes(changing, [order])
    changing.use_rule(rule_for("distortion", "l2", "hartigan"))
    _, moves = run_passes(changing, [order])
    fresh = engine_for(cloud, run_passes(engine_for(cloud, labels, 30, rule=ANNEALED), [order])[0][0], 30)
    assert moves == run_passes(fresh, [order])[1]
    np.testing.assert_array_equal(changing.state.labels, fresh.state.labels)


@pytest.mark.parametrize("limits", [(20, 40), (30, 30)])
@pytest.mark.parametrize(("objective", "metric"), KINDS)
def test_size_limits_hold_from_the_first_assignment_on(objective, metric, limits, cloud):
    seen, options = [], {"objective": objective, "metric": metric, "size_min": limits[0], "size_max": limits[1]}
    model = KSums(20, random_state=0, callbacks=[seen.append], **options).fit(cloud)
    under = seen[[record.stage for record in seen].index("assign") :]
    assert all(limits[0] <= record.smallest <= record.largest <= limits[1] for record in under)
    assert records_of(model, "annealing")
    assert limits[0] <= model.sizes_.min() <= model.sizes_.max() <= limits[1]


@pytest.mark.parametrize(("objective", "metric"), KINDS)
def test_weighted_sizes_stay_within_the_limits(objective, metric, cloud, rng):
    weights = rng.uniform(0.5, 2, 600)
    low, high = weights.sum() / 20 * 0.8, weights.sum() / 20 * 1.2
    options = {"objective": objective, "metric": metric, "size_min": low, "size_max": high}
    for rule in ("auto", 1.5) if objective == "pairwise" else ("auto",):
        model = KSums(20, rule=rule, random_state=0, **options).fit(cloud, sample_weight=weights)
        assert low - 1e-9 <= model.sizes_.min() <= model.sizes_.max() <= high + 1e-9


def test_very_unequal_weights(cloud):
    weights = np.where(np.arange(600) % 50 == 0, 1e6, 1.0)
    model = KSums(15, random_state=0).fit(cloud, sample_weight=weights)
    heavy = model.labels_[weights > 1]
    assert len(set(heavy)) == 12  # Every heavy row has its own cluster.
    assert model.distortion_ == pytest.approx(model.history_[-1].distortion, rel=1e-6)


@pytest.mark.parametrize("stop", ["callback", "interrupt"])
@pytest.mark.parametrize("at", [3, 12, 30, 50])
def test_a_stopped_fit_keeps_the_best_labels(stop, at, rng):
    """A fit of three rounds that is stopped in a hot annealing pass keeps the best labels of earlier rounds."""
    X, seen = rng.standard_normal((900, 20)), []

    def stop_fit(record):
        seen.append(record)
        if len(seen) == at and stop == "interrupt":
            raise KeyboardInterrupt
        return len(seen) == at

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KSums(100, random_state=0, callbacks=[stop_fit]).fit(X)
    assert len(seen) == at
    assert model.distortion_ == pytest.approx(min(record.distortion for record in seen))
    assert not model.converged_


@pytest.mark.parametrize("max_iter", [1, 2, 5, 9, 40])
@pytest.mark.parametrize("passes", [None, 0, 1, 7, 100])
def test_max_iter_is_never_exceeded(max_iter, passes, rng):
    X = rng.standard_normal((400, 20))
    model = KSums(100, rule=Annealed(passes=passes), max_iter=max_iter, n_init=2, effort="low", random_state=0).fit(X)
    assert model.n_iter_ <= max_iter


def test_annealed_is_a_parameter_like_any_other():
    model = KSums(3, rule=Annealed(start=4.0))
    again = clone(model)
    assert again.rule == model.rule
    assert "Annealed(start=4.0, passes=None)" in repr(again)
    again.set_params(rule="paper")
    assert again.get_params()["rule"] == "paper"
