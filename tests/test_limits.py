"""Size limits: exact assignments, cycles and exchanges, samples, weights, and what holds after every pass."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.exceptions import ConvergenceWarning

from ksums import BisectingKSums, KSums
from ksums.method.constrained import transport
from ksums.method.constrained.cycles import cycle_pass, cycles_in
from ksums.method.constrained.transport import cheapest_assignment
from ksums.method.data.rows import prepare
from ksums.method.state.constraints import Constraints
from ksums.method.state.limits import Limits
from ksums.method.state.state import build_state
from ksums.planning import constraints as planning
from ksums.rules.kinds import rule_for
from ksums.rules.objectives import objective_value


def slots(costs, high):
    """Return the least cost of an assignment with exactly full clusters, by the Hungarian method on slots."""
    rows, columns = linear_sum_assignment(np.repeat(costs, high, axis=1))
    return np.repeat(costs, high, axis=1)[rows, columns].sum()


def cost_of(costs, labels):
    return costs[np.arange(len(labels)), labels].sum()


def within(labels, k, low, high):
    sizes = np.bincount(labels, minlength=k)
    return bool((sizes >= low).all() and (sizes <= high).all())


def records_under(model):
    """Return the records from the one on at which the constraints hold."""
    stages = [record.stage for record in model.history_]
    return model.history_[stages.index("assign") :]


@pytest.fixture
def crowd(rng):
    """600 rows in four groups of very unequal size."""
    sizes, centres = (360, 160, 60, 20), np.array([[0, 0], [6, 0], [0, 6], [6, 6]])
    return np.concatenate([rng.standard_normal((m, 2)) + c for m, c in zip(sizes, centres, strict=True)])


# ------------------------------------------------------------------------------------------ assignments
def test_an_assignment_by_hand():
    """Three rows want cluster 0, which holds one: the row that loses most elsewhere gets it."""
    costs = np.array([[0.0, 5.0], [0.0, 9.0], [0.0, 1.0]])
    labels, prices = cheapest_assignment(np.arange(3), lambda ids: costs[ids], np.array([0, 0]), np.array([1, 3]))
    assert labels.tolist() == [1, 0, 1]
    assert prices[0] - prices[1] >= 5


@given(st.integers(0, 10_000))
def test_assignments_are_as_cheap_as_the_hungarian_method(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 7))
    high = rng.integers(1, 9, k)
    costs = rng.integers(0, 6, (high.sum(), k)).astype(float) if seed % 2 else rng.random((high.sum(), k))
    labels, _ = cheapest_assignment(np.arange(len(costs)), lambda ids: costs[ids], high, high)
    assert np.bincount(labels, minlength=k).tolist() == high.tolist()
    assert cost_of(costs, labels) == pytest.approx(slots(costs, high), abs=1e-9)


@given(st.integers(0, 10_000))
def test_assignments_between_limits_have_no_better_neighbour(seed):
    """No row can move within the limits, and no two can change places, at a lower cost; prices prove the rest."""
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(10, 40)), int(rng.integers(2, 6))
    sizes = rng.multinomial(n, np.ones(k) / k)
    low, high = np.maximum(sizes - rng.integers(0, 3, k), 0), sizes + rng.integers(0, 3, k)
    costs = rng.random((n, k))
    labels, prices = cheapest_assignment(np.arange(n), lambda ids: costs[ids], low, high)
    assert within(labels, k, low, high)
    assert (cost_of(costs + prices, labels) <= (costs + prices).min(axis=1).sum() + 1e-9).all()
    found = np.bincount(labels, minlength=k)
    assert (found[prices > 1e-12] == np.minimum(high, n)[prices > 1e-12]).all()
    assert (found[prices < -1e-12] == low[prices < -1e-12]).all()


@pytest.mark.parametrize("limits", [(40, 40), (30, 55), (35, 400), (0, 45)])
def test_border_and_newton_find_the_same_cost(limits, rng, monkeypatch):
    """With room for the costs of a few rows only, the optimum is the same."""
    X, centres = rng.standard_normal((400, 3)) * [3, 1, 1], rng.standard_normal((10, 3))
    costs = ((X[:, None] - centres) ** 2).sum(axis=2)
    ids, low, high = np.arange(400), np.full(10, limits[0]), np.full(10, limits[1])
    whole = cheapest_assignment(ids, lambda ids: costs[ids], low, high)
    monkeypatch.setattr(transport, "_BORDER_ENTRIES", 600)
    monkeypatch.setattr(transport, "_SETTLED", 1)
    narrow = cheapest_assignment(ids, lambda ids: costs[ids], low, high)
    assert within(narrow.labels, 10, *limits)
    assert cost_of(costs, narrow.labels) == pytest.approx(cost_of(costs, whole.labels), rel=1e-12)


def test_too_many_rows_are_refused():
    with pytest.raises(ValueError, match="5 rows do not fit"):
        cheapest_assignment(np.arange(5), lambda ids: np.zeros((len(ids), 2)), np.zeros(2), np.full(2, 2))


# ------------------------------------------------------------------------------------------ cycles
def test_moves_are_taken_apart_into_paths_and_cycles():
    before, after = np.array([0, 1, 2, 0, 3]), np.array([1, 2, 0, 3, 3])
    found = list(cycles_in(np.arange(5), before, after, np.array([2, 1, 1, 1])))
    assert sorted(len(moves) for moves in found) == [1, 3]
    assert sorted(move[0] for moves in found for move in moves) == [0, 1, 2, 3]
    for moves in found:
        assert all(first[2] == second[1] for first, second in pairwise(moves))


@pytest.mark.parametrize("objective", ["distortion", "pairwise"])
def test_a_cycle_of_three_by_hand(objective):
    """Each of three full clusters holds one row of the next one: no two can swap, all three change places."""
    X = np.array([[0.0, 0], [0.1, 0], [10, 0], [10, 0.1], [5, 9], [5, 9.1]])
    rows, rule = prepare(X, "l2"), rule_for(objective, "l2", "paper" if objective == "pairwise" else "hartigan")
    state = build_state(rows, [0, 2, 1, 0, 2, 1], 3)
    limits = Constraints(Limits(np.full(3, 2.0), np.full(3, 2.0)))
    before = objective_value(objective, state)
    moved, _ = cycle_pass(rows, state, rule, limits, None)
    assert moved >= 3
    assert objective_value(objective, state) < before
    assert np.bincount(state.labels).tolist() == [2, 2, 2]


@pytest.mark.parametrize("objective", ["distortion", "pairwise"])
@pytest.mark.parametrize("seed", range(4))
def test_no_move_and_no_exchange_is_left(objective, seed):
    """All moves and all exchanges of the result are tried by hand."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 2)) * [2, 1]
    model = KSums(4, objective=objective, size_min=8, size_max=12, random_state=seed).fit(X)
    value = getattr(model, f"{objective}_")

    def value_of(labels):
        within = [((X[labels == r] - X[labels == r].mean(axis=0)) ** 2).sum() for r in range(4)]
        sizes = np.bincount(labels, minlength=4) if objective == "pairwise" else np.ones(4)
        return float(sizes @ within) / 40

    assert value_of(model.labels_) == pytest.approx(value)
    for i in range(40):
        for r in range(4):
            labels = model.labels_.copy()
            labels[i] = r
            if within(labels, 4, 8, 12):
                assert value_of(labels) >= value * (1 - 1e-9)
        for j in range(i):
            labels = model.labels_.copy()
            labels[[i, j]] = labels[[j, i]]
            assert value_of(labels) >= value * (1 - 1e-9)


