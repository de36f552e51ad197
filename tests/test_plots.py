"""Plots: they are drawn into the given axes, show the right numbers, and need no display."""

import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ksums import BisectingKSums, KSums, baselines, history_frame, plots

matplotlib.use("Agg")
from matplotlib import pyplot


@pytest.fixture
def ax():
    figure, ax = pyplot.subplots()
    yield ax
    pyplot.close(figure)


@pytest.fixture
def model(blobs):
    return KSums(5, random_state=0).fit(blobs)


@pytest.mark.parametrize("by", ["pass", "seconds"])
def test_objective_draws_all_records(blobs, model, ax, by):
    other = baselines.KMeans(5, random_state=0).fit(blobs)
    assert plots.objective({"ours": model, "theirs": other}, by=by, measure="distortion", ax=ax) is ax
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert lines["theirs"].get_ydata().tolist() == [record.distortion for record in other.history_]
    assert "ours: merge–split search" in lines
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(lines)


@pytest.mark.parametrize("by", ["pass", "seconds"])
def test_objective_marks_constraints_and_trials(rng, ax, by):
    sizes, centres = (200, 60, 20, 20), 8 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    X = np.concatenate([rng.standard_normal((m, 2)) + c for m, c in zip(sizes, centres, strict=True)])
    limited, free = KSums(6, size_max="balanced", random_state=0).fit(X), KSums(6, random_state=0).fit(X)
    plots.objective({"limited": limited, "free": free}, by=by, ax=ax)
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(lines)
    x = lines["limited"].get_xdata()
    stages = [record.stage for record in limited.history_]
    assert set(lines["limited: constraints begin"].get_xdata()) == {x[stages.index("assign")]}
    kept = [i for i, record in enumerate(limited.history_) if record.stage == "trial" and record.kept]
    assert 0 < len(kept) < stages.count("trial")
    np.testing.assert_array_equal(lines["limited: trial that was kept"].get_xdata(), np.take(x, kept))
    assert "free: constraints begin" not in lines


def test_sizes_shows_the_mean(model, ax):
    plots.sizes(model, ax=ax)
    assert ax.get_xlim() == (0, 5)
    assert "mean 60" in ax.get_legend().get_texts()[0].get_text()


@pytest.mark.parametrize("metric", ["l2", "cosine"])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_map_shows_a_sample_and_all_clusters(blobs, ax, metric, as_sparse):
    X = sparse.csr_array(blobs) if as_sparse else blobs
    model = KSums(5, metric=metric, random_state=0).fit(X)
    plots.cluster_map(X, model, sample=100, ax=ax)
    assert ax.collections[0].get_offsets().shape == (100, 2)
    assert ax.get_title() == "100 of 300 rows, 5 clusters"
    assert {text.get_text() for text in ax.texts} == set("01234")


def test_map_of_one_column(rng, ax):
    X = rng.random((20, 1))
    plots.cluster_map(X, KSums(2, random_state=0).fit(X), ax=ax)
    assert ax.collections[0].get_offsets().shape == (20, 2)


def test_dendrogram_requires_a_tree(blobs, model, ax):
    plots.dendrogram(BisectingKSums(4, random_state=0).fit(blobs), names=list("abcd"), ax=ax)
    assert sorted(text.get_text() for text in ax.get_xticklabels()) == list("abcd")
    with pytest.raises(TypeError, match="dendrogram requires a bisecting model; got KSums"):
        plots.dendrogram(model, ax=ax)


def test_silhouette_shows_every_cluster(blobs, model, ax):
    plots.silhouette(blobs, model, sample=200, ax=ax)
    assert len(ax.collections) == 5
    assert float(ax.get_legend().get_texts()[0].get_text().split()[1]) > 0.5
    with pytest.raises(ValueError, match="silhouette requires at least 2 clusters"):
        plots.silhouette(blobs, KSums(1).fit(blobs), ax=ax)


def test_comparison_marks_the_medians(blobs, model, ax):
    plots.comparison({"one": model, "three": [KSums(5, random_state=seed).fit(blobs) for seed in range(3)]}, ax=ax)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["one", "three"]
    assert ax.get_lines()[2].get_xdata()[0] == model.distortion_
    plots.comparison({"numbers": [3.0, 1.0, 2.0]}, ax=ax)
    assert ax.get_lines()[-1].get_xdata()[0] == 2.0


def test_bad_use_is_reported(blobs, model, ax):
    with pytest.raises(ValueError, match="by must be one of 'pass', 'seconds'; got 'hours'"):
        plots.objective(model, by="hours", ax=ax)
    with pytest.raises(ValueError, match="measure must be one of"):
        plots.comparison({"a": model}, measure="beauty", ax=ax)
    with pytest.raises(ValueError, match="X has 10 rows, but the model was fitted to 300"):
        plots.cluster_map(blobs[:10], model, ax=ax)
    with pytest.raises(ValueError, match="not fitted"):
        plots.sizes(KSums(5), ax=ax)
    with pytest.raises(ValueError, match="not fitted"):
        plots.comparison({"a": KSums(5)}, ax=ax)
    for nothing in ({}, {"a": []}):
        with pytest.raises(ValueError, match="requires at least one method, and at least one model of each"):
            plots.comparison(nothing, ax=ax)
    with pytest.raises(ValueError, match="dendrogram requires at least 2 clusters; the model has 1"):
        plots.dendrogram(BisectingKSums(1).fit(blobs), ax=ax)
    with pytest.raises(ValueError, match=r"coordinates must be of shape \(300, 2\); got \(300,\)"):
        plots.cluster_map(blobs, model, coordinates=np.ones(300), ax=ax)


def test_given_coordinates_and_other_kinds_of_rows(blobs, model, ax):
    pd = pytest.importorskip("pandas")
    plots.cluster_map(pd.DataFrame(blobs), model, coordinates=blobs[:, :2], ax=ax)
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), blobs[:, :2])
    plots.silhouette(blobs.tolist(), model, ax=ax)


def test_axes_are_created_if_none_are_given(model):
    ax = plots.sizes(model)
    assert ax.figure.axes == [ax]
    pyplot.close(ax.figure)


def test_matplotlib_is_imported_by_the_first_plot_only():
    code = "import sys, ksums, ksums.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_plots_repeat_for_the_same_data(blobs, model):
    one, two = (plots.cluster_map(blobs, model, sample=50) for _ in range(2))
    np.testing.assert_array_equal(one.collections[0].get_offsets(), two.collections[0].get_offsets())
    for ax in (one, two):
        pyplot.close(ax.figure)


def test_pipelines_with_scaling_are_accepted(blobs):
    X = blobs * [1, 10, 100, 1, 1, 1]
    pipeline = make_pipeline(StandardScaler(), KSums(5, random_state=0)).fit(X)
    model, Z = pipeline[-1], pipeline[:-1].transform(X)
    for draw in (plots.cluster_map, plots.silhouette):
        one, other = draw(X, pipeline), draw(Z, model)
        np.testing.assert_allclose(*(ax.collections[0].get_datalim(ax.transData).bounds for ax in (one, other)))
    for ax in (plots.sizes(pipeline), plots.objective(pipeline), plots.comparison({"a": pipeline})):
        assert ax.has_data()
    assert history_frame(pipeline).equals(history_frame(model))
    pyplot.close("all")
