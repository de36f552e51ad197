"""Clusters by distances alone: the kernels against the plain pass, the estimator, its errors, and medoids."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import ksums
from ksums import FitInterrupted, KSums, PairwiseKSums, metrics
from ksums.checking import distances as checking
from ksums.method.pairs.distances import Distances, without_weights
from ksums.method.pairs.medoids import improved_medoids, medoids_of
from ksums.method.pairs.partition import DistancePartition
from ksums.method.pairs.reference import objective_of, visit_plainly
from ksums.method.pairs.starts import seeds_and_labels

OBJECTIVES = ("distortion", "pairwise")
EXPECTED_FAILURES = {
    f"check_sample_weight_equivalence_on_{kind}_data": "a weighted sample is visited once, repeated ones one by one"
    for kind in ("dense", "sparse")
}


@pytest.mark.filterwarnings("ignore:Number of distinct clusters:sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [PairwiseKSums(), PairwiseKSums(metric="sqeuclidean", objective="pairwise", polish="medoids")],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def square(blobs):
    return cdist(blobs, blobs, "cityblock")


def edits(a, b):
    """Return the Levenshtein distance of two strings."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, start=1):
            before, row[j] = row[j], min(before + (x != y), row[j] + 1, row[j - 1] + 1)
    return row[-1]


def jaccard(a, b):
    return 1 - len(a & b) / len(a | b)


def random_case(seed, n=40, k=5, weighted=True):
    """Return distances that are no metric, weights, labels without empty clusters, and k."""
    rng = np.random.default_rng(seed)
    square = np.triu(rng.random((n, n)), 1)
    weights = rng.integers(1, 4, n) * 0.5 if weighted else np.ones(n)
    labels = np.concatenate([np.arange(k), rng.integers(k, size=n - k)])
    return square + square.T, weights, labels, k


# ------------------------------------------------------------------------------------------ by hand
def test_four_samples_by_hand():
    """Two pairs: the objective is the sum of P/n = 1/2 + 2/2, divided by 4; the pair sum (1 + 2) / 4."""
    square = [[0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 2], [9, 9, 2, 0]]
    model = PairwiseKSums(2, metric="precomputed", random_state=0).fit(square)
    assert model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3]
    assert model.distortion_ == model.objective_ == pytest.approx((1 / 2 + 2 / 2) / 4)
    assert model.pairwise_ == pytest.approx((1 + 2) / 4)
    assert sorted(model.medoid_indices_) == [0, 2]
    assert model.sizes_.tolist() == [2, 2]
    assert model.converged_


def test_sums_by_hand():
    """Clusters {0, 1, 2} and {3} on a line: S, P and the cost of a merge."""
    place = np.array([0.0, 1.0, 3.0, 10.0])
    partition = DistancePartition(
        without_weights(np.abs(place[:, None] - place)), np.array([0, 0, 0, 1]), 2, "pairwise"
    )
    np.testing.assert_array_equal(partition.state.sums, [[4, 3, 5, 26], [10, 9, 7, 0]])
    np.testing.assert_array_equal(partition.state.pairs, [6, 0])
    assert partition.merge_costs()[0, 1] == 26
    assert medoids_of(partition).tolist() == [1, 3]
    assert partition.visit(np.arange(4), 1.0) == 0  # each costs less where it is: 4 < 10, 3 < 9, 5 < 7
    moved = DistancePartition(partition.distances, np.array([0, 1, 0, 1]), 2, "pairwise")
    assert moved.visit(np.arange(4), 1.0) == 1  # sample 1 costs 9 with sample 3, and 1 + 2 with the others
    assert moved.labels.tolist() == [0, 0, 0, 1]


