"""The baselines of the paper: each is compared with a few plain lines, and all have the same interface."""

import numpy as np
import pytest
from helpers import engine_for, run_passes
from scipy import sparse
from sklearn.cluster import MiniBatchKMeans

from ksums import METHODS, PassRecord, baselines, metrics
from ksums.baselines.kmeans import LloydEngine
from ksums.baselines.lvq import LVQEngine
from ksums.baselines.mini_batch import MiniBatchEngine
from ksums.method.data.rows import prepare
from ksums.method.state.limits import no_limits
from ksums.method.state.state import build_state
from ksums.rules.kinds import rule_for

NAMES = [
    "k-means", "k-means++", "Mini-Batch", "LVQ", "Hartigan", "k-means#", "IKM", "Sequential k-means",
    "bisecting k-means", "bisecting k-means++", "bisecting k-means#", "bisecting IKM", "k-sums-Im", "k-sums-Is",
    "bisecting k-sums-Im", "bisecting k-sums-Is", "Sequential k-sums-Im", "Sequential k-sums-Is",
    "k-sums-Im (released)", "ksums",
]  # fmt: skip
"""These are the names of all methods, in the order of the paper."""
METHODS_AND_METRICS = [(name, metric) for name, method in METHODS.items() for metric in method.metrics]
"""Each method appears once with each metric it is defined for."""


def test_the_methods_have_the_names_of_the_paper():
    assert list(METHODS) == NAMES
    assert {name for name in METHODS if METHODS[name].metrics == ("cosine",)} == {"IKM", "bisecting IKM"}


@pytest.mark.parametrize("kind", ["float32", "sparse", "uint8", "weighted"])
@pytest.mark.parametrize(("name", "metric"), METHODS_AND_METRICS)
def test_every_method_fits_every_kind_of_data(name, metric, kind, rng):
    """All methods have the same records and attributes."""
    X = rng.integers(0, 9, (150, 6)).astype(np.float64)
    X[:, 0] += 1
    weights = rng.uniform(0.5, 2, 150) if kind == "weighted" else None
    data = {"sparse": sparse.csr_array(X), "float32": X.astype(np.float32), "uint8": X.astype(np.uint8)}.get(kind, X)
    model = METHODS[name](5, metric, 0).fit(data, sample_weight=weights)
    assert model.labels_.shape == (150,)
    assert set(model.labels_) == set(range(5))
    assert model.cluster_centers_.shape == model.composites_.shape == (5, 6)
    assert sum(record.stage != "merge-split" for record in model.history_) == model.n_iter_
    assert all(isinstance(record, PassRecord) for record in model.history_)
    options = {"metric": metric, "sample_weight": weights}
    assert model.distortion_ == pytest.approx(metrics.distortion(X, model.labels_, **options))
    assert model.pairwise_ == pytest.approx(metrics.pairwise(X, model.labels_, **options))
    assert min(record.distortion for record in model.history_) <= model.distortion_ * (1 + 1e-6)
    np.testing.assert_allclose(model.sizes_, np.bincount(model.labels_, weights))
    assert model.predict(data).shape == (150,)
    again = METHODS[name](5, metric, 0).fit(data, sample_weight=weights)
    np.testing.assert_array_equal(model.labels_, again.labels_)


@pytest.mark.parametrize("name", NAMES)
def test_every_method_fits_with_its_defaults(name, blobs):
    model = METHODS[name](5, random_state=0)
    assert not hasattr(model, "labels_")
    model.fit(blobs)
    assert len(set(model.labels_)) == 5


def test_methods_accept_further_parameters(blobs):
    assert METHODS["k-sums-Im"](5, max_iter=3, tol=0).fit(blobs).n_iter_ <= 3
    assert METHODS["ksums"](5, "cosine", init="random-labels").init == "random-labels"
    with pytest.raises(TypeError, match="wrong"):
        METHODS["ksums"](5, wrong=1)
    with pytest.raises(ValueError, match="IKM is not defined for metric='l2'; only for 'cosine'"):
        METHODS["IKM"](5, metric="l2")
    with pytest.raises(ValueError, match="metric must be one of 'l2', 'cosine'; got 'l1'"):
        METHODS["IKM"](5, metric="l1").fit(blobs)
    with pytest.raises(ValueError, match="metric must be 'cosine', as the method compares directions; got 'l2'"):
        baselines.BisectingIKM(5, metric="l2").fit(blobs)
    with pytest.raises(TypeError):
        METHODS["ksums"] = None


