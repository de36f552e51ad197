"""Annealed reallocation: the schedule, what it ends in, and that it never ends worse than it began."""

import warnings

import numpy as np
import pytest
from helpers import ANNEALED, engine_for, run_passes
from scipy import sparse
from sklearn.base import clone

from ksums import Annealed, KSums
from ksums.annealing import relaxations
from ksums.drivers import driver_for, relaxation_of, relaxed

KINDS = [("distortion", "l2"), ("distortion", "cosine"), ("pairwise", "l2"), ("pairwise", "cosine")]


@pytest.fixture
def cloud(rng):
    return rng.standard_normal((600, 12)) + 0.3


def stages(model, stage):
    return [record for record in model.history_ if record.stage == stage]


def test_relaxation_falls_evenly_and_ends_before_one():
    values = relaxations(9.0, 16)
    assert values[0] == 9.0
    assert np.allclose(np.diff(values), -0.5)
    assert values[-1] == 1.5
    assert relaxations(9.0, 0) == []


def test_small_clusters_are_relaxed_less():
    driver = relaxed(driver_for("distortion", "l2", "annealed"), 12.0)
    counts = np.array([1, 4, 8, 16, 80, 96, 1000])
    assert relaxation_of(driver, driver.p, counts).tolist() == [1, 1, 1, 2, 10, 12, 12]
    plain = driver_for("distortion", "l2", 2.5)
    assert relaxation_of(plain, plain.p, counts).tolist() == [2.5] * 7
    heavy = relaxed(driver_for("distortion", "l2", "annealed"), 12.0, heaviest=10.0)
    assert relaxation_of(heavy, heavy.p, np.array([80.0, 800.0])).tolist() == [1, 10]


@pytest.mark.parametrize(("objective", "metric"), KINDS)
def test_records_tell_the_schedule(objective, metric, cloud):
    model = KSums(6, objective=objective, metric=metric, rule=Annealed(start=5.0, passes=8), random_state=0).fit(cloud)
    hot = stages(model, "annealing")
    assert [record.relaxation for record in hot] == pytest.approx(relaxations(5.0, 8)[: len(hot)])
    assert [record.index for record in hot] == list(range(1, len(hot) + 1))
    assert all(record.relaxation == 1 for record in model.history_[len(hot) :])
    assert model.converged_
    assert model.history_[-1].moves == 0


def test_the_schedule_follows_from_max_iter(cloud):
    fits = {most: KSums(6, max_iter=most, random_state=0).fit(cloud) for most in (5, 20, 300)}
    passes = {most: len(stages(model, "annealing")) for most, model in fits.items()}
    assert passes[5] == 2
    assert passes[20] == 8
    assert 8 < passes[300] <= 40
    assert fits[5].n_iter_ <= 5
    assert stages(KSums(6, rule=Annealed(passes=0), random_state=0).fit(cloud), "annealing") == []


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("objective", "metric"), KINDS)
def test_at_the_end_no_single_move_improves_it(objective, metric, weighted, kind, cloud, rng):
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
def test_never_worse_than_its_start(objective, metric, seed, cloud):
    given = {"objective": objective, "metric": metric, "random_state": seed}
    good = KSums(20, effort="high", n_init=2, **given).fit(cloud)
    again = KSums(20, init=good.labels_, effort="low", **given).fit(cloud)
    assert again.objective_ <= good.objective_ * (1 + 1e-12)


@pytest.mark.parametrize(("objective", "metric"), KINDS)
def test_better_than_a_single_rule(objective, metric, rng):
    """On data without structure the start hardly matters, and what counts is where the moves lead to."""
    X = rng.standard_normal((1500, 16))
    single = "paper" if objective == "pairwise" or metric == "cosine" else "hartigan"

    def mean(**given):
        fits = (KSums(25, objective=objective, metric=metric, random_state=s, **given).fit(X) for s in range(5))
        return np.mean([model.objective_ for model in fits])

    assert mean(refine=None) < mean(rule=single) * 0.999


def test_far_outliers_keep_their_clusters(rng):
    """Without the limit for small clusters, relaxation 12 would draw a pair of outliers into the crowd."""
    X = np.vstack([rng.standard_normal((500, 3)), [[60.0, 0, 0], [60.0, 3, 0], [0, -90.0, 0], [0, -90.0, 4]]])
    for seed in range(5):
        model = KSums(6, rule=Annealed(start=12.0, passes=20), refine=None, random_state=seed).fit(X)
        assert sorted(model.sizes_)[:2] == [2, 2]


