"""First labels, and size limits that hold from the start."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import kmeans_plusplus

from ksums import KSums, metrics
from ksums.method.data.rows import prepare
from ksums.method.starts.first_labels import StartTask, fill_empty, first_labels
from ksums.method.starts.seeding import k_means_plus_plus
from ksums.planning.shape import Shape
from ksums.planning.starts import FLAT_INIT_NAMES, start_plan
from ksums.rules.kinds import rule_for


def nearest_sum(X, centres):
    """Return the sum of squared distances to the nearest centre."""
    return ((X[:, None] - centres) ** 2).sum(axis=2).min(axis=1).sum()


@pytest.mark.parametrize("init", FLAT_INIT_NAMES)
@pytest.mark.parametrize("k", [1, 2, 37, 80])
def test_no_cluster_is_empty_at_the_start(init, k, rng):
    X = rng.standard_normal((80, 3))[rng.integers(0, 80, 80)]  # Some rows are equal.
    task = StartTask(k, rule_for("distortion", "l2", "hartigan"), rng)
    labels = first_labels(start_plan(init, False, Shape(80, 3, k)), prepare(X, "l2"), task)
    assert sorted(set(labels)) == list(range(k))


def test_empty_clusters_are_filled_from_the_largest(rng):
    labels = np.array([0] * 10 + [1] * 3, np.int32)
    fill_empty(labels, np.arange(13), 4, rng)
    assert np.bincount(labels).tolist() == [8, 3, 1, 1]


def test_k_means_plus_plus_is_as_good_as_scikit_learns(blobs):
    rows = prepare(blobs, "l2")
    ours, theirs = [], []
    for seed in range(20):
        ours.append(nearest_sum(blobs, blobs[k_means_plus_plus(rows, rows.active, 20, np.random.default_rng(seed))]))
        theirs.append(nearest_sum(blobs, kmeans_plusplus(blobs, 20, random_state=seed)[0]))
    assert np.mean(ours) < 1.05 * np.mean(theirs)


def test_k_means_plus_plus_draws_by_weight(rng):
    X = rng.standard_normal((200, 2))
    weights = np.where(np.arange(200) < 5, 1.0, 1e-9)
    rows = prepare(X, "l2", weights)
    assert sorted(k_means_plus_plus(rows, rows.active, 5, rng)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("metric", ["l2", "cosine"])
def test_a_fit_can_start_from_centres_or_labels(kind, metric, blobs):
    centres = blobs[::60] * (3 if metric == "cosine" else 1)
    labels = KSums(5, init=centres, metric=metric, rule="hartigan", max_iter=1, random_state=0).fit(kind(blobs)).labels_
    np.testing.assert_array_equal(labels, np.repeat(np.arange(5), 60))
    again = KSums(5, init=labels, metric=metric, rule="hartigan", random_state=0).fit(kind(blobs))
    assert again.n_iter_ == 1
    assert again.history_[0].moves == 0


def test_one_row_as_the_only_centre(rng):
    """With one row and one cluster, X itself is a valid array of centres."""
    X = np.array([[3.0, 4.0]])
    for metric in ("l2", "cosine"):
        model = KSums(1, init=X, metric=metric).fit(X)
        assert model.labels_.tolist() == [0]
        assert model.inertia_ == pytest.approx(0)


# ----------------------------------------------------------------------------------------- size limits
@pytest.mark.parametrize("init", ["auto", "random-labels", "random-points"])
@pytest.mark.parametrize("objective", ["distortion", "pairwise"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_sizes_stay_within_their_limits(init, objective, weighted, kind, rng):
    X = np.concatenate([rng.standard_normal((150, 4)), rng.standard_normal((30, 4)) + 8])
    weights = rng.uniform(0.5, 1.5, 180) if weighted else None
    total = 180 if weights is None else weights.sum()
    low, high = 0.8 * total / 6, 1.2 * total / 6
    model = KSums(6, init=init, objective=objective, size_min=low, size_max=high, random_state=0)
    model.fit(kind(X), sample_weight=weights)
    assert model.sizes_.min() >= low - 1e-9
    assert model.sizes_.max() <= high + 1e-9
    assert model.sizes_.sum() == pytest.approx(total)


def test_each_limit_works_alone(rng):
    X = np.concatenate([rng.standard_normal((150, 4)), rng.standard_normal((30, 4)) + 8])
    assert KSums(6, size_max=31, random_state=0).fit(X).sizes_.max() <= 31
    assert KSums(6, size_min=29, random_state=0).fit(X).sizes_.min() >= 29
    assert KSums(6, size_min=30, size_max=30, random_state=0).fit(X).sizes_.tolist() == [30] * 6


def test_loose_limits_do_not_change_labels(blobs):
    free = KSums(5, random_state=0, init=np.arange(300) % 5).fit(blobs)
    loose = KSums(5, random_state=0, init=np.arange(300) % 5, size_min=1, size_max=300).fit(blobs)
    np.testing.assert_array_equal(free.labels_, loose.labels_)


def test_size_limits_do_not_hide_clear_clusters(blobs):
    """Limits of exactly 60 still allow the five clear clusters of 60 rows."""
    model = KSums(5, size_min=60, size_max=60, random_state=0).fit(blobs)
    assert model.distortion_ == pytest.approx(metrics.distortion(blobs, np.repeat(np.arange(5), 60)))