def boost_k_means(X, labels, orders, k):
    """k-means# as its authors wrote it: x moves to where Σ D·D/n rises most. Returns the labels after each pass."""
    labels, passes = labels.copy(), []
    D = np.array([X[labels == r].sum(axis=0) for r in range(k)])
    n = np.bincount(labels, minlength=k).astype(float)
    for order in orders:
        for i in order:
            x, w = X[i], labels[i]
            if n[w] == 1:
                continue
            left = np.sum((D[w] - x) ** 2) / (n[w] - 1) - D[w] @ D[w] / n[w]
            joined = np.sum((D + x) ** 2, axis=1) / (n + 1) - np.sum(D**2, axis=1) / n
            joined[w] = -np.inf
            v = int(np.argmax(joined))
            if joined[v] + left > 1e-9:
                D[w], D[v], n[w], n[v], labels[i] = D[w] - x, D[v] + x, n[w] - 1, n[v] + 1, v
        passes.append(labels.copy())
    return passes


@pytest.mark.parametrize("k", [4, 20])
def test_hartigan_and_k_means_sharp_make_the_same_moves(k, rng):
    """One minimises the sum of squares, the other maximises Σ D·D/n, and every move is the same."""
    X = rng.standard_normal((200, 5))
    labels = np.arange(200) % k
    orders = [rng.permutation(200) for _ in range(5)]
    ours, _ = run_passes(engine_for(X, labels, k, rule="hartigan"), orders)
    np.testing.assert_array_equal(ours, boost_k_means(X - X.mean(axis=0), labels, orders, k))
    for metric in ("l2", "cosine"):
        one, other = (METHODS[name](k, metric, 3).fit(X) for name in ("Hartigan", "k-means#"))
        np.testing.assert_array_equal(one.labels_, other.labels_)
        assert [record.moves for record in one.history_] == [record.moves for record in other.history_]


def state_of(X, labels, k, metric, weights=None):
    rows = prepare(X, metric, weights)
    return rows, build_state(rows, labels, k), rule_for("distortion", metric, "nearest")


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_lloyd_agrees_with_plain_means(metric, kind, rng):
    X = 1 + rng.standard_normal((150, 4))
    labels, k = np.arange(150) % 7, 7
    rows, state, rule = state_of(sparse.csr_array(X) if kind == "sparse" else X, labels, k, metric)
    engine = LloydEngine(rows, state, rule, no_limits(k))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
    for _ in range(5):
        centres = np.array([unit[labels == r].mean(axis=0) for r in range(k)])
        if metric == "cosine":
            new = np.argmax(unit @ (centres / np.linalg.norm(centres, axis=1, keepdims=True)).T, axis=1)
        else:
            new = np.argmin(((unit[:, None] - centres) ** 2).sum(axis=2), axis=1)
        assert sum(engine.visit(rows.active)) == np.count_nonzero(new != labels)
        np.testing.assert_array_equal(state.labels, new)
        np.testing.assert_allclose(state.sizes, np.bincount(new, minlength=k))
        labels = new


def test_k_means_agrees_with_scikit_learn(rng):
    """Our result is a fixed point of scikit-learn's Lloyd, started from our centres."""
    from sklearn.cluster import KMeans

    X = rng.standard_normal((500, 4))
    for name in ("k-means", "k-means++"):
        ours = METHODS[name](12, random_state=0, tol=0, max_iter=300).fit(X)
        assert ours.history_[-1].moves == 0
        theirs = KMeans(12, init=ours.cluster_centers_, n_init=1, tol=0).fit(X)
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        distortions = [record.distortion for record in ours.history_]
        assert distortions == sorted(distortions, reverse=True)