# ------------------------------------------------------------------------------------------ one pass
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("relaxation", [1.0, 1.7, 6.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_kernel_is_the_plain_pass(objective, weighted, relaxation, dtype):
    for seed in range(5):
        square, weights, labels, k = random_case(seed, weighted=weighted)
        square = square.astype(dtype)
        partition = DistancePartition(Distances(square, weights if weighted else np.zeros(0)), labels, k, objective)
        plain, rng = labels.copy(), np.random.default_rng(seed)
        for _ in range(4):
            order = rng.permutation(len(labels))
            moves = partition.visit(order, relaxation)
            assert moves == visit_plainly(square.astype(float), weights, order, relaxation, objective, plain, k)
            np.testing.assert_array_equal(partition.labels, plain)


@given(seed=st.integers(0, 10**6), objective=st.sampled_from(OBJECTIVES), weighted=st.booleans())
def test_every_single_move_lowers_the_objective(seed, objective, weighted):
    square, weights, labels, k = random_case(seed, weighted=weighted)
    partition = DistancePartition(Distances(square, weights if weighted else np.zeros(0)), labels, k, objective)
    before = objective_of(square, weights, labels, k, objective)
    for i in np.random.default_rng(seed).permutation(len(labels)):
        moved = partition.visit(np.array([i]), 1.0)
        now = objective_of(square, weights, partition.labels, k, objective)
        assert now < before if moved else now == before
        assert partition.measures().objective * weights.sum() == pytest.approx(now)
        before = now


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("weighted", [False, True])
def test_merges_and_splits_change_the_objective_as_they_say(objective, weighted):
    square, weights, labels, k = random_case(3, weighted=weighted)
    partition = DistancePartition(Distances(square, weights if weighted else np.zeros(0)), labels, k, objective)
    before, costs = objective_of(square, weights, labels, k, objective), partition.merge_costs()
    part, gain = partition.halves(2, np.random.default_rng(0))
    assert (partition.labels[part] == 2).all()
    other = partition.exchanged(0, 1, 2, part)
    change = objective_of(square, weights, other.labels, k, objective) - before
    assert change == pytest.approx(costs[0, 1] - gain)
    fresh = DistancePartition(partition.distances, other.labels, k, objective)
    np.testing.assert_allclose(other.state.sums, fresh.state.sums, atol=1e-12)
    np.testing.assert_array_equal(partition.labels, labels)


def test_halves_of_a_large_cluster_come_from_a_sample(rng):
    X = rng.standard_normal((1200, 3)) + np.where(np.arange(1200) < 500, 0, 20)[:, None]
    partition = DistancePartition(without_weights(cdist(X, X)), np.zeros(1200, np.int32), 1, "distortion")
    part, gain = partition.halves(0, rng)
    assert set(part.tolist()) in ({*range(500)}, {*range(500, 1200)})
    split = (np.arange(1200) < 500).astype(np.int32)
    halves = DistancePartition(partition.distances, split, 2, "distortion").by_cluster().sum()
    assert gain == pytest.approx(partition.by_cluster()[0] - halves, rel=0.05)


# ------------------------------------------------------------------------------------------ the estimator
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_squared_euclidean_distances_give_the_objectives_of_ksums(blobs, objective):
    model = PairwiseKSums(5, metric="sqeuclidean", objective=objective, random_state=0).fit(blobs)
    other = KSums(5, objective=objective, random_state=0).fit(blobs)
    assert model.distortion_ == pytest.approx(metrics.distortion(blobs, model.labels_), rel=1e-6)
    assert model.pairwise_ == pytest.approx(metrics.pairwise(blobs, model.labels_), rel=1e-6)
    assert adjusted_rand_score(model.labels_, other.labels_) == 1.0
    assert model.objective_ == pytest.approx(other.objective_, rel=1e-6)
    new = blobs[::7] + 0.1
    assert adjusted_rand_score(model.predict(new), other.predict(new)) == 1.0


def test_square_condensed_and_memory_mapped_distances_are_the_same(square, tmp_path):
    square = square.astype(np.float32)
    np.save(tmp_path / "square.npy", square)
    given = [
        square,
        np.asfortranarray(square),
        squareform(square),
        np.load(tmp_path / "square.npy", mmap_mode="r"),
        square.tolist(),
    ]
    models = [PairwiseKSums(7, metric="precomputed", random_state=0).fit(X) for X in given]
    for model in models:
        np.testing.assert_array_equal(model.labels_, models[0].labels_)
        assert model.n_features_in_ == 300


def test_the_given_matrix_is_not_changed_and_rounding_is_tolerated(square):
    noisy = square * (1 + 1e-7 * np.random.default_rng(0).random(square.shape))
    noisy[np.diag_indices(300)] = 1e-9
    before = noisy.copy()
    labels = PairwiseKSums(5, metric="precomputed", random_state=0).fit(noisy).labels_
    np.testing.assert_array_equal(noisy, before)
    assert adjusted_rand_score(labels, PairwiseKSums(5, metric="precomputed", random_state=0).fit(square).labels_) == 1


@pytest.mark.parametrize("metric", ["cityblock", "cosine", "seuclidean", "mahalanobis", "jaccard", "l1", "canberra"])
def test_named_metrics_are_those_of_scipy(blobs, metric):
    X = (blobs > 0) * 1.0 if metric == "jaccard" else blobs
    model = PairwiseKSums(4, metric=metric, random_state=0).fit(X)
    by = {"l1": "cityblock"}.get(metric, metric)
    full = squareform(pdist(X.astype(bool) if metric == "jaccard" else X, by)).astype(np.float32)
    other = PairwiseKSums(4, metric="precomputed", random_state=0).fit(full)
    assert model.objective_ == pytest.approx(other.objective_, rel=1e-5)
    assert model.predict(X[:20]).shape == (20,)


def test_threads_and_blocks_do_not_change_labels(rng, monkeypatch):
    X, models = rng.standard_normal((900, 5)), []
    for threads, columns in ((1, 1024), (2, 1024), (2, 64)):
        monkeypatch.setattr("ksums.method.pairs.distances._WORTH_SHARING", 0)
        monkeypatch.setattr("ksums.method.pairs.distances._COLUMNS", columns)
        models.append(PairwiseKSums(12, metric="l1", random_state=0, n_threads=threads).fit(X))
    for model in models:
        np.testing.assert_array_equal(model.labels_, models[0].labels_)
        assert model.objective_ == models[0].objective_


def test_the_order_of_rows_does_not_change_clear_clusters(square, rng):
    order = rng.permutation(300)
    model = PairwiseKSums(5, metric="precomputed", random_state=0).fit(square)
    other = PairwiseKSums(5, metric="precomputed", random_state=1).fit(square[np.ix_(order, order)])
    assert adjusted_rand_score(model.labels_[order], other.labels_) == 1.0
    assert other.objective_ == pytest.approx(model.objective_)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_weights_are_repetitions(square, rng, objective):
    counts = rng.integers(0, 4, 300)
    repeated = np.repeat(np.arange(300), counts)
    parameters = {"n_clusters": 5, "metric": "precomputed", "objective": objective, "random_state": 0}
    model = PairwiseKSums(**parameters).fit(square, sample_weight=counts)
    other = PairwiseKSums(**parameters).fit(square[np.ix_(repeated, repeated)])
    assert adjusted_rand_score(model.labels_[repeated], other.labels_) == 1.0
    for name in ("objective_", "distortion_", "pairwise_"):
        assert getattr(model, name) == pytest.approx(getattr(other, name))
    assert model.sizes_.sum() == counts.sum()
    assert (counts[model.medoid_indices_] > 0).all()
    assert adjusted_rand_score(model.labels_, np.repeat(np.arange(5), 60)) == 1.0  # those of weight 0 got labels, too
    np.testing.assert_array_equal(model.predict(square), model.labels_)


def test_strings_by_edit_distance():
    rng, names = np.random.default_rng(0), ["katharina", "sebastian", "florentine"]
    words = [name[:at] + "x" + name[at + 1 :] for name in names for at in rng.integers(len("sebastian"), size=8)]
    for jobs in (None, 2):
        model = PairwiseKSums(3, metric=edits, n_jobs=jobs, random_state=0).fit(words)
        assert adjusted_rand_score(model.labels_, np.repeat(np.arange(3), 8)) == 1.0
    for by in ("members", "medoids"):
        np.testing.assert_array_equal(model.predict(words, by=by), model.labels_)
        assert model.predict(["catharine"], by=by)[0] == model.labels_[0]
    assert not hasattr(model, "n_features_in_")


def test_sets_and_series_and_options():
    sets = [{1, 2, 3}, {1, 2}, {2, 3, 1, 4}, {7, 8}, {8, 9, 7}, {7, 9}]
    labels = PairwiseKSums(2, metric=jaccard, random_state=0).fit(sets).labels_
    assert adjusted_rand_score(labels, [0, 0, 0, 1, 1, 1]) == 1.0
    series = [np.arange(n) + level for level in (0, 50) for n in (3, 4, 5)]

    def apart(a, b, power):
        return abs(a.mean() - b.mean()) ** power

    model = PairwiseKSums(2, metric=apart, metric_params={"power": 2}, random_state=0).fit(series)
    assert adjusted_rand_score(model.labels_, [0, 0, 0, 1, 1, 1]) == 1.0


def test_a_function_of_rows_is_a_named_metric(blobs):
    by_function = PairwiseKSums(5, metric=lambda a, b: np.abs(a - b).sum(), random_state=0).fit(blobs[::3])
    by_name = PairwiseKSums(5, metric="l1", random_state=0).fit(blobs[::3])
    np.testing.assert_array_equal(by_function.labels_, by_name.labels_)
    assert by_function.n_features_in_ == 6


def test_sparse_rows_and_gaps(blobs):
    dense = PairwiseKSums(5, metric="l1", random_state=0).fit(blobs)
    np.testing.assert_array_equal(
        PairwiseKSums(5, metric="l1", random_state=0).fit(sparse.csr_array(blobs)).labels_, dense.labels_
    )
    gaps = blobs.copy()
    gaps[::9, 0] = np.nan
    labels = PairwiseKSums(5, metric="nan_euclidean", random_state=0).fit(gaps).labels_
    assert adjusted_rand_score(labels, dense.labels_) == 1.0


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_predict_gives_training_samples_their_labels(square, objective):
    model = PairwiseKSums(9, metric="precomputed", objective=objective, random_state=0).fit(square)
    assert model.converged_
    np.testing.assert_array_equal(model.predict(square), model.labels_)
    by_medoids = square[:, model.medoid_indices_].argmin(axis=1)
    np.testing.assert_array_equal(model.predict(square, by="medoids"), by_medoids)
    np.testing.assert_array_equal(model.set_params(predict_by="medoids").predict(square), by_medoids)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(square), by_medoids)


def test_search_leaves_the_optimum_in_which_annealing_gets_stuck(rng):
    """Fifteen groups; greedy seeds now and then put two into one, and no single move takes them apart."""
    X = np.repeat(rng.permutation(15)[:, None] * 10.0, 20, axis=0) + rng.random((300, 1))
    for seed in range(5):
        labels = PairwiseKSums(15, metric="l1", random_state=seed).fit(X).labels_
        assert adjusted_rand_score(labels, np.repeat(np.arange(15), 20)) == 1.0


def test_the_best_of_several_runs_and_more_effort(rng):
    X = rng.standard_normal((300, 4))
    once, often = (PairwiseKSums(20, effort="low", n_init=runs, random_state=0).fit(X).objective_ for runs in (1, 6))
    assert often <= once
    levels = ("low", "default", "high", 0.2)
    ends = [np.mean([PairwiseKSums(20, effort=e, random_state=s).fit(X).objective_ for s in range(4)]) for e in levels]
    assert ends[2] < ends[1] < ends[0]
    assert ends[3] < ends[0]


def test_one_cluster_and_as_many_as_samples(square):
    assert PairwiseKSums(1, metric="precomputed").fit(square).labels_.tolist() == [0] * 300
    few = square[:6, :6]
    model = PairwiseKSums(6, metric="precomputed").fit(few)
    assert sorted(model.labels_) == list(range(6))
    assert model.objective_ == 0


def test_duplicates_are_named():
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\)"):
        model = PairwiseKSums(4, random_state=0).fit(X)
    assert (np.bincount(model.labels_, minlength=4) > 0).all()