@pytest.mark.parametrize(("objective", "metric"), KINDS)
def test_both_engines_anneal_alike(objective, metric, cloud):
    given = {"objective": objective, "metric": metric, "rule": Annealed(passes=4), "refine": None, "max_iter": 8}
    fits = [KSums(9, engine=engine, random_state=0, **given).fit(cloud[:150]) for engine in ("exact", "reference")]
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)
    assert [record.moves for record in fits[0].history_] == [record.moves for record in fits[1].history_]


def test_an_engine_may_change_its_relaxation_between_passes(cloud):
    labels, order = np.arange(600) % 30, np.arange(600)
    changing = engine_for(cloud, labels, 30, rule=ANNEALED)
    run_passes(changing, [order])
    changing.drive(driver_for("distortion", "l2", "hartigan"))
    _, moves = run_passes(changing, [order])
    fresh = engine_for(cloud, run_passes(engine_for(cloud, labels, 30, rule=ANNEALED), [order])[0][0], 30)
    assert moves == run_passes(fresh, [order])[1]
    np.testing.assert_array_equal(changing.state.labels, fresh.state.labels)


@pytest.mark.parametrize("limits", [(20, 40), (30, 30)])
@pytest.mark.parametrize(("objective", "metric"), KINDS)
def test_size_limits_hold_while_annealing(objective, metric, limits, cloud):
    seen, given = [], {"objective": objective, "metric": metric, "size_min": limits[0], "size_max": limits[1]}
    model = KSums(20, random_state=0, callbacks=[seen.append], **given).fit(cloud)
    assert all(limits[0] <= record.smallest <= record.largest <= limits[1] for record in seen)
    assert stages(model, "annealing")
    assert limits[0] <= model.sizes_.min() <= model.sizes_.max() <= limits[1]


@pytest.mark.parametrize(("objective", "metric"), KINDS)
def test_size_limits_and_weights(objective, metric, cloud, rng):
    weights = rng.uniform(0.5, 2, 600)
    low, high = weights.sum() / 20 * 0.8, weights.sum() / 20 * 1.2
    given = {"objective": objective, "metric": metric, "size_min": low, "size_max": high}
    for rule in ("auto", 1.5) if objective == "pairwise" else ("auto",):
        model = KSums(20, rule=rule, random_state=0, **given).fit(cloud, sample_weight=weights)
        assert low - 1e-9 <= model.sizes_.min() <= model.sizes_.max() <= high + 1e-9


def test_weights_that_differ_much(cloud):
    weights = np.where(np.arange(600) % 50 == 0, 1e6, 1.0)
    model = KSums(15, random_state=0).fit(cloud, sample_weight=weights)
    heavy = model.labels_[weights > 1]
    assert len(set(heavy)) == 12  # every heavy row has a cluster to itself
    assert model.distortion_ == pytest.approx(model.history_[-1].distortion, rel=1e-6)


@pytest.mark.parametrize("stop", ["callback", "interrupt"])
@pytest.mark.parametrize("at", [3, 12, 30, 50])
def test_stopped_anywhere_it_keeps_the_best(stop, at, rng):
    """Three rounds of annealing and search: stopped in a hot pass of a later one, what came before is not lost."""
    X, seen = rng.standard_normal((900, 20)), []

    def listen(record):
        seen.append(record)
        if len(seen) == at and stop == "interrupt":
            raise KeyboardInterrupt
        return len(seen) == at

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = KSums(100, random_state=0, callbacks=[listen]).fit(X)
    assert len(seen) == at
    assert model.distortion_ == pytest.approx(min(record.distortion for record in seen))
    assert not model.converged_


@pytest.mark.parametrize("most", [1, 2, 5, 9, 40])
@pytest.mark.parametrize("passes", [None, 0, 1, 7, 100])
def test_no_more_passes_than_allowed(most, passes, rng):
    X = rng.standard_normal((400, 20))
    model = KSums(100, rule=Annealed(passes=passes), max_iter=most, n_init=2, effort="low", random_state=0).fit(X)
    assert model.n_iter_ <= most


def test_it_is_a_parameter_like_any_other():
    model = KSums(3, rule=Annealed(start=4.0))
    again = clone(model)
    assert again.rule == model.rule
    assert "Annealed(start=4.0, passes=None)" in repr(again)
    again.set_params(rule="paper")
    assert again.get_params()["rule"] == "paper"