def test_no_cluster_is_left_empty(rng):
    """A centre that is nearest to no sample gets a sample of the largest cluster."""
    X = np.concatenate([np.zeros((50, 2)), rng.standard_normal((3, 2)) + 50])
    rows, state, rule = state_of(X, np.concatenate([np.arange(50) % 5, [0, 1, 2]]), 5, "l2")
    sum(LloydEngine(rows, state, rule, no_limits(5)).visit(rows.active))
    assert (state.counts > 0).all()
    assert state.counts.sum() == 53


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_mini_batch_agrees_with_scikit_learn(kind, rng):
    X = rng.standard_normal((300, 4))
    X -= X.mean(axis=0)
    labels, order = np.arange(300) % 6, rng.permutation(300)
    rows, state, rule = state_of(sparse.csr_array(X) if kind == "sparse" else X, labels, 6, "l2")
    centres = state.composites / state.sizes[:, None]
    theirs = MiniBatchKMeans(6, init=centres, n_init=1, reassignment_ratio=0, random_state=0)
    for first in range(0, 300, 50):
        theirs.partial_fit(X[order[first : first + 50]])
    sum(MiniBatchEngine(rows, state, rule, no_limits(6), batch_size=50).visit(order))
    np.testing.assert_array_equal(state.labels, theirs.predict(X))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_lvq_agrees_with_plain_steps(metric, kind, rng):
    """c += α (x − c) with α falling linearly; under cosine c is scaled to unit length after each step."""
    X = 1 + rng.standard_normal((120, 4))
    labels, k, passes = np.arange(120) % 5, 5, 3
    rows, state, rule = state_of(sparse.csr_array(X) if kind == "sparse" else X, labels, k, metric)
    data = rows.read(rows.active)
    data = data.toarray() if kind == "sparse" else data
    centres = state.composites / state.sizes[:, None]
    engine = LVQEngine(rows, state, rule, no_limits(k), rate=0.2, passes=passes)
    step = 0
    for _ in range(passes):
        order = rng.permutation(120)
        for x in data[order]:
            if metric == "cosine":
                centres /= np.linalg.norm(centres, axis=1, keepdims=True)
            r = np.argmax(centres @ x) if metric == "cosine" else np.argmin(((centres - x) ** 2).sum(axis=1))
            centres[r] += 0.2 * (1 - step / (passes * 120)) * (x - centres[r])
            step += 1
        sum(engine.visit(order))
        if metric == "cosine":
            centres /= np.linalg.norm(centres, axis=1, keepdims=True)
            expected = np.argmax(data @ centres.T, axis=1)
        else:
            expected = np.argmin(((data[:, None] - centres) ** 2).sum(axis=2), axis=1)
            np.testing.assert_allclose(engine.codebook.composites / engine.codebook.scales[:, None], centres, atol=1e-9)
        np.testing.assert_array_equal(state.labels, expected)


def test_lvq_stays_in_range_over_many_steps(rng):
    """Scales grow with every step and are reset: numbers stay finite after thousands of steps at a high rate."""
    X = rng.standard_normal((2000, 3))
    for metric in ("l2", "cosine"):
        model = baselines.LVQ(3, metric=metric, rate=0.9, max_iter=20, random_state=0).fit(X)
        assert np.isfinite(model.cluster_centers_).all()
        start = baselines.KMeans(3, metric=metric, max_iter=1, random_state=0).fit(X)
        assert model.distortion_ < start.distortion_ * 1.1


def test_ikm_increases_the_cosines(rng):
    """The objective in its records is 1 − Σ|D|/n, and falls. KSUMS_CHECK checks every single move."""
    X = 0.5 + rng.standard_normal((200, 6))
    model = METHODS["IKM"](8, random_state=0, tol=0).fit(X)
    values = [record.objective for record in model.history_]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(1 - np.linalg.norm(model.composites_, axis=1).sum() / 200)
    best = METHODS["IKM"](8, random_state=0, n_init=5).fit(X)
    assert best.history_[-1].objective <= values[-1] + 1e-4


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (baselines.LVQ(3, rate=1.0), "rate must be a number above 0 and below 1; got 1.0"),
        (baselines.MiniBatch(3, batch_size=0), "batch_size must be an integer of at least 1; got 0"),
        (baselines.KMeans(31), "n_samples=30 should be >= n_clusters=31"),
        (baselines.BisectingKMeans(3, strategy="widest"), "strategy must be"),
        (baselines.SequentialKMeans(3, shuffle=2), "shuffle must be True or False"),
    ],
)
def test_bad_parameters_are_refused(model, message, rng):
    with pytest.raises(ValueError, match=message):
        model.fit(rng.standard_normal((30, 4)))
    assert not hasattr(model, "labels_")
