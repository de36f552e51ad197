"""SequentialKSums: it agrees with plain loops, does not depend on how the stream is cut, and forgets samples."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from ksums import SequentialKSums, metrics
from ksums.baselines import SequentialKMeans
from ksums.compute import sharing
from ksums.method.streams import ageing, stream

VARIANTS = [
    {},
    {"objective": "pairwise"},
    {"metric": "cosine"},
    {"objective": "pairwise", "metric": "cosine"},
    {"half_life": 30.0},
    {"half_life": 0.7},
    {"half_life": 30.0, "objective": "pairwise"},
    {"half_life": 30.0, "metric": "cosine"},
]
"""These parameters cover all objectives and metrics, with and without a half-life."""


def plain(X, k, objective="distortion", metric="l2", half_life=None, weights=None):
    """Run the method in a few plain lines, with weights that fade at every step; return labels, composites, sizes."""
    if metric == "cosine":
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
    fade = 1.0 if half_life is None else 2.0 ** (-1 / half_life)
    members = [[] for _ in range(k)]  # (row, weight)
    labels = []
    for i, x in enumerate(X):
        w = 1.0 if weights is None else weights[i]
        members = [[(y, v * fade) for y, v in cluster] for cluster in members]
        opened = [cluster for cluster in members if cluster]
        if len(opened) < k and not any(np.array_equal(cluster[0][0], x) for cluster in opened):
            chosen = len(opened)
        else:
            costs = []
            for cluster in opened:
                n, D = sum(v for _, v in cluster), sum(v * y for y, v in cluster)
                if objective == "pairwise":
                    costs.append(sum(v * np.sum((x - y) ** 2) for y, v in cluster))
                elif metric == "cosine":
                    costs.append(-(x @ (D + w * x)) / np.linalg.norm(D + w * x))
                else:
                    costs.append(np.sum((n * x - D) ** 2) / (n + w) ** 2)
            chosen = int(np.argmin(costs))
        members[chosen].append((x, w))
        labels.append(chosen)
    sizes = np.array([sum(v for _, v in cluster) for cluster in members])
    return np.array(labels), np.array([sum(v * y for y, v in cluster) for cluster in members]), sizes


def test_four_samples_by_hand():
    """0 and 10 open clusters; 4 joins 0 (4²/2² = 4 < 6²/2² = 9); 6 joins 10 (4²/2² = 4 < |2·6 − 4|²/3² = 7.1)."""
    model = SequentialKSums(2).fit([[0.0], [10.0], [4.0], [6.0]])
    assert model.labels_.tolist() == [0, 1, 0, 1]
    assert model.composites_.ravel().tolist() == [4, 16]
    assert model.sizes_.tolist() == [2, 2]
    assert model.distortion_ == pytest.approx((4 + 4 + 4 + 4) / 4)
    assert model.pairwise_ == pytest.approx((16 + 16) / 4)
    assert model.learn_one([4.9]) == 0  # |2·4.9 − 4|² = 33.6 < |2·4.9 − 16|² = 38.4
    assert model.n_samples_seen_ == 5
    assert model.history_[0].moves == 5
    assert model.history_[0].objective == model.distortion_


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("k", [3, 20])
@pytest.mark.parametrize("parameters", VARIANTS)
def test_results_agree_with_plain_loops(parameters, k, weighted, rng, monkeypatch):
    monkeypatch.setattr(ageing, "_PERIOD", 64)
    X = 2 + rng.standard_normal((200, 4))
    X[5] = X[2]
    weights = rng.uniform(0.5, 3, 200) if weighted else None
    labels, composites, sizes = plain(X, k, weights=weights, **parameters)
    for data in (X, sparse.csr_array(X)):
        model = SequentialKSums(k, **parameters).fit(data, sample_weight=weights)
        np.testing.assert_array_equal(model.labels_, labels)
        np.testing.assert_allclose(model.composites_, composites, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.sizes_, sizes, rtol=1e-9, atol=1e-20)
        np.testing.assert_allclose(model.cluster_centers_, composites / sizes[:, None], rtol=1e-9)
    if "half_life" not in parameters:
        options = {"metric": parameters.get("metric", "l2"), "sample_weight": weights}
        assert model.distortion_ == pytest.approx(metrics.distortion(X, labels, **options))
        assert model.pairwise_ == pytest.approx(metrics.pairwise(X, labels, **options))
        assert model.inertia_ == pytest.approx(model.distortion_ * sizes.sum())


@pytest.mark.parametrize("kind", ["dense", "sparse", "grid"])
@pytest.mark.parametrize("parameters", VARIANTS)
@given(cuts=strategies.lists(strategies.integers(1, 299), max_size=12), k=strategies.sampled_from([3, 25]))
def test_labels_do_not_depend_on_how_the_stream_is_cut(parameters, kind, cuts, k):
    """This also holds on a grid of small numbers, where many costs are equal and the last bit decides."""
    rng = np.random.default_rng(len(cuts))
    X = rng.integers(0, 3, (300, 4)).astype(float) if kind == "grid" else rng.standard_normal((300, 4))
    X += 1.0 if parameters.get("metric") == "cosine" and kind == "grid" else 0.0
    X = sparse.csr_array(X) if kind == "sparse" else X
    weights = np.where(np.arange(300) < 200, 1.0, rng.uniform(0.5, 2, 300))  # In some chunks all weights are 1.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ageing, "_PERIOD", 100)
        whole = SequentialKSums(k, **parameters).fit(X, sample_weight=weights)
        parts, labels = SequentialKSums(k, **parameters), []
        bounds = sorted({0, 300, *cuts})
        for first, last in itertools.pairwise(bounds):
            labels.append(parts.partial_fit(X[first:last], sample_weight=weights[first:last]).labels_)
    np.testing.assert_array_equal(np.concatenate(labels), whole.labels_)
    np.testing.assert_array_equal(parts.composites_, whole.composites_)
    np.testing.assert_array_equal(parts.sizes_, whole.sizes_)
    assert parts.pairwise_ == whole.pairwise_


def test_labels_do_not_depend_on_threads_or_on_learning_one_by_one(rng, monkeypatch):
    monkeypatch.setattr(sharing, "_WORTH_SHARING", 0)
    X = rng.standard_normal((900, 30))
    whole = SequentialKSums(300, n_threads=2).fit(X)
    one_by_one = SequentialKSums(300, n_threads=1)
    assert [one_by_one.learn_one(x) for x in X] == whole.labels_.tolist()
    wide = rng.standard_normal((40, 9000))  # NumPy splits some sums of more than 8192 numbers.
    for metric in ("l2", "cosine"):
        whole_wide, one_wide = SequentialKSums(3, metric=metric).fit(wide), SequentialKSums(3, metric=metric)
        assert [one_wide.learn_one(x) for x in wide] == whole_wide.labels_.tolist()
        np.testing.assert_array_equal(one_wide.composites_, whole_wide.composites_)
    from_sparse = SequentialKSums(300)
    assert [from_sparse.learn_one(sparse.csr_array(x[None])) for x in X[:50]] == whole.labels_[:50].tolist()


def test_copies_do_not_open_clusters():
    X = np.array([[1.0], [1.0], [0.0], [-0.0], [1.0], [3.0], [0.1 * 3], [0.3]])
    model = SequentialKSums(4)
    assert model.partial_fit(X).labels_.tolist() == [0, 0, 1, 1, 0, 2, 3, 3]
    with pytest.warns(ConvergenceWarning, match=r"\(2\) found smaller than n_clusters \(4\).*wait for partial_fit"):
        model = SequentialKSums(4).fit(X[:5])
    assert np.isnan(model.cluster_centers_[2:]).all()
    assert model.sizes_.tolist() == [3, 2, 0, 0]
    assert model.predict([[0.9], [9.0]]).tolist() == [0, 0]
    assert model.transform([[0.0]]).tolist() == [[1, 0, np.inf, np.inf]]
    assert model.score([[0.5]]) == -0.25
    assert model.partial_fit([[5.0], [6.0]]).labels_.tolist() == [2, 3]
    directions = SequentialKSums(3, metric="cosine").partial_fit([[1.0, 3.0], [3.0, 9.0], [1.0, 0.0], [0.0, 0.1]])
    assert directions.labels_.tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("parameters", [{}, {"objective": "pairwise"}, {"metric": "cosine"}, {"half_life": 25.0}])
def test_forgetting_undoes_learning(parameters, kind, rng, monkeypatch):
    monkeypatch.setattr(ageing, "_PERIOD", 64)
    X = rng.standard_normal((200, 5))
    X = sparse.csr_array(X) if kind == "sparse" else X
    weights = rng.uniform(0.5, 2, 200)
    kept = SequentialKSums(6, **parameters).fit(X[:120], sample_weight=weights[:120])
    model = SequentialKSums(6, **parameters).fit(X[:120], sample_weight=weights[:120])
    labels = model.partial_fit(X[120:], sample_weight=weights[120:]).labels_
    has_half_life = "half_life" in parameters
    ages = {"ages": np.arange(79, -1, -1)} if has_half_life else {}
    model.forget(X[120:], labels, sample_weight=weights[120:], **ages)
    faded = 2 ** (-80 / parameters["half_life"]) if has_half_life else 1.0
    np.testing.assert_allclose(model.composites_, kept.composites_ * faded, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.sizes_, kept.sizes_ * faded, rtol=1e-9, atol=1e-12)
    assert model.distortion_ == pytest.approx(kept.distortion_)
    assert model.pairwise_ == pytest.approx(kept.pairwise_ * faded)


def test_forgetting_integers_leaves_no_trace(rng):
    X = rng.integers(-50, 50, (300, 4)).astype(float)
    model, kept = SequentialKSums(7).fit(X[:200]), SequentialKSums(7).fit(X[:200])
    labels = model.partial_fit(X[200:]).labels_
    model.forget(X[200:], labels)
    np.testing.assert_array_equal(model.composites_, kept.composites_)
    np.testing.assert_array_equal(model.partial_fit(X[200:]).labels_, labels)


def test_an_emptied_cluster_can_be_opened_again():
    model = SequentialKSums(3).fit([[0.0], [10.0], [20.0], [1.0]])
    model.forget([[10.0]], [1])
    assert np.isnan(model.cluster_centers_[1, 0])
    assert model.predict([[10.0]]).tolist() in ([0], [2])
    assert model.learn_one([0.0]) == 0  # It is a copy of a sample that opened a cluster.
    assert model.learn_one([19.0]) == 1
    model.forget([[0.0], [1.0], [0.0], [19.0], [20.0]], [0, 0, 0, 1, 2])
    assert model.sizes_.tolist() == [0, 0, 0]
    assert model.distortion_ == model.pairwise_ == model.objective_ == 0
    for method in (model.predict, model.transform, model.score):
        with pytest.raises(ValueError, match=r"no cluster is open, as every sample was forgotten.*partial_fit"):
            method([[7.0]])
    assert model.learn_one([7.0]) == 0
    faded = SequentialKSums(1, half_life=0.01).fit([[0.0], [5.0]]).forget([[5.0]], [0], ages=[0])
    assert faded.sizes_.tolist() == [0]  # The weight of the other sample is lost in rounding.
    assert faded.partial_fit([[6.0], [7.0]]).labels_.tolist() == [0, 0]
    with pytest.warns(UserWarning, match="all zeros"):
        empty = SequentialKSums(2, metric="cosine").partial_fit([[0.0, 0.0]])
    with pytest.raises(ValueError, match="no cluster is open"):
        empty.predict([[1.0, 0.0]])


def test_forgetting_unknown_samples_is_refused():
    model = SequentialKSums(2).fit([[0.0], [10.0], [1.0]])
    before = model.composites_
    for rows, labels, more, message in [
        ([[10.0], [10.0]], [1, 1], {}, "2 rows are to be taken out of cluster 1, which holds 1 samples"),
        ([[10.0]], [2], {}, "labels must be 0 … 1; got 2 … 2"),
        ([[10.0]], [0.5], {}, "labels must hold one integer for each of the 1 rows"),
        ([[10.0]], [0, 1], {}, "labels must hold one integer"),
        ([[10.0, 3.0]], [0], {}, "features"),
        ([[10.0]], [1], {"ages": [0]}, "ages .* must be given with a half_life, and only then"),
        ([[10.0]], [1], {"sample_weight": [-1]}, "sample_weight must be finite and >= 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.forget(rows, labels, **more)
        np.testing.assert_array_equal(model.composites_, before)
    aging = SequentialKSums(2, half_life=3).fit([[0.0], [10.0], [1.0]])
    for ages in (None, [-1], [0, 1]):
        with pytest.raises(ValueError, match="ages"):
            aging.forget([[10.0]], [1], ages=ages)
    with pytest.raises(NotFittedError):
        SequentialKSums(2).forget([[1.0]], [0])


def test_with_a_half_life_centres_follow_the_drift(rng):
    """Two clusters drift in the same direction; centres follow them with a half-life, and lag behind without."""
    steps = np.arange(4000)
    X = np.where(steps % 2, 10.0, -10.0)[:, None] + 0.01 * steps[:, None] + rng.standard_normal((4000, 1))
    fresh, stale = SequentialKSums(2, half_life=100).fit(X), SequentialKSums(2).fit(X)
    current = np.sort(np.array([-10.0, 10.0]) + 0.01 * 4000)
    assert np.abs(np.sort(fresh.cluster_centers_.ravel()) - current).max() < 3
    assert np.abs(np.sort(stale.cluster_centers_.ravel()) - current).max() > 10
    assert fresh.sizes_.sum() == pytest.approx(100 / np.log(2), rel=0.02)


def test_numbers_stay_finite_over_thousands_of_half_lives(rng, monkeypatch):
    """Centres and measures stay finite over thousands of half-lives."""
    monkeypatch.setattr(ageing, "_PERIOD", 128)
    model = SequentialKSums(2, half_life=1.0, objective="pairwise")
    model.partial_fit([[0.0], [1e6]])
    for _ in range(20):
        model.partial_fit(rng.standard_normal((500, 1)))
    assert np.isfinite(model.cluster_centers_).all()
    assert np.isfinite([model.distortion_, model.pairwise_]).all()
    assert (model.sizes_ > 0).all()


def test_rows_of_zeros_under_cosine_and_rows_without_weight(rng):
    X = rng.standard_normal((50, 3))
    X[[4, 9]] = 0
    with pytest.warns(UserWarning, match=r"2 rows of X are all zeros.*rows 4, 9\)"):
        model = SequentialKSums(4, metric="cosine").fit(X)
    assert (model.labels_[[4, 9]] == 0).all()
    np.testing.assert_allclose(
        model.composites_, SequentialKSums(4, metric="cosine").fit(np.delete(X, [4, 9], axis=0)).composites_
    )
    weights = np.ones(50)
    weights[:5] = 0
    weighted = SequentialKSums(4).fit(X, sample_weight=weights)
    np.testing.assert_allclose(weighted.cluster_centers_, SequentialKSums(4).fit(X[5:]).cluster_centers_)


def test_data_far_from_the_origin_keeps_its_precision(rng, monkeypatch):
    X = rng.standard_normal((300, 3))
    near, far = SequentialKSums(10).fit(X), SequentialKSums(10).fit(X + 1e7)
    assert np.mean(near.labels_ == far.labels_) > 0.99
    assert far.distortion_ == pytest.approx(near.distortion_, rel=1e-5)
    # The first sample is an outlier; the shift starts there but soon leaves it.
    monkeypatch.setattr(ageing, "_PERIOD", 32)
    shifted = np.concatenate([np.zeros((1, 3)), X + 1e9])
    model = SequentialKSums(10).fit(shifted)
    assert np.abs(model._stream.shift - 1e9).max() < 1e8
    centres = np.array([shifted[model.labels_ == r].mean(axis=0) for r in range(10)])
    np.testing.assert_allclose(model.cluster_centers_, centres, rtol=1e-12)


def test_types_of_data_can_change_within_a_stream(rng):
    X = rng.integers(0, 200, (200, 6)).astype(np.uint8)
    whole = SequentialKSums(8).fit(X.astype(np.float64))
    mixed = SequentialKSums(8)
    parts = (X[:50], X[50:100].astype(np.float32), sparse.csr_array(X[100:150].astype(float)), X[150:].tolist())
    labels = [mixed.partial_fit(part).labels_ for part in parts]
    np.testing.assert_array_equal(np.concatenate(labels), whole.labels_)
    from_sparse = SequentialKSums(8).partial_fit(sparse.csr_array(X[:50].astype(float)))
    np.testing.assert_array_equal(from_sparse.partial_fit(X[50:]).labels_, whole.labels_[50:])


def test_shuffling_and_repeated_fits(rng):
    X = rng.standard_normal((200, 3))
    one, same, other = (SequentialKSums(8, shuffle=True, random_state=s).fit(X) for s in (0, 0, 1))
    np.testing.assert_array_equal(one.labels_, same.labels_)
    assert (one.labels_ != other.labels_).any()
    order = np.random.RandomState(0).permutation(200)
    np.testing.assert_array_equal(one.labels_[order], SequentialKSums(8).fit(X[order]).labels_)
    assert one.distortion_ == pytest.approx(metrics.distortion(X, one.labels_))
    again = SequentialKSums(8).fit(X).fit(X)
    assert again.n_samples_seen_ == 200
    np.testing.assert_array_equal(again.labels_, SequentialKSums(8).fit(X).labels_)
    generator = SequentialKSums(8, shuffle=True, random_state=np.random.default_rng(0)).fit(X)
    assert generator.sizes_.sum() == 200


def test_a_stream_survives_a_pickle(rng):
    X = rng.standard_normal((200, 3))
    model = SequentialKSums(8, half_life=50).fit(X[:100])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.partial_fit(X[100:]).labels_, model.partial_fit(X[100:]).labels_)


def test_an_interrupted_call_learns_nothing(rng, monkeypatch):
    X = rng.standard_normal((300, 3))
    model = SequentialKSums(5).fit(X[:100])
    before, expected = model.composites_, SequentialKSums(5).fit(X).labels_[100:]
    with monkeypatch.context() as patch:
        patch.setattr(ageing.Ageing, "weights_of_next", lambda self, seen, count: 1 / 0 if seen > 150 else None)
        patch.setattr(stream, "_NUMBERS", 60 * 3)
        with pytest.raises(ZeroDivisionError):
            model.partial_fit(X[100:])
    np.testing.assert_array_equal(model.composites_, before)
    assert model.n_samples_seen_ == 100
    np.testing.assert_array_equal(model.partial_fit(X[100:]).labels_, expected)


def test_bad_input_is_refused(rng):
    model = SequentialKSums(3)
    for name in ("sizes_", "cluster_centers_", "distortion_", "history_", "n_samples_seen_"):
        assert not hasattr(model, name)
    with pytest.raises(ValueError, match=r"takes one sample of shape \(d,\); got shape \(1, 2\).*partial_fit"):
        model.learn_one([[1.0, 2.0]])
    model.partial_fit(rng.standard_normal((10, 2)))
    before = model.composites_
    for call, message in [
        (lambda: model.partial_fit([[1.0, np.nan]]), "contains NaN, first in row 0, column 1"),
        (lambda: model.partial_fit([[1.0, 2.0, 3.0]]), "3 features"),
        (lambda: model.learn_one([np.inf, 1.0]), "contains infinity"),
        (lambda: model.partial_fit([[1.0, 2.0]], sample_weight=[1, 2]), "one weight for each of the 1 rows"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
        np.testing.assert_array_equal(model.composites_, before)
    with pytest.raises(ValueError, match="all sample weights are zero"):
        model.fit(rng.standard_normal((10, 2)), sample_weight=np.zeros(10))
    np.testing.assert_array_equal(model.composites_, before)  # The old model is unchanged.
    for changed in ({"n_clusters": 4}, {"metric": "cosine"}, {"half_life": 3.0}, {"objective": "pairwise"}):
        other = pickle.loads(pickle.dumps(model)).set_params(**changed)
        with pytest.raises(ValueError, match=r"was changed to .* in a stream that began with .* start again with fit"):
            other.partial_fit([[1.0, 2.0]])
        with pytest.raises(ValueError, match=r"in a stream that began with"):
            other.forget([[1.0, 2.0]], [0])
    for parameters, message in [
        ({"half_life": 0}, "half_life must be a number of samples > 0, or None; got 0"),
        ({"half_life": np.inf}, "half_life must be"),
        ({"shuffle": "yes"}, "shuffle must be True or False; got 'yes'"),
        ({"n_clusters": 31}, "n_samples=30 should be >= n_clusters=31"),
    ]:
        with pytest.raises(ValueError, match=message):
            SequentialKSums(**{"n_clusters": 3, **parameters}).fit(rng.standard_normal((30, 2)))


@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_sequential_k_means_against_plain_loops(metric, rng):
    """Eqn. 3: the nearest centre, computed without the sample, moves 1/(n + 1) of the way to it."""
    X = rng.standard_normal((300, 4))
    rows = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
    for k in (5, 20):
        centres, sizes, labels = rows[:k].copy(), np.ones(k), list(range(k))
        for x in rows[k:]:
            lengths = np.linalg.norm(centres, axis=1)
            costs = -centres @ x / lengths if metric == "cosine" else ((centres - x) ** 2).sum(axis=1)
            r = int(np.argmin(costs))
            centres[r] += (x - centres[r]) / (sizes[r] + 1)
            sizes[r] += 1
            labels.append(r)
        model = SequentialKMeans(k, metric=metric).fit(X)
        np.testing.assert_array_equal(model.labels_, labels)
        np.testing.assert_allclose(model.cluster_centers_, centres)