# ------------------------------------------------------------------------------------------ fits
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize("metric", ["l2", "cosine"])
@pytest.mark.parametrize("objective", ["distortion", "pairwise"])
def test_limits_hold_from_the_first_assignment_on(objective, metric, kind, crowd):
    model = KSums(6, objective=objective, metric=metric, size_min=90, size_max=110, random_state=0).fit(kind(crowd))
    records = records_under(model)
    assert min(record.smallest for record in records) >= 90
    assert max(record.largest for record in records) <= 110
    values = [record.objective for record in records]
    assert all(later <= earlier * (1 + 1e-6) for earlier, later in pairwise(values))
    assert records[-1].objective == pytest.approx(model.objective_, rel=1e-5)
    assert within(model.labels_, 6, 90, 110)


def test_balanced_means_sizes_that_differ_by_one_at_most(crowd):
    model = KSums(7, size_max="balanced", random_state=0).fit(crowd)
    assert sorted(model.sizes_) == [85, 85, 86, 86, 86, 86, 86]


def test_each_cluster_can_have_limits_of_its_own(crowd):
    low, high = [300, 100, 0, 0], [400, 200, 80, np.inf]
    sizes = KSums(4, size_min=low, size_max=high, random_state=0).fit(crowd).sizes_
    assert (sizes >= low).all()
    assert (sizes <= high).all()
    exact = [321, 99, 170, 10]
    assert KSums(4, size_min=exact, size_max=exact, random_state=0).fit(crowd).sizes_.tolist() == exact


def test_true_groups_that_keep_the_limits_are_found(crowd):
    """The best clusters have exactly these sizes, whatever their numbers are."""
    model = KSums(4, size_min=[20, 60, 160, 360], size_max=[20, 60, 160, 360], random_state=0).fit(crowd)
    free = KSums(4, random_state=0).fit(crowd)
    assert model.inertia_ <= 1.02 * free.inertia_