# ------------------------------------------------------------------------------------------ size limits
def test_sizes_within_limits(square):
    for low, high in ((60, 60), (None, 50), (30, 45)):
        k = 5 if high == 60 else 7
        model = PairwiseKSums(k, metric="precomputed", size_min=low, size_max=high, random_state=0).fit(square)
        assert model.sizes_.min() >= (low or 0)
        assert model.sizes_.max() <= high
    assert PairwiseKSums(5, metric="precomputed", size_min=40, random_state=0).fit(square).sizes_.tolist() == [60] * 5


def test_exchanges_find_the_best_clusters_of_equal_size(rng):
    for objective in OBJECTIVES:
        X = rng.random((8, 2))
        square = cdist(X, X)
        sides = [np.isin(np.arange(8), rest) for rest in itertools.combinations(range(8), 4)]
        best = min(objective_of(square, np.ones(8), side.astype(int), 2, objective) for side in sides) / 8
        model = PairwiseKSums(
            2, metric="precomputed", objective=objective, size_min=4, size_max=4, n_init=5, random_state=0
        ).fit(square)
        assert model.objective_ == pytest.approx(best)


# ------------------------------------------------------------------------------------------ medoids
def test_swaps_find_the_best_medoids(rng):
    X = rng.random((14, 2))
    distances = without_weights(cdist(X, X))
    best = min(distances.square[list(some)].min(axis=0).sum() for some in itertools.combinations(range(14), 3))
    medoids, labels = improved_medoids(distances, np.array([0, 1, 2]))
    assert distances.square[medoids].min(axis=0).sum() == pytest.approx(best)
    np.testing.assert_array_equal(labels, distances.square[medoids].argmin(axis=0))


