"""Engine ``"neighbors"``: its passes equal those of the reference, its lists are right, and its fits are good."""

import numpy as np
import pytest
from helpers import EVERY_RULE, rule_of
from scipy import sparse

from ksums import Annealed, KSums
from ksums.compute.threads import use_threads
from ksums.method.data.rows import prepare
from ksums.method.engines.neighbours import NeighbourEngine
from ksums.method.engines.reference import ReferenceNeighbours
from ksums.method.nearest.lists import NeighbourLists
from ksums.method.starts.two_level import two_level_labels
from ksums.method.state.limits import Limits, no_limits
from ksums.method.state.state import build_state, renew_sq_composites
from ksums.metrics import distortion
from ksums.planning import engines
from ksums.planning.effort import list_length

LENGTH = 16
"""Engines in these tests have lists of this many clusters."""
HARTIGAN = rule_of("distortion", "l2", "hartigan")
"""Lists are made by this rule if the rule does not matter."""


@pytest.fixture
def blobs():
    """Forty groups of thirty, in eight dimensions."""
    rng = np.random.default_rng(0)
    return np.repeat(rng.normal(size=(40, 8)) * 3, 30, axis=0) + rng.normal(size=(1200, 8))


@pytest.fixture
def cloud():
    """No groups, so many optima are about equally good."""
    return np.random.default_rng(1).normal(size=(1500, 8))


def make_engine(X, labels, k, *, objective="distortion", metric="l2", rule="hartigan", weights=None, limits=None):
    rows = prepare(X, metric, weights)
    state = build_state(rows, labels, k)
    return NeighbourEngine(rows, state, rule_of(objective, metric, rule), limits or no_limits(k), length=LENGTH)


def check_pass(engine, order):
    """Make a pass, check that the reference makes the same moves, and return their number."""
    before, visited = engine.state.labels.copy(), engine.visiting_order(order)
    moves = sum(engine.visit(order))
    reference = ReferenceNeighbours(
        engine.rows,
        build_state(engine.rows, before, len(engine.state.sizes)),
        engine.rule,
        engine.limits,
        lists=engine.neighbours.lists,
        filled=engine.neighbours.filled,
        batch=engine.batch,
    )
    assert sum(reference.visit(visited)) == moves
    np.testing.assert_array_equal(engine.state.labels, reference.state.labels)
    renew_sq_composites(engine.state)
    return moves


def make_lists(state, rule, dtype, length):
    return NeighbourLists(dtype).make(state, rule, length)


# -------------------------------------------------------------------------------------------- passes
@pytest.mark.parametrize(("objective", "rule", "metric"), EVERY_RULE)
@pytest.mark.parametrize("kind", ["plain", "weights", "limits"])
def test_passes_equal_those_of_the_reference(blobs, objective, rule, metric, kind):
    rng = np.random.default_rng(1)
    X, k = blobs[::2], 50
    weights = rng.integers(1, 4, len(X)).astype(float) if kind == "weights" else None
    limits = Limits(np.full(k, 6.0), np.full(k, 20.0)) if kind == "limits" else None
    labels = rng.permutation(np.arange(len(X)) % k)
    options = {"objective": objective, "metric": metric, "rule": rule, "weights": weights, "limits": limits}
    engine = make_engine(X, labels, k, **options)
    for _ in range(3):
        assert check_pass(engine, rng.permutation(len(X))) > 0


@pytest.mark.parametrize(("d", "k"), [(1, 30), (3, 6), (8, 6), (40, 3)])
def test_passes_of_large_clusters_and_of_few_dimensions(d, k):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, d))
    engine = make_engine(X, rng.permutation(np.arange(400) % k), k)
    for _ in range(3):
        assert check_pass(engine, rng.permutation(400)) > 0


def test_samples_are_visited_cluster_by_cluster(blobs):
    labels = np.arange(len(blobs)) % 40
    engine = make_engine(blobs, labels, 40)
    visited = engine.visiting_order(np.arange(len(blobs)))
    np.testing.assert_array_equal(np.sort(visited), np.arange(len(blobs)))
    np.testing.assert_array_equal(labels[visited], np.repeat(np.arange(40), 30))