def test_limits_that_do_not_bind_leave_the_fit_as_it_is(crowd):
    free, loose = (KSums(4, random_state=0, **more).fit(crowd) for more in ({}, {"size_max": 500}))
    assert loose.inertia_ <= free.inertia_ * (1 + 1e-12)


def test_labels_do_not_depend_on_threads(crowd):
    one, two = (KSums(6, size_max="balanced", n_threads=t, random_state=3).fit(crowd).labels_ for t in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_a_time_limit_keeps_the_limits(crowd):
    model = KSums(6, size_max="balanced", time_budget=1e-3, random_state=0).fit(crowd)
    assert within(model.labels_, 6, 100, 100)


def test_ctrl_c_at_any_record_keeps_the_limits(crowd):
    model = KSums(6, size_max="balanced", random_state=0)
    for stop in range(1, len(model.fit(crowd).history_) + 1):

        def interrupt(record, stop=stop):
            if record.index == stop:
                raise KeyboardInterrupt

        model.set_params(callbacks=[interrupt])
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            model.fit(crowd)
        assert within(model.labels_, 6, 100, 100)


@pytest.mark.parametrize("call", [1, 2, 3, 6])
def test_ctrl_c_inside_a_cycle_keeps_the_limits(call, crowd, monkeypatch):
    from ksums.method.constrained import cycles

    calls, real = [], cycles.reallocate

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        real(*arguments)

    monkeypatch.setattr(cycles, "reallocate", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = KSums(6, size_max="balanced", random_state=0).fit(crowd)
    assert within(model.labels_, 6, 100, 100)


def test_a_sample_comes_first_for_many_rows(crowd, monkeypatch):
    monkeypatch.setattr(planning, "_SAMPLE", 100)
    monkeypatch.setattr(planning, "_SAMPLE_PER_CLUSTER", 20)
    model = KSums(6, size_min=90, size_max=110, random_state=0).fit(crowd)
    assert model.plan_.constrained.sample.rows == 120
    assert "120 rows under limits in proportion" in repr(model.plan_)
    assert within(model.labels_, 6, 90, 110)
    monkeypatch.undo()
    assert model.inertia_ <= 1.1 * KSums(6, size_min=90, size_max=110, random_state=0).fit(crowd).inertia_


def test_lists_of_clusters_keep_the_limits(rng, monkeypatch):
    monkeypatch.setattr(planning, "_MOST_FOR_CYCLES", 0)
    X = rng.standard_normal((1500, 6))
    model = KSums(100, engine="neighbors", size_min=14, size_max=16, random_state=0).fit(X)
    assert model.plan_.constrained.engine.name == "neighbors"
    assert within(model.labels_, 100, 14, 16)
    assert sum(record.moves for record in records_under(model)) > 0


def test_very_many_clusters_keep_the_limits(rng, monkeypatch):
    monkeypatch.setattr(planning, "_MOST_CLUSTERS", 50)
    X = rng.standard_normal((900, 3))
    model = KSums(60, size_min=14, size_max=16, random_state=0).fit(X)
    assert model.plan_.constrained.assignment == "moves"
    assert within(model.labels_, 60, 14, 16)
    monkeypatch.undo()
    assert model.inertia_ <= 1.2 * KSums(60, size_min=14, size_max=16, random_state=0).fit(X).inertia_


def test_other_rules_keep_the_limits(crowd):
    for rule in ("paper", "released", "online", 1.5):
        model = KSums(6, rule=rule, size_max="balanced", max_iter=20, random_state=0).fit(crowd)
        assert within(model.labels_, 6, 100, 100)


@pytest.mark.parametrize("seed", range(5))
def test_weighted_limits_hold(seed):
    rng = np.random.default_rng(seed)
    X, weights = rng.standard_normal((200, 2)), rng.uniform(0.2, 3.0, 200)
    share = weights.sum() / 8
    model = KSums(8, size_min=share - 2, size_max=share + 2, random_state=0).fit(X, sample_weight=weights)
    assert share - 2 - 1e-9 <= model.sizes_.min() <= model.sizes_.max() <= share + 2 + 1e-9
    assert model.plan_.constrained.assignment == "weighted"
    assert "at a low cost" in repr(model.plan_)
    even = KSums(8, size_max="balanced", random_state=0).fit(X, sample_weight=weights)
    assert np.ptp(even.sizes_) <= 2 * weights.max() + 1e-9


def test_the_plan_says_what_happens_under_limits(crowd):
    plan = KSums(6, size_max="balanced").plan_for(crowd)
    assert "under constraints: limited sizes" in repr(plan)
    assert "cycles of rows that change places" in repr(plan)
    assert "then under constraints (limited sizes)" in plan.summary


# ------------------------------------------------------------------------------------------ assign
@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_assign_is_optimal(metric, crowd, rng):
    model = KSums(4, metric=metric, random_state=0).fit(crowd)
    new = rng.standard_normal((40, 2)) * 3
    labels = model.assign(new, size_max=10)
    costs = model.transform(new) ** (1 if metric == "cosine" else 2)
    assert np.bincount(labels).tolist() == [10] * 4
    assert cost_of(costs, labels) == pytest.approx(slots(costs, np.full(4, 10)), rel=1e-9)
    np.testing.assert_array_equal(model.assign(new), model.predict(new))
    np.testing.assert_array_equal(model.assign(sparse.csr_array(new), size_max=10), labels)


def test_assign_knows_the_same_limits_as_fit(crowd):
    model = KSums(4, random_state=0).fit(crowd)
    assert sorted(np.bincount(model.assign(crowd[:10], size_max="balanced"))) == [2, 2, 3, 3]
    assert np.bincount(model.assign(crowd[:10], size_min=[4, 4, 1, 1])).tolist() == [4, 4, 1, 1]
    assert len(model.assign(crowd[:2], size_max=1)) == 2
    with pytest.raises(ValueError, match="size_max=2 times n_clusters=4, 8, is less than the 10 samples to place"):
        model.assign(crowd[:10], size_max=2)
    with pytest.raises(ValueError, match=r"KSums\.assign: size_min must be a number >= 0"):
        model.assign(crowd[:10], size_min=-1)


# ------------------------------------------------------------------------------------------ refusals
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"size_min": [1, 2]}, r"size_min must be one number or one for each of the n_clusters=3 clusters"),
        ({"size_max": [10, 10, 9]}, "the sum of size_max, 29, is less than the 30 samples to place"),
        ({"size_min": [10, 10, 11]}, "the sum of size_min, 31, is more than the 30 samples there are"),
        ({"size_min": [9, 1, 1], "size_max": [8, 30, 30]}, "size_min=9 is above size_max=8 for cluster 0"),
        ({"size_max": "balanced", "size_min": 2}, "size_max='balanced' sets size_min, too"),
        ({"size_max": [0, 20, 20]}, "size_max must be a number > 0, one for each cluster"),
        ({"size_min": np.nan}, "size_min must be a number >= 0"),
    ],
)
def test_limits_without_a_meaning_are_refused(parameters, message, rng):
    with pytest.raises(ValueError, match=message):
        KSums(3, **parameters).fit(rng.standard_normal((30, 2)))