@pytest.mark.parametrize("weighted", [False, True])
def test_no_swap_of_medoids_helps(square, rng, weighted):
    weights = rng.integers(0, 3, 300).astype(float) if weighted else None
    model = PairwiseKSums(12, metric="precomputed", polish="medoids", random_state=0).fit(square, sample_weight=weights)
    weights = np.ones(300) if weights is None else weights

    def loss(medoids):
        return np.average(square[medoids].min(axis=0), weights=weights)

    assert model.objective_ == pytest.approx(loss(model.medoid_indices_))
    np.testing.assert_array_equal(model.labels_[model.medoid_indices_], np.arange(12))
    for r, i in itertools.product(range(12), np.flatnonzero(weights)[::7]):
        swapped = model.medoid_indices_.copy()
        swapped[r] = i
        assert loss(swapped) >= model.objective_ * (1 - 1e-9)
    plain = PairwiseKSums(12, metric="precomputed", random_state=0).fit(square, sample_weight=weights)
    assert model.objective_ <= loss(plain.medoid_indices_)
    assert model.distortion_ >= plain.distortion_


def test_seeds_are_different_samples(rng):
    square = cdist(np.repeat(rng.random((3, 2)), 4, axis=0), np.repeat(rng.random((3, 2)), 4, axis=0)) * 0
    seeds, labels = seeds_and_labels(without_weights(square), 12, rng)
    assert sorted(seeds) == list(range(12)) == sorted(labels)


