"""Links, fixed rows and fixed centres: they hold, they cost what they must, and what cannot be met is refused."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from ksums import BisectingKSums, KSums
from ksums.baselines import KMeans
from ksums.compute.colouring import Graph, UncolourableError, colour
from ksums.metrics import distortion
from ksums.metrics import pairwise as pairwise_of


@pytest.fixture
def X(rng):
    return rng.standard_normal((120, 3)) + 4 * rng.integers(0, 3, (120, 1))


def holds(labels, must=(), cannot=()):
    must, cannot = np.reshape(must, (-1, 2)).astype(int), np.reshape(cannot, (-1, 2)).astype(int)
    together, apart = labels[must[:, 0]] == labels[must[:, 1]], labels[cannot[:, 0]] != labels[cannot[:, 1]]
    return bool(together.all() and apart.all())


def graph_of(edges, m):
    both = np.concatenate([edges, np.fliplr(edges)])
    joined = sparse.coo_array((np.ones(len(both)), both.T), shape=(m, m)).tocsr()
    return Graph(joined.indptr.astype(np.int64), joined.indices.astype(np.int64))


def planted_links(rng, k, m, share):
    """Return links between m rows that the colours i % k meet, and these colours."""
    colours = rng.permutation(np.arange(m) % k)
    pairs = np.array([pair for pair in combinations(range(m), 2) if colours[pair[0]] != colours[pair[1]]])
    return pairs[rng.random(len(pairs)) < share], colours


# ------------------------------------------------------------------------------------------ must-link
def test_links_by_hand():
    """Without links the pairs are {0, 1} and {10, 11}."""
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    linked = KSums(2, random_state=0).fit(X, must_link=[[1, 2]])
    assert linked.labels_[1] == linked.labels_[2]
    assert linked.inertia_ == pytest.approx(60.6666667)  # {0} or {11} is alone; the others are 1, 10, 11 or 0, 1, 10
    apart = KSums(2, random_state=0).fit(X, cannot_link=[[0, 1], [2, 3]])
    assert holds(apart.labels_, cannot=[[0, 1], [2, 3]])
    assert apart.inertia_ == pytest.approx(2 * 50.0 if apart.labels_[0] == apart.labels_[2] else 40.5 + 60.5)
    fixed = KSums(2, random_state=0).fit(X, fixed_labels=[1, -1, -1, 0])
    assert fixed.labels_.tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize(("objective", "metric"), [("distortion", "l2"), ("pairwise", "l2"), ("distortion", "cosine")])
def test_linked_rows_move_as_one_and_their_scatter_counts(objective, metric, kind, X, rng):
    must = rng.integers(0, 120, (60, 2))
    model = KSums(5, objective=objective, metric=metric, random_state=0).fit(kind(X), must_link=must)
    assert holds(model.labels_, must)
    assert model.history_[-1].objective == pytest.approx(model.objective_, rel=1e-4)
    assert model.history_[-1].distortion == pytest.approx(model.distortion_, rel=1e-4)
    assert model.history_[-1].pairwise == pytest.approx(model.pairwise_, rel=1e-4)


@pytest.mark.parametrize("objective", ["distortion", "pairwise"])
def test_no_group_of_linked_rows_can_move_for_less(objective, rng):
    X, groups = rng.standard_normal((60, 2)), np.arange(60) // 3
    weights = rng.uniform(0.5, 2.0, 60)
    measure = distortion if objective == "distortion" else pairwise_of
    model = KSums(4, objective=objective, random_state=0).fit(X, sample_weight=weights, must_link=groups)
    value = measure(X, model.labels_, sample_weight=weights)
    for group in range(20):
        for r in range(4):
            labels = np.where(groups == group, r, model.labels_)
            if len(np.unique(labels)) == 4:
                assert measure(X, labels, sample_weight=weights) >= value * (1 - 1e-9)


def test_the_plan_counts_linked_rows_once(X):
    plan = KSums(5, random_state=0).fit(X, must_link=[[0, 1], [1, 2]]).plan_
    assert plan.shape.n == 118
    assert "120 rows are 118" in repr(plan)


def test_groups_are_the_same_as_pairs(X):
    groups = np.where(np.arange(120) < 40, np.arange(120) // 4, -1)
    pairs = [[i, i + 1] for i in range(39) if groups[i] == groups[i + 1]]
    names = np.array([None if g < 0 else f"g{g}" for g in groups], object)
    floats = np.where(groups < 0, np.nan, groups)
    labels = [KSums(5, random_state=0).fit(X, must_link=must).labels_ for must in (groups, pairs, names, floats)]
    for other in labels[1:]:
        np.testing.assert_array_equal(labels[0], other)
    free = KSums(5, random_state=0).fit(X)
    for nothing in ([], np.full(120, -1), [[3, 3]]):
        np.testing.assert_array_equal(KSums(5, random_state=0).fit(X, must_link=nothing).labels_, free.labels_)


# ------------------------------------------------------------------------------------------ cannot-link
@given(st.integers(0, 10_000))
def test_links_that_can_be_met_are_met(seed):
    """Also where the colouring is unique: then all pairs of different colours are linked."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    links, _ = planted_links(rng, k, int(rng.integers(k, 16)), rng.choice([0.3, 0.7, 1.0]))
    X = rng.standard_normal((30, 2))
    if len(links):
        assert holds(KSums(k, effort="low", random_state=0).fit(X, cannot_link=links).labels_, cannot=links)


