"""Engine ``"neighbors"``: against its plain twin, pass by pass; lists; what may not change the result; whole fits."""

import numpy as np
import pytest
from helpers import EVERY_RULE, driver_of
from scipy import sparse

from ksums import Annealed, KSums
from ksums import state as states
from ksums.drivers import COSINE, FAMILY, PAIRWISE, join_costs, rounding_margin, stay_cost
from ksums.effort import LISTS, planned_lists
from ksums.engines import list_clusters, neighbours
from ksums.engines.neighbours import NeighbourEngine
from ksums.metrics import distortion
from ksums.rows import prepare
from ksums.state import Limits, no_limits
from ksums.two_level import two_level_labels

LENGTH = 16


@pytest.fixture
def blobs():
    """Forty groups of thirty, in eight dimensions."""
    rng = np.random.default_rng(0)
    return np.repeat(rng.normal(size=(40, 8)) * 3, 30, axis=0) + rng.normal(size=(1200, 8))


@pytest.fixture
def cloud():
    """No groups: many optima that are about as good."""
    return np.random.default_rng(1).normal(size=(1500, 8))


def make_engine(X, labels, k, *, objective="distortion", metric="l2", rule="hartigan", weights=None, limits=None,
                n_threads=1, length=LENGTH):  # fmt: skip
    rows = prepare(X, metric, weights)
    state = states.build(rows, labels, k)
    engine = NeighbourEngine(rows, state, driver_of(objective, metric, rule), limits or no_limits(k), n_threads)
    engine.lengthen(length)
    return engine


def plain_pass(rows, state, driver, limits, lists, filled, turns, batch):
    """The same pass in NumPy: a batch of clusters proposes against one state, then each move is verified and made."""
    clusters = state.labels[turns][np.sort(np.unique(state.labels[turns], return_index=True)[1])]
    before = state.labels.copy()
    for first in range(0, len(clusters), batch):
        proposals = []
        for w in clusters[first : first + batch]:
            for i in turns[before[turns] == w]:
                x, weight = rows.read(np.array([i]), np.float64)[0], float(rows.weights_of(np.array([i]))[0])
                near = lists[w, 1 : filled[w]]
                costs = join_costs(driver, x, weight, state)[near]
                costs[state.sizes[near] + weight > limits.high[near]] = np.inf
                if state.counts[w] > 1 and costs.min() < _to_beat(driver, x, weight, state, w):
                    proposals.append((i, x, weight, w, near[costs.argmin()]))
        for i, x, weight, w, v in proposals:
            allowed = state.counts[w] > 1 and state.sizes[w] - weight >= limits.low[w]
            if not allowed or state.sizes[v] + weight > limits.high[v]:
                continue
            if join_costs(driver, x, weight, state)[v] < _to_beat(driver, x, weight, state, w):
                states.reallocate(state, i, x, weight, w, v)


def _to_beat(driver, x, weight, state, w):
    return stay_cost(driver, x, weight, state, w) - rounding_margin(driver, x, state, w)


# -------------------------------------------------------------------------------------------- the twin
@pytest.mark.parametrize(("objective", "rule", "metric"), EVERY_RULE)
@pytest.mark.parametrize("kind", ["plain", "weights", "limits"])
def test_passes_are_those_of_the_plain_twin(blobs, objective, rule, metric, kind):
    rng = np.random.default_rng(1)
    X, k = blobs[::2], 50
    weights = rng.integers(1, 4, len(X)).astype(float) if kind == "weights" else None
    limits = Limits(np.full(k, 6.0), np.full(k, 20.0)) if kind == "limits" else None
    labels = rng.permutation(np.arange(len(X)) % k)
    options = {"objective": objective, "metric": metric, "rule": rule, "weights": weights, "limits": limits}
    engine = make_engine(X, labels, k, **options)
    for _ in range(3):
        order = rng.permutation(len(X))
        before, turns = engine.state.labels.copy(), engine.turns(order)
        moves = sum(engine.visit(order))
        assert moves > 0
        twin = states.build(engine.rows, before, k)
        driver = driver_of(objective, metric, rule)
        lists, filled = engine._lists
        plain_pass(engine.rows, twin, driver, limits or no_limits(k), lists, filled, turns, engine._batch)
        np.testing.assert_array_equal(engine.state.labels, twin.labels)
        states.renew_sq_composites(engine.state)