# ------------------------------------------------------------------------------------------ stopping
def test_a_callback_sees_every_pass_and_stops_the_run(square):
    records = []

    def third(record):
        records.append(record)
        return len(records) == 3

    model = PairwiseKSums(5, metric="precomputed", callbacks=[third], random_state=0).fit(square)
    assert model.n_iter_ == 3 == len(model.history_)
    assert records == model.history_


def test_ctrl_c_keeps_the_best_labels(square):
    def stop(record):
        if record.index == 4:
            raise KeyboardInterrupt

    with pytest.warns(FitInterrupted, match="interrupted after 4 passes"):
        model = PairwiseKSums(5, metric="precomputed", callbacks=[stop], random_state=0).fit(square)
    assert model.objective_ == pytest.approx(min(record.objective for record in model.history_))


def test_a_time_budget_ends_the_fit(rng):
    X = rng.standard_normal((500, 5))
    model = PairwiseKSums(50, effort="high", time_budget=1e-3, random_state=0).fit(X)
    assert model.n_iter_ == 1
    assert (model.sizes_ > 0).all()


def test_verbose_and_the_plan(square, capsys):
    model = PairwiseKSums(5, metric="precomputed", verbose=2, polish="medoids", random_state=0)
    plan = model.plan_for(square)
    model.fit(square)
    assert "merge-split, objective" in capsys.readouterr().err
    assert repr(plan) == repr(model.plan_)
    assert "distances between 300 samples take 0.72 MB" in repr(plan)
    assert "medoids" in repr(plan)
    assert repr(model.plan_for(squareform(square))) == repr(plan)


