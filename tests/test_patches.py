"""Patches of rows near each other: they equal those of a plain twin, stand for all rows, and fits of them are good."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from test_blocks import HOSTILE, blobs, gains_left, hostile, small_problem

from ksums import KSums
from ksums.method.data.rows import prepare
from ksums.method.starts.patches import patches_of


def plain_patches(X, weights, count):
    """Divide the patch that scatters most, at its mean in its widest column: the plain twin, from all rows."""
    parts = [np.arange(len(X))]

    def columns(ids):
        mean = np.average(X[ids], axis=0, weights=weights[ids])
        return mean, weights[ids] @ (X[ids] - mean) ** 2

    while len(parts) < count:
        most = max(range(len(parts)), key=lambda at: columns(parts[at])[1].sum())
        mean, scatter = columns(ids := parts.pop(most))
        column = int(np.argmax(scatter))
        goes = X[ids, column] <= mean[column]
        parts += [ids[goes], ids[~goes]]
    return parts


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_patches_equal_those_of_the_plain_twin(weighted, d, rng):
    X = rng.normal(size=(900, d))
    weights = rng.uniform(0.5, 2.0, len(X)) if weighted else np.ones(len(X))
    rows = prepare(X, "l2", weights if weighted else None)
    found, parts = patches_of(rows, 60), plain_patches(X, weights, 60)
    means = np.array([np.average(X[ids], axis=0, weights=weights[ids]) for ids in parts]) - rows.shift
    order, of_twin = np.lexsort(found.X.T), np.lexsort(means.T)
    np.testing.assert_allclose(found.X[order], means[of_twin], atol=1e-12)
    np.testing.assert_allclose(found.weights[order], np.array([weights[ids].sum() for ids in parts])[of_twin])
    inside = [weights[ids] @ ((X[ids] - np.average(X[ids], axis=0, weights=weights[ids])) ** 2) for ids in parts]
    np.testing.assert_allclose(found.inner[order], np.sum(inside, axis=1)[of_twin], atol=1e-9)


@pytest.mark.parametrize("name", HOSTILE)
def test_patches_stand_for_all_rows(name, rng):
    X = hostile(name, rng, n=30_000, d=3 if name != "constant columns" else 5)
    rows = prepare(X, "l2")
    found = patches_of(rows, 1000)
    assert found.n == min(1000, len(np.unique(X, axis=0)))
    assert found.weights.sum() == pytest.approx(len(X))
    prepared = rows.read(np.arange(rows.n))
    np.testing.assert_allclose(found.weights @ found.X, prepared.sum(axis=0), atol=1e-9 * np.abs(prepared).sum())
    squares = found.weights @ (found.X**2).sum(axis=1) + found.inner.sum()
    assert squares == pytest.approx((prepared**2).sum(), rel=1e-9)


def test_groups_far_from_the_origin_are_divided_in_all_columns(rng):
    """They are as wide in both columns, but 10⁷ away in the first: moments about the origin would hide it."""
    centres = np.column_stack([np.repeat([-1e7, 1e7], 10) + np.tile(np.arange(10.0), 2), 0.02 * rng.normal(size=20)])
    X = centres[np.arange(8000) % 20] + 0.05 * rng.normal(size=(8000, 2))
    model = KSums(20, random_state=0).fit(X)
    assert model.plan_.samples.patches
    within = sum(
        ((X[np.arange(8000) % 20 == r] - X[np.arange(8000) % 20 == r].mean(axis=0)) ** 2).sum() for r in range(20)
    )
    assert model.inertia_ == pytest.approx(within, rel=1e-6)


@pytest.mark.parametrize("n", [36_000, 80_000], ids=["of all rows", "of some rows"])
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_fits_in_the_plane_search_patches(weighted, n, rng, monkeypatch):
    small_problem(monkeypatch)
    monkeypatch.setattr("ksums.planning.samples._ROWS_OF_PATCHES", 36_000)
    X = blobs(rng, n, 2, 40)
    weights = rng.integers(0, 3, n).astype(float) if weighted else None
    models = [KSums(12, random_state=0, n_threads=threads).fit(X, sample_weight=weights) for threads in (1, 2)]
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)
    assert models[0].plan_.samples.patches == 4096
    assert (models[0].plan_.samples.look is None) == (models[0].plan_.samples.rows == models[0].plan_.shape.n)
    assert gains_left(X, models[0].labels_, 12, weights) == 0
    exact = KSums(12, random_state=0, engine="exact").fit(X, sample_weight=weights)
    assert models[0].distortion_ <= 1.001 * exact.distortion_


@pytest.mark.parametrize("distinct", [9, 12, 40])
def test_few_distinct_rows_in_the_plane(distinct, rng, monkeypatch):
    """There are as many patches as distinct rows; with fewer than clusters, samples are searched."""
    small_problem(monkeypatch)
    X = rng.normal(size=(distinct, 2))[rng.integers(distinct, size=30_000)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KSums(12, random_state=0).fit(X)
    assert model.distortion_ == pytest.approx(0, abs=1e-12) or distinct > 12
    assert len(np.unique(model.labels_)) == 12