@pytest.mark.parametrize(("d", "k"), [(1, 30), (3, 6), (8, 6), (40, 3)])
def test_passes_of_large_clusters_and_of_few_dimensions(d, k):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, d))
    engine = make_engine(X, rng.permutation(np.arange(400) % k), k)
    for _ in range(3):
        order = rng.permutation(400)
        before, turns = engine.state.labels.copy(), engine.turns(order)
        assert sum(engine.visit(order)) > 0
        twin = states.build(engine.rows, before, k)
        plain_pass(engine.rows, twin, engine_driver(), no_limits(k), *engine._lists, turns, engine._batch)
        np.testing.assert_array_equal(engine.state.labels, twin.labels)
        states.renew_sq_composites(engine.state)


def engine_driver():
    return driver_of("distortion", "l2", "hartigan")


def test_turns_are_all_samples_cluster_by_cluster(blobs):
    labels = np.arange(len(blobs)) % 40
    engine = make_engine(blobs, labels, 40)
    turns = engine.turns(np.arange(len(blobs)))
    np.testing.assert_array_equal(np.sort(turns), np.arange(len(blobs)))
    np.testing.assert_array_equal(labels[turns], np.repeat(np.arange(40), 30))


# -------------------------------------------------------------------------------------------- the lists
@pytest.mark.parametrize("kind", [FAMILY, PAIRWISE, COSINE])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lists_hold_the_nearest_clusters(blobs, kind, dtype):
    k, length = 300, 32
    rows = prepare(blobs.astype(dtype), "cosine" if kind == COSINE else "l2")
    state = states.build(rows, np.arange(len(blobs)) * k // len(blobs), k)
    near = list_clusters(state, kind, rows.dtype, length, 1)
    centres = state.composites / state.sizes[:, None]
    squares = np.square(centres[:, None] - centres).sum(axis=2)
    if kind == COSINE:
        unit = centres / np.linalg.norm(centres, axis=1, keepdims=True)
        squares = 1 - unit @ unit.T
    if kind == PAIRWISE:
        squares = state.sizes * squares + (state.norm_sums - state.sq_composites / state.sizes)
    np.fill_diagonal(squares, -1)
    own = length - length // 4
    for w in range(k):
        found = near.lists[w, :own]
        assert found[0] == w
        assert len(set(near.lists[w, : near.filled[w]])) == near.filled[w]
        np.testing.assert_allclose(squares[w][found], np.sort(squares[w])[:own], rtol=1e-3, atol=1e-3)


def test_every_cluster_is_in_the_list_of_its_nearest_if_there_is_room(blobs):
    k = 300
    rows = prepare(blobs, "l2")
    state = states.build(rows, np.arange(len(blobs)) * k // len(blobs), k)
    near = list_clusters(state, FAMILY, rows.dtype, 32, 1)
    for w in range(k):
        v = near.lists[w, 1]
        assert w in near.lists[v, : near.filled[v]] or near.filled[v] == 32


def test_lists_through_groups_miss_little(blobs, monkeypatch):
    k = 400
    rows = prepare(blobs, "l2")
    state = states.build(rows, np.arange(len(blobs)) * k // len(blobs), k)
    exact = list_clusters(state, FAMILY, rows.dtype, 16, 1)
    monkeypatch.setattr("ksums.engines.neighbour_lists._CANDIDATES", 100)
    quick = list_clusters(state, FAMILY, rows.dtype, 16, 2)
    shared = np.mean([len(np.intersect1d(a[:12], b[:12])) / 12 for a, b in zip(exact.lists, quick.lists, strict=True)])
    assert 0.8 < shared < 1.0


@pytest.mark.parametrize("k", [1, 2, 7, 8, 60, 64])
def test_with_fewer_clusters_than_places_all_are_in_the_list(blobs, k):
    rows = prepare(blobs, "l2")
    state = states.build(rows, np.arange(len(blobs)) % k, k)
    near = list_clusters(state, FAMILY, rows.dtype, 64, 1)
    assert near.lists.shape == (k, -(-k // 8) * 8)
    assert all(set(near.lists[w, : near.filled[w]]) == set(range(k)) for w in range(k))


# -------------------------------------------------------------------------------------------- what changes nothing
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_and_the_copy_change_nothing(blobs, dtype, monkeypatch):
    X = blobs.astype(dtype)
    model = KSums(60, engine="neighbors", n_neighbors=16, random_state=0, n_threads=1).fit(X)
    monkeypatch.setattr("ksums.engines._threads._WORTH_SHARING", 0)
    threads = KSums(60, engine="neighbors", n_neighbors=16, random_state=0, n_threads=2).fit(X)
    np.testing.assert_array_equal(model.labels_, threads.labels_)
    monkeypatch.setattr(neighbours, "_COPIED_BYTES", 0)
    reading = KSums(60, engine="neighbors", n_neighbors=16, random_state=0, n_threads=2).fit(X)
    np.testing.assert_array_equal(model.labels_, reading.labels_)


@pytest.mark.parametrize("narrow", [np.uint8, np.float16])
@pytest.mark.parametrize("copied", [1 << 30, 0])
def test_narrow_types_are_read_as_float32(blobs, narrow, copied, monkeypatch):
    monkeypatch.setattr(neighbours, "_COPIED_BYTES", copied)
    X = (blobs * 8 + 100).round().clip(0, 255)
    wide = KSums(40, engine="neighbors", random_state=0).fit(X.astype(np.float32))
    np.testing.assert_array_equal(
        KSums(40, engine="neighbors", random_state=0).fit(X.astype(narrow)).labels_, wide.labels_
    )


# -------------------------------------------------------------------------------------------- fits
@pytest.mark.parametrize("objective", ["distortion", "pairwise"])
@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_ends_as_low_as_the_exact_engine(cloud, objective, metric):
    lists = KSums(100, engine="neighbors", objective=objective, metric=metric, random_state=0).fit(cloud)
    exact = KSums(100, engine="exact", objective=objective, metric=metric, random_state=0, refine=None).fit(cloud)
    assert lists.objective_ < 1.03 * exact.objective_
    assert (np.bincount(lists.labels_, minlength=100) > 0).all()


def test_weights_pull(blobs):
    """Rows of weight 0 pull nothing; a heavy row has a cluster near it."""
    weights = np.ones(len(blobs))
    weights[:600], weights[600] = 0.0, 1e4
    model = KSums(40, engine="neighbors", random_state=0).fit(blobs, sample_weight=weights)
    kept = KSums(40, engine="neighbors", random_state=0).fit(blobs[600:], sample_weight=weights[600:])
    np.testing.assert_array_equal(model.labels_[600:], kept.labels_)
    assert np.abs(model.cluster_centers_[model.labels_[600]] - blobs[600]).max() < 0.05


def test_records_tell_how_many_comparisons_were_made(blobs):
    model = KSums(60, engine="neighbors", n_neighbors=16, random_state=0).fit(blobs)
    assert all(0 < record.comparisons <= len(blobs) * 16 + 60 * 60 for record in model.history_)
    assert any(record.comparisons <= len(blobs) * 16 for record in model.history_)
    exact = KSums(60, engine="exact", refine=None, random_state=0).fit(blobs)
    assert {record.comparisons for record in exact.history_} == {60 * len(blobs)}
    searched = KSums(10, random_state=0).fit(blobs)
    assert all(record.comparisons > 0 for record in searched.history_ if record.trials)


def test_effort_makes_lists_longer_and_annealing_slower(blobs):
    assert [planned_lists(level, None).lists for level in ("low", "default", "high")] == [64, 128, 512]
    assert planned_lists("high", 40).lists == 40
    assert planned_lists(3.0, None).timed_lists
    low = KSums(60, engine="neighbors", effort="low", random_state=0).fit(blobs)
    assert {record.stage for record in low.history_} == {"pass"}
    default = KSums(60, engine="neighbors", random_state=0).fit(blobs)
    assert sum(record.stage == "annealing" for record in default.history_) == LISTS["default"][1]
    assert default.distortion_ < low.distortion_


def test_a_schedule_of_ones_own(blobs):
    model = KSums(60, engine="neighbors", rule=Annealed(start=3, passes=4), random_state=0).fit(blobs)
    assert [record.relaxation for record in model.history_ if record.stage == "annealing"] == [3.0, 2.5, 2.0, 1.5]


def test_a_schedule_of_ones_own_at_the_lowest_effort(blobs):
    model = KSums(60, engine="neighbors", rule=Annealed(passes=4), effort="low", random_state=0).fit(blobs)
    assert sum(record.stage == "annealing" for record in model.history_) == 4


def test_no_more_passes_than_allowed(blobs):
    model = KSums(60, engine="neighbors", rule=Annealed(passes=4), effort=5.0, max_iter=5, random_state=0).fit(blobs)
    assert model.n_iter_ <= 5


def test_ctrl_c_keeps_the_best_so_far(blobs):
    def interrupt(record):
        if record.index == 3:
            raise KeyboardInterrupt

    with pytest.warns(match="interrupted after 3 passes"):
        model = KSums(60, engine="neighbors", callbacks=[interrupt], random_state=0).fit(blobs)
    assert not model.converged_
    assert model.distortion_ <= min(record.objective for record in model.history_) * (1 + 1e-9)


def test_a_length_is_enough_to_ask_for_lists(blobs):
    asked = KSums(60, n_neighbors=16, random_state=0).fit(blobs)
    np.testing.assert_array_equal(
        asked.labels_, KSums(60, engine="neighbors", n_neighbors=16, random_state=0).fit(blobs).labels_
    )


def test_other_rules_are_not_annealed(blobs):
    model = KSums(60, engine="neighbors", rule="hartigan", random_state=0).fit(blobs)
    assert {record.stage for record in model.history_} == {"pass"}
    values = [record.objective for record in model.history_]
    assert (np.diff(values) <= 0).all()


def test_a_time_is_made_use_of_and_kept_to(blobs):
    model = KSums(60, engine="neighbors", effort=0.5, random_state=0).fit(blobs)
    assert any(record.stage == "annealing" for record in model.history_)
    stopped = KSums(60, engine="neighbors", time_budget=1e-9, random_state=0).fit(blobs)
    assert not stopped.converged_
    assert stopped.n_iter_ == 1


def test_auto_takes_lists_from_two_thousand_clusters_on():
    X = np.random.default_rng(0).normal(size=(4100, 3))
    many = KSums(2000, random_state=0, effort="low").fit(X)
    assert many.history_[-1].comparisons < 2000 * len(X) / 4
    explicit = KSums(2000, engine="neighbors", init="two-level", random_state=0, effort="low").fit(X)
    np.testing.assert_array_equal(many.labels_, explicit.labels_)
    exact = KSums(2000, random_state=0, rule="hartigan", max_iter=1).fit(X)
    assert exact.history_[0].comparisons == 2000 * len(X)


def test_other_starts_can_be_chosen(blobs):
    for init in ("random-points", "k-means++", np.arange(len(blobs)) % 50, blobs[:50]):
        model = KSums(50, engine="neighbors", init=init, random_state=0).fit(blobs)
        assert (np.bincount(model.labels_, minlength=50) > 0).all()


def test_degenerate_data():
    assert KSums(1, engine="neighbors").fit(np.arange(20.0).reshape(10, 2)).inertia_ == 660.0
    assert KSums(10, engine="neighbors").fit(np.arange(20.0).reshape(10, 2)).inertia_ == 0.0
    with pytest.warns(match="distinct clusters"):
        model = KSums(12, engine="neighbors", random_state=0).fit(np.repeat(np.eye(3), 20, axis=0))
    assert (np.bincount(model.labels_, minlength=12) > 0).all()


# -------------------------------------------------------------------------------------------- two-level start
@pytest.mark.parametrize("k", [1, 2, 17, 150, 1200])
def test_two_level_start_fills_every_cluster(blobs, k):
    rows = prepare(blobs, "l2")
    starts = [
        two_level_labels(rows, k, driver_of("distortion", "l2", "annealed"), np.random.default_rng(3), threads)
        for threads in (1, 2)
    ]
    np.testing.assert_array_equal(*starts)
    assert (np.bincount(starts[0], minlength=k) > 0).all()
    assert len(np.bincount(starts[0])) == k


def test_two_level_start_is_better_than_random_points(blobs):
    rows = prepare(blobs, "l2")
    labels = two_level_labels(rows, 100, driver_of("distortion", "l2", "annealed"), np.random.default_rng(0), 1)
    chosen = blobs[np.random.default_rng(0).choice(len(blobs), 100, replace=False)]
    nearest = np.square(blobs[:, None] - chosen).sum(axis=2).argmin(axis=1)
    assert distortion(blobs, labels) < 0.95 * distortion(blobs, nearest)


def test_two_level_start_with_the_exact_engine(blobs):
    model = KSums(60, init="two-level", engine="exact", random_state=0).fit(blobs)
    assert model.converged_


# -------------------------------------------------------------------------------------------- size limits
@pytest.mark.parametrize("metric", ["l2", "cosine"])
@pytest.mark.parametrize(("low", "high"), [(30, 30), (None, 31), (25, None), (20, 40)])
def test_sizes_keep_to_the_limits(blobs, low, high, metric):
    model = KSums(40, engine="neighbors", size_min=low, size_max=high, metric=metric, random_state=0).fit(blobs)
    assert model.sizes_.min() >= (low or 1)
    assert model.sizes_.max() <= (high or len(blobs))


def test_weighted_sizes_keep_to_the_limits(blobs):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(blobs))
    mean = weights.sum() / 40
    limits = {"size_min": 0.7 * mean, "size_max": 1.3 * mean}
    model = KSums(40, engine="neighbors", random_state=0, **limits).fit(blobs, sample_weight=weights)
    assert model.sizes_.min() >= 0.7 * mean
    assert model.sizes_.max() <= 1.3 * mean


def test_exchanges_go_on_where_no_sample_may_move(cloud):
    """With every cluster full only exchanges can bring it down."""
    limits = {"size_min": 15, "size_max": 15, "random_state": 0}
    model = KSums(100, engine="neighbors", **limits).fit(cloud)
    assert sum(record.moves for record in model.history_) > 0
    exact = KSums(100, engine="exact", init="two-level", refine=None, **limits).fit(cloud)
    assert model.distortion_ < 1.01 * exact.distortion_


# -------------------------------------------------------------------------------------------- polish
@pytest.mark.parametrize("polish", ["pass", "assign"])
@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_polish_looks_at_all_clusters_once(blobs, polish, metric):
    options = {"engine": "neighbors", "n_neighbors": 8, "effort": "low", "metric": metric, "random_state": 0}
    rough = KSums(100, **options).fit(blobs)
    model = KSums(100, polish=polish, **options).fit(blobs)
    last = model.history_[-1]
    assert last.stage == "polish"
    assert last.comparisons == 100 * len(blobs)
    assert model.objective_ < rough.objective_
    assert [record.stage for record in model.history_].count("polish") == 1


def test_polish_of_a_rule_that_may_go_up_is_kept(cloud):
    options = {"engine": "neighbors", "n_neighbors": 8, "rule": "released", "max_iter": 3, "random_state": 0}
    model = KSums(100, polish="assign", **options).fit(cloud)
    assert model.distortion_ == pytest.approx(model.history_[-1].objective)
    assert model.distortion_ == pytest.approx(min(record.objective for record in model.history_))


# -------------------------------------------------------------------------------------------- predict
@pytest.mark.parametrize("metric", ["l2", "cosine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_the_graph_finds_nearly_always_the_nearest(blobs, metric, dtype):
    X = (blobs * 8 + 100).round().clip(0, 255).astype(dtype)
    model = KSums(300, engine="neighbors", metric=metric, effort="low", random_state=0).fit(X)
    exact, found = model.predict(X), model.predict(X, search="graph")
    assert (exact == found).mean() > 0.97
    one = KSums(300, n_threads=1).set_params(**{**model.get_params(), "n_threads": 1})
    one.__dict__.update({name: value for name, value in vars(model).items() if name.endswith("_")})
    np.testing.assert_array_equal(found, one.predict(X, search="graph"))


def test_the_graph_under_cosine_does_not_look_at_lengths(blobs):
    model = KSums(100, engine="neighbors", metric="cosine", effort="low", random_state=0).fit(blobs)
    found = model.predict(blobs, search="graph")
    for factor in (1e-6, 1e3):
        np.testing.assert_array_equal(found, model.predict((blobs * factor), search="graph"))
    blobs[:3] = 0
    assert (model.predict(blobs, search="graph")[:3] == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_graph_with_centres_twice(blobs, dtype):
    model = KSums(40, random_state=0).fit(blobs.astype(dtype) * 1000)
    model.cluster_centers_ = np.concatenate([model.cluster_centers_, model.cluster_centers_])
    X = (blobs * 1000).astype(dtype)
    exact, found = model.predict(X), model.predict(X, search="graph")
    assert (exact % 40 == found % 40).mean() > 0.97


def test_the_graph_of_few_centres(blobs):
    model = KSums(3, random_state=0).fit(blobs)
    np.testing.assert_array_equal(model.predict(blobs[:50]), model.predict(blobs[:50], search="graph"))


def test_searches_that_there_are_not(blobs):
    model = KSums(3, random_state=0).fit(blobs)
    with pytest.raises(ValueError, match="search must be one of 'exact', 'graph'; got 'fast'"):
        model.predict(blobs, search="fast")
    with pytest.raises(ValueError, match="search='graph' is not offered for sparse X; take search='exact'"):
        model.predict(sparse.csr_array(blobs), search="graph")