# ------------------------------------------------------------------------------------------ errors
def wrong(square, i, j, value):
    other = square.copy()
    other[i, j] = value
    return other


def test_matrices_that_are_refused(square):
    refused = {
        "square matrix of distances": square[:10],
        r"got 44, and the nearest lengths are 36 \(n = 9\) and 45 \(n = 10\)": squareform(square[:10, :10])[:-1],
        "between samples 3 and 8 they are .* and 1e": wrong(square, 8, 3, 1e6),
        "between samples 2 and 5 is -1. If these are similarities": wrong(wrong(square, 2, 5, -1), 5, 2, -1),
        "between samples 2 and 5 is NaN": wrong(square, 2, 5, np.nan),
        "between samples 5 and 2 is infinite": wrong(square, 5, 2, np.inf),
        "to itself must be 0; that of sample 4 is 1": wrong(square, 4, 4, 1.0),
        "must be numbers; got dtype": square.astype(str),
        "Complex data": square * 1j,
        "n_samples=3 should be >= n_clusters=5": square[:3, :3],
        "0 sample": square[:0, :0],
    }
    for message, X in refused.items():
        with pytest.raises(ValueError, match=message):
            PairwiseKSums(5, metric="precomputed").fit(X)
    with pytest.raises(TypeError, match="sparse precomputed distances are not accepted"):
        PairwiseKSums(5, metric="precomputed").fit(sparse.csr_array(square))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"metric": "euclidian"}, "Did you mean 'euclidean'"),
        ({"metric": 3}, "metric must be a function of two samples or one of 'braycurtis'"),
        ({"metric_params": 3}, "metric_params must be a dictionary"),
        ({"objective": "medoids"}, "objective must be one of 'distortion', 'pairwise'"),
        ({"polish": "pass"}, "polish must be one of 'medoids'"),
        ({"predict_by": "centre"}, "predict_by must be one of 'members', 'medoids'"),
        ({"n_jobs": 0}, "n_jobs must be an integer other than 0"),
        ({"n_init": 0}, "n_init must be an integer of at least 1"),
        ({"effort": "much"}, "effort must be one of"),
        ({"size_max": [30] * 8}, "size_max must be a number >= 0 for all clusters, 'balanced', or None"),
        ({"size_min": "balanced"}, "size_min must be a number >= 0 for all clusters or None"),
        ({"engine": "blocks"}, "engine must be one of 'auto', 'exact', 'reference'"),
        ({"engine": "reference", "size_max": 50}, "engine='reference' knows no limits"),
        ({"metric": "minkowski", "metric_params": {"q": 3}}, "metric_params={'q': 3} do not suit metric='minkowski'"),
        ({"size_max": 20}, "size_max=20 times n_clusters=8, 160, is less than the 300 samples"),
        ({"size_min": 50}, "size_min=50 times n_clusters=8, 400, is more than the 300 samples"),
        ({"size_min": 5, "polish": "medoids"}, "leave polish=None, or size_min and size_max"),
        ({"callbacks": [3]}, "each of callbacks must be a function"),
    ],
)
def test_parameters_that_are_refused(blobs, parameters, message):
    with pytest.raises(ValueError, match=message):
        PairwiseKSums(**parameters).fit(blobs)


def test_other_things_that_are_refused(blobs, square, monkeypatch):
    with pytest.raises(ValueError, match="metric must be symmetric; from sample"):
        PairwiseKSums(2, metric=lambda a, b: max(a - b, 0)).fit([1.0, 2.0, 5.0, 9.0])
    with pytest.raises(ValueError, match="between samples 0 and 2 is NaN"):
        PairwiseKSums(2, metric=lambda a, b: np.nan if {a, b} == {1, 5} else abs(a - b)).fit([1, 2, 5, 9, 12, 13])
    with pytest.raises(ValueError, match="not offered for sparse X"):
        PairwiseKSums(2, metric="canberra").fit(sparse.csr_array(blobs))
    with pytest.raises(ValueError, match="not offered together with sample_weight"):
        PairwiseKSums(2, size_max=250).fit(blobs, sample_weight=np.arange(300))
    model = PairwiseKSums(2, metric="precomputed").fit(square)
    with pytest.raises(ValueError, match=r"distances \(m, 300\) from new samples to the 300 training samples"):
        model.predict(square[:, :7])
    with pytest.raises(ValueError, match="must be finite"):
        model.predict(wrong(square, 2, 5, np.nan))
    with pytest.raises(ValueError, match="by must be one of"):
        model.predict(square, by="centres")
    monkeypatch.setattr("ksums.estimators.pairwise.free_memory", lambda: 1e5)
    with pytest.raises(MemoryError, match=r"300 samples take 0.0 GB.*predict the others with by='medoids'"):
        PairwiseKSums(2).fit(blobs)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters:sklearn.exceptions.ConvergenceWarning")