# -------------------------------------------------------------------------------------------- the lists
@pytest.mark.parametrize(("objective", "metric"), [("distortion", "l2"), ("pairwise", "l2"), ("distortion", "cosine")])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lists_hold_the_nearest_clusters(blobs, objective, metric, dtype):
    k, length = 300, 32
    rows = prepare(blobs.astype(dtype), metric)
    state = build_state(rows, np.arange(len(blobs)) * k // len(blobs), k)
    near = make_lists(state, rule_of(objective, metric, "paper"), rows.dtype, length)
    centres = state.composites / state.sizes[:, None]
    squares = np.square(centres[:, None] - centres).sum(axis=2)
    if metric == "cosine":
        unit = centres / np.linalg.norm(centres, axis=1, keepdims=True)
        squares = 1 - unit @ unit.T
    if objective == "pairwise":
        squares = state.sizes * squares + (state.norm_sums - state.sq_composites / state.sizes)
    np.fill_diagonal(squares, -1)
    n_nearest = length - length // 4
    for w in range(k):
        found = near.lists[w, :n_nearest]
        assert found[0] == w
        assert len(set(near.lists[w, : near.filled[w]])) == near.filled[w]
        np.testing.assert_allclose(squares[w][found], np.sort(squares[w])[:n_nearest], rtol=1e-3, atol=1e-3)


def test_every_cluster_is_in_the_list_of_its_nearest_if_there_is_room(blobs):
    k = 300
    rows = prepare(blobs, "l2")
    state = build_state(rows, np.arange(len(blobs)) * k // len(blobs), k)
    near = make_lists(state, HARTIGAN, rows.dtype, 32)
    for w in range(k):
        v = near.lists[w, 1]
        assert w in near.lists[v, : near.filled[v]] or near.filled[v] == 32


def test_lists_made_from_groups_miss_little(blobs, monkeypatch):
    k = 400
    rows = prepare(blobs, "l2")
    state = build_state(rows, np.arange(len(blobs)) * k // len(blobs), k)
    exact = make_lists(state, HARTIGAN, rows.dtype, 16)
    monkeypatch.setattr("ksums.method.nearest.lists._CANDIDATES", 100)
    with use_threads(2):
        quick = make_lists(state, HARTIGAN, rows.dtype, 16)
    shared = np.mean([len(np.intersect1d(a[:12], b[:12])) / 12 for a, b in zip(exact.lists, quick.lists, strict=True)])
    assert 0.8 < shared < 1.0


@pytest.mark.parametrize("k", [1, 2, 7, 8, 60, 64])
def test_long_lists_hold_all_clusters(blobs, k):
    rows = prepare(blobs, "l2")
    state = build_state(rows, np.arange(len(blobs)) % k, k)
    near = make_lists(state, HARTIGAN, rows.dtype, 64)
    assert near.lists.shape == (k, -(-k // 8) * 8)
    assert all(set(near.lists[w, : near.filled[w]]) == set(range(k)) for w in range(k))


# -------------------------------------------------------------------------------------------- threads, copies, types
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_and_copies_of_the_rows_do_not_change_labels(blobs, dtype, monkeypatch):
    X = blobs.astype(dtype)
    model = KSums(60, engine="neighbors", n_neighbors=16, random_state=0, n_threads=1).fit(X)
    monkeypatch.setattr("ksums.compute.sharing._WORTH_SHARING", 0)
    threads = KSums(60, engine="neighbors", n_neighbors=16, random_state=0, n_threads=2).fit(X)
    np.testing.assert_array_equal(model.labels_, threads.labels_)
    monkeypatch.setattr(engines, "_COPIED_BYTES", 0)
    without_copy = KSums(60, engine="neighbors", n_neighbors=16, random_state=0, n_threads=2).fit(X)
    np.testing.assert_array_equal(model.labels_, without_copy.labels_)


@pytest.mark.parametrize("narrow", [np.uint8, np.float16])
@pytest.mark.parametrize("copied", [1 << 30, 0])
def test_narrow_types_are_read_as_float32(blobs, narrow, copied, monkeypatch):
    monkeypatch.setattr(engines, "_COPIED_BYTES", copied)
    X = (blobs * 8 + 100).round().clip(0, 255)
    wide = KSums(40, engine="neighbors", random_state=0).fit(X.astype(np.float32))
    np.testing.assert_array_equal(
        KSums(40, engine="neighbors", random_state=0).fit(X.astype(narrow)).labels_, wide.labels_
    )


# -------------------------------------------------------------------------------------------- fits
@pytest.mark.parametrize("objective", ["distortion", "pairwise"])
@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_the_objective_is_close_to_that_of_the_exact_engine(cloud, objective, metric):
    lists = KSums(100, engine="neighbors", objective=objective, metric=metric, random_state=0).fit(cloud)
    exact = KSums(100, engine="exact", objective=objective, metric=metric, random_state=0, refine=None).fit(cloud)
    assert lists.objective_ < 1.03 * exact.objective_
    assert (np.bincount(lists.labels_, minlength=100) > 0).all()


def test_weights_count(blobs):
    """Rows of weight 0 have no influence; a heavy row has a centre close to it."""
    weights = np.ones(len(blobs))
    weights[:600], weights[600] = 0.0, 1e4
    model = KSums(40, engine="neighbors", random_state=0).fit(blobs, sample_weight=weights)
    without = KSums(40, engine="neighbors", random_state=0).fit(blobs[600:], sample_weight=weights[600:])
    np.testing.assert_array_equal(model.labels_[600:], without.labels_)
    assert np.abs(model.cluster_centers_[model.labels_[600]] - blobs[600]).max() < 0.05


def test_records_count_comparisons(blobs):
    model = KSums(60, engine="neighbors", n_neighbors=16, random_state=0).fit(blobs)
    assert all(0 < record.comparisons <= len(blobs) * 16 + 60 * 60 for record in model.history_)
    assert any(record.comparisons <= len(blobs) * 16 for record in model.history_)
    exact = KSums(60, engine="exact", refine=None, random_state=0).fit(blobs)
    assert {record.comparisons for record in exact.history_} == {60 * len(blobs)}
    searched = KSums(10, random_state=0).fit(blobs)
    assert all(record.comparisons > 0 for record in searched.history_ if record.trials)


def test_effort_makes_lists_longer_and_annealing_slower(blobs):
    assert [list_length(level, None) for level in ("low", "default", "high")] == [64, 128, 512]
    assert list_length("high", 40) == 40
    low = KSums(60, engine="neighbors", effort="low", random_state=0).fit(blobs)
    assert {record.stage for record in low.history_} == {"pass"}
    default = KSums(60, engine="neighbors", random_state=0).fit(blobs)
    assert sum(record.stage == "annealing" for record in default.history_) == 10
    assert default.distortion_ < low.distortion_


def test_a_custom_schedule_is_followed(blobs):
    model = KSums(60, engine="neighbors", rule=Annealed(start=3, passes=4), random_state=0).fit(blobs)
    assert [record.relaxation for record in model.history_ if record.stage == "annealing"] == [3.0, 2.5, 2.0, 1.5]


def test_a_custom_schedule_is_followed_at_low_effort(blobs):
    model = KSums(60, engine="neighbors", rule=Annealed(passes=4), effort="low", random_state=0).fit(blobs)
    assert sum(record.stage == "annealing" for record in model.history_) == 4


def test_max_iter_is_never_exceeded(blobs):
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


def test_n_neighbors_implies_neighbour_lists(blobs):
    implied = KSums(60, n_neighbors=16, random_state=0).fit(blobs)
    np.testing.assert_array_equal(
        implied.labels_, KSums(60, engine="neighbors", n_neighbors=16, random_state=0).fit(blobs).labels_
    )


def test_other_rules_are_not_annealed(blobs):
    model = KSums(60, engine="neighbors", rule="hartigan", random_state=0).fit(blobs)
    assert {record.stage for record in model.history_} == {"pass"}
    values = [record.objective for record in model.history_]
    assert (np.diff(values) <= 0).all()


def test_a_time_limit_is_used_and_respected(blobs):
    model = KSums(60, engine="neighbors", effort=0.5, random_state=0).fit(blobs)
    assert any(record.stage == "annealing" for record in model.history_)
    stopped = KSums(60, engine="neighbors", time_budget=1e-9, random_state=0).fit(blobs)
    assert not stopped.converged_
    assert stopped.n_iter_ == 1


def test_auto_uses_lists_for_two_thousand_clusters():
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
def two_level_start(rows, k, rng, n_threads=1):
    with use_threads(n_threads):
        return two_level_labels(rows, k, rule_of("distortion", "l2", "annealed"), rng)


@pytest.mark.parametrize("k", [1, 2, 17, 150, 1200])
def test_two_level_start_fills_every_cluster(blobs, k):
    rows = prepare(blobs, "l2")
    starts = [two_level_start(rows, k, np.random.default_rng(3), n_threads) for n_threads in (1, 2)]
    np.testing.assert_array_equal(*starts)
    assert (np.bincount(starts[0], minlength=k) > 0).all()
    assert len(np.bincount(starts[0])) == k


def test_two_level_start_is_better_than_random_points(blobs):
    rows = prepare(blobs, "l2")
    labels = two_level_start(rows, 100, np.random.default_rng(0))
    chosen = blobs[np.random.default_rng(0).choice(len(blobs), 100, replace=False)]
    nearest = np.square(blobs[:, None] - chosen).sum(axis=2).argmin(axis=1)
    assert distortion(blobs, labels) < 0.95 * distortion(blobs, nearest)


def test_two_level_start_with_the_exact_engine(blobs):
    model = KSums(60, init="two-level", engine="exact", random_state=0).fit(blobs)
    assert model.converged_


# -------------------------------------------------------------------------------------------- size limits
@pytest.mark.parametrize("metric", ["l2", "cosine"])
@pytest.mark.parametrize(("low", "high"), [(30, 30), (None, 31), (25, None), (20, 40)])
def test_sizes_stay_within_the_limits(blobs, low, high, metric):
    model = KSums(40, engine="neighbors", size_min=low, size_max=high, metric=metric, random_state=0).fit(blobs)
    assert model.sizes_.min() >= (low or 1)
    assert model.sizes_.max() <= (high or len(blobs))


def test_weighted_sizes_stay_within_the_limits(blobs):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(blobs))
    mean = weights.sum() / 40
    limits = {"size_min": 0.7 * mean, "size_max": 1.3 * mean}
    model = KSums(40, engine="neighbors", random_state=0, **limits).fit(blobs, sample_weight=weights)
    assert model.sizes_.min() >= 0.7 * mean
    assert model.sizes_.max() <= 1.3 * mean


def test_exchanges_work_where_no_sample_can_move_alone(cloud):
    """Every cluster is full, so only exchanges can lower the objective."""
    limits = {"size_min": 15, "size_max": 15, "random_state": 0}
    model = KSums(100, engine="neighbors", **limits).fit(cloud)
    assert sum(record.moves for record in model.history_) > 0
    exact = KSums(100, engine="exact", init="two-level", refine=None, **limits).fit(cloud)
    assert model.distortion_ < 1.01 * exact.distortion_


# -------------------------------------------------------------------------------------------- polish
@pytest.mark.parametrize("polish", ["pass", "assign"])
@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_polish_compares_every_row_with_all_clusters_once(blobs, polish, metric):
    options = {"engine": "neighbors", "n_neighbors": 8, "effort": "low", "metric": metric, "random_state": 0}
    rough = KSums(100, **options).fit(blobs)
    model = KSums(100, polish=polish, **options).fit(blobs)
    last = model.history_[-1]
    assert last.stage == "polish"
    assert last.comparisons == 100 * len(blobs)
    assert model.objective_ < rough.objective_
    assert [record.stage for record in model.history_].count("polish") == 1


def test_polish_is_kept_for_a_rule_that_can_raise_the_objective(cloud):
    options = {"engine": "neighbors", "n_neighbors": 8, "rule": "released", "max_iter": 3, "random_state": 0}
    model = KSums(100, polish="assign", **options).fit(cloud)
    assert model.distortion_ == pytest.approx(model.history_[-1].objective)
    assert model.distortion_ == pytest.approx(min(record.objective for record in model.history_))


# -------------------------------------------------------------------------------------------- predict
@pytest.mark.parametrize("metric", ["l2", "cosine"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_the_graph_nearly_always_finds_the_nearest_centre(blobs, metric, dtype):
    X = (blobs * 8 + 100).round().clip(0, 255).astype(dtype)
    model = KSums(300, engine="neighbors", metric=metric, effort="low", random_state=0).fit(X)
    exact, found = model.predict(X), model.predict(X, search="graph")
    assert (exact == found).mean() > 0.97
    single_thread = KSums(300, n_threads=1).set_params(**{**model.get_params(), "n_threads": 1})
    single_thread.__dict__.update({name: value for name, value in vars(model).items() if name.endswith("_")})
    np.testing.assert_array_equal(found, single_thread.predict(X, search="graph"))


def test_the_graph_ignores_lengths_under_cosine(blobs):
    model = KSums(100, engine="neighbors", metric="cosine", effort="low", random_state=0).fit(blobs)
    found = model.predict(blobs, search="graph")
    for factor in (1e-6, 1e3):
        np.testing.assert_array_equal(found, model.predict(blobs * factor, search="graph"))
    blobs[:3] = 0
    assert (model.predict(blobs, search="graph")[:3] == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_graph_with_duplicate_centres(blobs, dtype):
    model = KSums(40, random_state=0).fit(blobs.astype(dtype) * 1000)
    model.cluster_centers_ = np.concatenate([model.cluster_centers_, model.cluster_centers_])
    X = (blobs * 1000).astype(dtype)
    exact, found = model.predict(X), model.predict(X, search="graph")
    assert (exact % 40 == found % 40).mean() > 0.97


def test_the_graph_of_few_centres(blobs):
    model = KSums(3, random_state=0).fit(blobs)
    np.testing.assert_array_equal(model.predict(blobs[:50]), model.predict(blobs[:50], search="graph"))


def test_unsupported_searches_are_refused(blobs):
    model = KSums(3, random_state=0).fit(blobs)
    with pytest.raises(ValueError, match="search must be one of 'exact', 'graph'; got 'fast'"):
        model.predict(blobs, search="fast")
    with pytest.raises(ValueError, match="search='graph' is not offered for sparse X; use search='exact'"):
        model.predict(sparse.csr_array(blobs), search="graph")
