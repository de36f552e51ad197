"""All estimators follow scikit-learn's contract; KSums and its attributes in detail."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from ksums import (
    BisectingKSums,
    KSums,
    PairwiseKSums,
    PassRecord,
    SequentialKSums,
    TableKSums,
    baselines,
    history_frame,
    metrics,
)

ESTIMATORS = [
    KSums(),
    KSums(objective="pairwise"),
    KSums(metric="cosine"),
    KSums(objective="pairwise", metric="cosine"),
    KSums(rule="released", init="random-labels"),
    KSums(engine="reference", max_iter=5),
    BisectingKSums(),
    BisectingKSums(objective="pairwise", metric="cosine", strategy="largest", refine=3),
    SequentialKSums(),
    SequentialKSums(objective="pairwise", shuffle=True),
    SequentialKSums(metric="cosine", half_life=20),
    KSums(missing="ignore"),
    TableKSums(),
    TableKSums(objective="pairwise", scale="range"),
    PairwiseKSums(),
    *(getattr(baselines, name)() for name in baselines.__all__),
]
"""scikit-learn checks these estimators."""

EXPECTED_FAILURES = {
    f"check_sample_weight_equivalence_on_{kind}_data": "a weighted row is visited once, repeated rows one by one"
    for kind in ("dense", "sparse")
}
"""All estimators fail these two checks, as scikit-learn's own k-means classes do: the visiting order and the seeds are
drawn row by row, so both fits of a check run Algorithm 1, but with different random numbers. ``test_weights.py`` tests
what does hold: sums and measures are those of repeated rows, and a weighted move lowers the objective."""


@pytest.mark.filterwarnings("ignore:.*rows of X are all zeros:UserWarning")
@pytest.mark.filterwarnings("ignore:Number of distinct clusters:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_ksums_is_a_one_line_replacement_for_k_means(blobs):
    parameters = {"n_clusters": 5, "n_init": 3, "max_iter": 300, "tol": 1e-4, "random_state": 0, "verbose": 0}
    ours, theirs = KSums(**parameters).fit(blobs), KMeans(**parameters).fit(blobs)
    assert ours.inertia_ <= theirs.inertia_ * (1 + 1e-9)
    assert ours.cluster_centers_.shape == theirs.cluster_centers_.shape
    assert ours.labels_.dtype == theirs.labels_.dtype
    for name in ("predict", "transform"):
        assert getattr(ours, name)(blobs).shape == getattr(theirs, name)(blobs).shape
    assert ours.score(blobs) == pytest.approx(theirs.score(blobs), rel=1e-3)


def test_ksums_beats_k_means_on_real_data():
    X = load_digits().data
    ours = [KSums(50, random_state=s).fit(X).inertia_ for s in range(5)]
    theirs = [KMeans(50, random_state=s).fit(X).inertia_ for s in range(5)]
    assert np.mean(ours) < np.mean(theirs)


def test_attributes_agree_with_each_other(blobs):
    model = KSums(5, random_state=0).fit(blobs)
    assert model.sizes_.sum() == len(blobs)
    np.testing.assert_array_equal(model.sizes_, np.bincount(model.labels_))
    np.testing.assert_allclose(model.composites_[2], blobs[model.labels_ == 2].sum(axis=0))
    np.testing.assert_allclose(model.cluster_centers_, model.composites_ / model.sizes_[:, None])
    assert model.inertia_ == pytest.approx(model.distortion_ * len(blobs))
    assert model.distortion_ == pytest.approx(metrics.distortion(blobs, model.labels_))
    assert model.pairwise_ == pytest.approx(metrics.pairwise(blobs, model.labels_))
    assert model.history_[-1].distortion == pytest.approx(model.distortion_)
    assert model.history_[-1].pairwise == pytest.approx(model.pairwise_)
    assert model.n_iter_ == sum(record.stage != "merge-split" for record in model.history_)
    np.testing.assert_array_equal(model.predict(blobs), model.labels_)
    np.testing.assert_array_equal(model.transform(blobs).argmin(axis=1), model.labels_)
    assert model.score(blobs) == pytest.approx(-model.inertia_)
    np.testing.assert_array_equal(KSums(5, random_state=0).fit_predict(blobs), model.labels_)


def test_records_are_frozen_and_convert_to_a_frame(blobs):
    model = KSums(5, random_state=0).fit(blobs)
    record = model.history_[0]
    assert isinstance(record, PassRecord)
    with pytest.raises(AttributeError):
        record.moves = 3
    frame = history_frame(model)
    assert frame.index.name == "index"
    columns = (
        "objective distortion pairwise moves smallest largest seconds comparisons stage relaxation trials kept gain"
    )
    assert list(frame.columns) == columns.split()
    assert (frame.stage != "merge-split").sum() == model.n_iter_
    assert frame.seconds.is_monotonic_increasing


def test_the_output_columns_have_names(blobs):
    model = KSums(5, random_state=0).set_output(transform="pandas").fit(blobs)
    frame = model.transform(blobs)
    assert list(frame.columns) == list(model.get_feature_names_out()) == [f"ksums{i}" for i in range(5)]
    assert KSums(5, random_state=0).set_output(transform="polars").fit_transform(blobs).shape == (300, 5)


def test_works_in_pipelines_and_searches(blobs):
    pipeline = make_pipeline(StandardScaler(), KSums(5, random_state=0))
    assert len(set(pipeline.fit_predict(blobs))) == 5
    search = GridSearchCV(KSums(random_state=0), {"n_clusters": [2, 5]}, cv=2).fit(blobs)
    assert search.best_params_ == {"n_clusters": 5}


def test_clone_and_pickle(blobs):
    model = KSums(5, random_state=0).fit(blobs)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(blobs), model.predict(blobs))
    with pytest.raises(NotFittedError):
        clone(model).predict(blobs)


@pytest.mark.parametrize("init", ["auto", "random-labels", "random-points"])
@pytest.mark.parametrize("options", [{}, {"metric": "cosine"}, {"objective": "pairwise"}, {"rule": "released"}])
def test_the_engine_does_not_change_labels(options, init, rng):
    X = rng.standard_normal((250, 9))
    exact, reference = (
        KSums(20, engine=engine, init=init, max_iter=6, random_state=4, **options).fit(X)
        for engine in ("exact", "reference")
    )
    np.testing.assert_array_equal(exact.labels_, reference.labels_)
    assert [record.moves for record in exact.history_] == [record.moves for record in reference.history_]


@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_sparse_and_dense_data_give_the_same_fit(metric, rng):
    X = rng.standard_normal((200, 30)) * (rng.random((200, 30)) < 0.3)
    X[:, 0] += 0.5
    dense = KSums(12, metric=metric, refine=None, random_state=3).fit(X)  # Only dense rows can be searched.
    from_sparse = KSums(12, metric=metric, random_state=3).fit(sparse.csr_array(X))
    np.testing.assert_array_equal(dense.labels_, from_sparse.labels_)
    np.testing.assert_allclose(dense.cluster_centers_, from_sparse.cluster_centers_, atol=1e-12)
    np.testing.assert_array_equal(dense.predict(X), from_sparse.predict(sparse.csr_array(X)))
    np.testing.assert_allclose(dense.transform(X), from_sparse.transform(sparse.csr_array(X)), atol=1e-7)
    assert dense.score(X) == pytest.approx(from_sparse.score(sparse.csr_array(X)))
    assert dense.inertia_ == pytest.approx(from_sparse.inertia_)
    assert dense.pairwise_ == pytest.approx(from_sparse.pairwise_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_data_far_from_the_origin_keeps_its_precision(dtype, rng):
    """Far from the origin, the inertia agrees with float64 and predict finds the nearest centre of every row."""
    X = (1000 + rng.standard_normal((2000, 8))).astype(dtype)
    model = KSums(20, random_state=0, max_iter=20).fit(X)
    shifted = X.astype(np.float64) - 1000
    centres = np.array([shifted[model.labels_ == r].mean(axis=0) for r in range(20)])
    assert model.inertia_ == pytest.approx(((shifted - centres[model.labels_]) ** 2).sum(), rel=1e-9)
    distances = ((shifted[:, None] - (model.cluster_centers_.astype(np.float64) - 1000)) ** 2).sum(axis=2)
    np.testing.assert_array_equal(model.predict(X), distances.argmin(axis=1))


def test_cosine_ignores_lengths(rng):
    X = rng.standard_normal((300, 10))
    lengths = rng.uniform(0.1, 100, 300)[:, None]
    one = KSums(8, metric="cosine", random_state=0).fit(X)
    other = KSums(8, metric="cosine", random_state=0).fit(X * lengths)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.predict(X), other.predict(X * lengths))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert one.distortion_ == pytest.approx(metrics.distortion(unit, one.labels_))
    centres = one.cluster_centers_
    cosines = unit @ (centres / np.linalg.norm(centres, axis=1, keepdims=True)).T
    np.testing.assert_array_equal(one.predict(X), cosines.argmax(axis=1))
    np.testing.assert_allclose(one.transform(X), 1 - cosines, atol=1e-7)


@pytest.mark.parametrize("objective", ["distortion", "pairwise"])
def test_rows_of_zeros_under_cosine_are_labelled_and_change_nothing_else(objective, rng):
    X = rng.standard_normal((60, 5))
    with_zeros = np.insert(X, [0, 17, 17, 60], 0.0, axis=0)
    zeros = np.flatnonzero((with_zeros == 0).all(axis=1))
    options = {"n_clusters": 4, "metric": "cosine", "objective": objective, "max_iter": 30}
    start = np.arange(60) % 4
    model = KSums(init=np.insert(start, [0, 17, 17, 60], 0), random_state=0, **options)
    with pytest.warns(UserWarning, match=r"4 rows of X are all zeros.*rows 0, 18, 19, 63\)"):
        model.fit(with_zeros)
    plain = KSums(init=start, random_state=0, **options).fit(X)
    np.testing.assert_array_equal(np.delete(model.labels_, zeros), plain.labels_)
    assert model.sizes_.sum() == 64
    assert (model.labels_[zeros] == 0).all()
    np.testing.assert_allclose(model.composites_, plain.composites_)
    assert model.predict(np.zeros((1, 5))).tolist() == [0]


def test_no_cluster_is_empty_with_few_distinct_rows(rng):
    X = rng.standard_normal((3, 4))[rng.integers(0, 3, 50)]
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(3\) found smaller than n_clusters \(6\)"):
        model = KSums(6, random_state=0).fit(X)
    assert (model.sizes_ > 0).all()
    assert model.inertia_ == pytest.approx(0, abs=1e-20)
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        assert (KSums(6, init="random-labels", random_state=0).fit(X).sizes_ > 0).all()


def test_as_many_clusters_as_rows(rng):
    X = rng.standard_normal((20, 3))
    model = KSums(20, init="random-labels", random_state=0).fit(X)
    assert sorted(model.labels_) == list(range(20))
    assert model.inertia_ == 0
    assert KSums(1).fit(X).sizes_.tolist() == [20]


@pytest.mark.parametrize("options", [{}, {"objective": "pairwise"}, {"rule": "released"}])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e7])
def test_records_are_in_the_units_of_the_data(scale, options, blobs):
    model = KSums(5, random_state=0, **options).fit(blobs * scale)
    best = min(model.history_, key=lambda record: record.objective)
    assert best.distortion == pytest.approx(model.distortion_)
    assert best.pairwise == pytest.approx(model.pairwise_)


def test_distances_far_from_the_origin_are_precise(blobs):
    model = KSums(5, random_state=0).fit(blobs + 1e7)
    assert (model.transform(blobs + 1e7).min(axis=1) ** 2).sum() == pytest.approx(model.inertia_, rel=1e-6)


def test_cosine_of_rows_of_very_different_lengths(rng):
    X = rng.standard_normal((90, 4))
    lengths = np.repeat([1e-170, 1.0, 1e130], 30)[:, None]
    labels = KSums(6, metric="cosine", random_state=0).fit(X * lengths).labels_
    np.testing.assert_array_equal(labels, KSums(6, metric="cosine", random_state=0).fit(X).labels_)


@pytest.mark.parametrize("scale", [1e-40, 1e-30, 1e30])
def test_magnitudes_that_float32_cannot_square(scale, rng):
    X = (rng.standard_normal((200, 12)) * scale).astype(np.float32)
    model = KSums(20, random_state=0).fit(X)
    ordinary = KSums(20, random_state=0).fit(X.astype(np.float64))
    assert np.isfinite(model.cluster_centers_).all()
    assert model.inertia_ == pytest.approx(ordinary.inertia_, rel=0.05)
    assert len(set(model.predict(X))) == 20


def test_high_effort_makes_several_runs_if_there_is_no_search(rng):
    """Three topics share no word, and about one run in ten merges two of them."""
    counts = np.zeros((300, 30))
    for i, words in enumerate(rng.integers(0, 10, (300, 3))):
        counts[i, i % 3 * 10 + words] = 1
    X = sparse.csr_array(counts)
    values = [KSums(3, metric="cosine", effort="high", random_state=seed).fit(X).distortion_ for seed in range(12)]
    assert max(values) == pytest.approx(min(values))
    for model, rows, runs in (
        (KSums(3, metric="cosine", effort="high"), counts, 4),
        (KSums(3, effort="high"), X, 4),
        (KSums(3, effort="high"), counts, 1),
        (KSums(3, metric="cosine"), counts, 1),
        (KSums(3, metric="cosine", effort="high", n_init=6), counts, 6),
        (KSums(3, metric="cosine", effort="high", init=counts[:3]), counts, 1),
    ):
        assert model.plan_for(rows).runs == runs