def test_all_names_of_metrics_are_known_to_their_libraries(blobs):
    X = np.abs(blobs[:20, :2]) / 100
    for name in checking.METRIC_NAMES:
        if name not in ("precomputed", "yule"):  # yule is not defined for all rows
            PairwiseKSums(2, metric=name, random_state=0).fit(X)


@pytest.mark.parametrize("metric", ["cityblock", "mahalanobis", "precomputed"])
def test_models_are_saved_and_loaded(tmp_path, blobs, metric):
    X = squareform(pdist(blobs, "cityblock")) if metric == "precomputed" else blobs
    model = PairwiseKSums(5, metric=metric, random_state=0).fit(X)
    model.save(tmp_path / "model.safetensors")
    loaded = ksums.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict(X[:40]), model.predict(X[:40]))
    np.testing.assert_array_equal(loaded.medoid_indices_, model.medoid_indices_)
    assert str(loaded.plan_) == str(model.plan_)


def test_a_model_with_a_function_is_not_saved(tmp_path):
    model = PairwiseKSums(2, metric=lambda a, b: abs(len(a) - len(b)), random_state=0).fit(["a", "bb", "ccccc", "dddd"])
    with pytest.raises(TypeError, match="with a function as metric cannot be saved; use pickle or joblib"):
        ksums.save(model, tmp_path / "model.safetensors")
    assert not (tmp_path / "model.safetensors").exists()


# ------------------------------------------------------------------------------------------ several starts, engines
def heavy_tails(seed):
    X = np.random.default_rng(seed).standard_t(1.5, (10, 2))
    return cdist(X, X)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_two_clusters_are_started_several_times(objective):
    """A search merges two clusters and splits a third, so it cannot help here; all 511 divisions are tried instead."""
    found = 0
    for seed in range(12):
        square, ones = heavy_tails(seed), np.ones(10)
        divisions = (np.array([*bits, 0]) for bits in itertools.product((0, 1), repeat=9) if any(bits))
        best = min(objective_of(square, ones, labels, 2, objective) for labels in divisions) / 10
        model = PairwiseKSums(2, metric="precomputed", objective=objective, random_state=0).fit(square)
        found += model.objective_ <= best * (1 + 1e-9)
    assert found >= 11
    assert model.plan_.runs == 8


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_reference_engine_gives_the_same_labels(objective, rng):
    X, weights = rng.standard_normal((60, 3)), rng.integers(1, 4, 60)
    for k in (2, 4):
        exact, reference = (
            PairwiseKSums(k, objective=objective, engine=engine, random_state=0).fit(X, sample_weight=weights)
            for engine in ("auto", "reference")
        )
        np.testing.assert_array_equal(exact.labels_, reference.labels_)
        assert [record.moves for record in exact.history_] == [record.moves for record in reference.history_]


@pytest.mark.parametrize("objective", OBJECTIVES)
@given(seed=st.integers(0, 10_000))
def test_passes_over_duplicates_end(objective, seed):
    rng = np.random.default_rng(seed)
    X, k = rng.choice([0.1, 0.7, 1.3], size=(60, 2)), 3 + seed % 8
    labels = np.concatenate([np.arange(k), rng.integers(k, size=60 - k)])
    partition = DistancePartition(without_weights(cdist(X, X)), labels, k, objective)
    for _ in range(60):
        if not partition.visit(rng.permutation(60), 1.0):
            return
    raise AssertionError("rows move back and forth")