def test_room_for_no_row_is_refused(rng):
    X = rng.standard_normal((60, 2))
    with pytest.raises(ValueError, match="the sum of size_min, 61, is more than the 60 samples"):
        KSums(2, size_min=[60, 0]).fit(X)
    with pytest.raises(ValueError, match="size_max=0 leaves no room for a single row in cluster 0"):
        KSums(2, size_max=[0.5, 60]).fit(X)


def test_small_weights_and_one_cluster(rng):
    X = rng.standard_normal((60, 2))
    tiny = 1e-11 * rng.uniform(0.5, 1.5, 60)
    model = KSums(3, size_max=1.1 * tiny.sum() / 3, random_state=0).fit(X, sample_weight=tiny)
    assert model.sizes_.max() <= 1.1 * tiny.sum() / 3 * (1 + 1e-9)
    assert KSums(1, size_min=1, random_state=0).fit(X, sample_weight=rng.random(60)).labels_.tolist() == [0] * 60
    light = np.r_[1e-10, np.ones(59)]
    assert np.bincount(KSums(3, size_max=50, random_state=0).fit(X, sample_weight=light).labels_).min() > 0


def test_limits_that_moves_cannot_meet_end(rng):
    """For very many clusters, rows move one by one: where none can, the fit says so."""
    X, weights = rng.standard_normal((600, 2)), np.full(600, 2.0)
    with pytest.raises(ValueError, match="no labels within size_min and size_max were found"):
        KSums(513, size_max=3, refine=None, effort="low").fit(X, sample_weight=weights)


def test_trees_have_no_limits(rng):
    with pytest.raises(TypeError, match="size_max"):
        BisectingKSums(3, size_max=12)


def test_fits_without_constraints_count_nothing_row_by_row(rng, monkeypatch):
    """Counting took most of the time of fits with few clusters and millions of rows."""

    def refuse(*arguments):
        raise AssertionError("rows are counted")

    monkeypatch.setattr("ksums.checking.constraints._sizes", refuse)
    monkeypatch.setattr("ksums.checking.constraints._check_active", refuse)
    assert KSums(3, random_state=0).fit(rng.standard_normal((50, 2))).sizes_.sum() == 50