@given(st.integers(0, 10_000))
def test_links_that_cannot_be_met_are_refused_with_the_rows(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    links, _ = planted_links(rng, k, 12, 0.4)
    clique = rng.choice(12, k + 1, replace=False)
    links = np.concatenate([links.reshape(-1, 2), np.array(list(combinations(clique, 2)))])
    with pytest.raises(ValueError, match=f"must all be in different clusters, but n_clusters={k}") as refused:
        KSums(k).fit(rng.standard_normal((30, 2)), cannot_link=links)
    named = np.array(str(refused.value).partition("rows ")[2].partition(" must")[0].split(", "), int)
    linked = {tuple(sorted(pair)) for pair in links.tolist()}
    assert len(named) == k + 1
    assert all(tuple(sorted(pair)) in linked for pair in combinations(named.tolist(), 2))


def test_an_odd_ring_has_no_two_clusters(rng):
    ring = [[i, (i + 1) % 7] for i in range(7)]
    with pytest.raises(ValueError, match="no 2 clusters can keep the linked rows apart"):
        KSums(2).fit(rng.standard_normal((20, 2)), cannot_link=ring)
    assert holds(KSums(3, random_state=0).fit(rng.standard_normal((20, 2)), cannot_link=ring).labels_, cannot=ring)


def test_a_colouring_is_found_or_shown_not_to_exist(rng):
    wheel = np.array([[i, (i + 1) % 5] for i in range(5)] + [[i, 5] for i in range(5)])
    with pytest.raises(UncolourableError) as refused:
        colour(graph_of(wheel, 6), np.zeros((6, 3)), np.full(6, -1))
    assert refused.value.reason == "exhausted"
    colours = colour(graph_of(wheel, 6), rng.random((6, 4)), np.full(6, -1))
    assert (colours[wheel[:, 0]] != colours[wheel[:, 1]]).all()
    held = np.array([0, -1, -1, -1, -1, 2])
    assert colour(graph_of(wheel, 6), rng.random((6, 4)), held)[[0, 5]].tolist() == [0, 2]


@pytest.mark.parametrize(("objective", "metric"), [("distortion", "l2"), ("pairwise", "l2"), ("distortion", "cosine")])
@pytest.mark.parametrize("seed", range(3))
def test_links_sizes_and_fixed_rows_hold_together(objective, metric, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((90, 3)) + 1
    cannot, colours = planted_links(rng, 6, 30, 0.2)
    must = np.array([[30, 31], [31, 32], [40, 41]])
    fixed = np.where(np.arange(90) < 4, colours[np.minimum(np.arange(90), 29)], -1)
    model = KSums(6, objective=objective, metric=metric, size_min=13, size_max=17, random_state=0)
    model.fit(X, must_link=must, cannot_link=cannot, fixed_labels=fixed)
    assert holds(model.labels_, must, cannot)
    assert (model.labels_[:4] == colours[:4]).all()
    assert 13 <= model.sizes_.min() <= model.sizes_.max() <= 17


def test_teams_of_equal_size_keep_people_apart(rng):
    """All clusters are full and most rows are linked: only exchanges can move them."""
    X = rng.standard_normal((48, 4))
    cannot, _ = planted_links(rng, 8, 48, 0.1)
    model = KSums(8, size_max="balanced", random_state=0).fit(X, cannot_link=cannot)
    assert holds(model.labels_, cannot=cannot)
    assert model.sizes_.tolist() == [6] * 8
    start = next(record for record in model.history_ if record.stage == "assign")
    assert model.objective_ < start.objective


def test_constraints_hold_after_every_record_and_after_ctrl_c(rng):
    X = rng.standard_normal((60, 2))
    cannot, colours = planted_links(rng, 5, 25, 0.3)
    fixed = np.where(np.arange(60) < 3, colours[np.minimum(np.arange(60), 24)], -1)
    model = KSums(5, size_min=10, size_max=14, random_state=0)
    count = len(model.fit(X, cannot_link=cannot, fixed_labels=fixed).history_)
    for stop in range(1, count + 1, 3):

        def interrupt(record, stop=stop):
            if record.index == stop:
                raise KeyboardInterrupt

        model.set_params(callbacks=[interrupt])
        with pytest.warns(ConvergenceWarning, match="interrupted"):
            model.fit(X, cannot_link=cannot, fixed_labels=fixed)
        assert holds(model.labels_, cannot=cannot)
        assert (model.labels_[:3] == colours[:3]).all()
        assert 10 <= model.sizes_.min() <= model.sizes_.max() <= 14


# ------------------------------------------------------------------------------------------ fixed rows and centres
def test_fixed_rows_name_their_clusters(rng):
    """A few known rows are enough to number clear clusters as the user does."""
    truth = rng.permutation(np.repeat(np.arange(4), 50))
    X = 10 * np.array([[0, 0], [0, 1], [1, 0], [1, 1]])[truth] + rng.standard_normal((200, 2))
    fixed = np.full(200, -1)
    for r in range(3):
        fixed[np.flatnonzero(truth == r)[:2]] = r
    labels = KSums(4, random_state=0).fit(X, fixed_labels=fixed).labels_
    np.testing.assert_array_equal(labels, truth)


def test_all_rows_fixed_is_a_fit_too(X):
    labels = np.arange(120) % 3
    np.testing.assert_array_equal(KSums(3, random_state=0).fit(X, fixed_labels=labels).labels_, labels)


@pytest.mark.parametrize("metric", ["l2", "cosine"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_fixed_centres_do_not_move(metric, kind, X):
    given = X[:2] + 0.25
    model = KSums(5, metric=metric, fixed_centers=given, random_state=0).fit(kind(X))
    np.testing.assert_array_equal(model.cluster_centers_[:2], given)
    distances = np.square(model.transform(kind(X))) if metric == "l2" else model.transform(kind(X))
    own = distances[np.arange(120), model.labels_]
    assert (model.inertia_ if metric == "l2" else 120 * model.objective_) == pytest.approx(own.sum())
    assert model.history_[-1].objective == pytest.approx(model.objective_)
    values = [record.objective for record in model.history_ if record.stage in ("assign", "trial")]
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(values))
    others = model.cluster_centers_[2:]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
    for r in range(3):
        np.testing.assert_allclose(others[r], unit[model.labels_ == r + 2].mean(axis=0))


def test_fixed_centres_know_limits(X):
    model = KSums(5, fixed_centers=X[:2], size_min=20, size_max=28, random_state=0).fit(X)
    assert 20 <= model.sizes_.min() <= model.sizes_.max() <= 28


def test_further_clusters_are_found_around_fixed_centres(rng):
    """Four clear groups, the centres of two of which are given."""
    centres = np.array([[0.0, 0], [20, 0], [0, 20], [20, 20]])
    X = np.repeat(centres, 60, axis=0) + rng.standard_normal((240, 2))
    model = KSums(4, fixed_centers=centres[[2, 0]], random_state=0).fit(X)
    assert model.labels_[120:180].tolist() == [0] * 60
    assert model.labels_[:60].tolist() == [1] * 60
    assert len(np.unique(model.labels_[60:120])) == len(np.unique(model.labels_[180:])) == 1


def test_links_and_fixed_centres_share_the_coordinates(rng):
    X = rng.standard_normal((60, 2)) + 100
    for options in ({"fixed_centers": X[:1]}, {"init": X[:3]}):
        model = KSums(3, random_state=0, **options).fit(X, must_link=[[1, 2]])
        assert model.objective_ <= 1.1 * KSums(3, random_state=0, **options).fit(X).objective_
        assert model.history_[-1].objective == pytest.approx(model.objective_)


def test_links_and_fixed_centres_lower_the_cosine_distance(rng):
    X = rng.standard_normal((200, 3))
    model = KSums(4, metric="cosine", fixed_centers=rng.standard_normal((2, 3)), random_state=0)
    model.fit(X, cannot_link=np.arange(100).reshape(50, 2))
    stages = [record.stage for record in model.history_]
    values = [record.objective for record in model.history_[stages.index("assign") :]]
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(values))


def test_groups_are_placed_within_limits_under_both_objectives(rng):
    X = np.r_[rng.standard_normal((8, 2)), rng.standard_normal((4, 2)) + 9]
    for objective in ("distortion", "pairwise"):
        model = KSums(3, objective=objective, size_max=4, random_state=0)
        assert model.fit(X, must_link=[0] * 4 + [1] * 4 + [-1] * 4).sizes_.tolist() == [4, 4, 4]
        grouped = KSums(3, objective=objective, size_max=40, random_state=0)
        assert grouped.fit(rng.standard_normal((60, 2)), must_link=np.arange(60) // 5).sizes_.max() <= 40


def test_no_cluster_is_empty_where_all_rows_are_linked(rng):
    with pytest.warns(ConvergenceWarning, match="distinct"):
        labels = KSums(3, random_state=0).fit(np.ones((6, 2)), cannot_link=[[0, 1], [2, 3], [4, 5]]).labels_
    assert np.bincount(labels).min() == 1 or np.bincount(labels).min() == 2
    X, pairs = rng.standard_normal((60, 2)), np.arange(60).reshape(30, 2)
    model = KSums(3, fixed_centers=[[1e4, 1e4]], random_state=0).fit(X, cannot_link=pairs)
    assert holds(model.labels_, cannot=pairs)
    assert model.sizes_.min() >= 1


def test_all_rows_fixed_with_weights_and_limits(rng):
    X, labels = rng.standard_normal((60, 2)), np.arange(60) % 2
    model = KSums(2, size_max=40, random_state=0).fit(X, sample_weight=rng.random(60), fixed_labels=labels)
    np.testing.assert_array_equal(model.labels_, labels)


def test_missing_groups_are_none(X):
    pandas = pytest.importorskip("pandas")
    for groups in (
        ["a", "a", float("nan"), float("nan"), *[""] * 116],
        [-1, -1, -1, None, 5, 5, *[None] * 114],
        pandas.Series(["a", "a", *[None] * 118], dtype="string"),
    ):
        plan = KSums(5, random_state=0).fit(X, must_link=groups).plan_
        assert plan.shape.n == 119


# ------------------------------------------------------------------------------------------ refusals
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cannot_link": [[0, 30]]}, r"cannot_link names rows that do not exist: pair 0 is \[0, 30\], .* 0 … 29"),
        ({"must_link": [[-1, 2]]}, "must_link names rows that do not exist"),
        ({"cannot_link": [[4, 4]]}, "cannot_link holds row 4 with itself"),
        ({"cannot_link": [1, 2, 3]}, r"cannot_link must hold pairs of row numbers, .* got shape \(3,\)"),
        ({"cannot_link": [[0.5, 1]]}, "cannot_link must hold pairs of row numbers"),
        ({"must_link": [0, 1, 1]}, "one group for each of the 30 rows; got 3 groups"),
        ({"must_link": [[0, 1], [1, 2]], "cannot_link": [[2, 0]]}, "rows 2 and 0 must share a cluster by must_link"),
        ({"must_link": np.zeros(30, int)}, "joins the 30 rows into 1 groups, fewer than n_clusters=3"),
        ({"fixed_labels": [0, 1]}, r"fixed_labels must hold one number for each of the 30 rows.* got shape \(2,\)"),
        ({"fixed_labels": np.full(30, 3)}, "fixed_labels must hold clusters 0 … 2, or -1"),
        ({"fixed_labels": np.zeros(30, int)}, "leaves 0 rows or groups free, but 2 of the n_clusters=3 clusters"),
        (
            {"fixed_labels": np.r_[0, 1, np.full(28, -1)], "must_link": [[0, 1]]},
            "rows 0 and 1 must share a cluster by must_link, and fixed_labels puts them into 0 and 1",
        ),
        (
            {"fixed_labels": np.r_[2, 2, np.full(28, -1)], "cannot_link": [[0, 1]]},
            "fixed_labels puts rows 0 and 1 into cluster 2, and cannot_link keeps them apart",
        ),
    ],
)
def test_links_without_a_meaning_are_refused(arguments, message, X):
    with pytest.raises(ValueError, match=message):
        KSums(3).fit(X[:30], **arguments)


def test_links_that_break_limits_are_refused(X):
    with pytest.raises(ValueError, match=r"must_link joins rows 0, 1, .* into a group of size 12, .* size_max=11"):
        KSums(3, size_max=11).fit(X[:30], must_link=np.where(np.arange(30) < 12, 0, -1))
    with pytest.raises(ValueError, match="fixed_labels puts 12 into cluster 1, more than size_max=11"):
        KSums(3, size_max=11).fit(X[:30], fixed_labels=np.where(np.arange(30) < 12, 1, -1))
    with pytest.raises(ValueError, match="with fixed_labels the clusters need 34 in all to reach size_min"):
        KSums(3, size_min=8).fit(X[:30], fixed_labels=np.where(np.arange(30) < 18, 1, -1))
    star = [[0, i] for i in range(1, 22)]
    with pytest.raises(ValueError, match="no 3 clusters can keep the linked rows apart within size_min and size_max"):
        KSums(3, size_min=10, size_max=10).fit(X[:30], cannot_link=star)


def test_fixed_centres_without_a_meaning_are_refused(X):
    for centres, message in (
        (X[:1, :2], r"fixed_centers must be an array of numbers of shape \(m, 3\)"),
        (X[:6], "fixed_centers holds 6 centres, more than n_clusters=5"),
        (X[:1] * np.nan, "fixed_centers must be finite"),
    ):
        with pytest.raises(ValueError, match=message):
            KSums(5, fixed_centers=centres).fit(X)
    with pytest.raises(ValueError, match="objective='pairwise' knows no centres"):
        KSums(5, fixed_centers=X[:1], objective="pairwise").fit(X)
    with pytest.raises(ValueError, match="a row of zeros in fixed_centers has no direction"):
        KSums(5, fixed_centers=np.zeros((1, 3)), metric="cosine").fit(X)


def test_what_knows_no_constraints_is_refused(X):
    with pytest.raises(ValueError, match="polish='assign' gives each sample its nearest centre"):
        KSums(8, engine="neighbors", polish="assign").fit(X, fixed_labels=np.r_[3, np.full(119, -1)])
    with pytest.raises(ValueError, match="fixed_centers with size_min or size_max is not offered for weighted"):
        KSums(3, fixed_centers=X[:1], size_max=5000).fit(X, sample_weight=np.arange(1.0, 121))
    with pytest.raises(ValueError, match="must_link joins the 4 rows into 2 groups, fewer than n_clusters=3"):
        KSums(3).fit(X[:6], sample_weight=[1, 1, 1, 1, 0, 0], must_link=[[0, 1], [2, 3]])
    with pytest.raises(ValueError, match="must_link must be pairs of rows"):
        KSums(3).fit(X, must_link=[[0, 1], [2]])


def test_rows_without_weight_cannot_be_linked(X):
    weights = np.r_[0.0, np.ones(119)]
    for arguments in ({"must_link": [[0, 1]]}, {"cannot_link": [[0, 1]]}, {"fixed_labels": np.r_[1, np.full(119, -1)]}):
        with pytest.raises(ValueError, match="row 0 has weight 0"):
            KSums(3).fit(X, sample_weight=weights, **arguments)


def test_other_data_and_methods_refuse_links(X):
    with pytest.raises(ValueError, match="cannot_link is not offered for data in parts"):
        KSums(3).fit([X], cannot_link=[[0, 1]])
    for method in (BisectingKSums(3), KMeans(3)):
        with pytest.raises(TypeError, match=r"fit does not know must_link: .* Use KSums"):
            method.fit(X, must_link=[[0, 1]])
        with pytest.raises(TypeError, match="got unexpected arguments: colour"):
            method.fit(X, colour="red")


def test_paper_rule_under_cosine_refuses_must_link(X):
    with pytest.raises(ValueError, match="rule='paper' with metric='cosine'"):
        KSums(3, metric="cosine", rule="paper").fit(X, must_link=[[0, 1]])