def test_all_the_time_is_used_for_the_search(blobs):
    model = PairwiseKSums(6, effort=0.5, random_state=0).fit(blobs)
    few = PairwiseKSums(6, random_state=0).fit(blobs)
    trials = [sum(record.trials for record in m.history_) for m in (model, few)]
    assert trials[0] > 5 * trials[1]


# ------------------------------------------------------------------------------------------ more inputs
def test_balanced_clusters(blobs):
    model = PairwiseKSums(7, size_max="balanced", random_state=0).fit(blobs)
    assert set(model.sizes_) <= {len(blobs) // 7, len(blobs) // 7 + 1}


def test_digits_far_from_zero_are_kept(rng):
    X = rng.integers(0, 1000, (150, 4)) / 64  # exact also after the shift
    near, far = (PairwiseKSums(4, random_state=0).fit(rows) for rows in (X, X + 2.0**27))
    np.testing.assert_array_equal(near.labels_, far.labels_)
    assert far.distortion_ == pytest.approx(near.distortion_, rel=1e-6)


def test_columns_of_a_table_are_compared_by_name_whatever_the_metric(rng):
    table = pd.DataFrame({"m": rng.integers(0, 3, 40), "n": rng.integers(5, 8, 40)})
    model = PairwiseKSums(2, metric=lambda a, b: float(np.sum(a != b)), random_state=0).fit(table)
    assert model.feature_names_in_.tolist() == ["m", "n"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[["n", "m"]])
    model.set_params(metric=edits).fit(["a", "ab", "xyz", "xyw"])
    assert not hasattr(model, "feature_names_in_")
    assert not hasattr(model, "n_features_in_")


def test_after_swaps_of_medoids_everything_goes_by_medoids(rng):
    X = rng.standard_normal((200, 2))
    weights = np.where(np.arange(200) < 150, 1.0, 0.0)
    model = PairwiseKSums(6, polish="medoids", random_state=0).fit(X, sample_weight=weights)
    nearest = cdist(X, X[model.medoid_indices_]).argmin(axis=1)
    np.testing.assert_array_equal(model.labels_, nearest)
    np.testing.assert_array_equal(model.predict(X), nearest)
    assert (model.predict(X, by="members") != nearest).any()


@pytest.mark.parametrize("change", ["integers", "strided", "weights of 0", "sums"])
def test_copies_of_a_matrix_need_memory(square, monkeypatch, change):
    n = len(square)
    weights = None
    X = square
    if change == "integers":
        X = (100 * square).astype(np.int64)
    elif change == "strided":
        X = np.repeat(np.repeat(square, 2, axis=0), 2, axis=1)[::2, ::2]
    elif change == "weights of 0":
        weights = np.arange(n) > 0
    free = 1e5 if change == "sums" else 3 * 8 * 8 * n + 1e4
    monkeypatch.setattr("ksums.estimators.pairwise.free_memory", lambda: free)
    model = PairwiseKSums(400 if change == "sums" else 8, metric="precomputed")
    if change == "sums":
        model.set_params(n_clusters=n // 2)
    with pytest.raises(MemoryError, match="GB are free"):
        model.fit(X, sample_weight=weights)


def test_distances_to_predict_from_that_are_refused(square):
    model = PairwiseKSums(3, metric="precomputed", random_state=0).fit(square)
    for X, message in ((-square, "must not be negative"), (square * 1j, "Complex"), (square.astype(str), "dtype")):
        with pytest.raises(ValueError, match=message):
            model.predict(X)
    with pytest.raises(TypeError, match=r"pass X.toarray"):
        model.predict(sparse.csr_array(square))


def test_metrics_that_are_not_numbers_or_not_symmetric(rng):
    with pytest.raises(TypeError, match="must return one number for each pair"):
        PairwiseKSums(2, metric=lambda a, b: "far").fit(["a", "b", "c"])
    with pytest.raises(ValueError, match="metric must be symmetric"):
        PairwiseKSums(2, metric=lambda a, b: float(abs(a - b) + (a > b))).fit(list(rng.permutation(50)))
    with pytest.raises(ValueError, match="metric='correlation' may not be defined for them"):
        PairwiseKSums(2, metric="correlation").fit([[1.0, 1.0], [2.0, 3.0], [4.0, 1.0]])
