"""KSums with missing="ignore": rows with gaps, and rows without, which are clustered as ever."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score

import ksums
from ksums import KSums
from ksums.contrib.onnx import to_onnx


@pytest.fixture
def gaps(blobs, rng):
    """Five clear clusters, a fifth of whose cells are missing."""
    return np.where(rng.random(blobs.shape) < 0.2, np.nan, blobs)


def observed_squares(X, labels):
    """Return the sum of squares of the observed cells around the means of their clusters."""
    return sum(np.nansum((X[labels == r] - np.nanmean(X[labels == r], axis=0)) ** 2) for r in np.unique(labels))


def test_gaps_have_no_opinion(blobs, gaps):
    model = KSums(5, missing="ignore", random_state=0).fit(gaps)
    assert adjusted_rand_score(np.repeat(np.arange(5), 60), model.labels_) > 0.98
    assert model.inertia_ == pytest.approx(observed_squares(gaps, model.labels_))
    assert model.distortion_ == pytest.approx(model.inertia_ / 300)
    assert model.objective_ > model.distortion_  # centres are pulled a little
    np.testing.assert_array_equal(
        model.cell_counts_, [(~np.isnan(gaps[model.labels_ == r])).sum(axis=0) for r in range(5)]
    )
    own = gaps[model.labels_ == 2]
    np.testing.assert_allclose(model.composites_[2], np.nansum(own, axis=0))
    counts = model.cell_counts_[2]
    pulled = (np.nansum(own, axis=0) + 0.5 * np.nanmean(gaps, axis=0)) / (counts + 0.5)
    np.testing.assert_allclose(model.cluster_centers_[2], pulled)
    assert "compared by observed cells" in str(model.plan_)
    assert str(KSums(5, missing="ignore").plan_for(gaps)) == str(model.plan_)


def test_rows_without_gaps_are_clustered_as_ever(blobs):
    expected = KSums(5, random_state=0).fit(blobs)
    model = KSums(5, missing="ignore", random_state=0).fit(blobs)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert str(model.plan_) == str(expected.plan_)
    assert not hasattr(model, "cell_counts_")


def test_a_second_fit_without_gaps_forgets_the_first(blobs, gaps):
    model = KSums(5, missing="ignore", random_state=0).fit(gaps).fit(blobs)
    assert not hasattr(model, "cell_counts_")


@pytest.mark.parametrize("objective", ["distortion", "pairwise"])
def test_the_reference_engine_gives_the_same_labels(gaps, objective):
    options = {"missing": "ignore", "objective": objective, "effort": "low", "max_iter": 6, "random_state": 0}
    exact = KSums(4, **options).fit(gaps[:40])
    plain = KSums(4, engine="reference", **options).fit(gaps[:40])
    np.testing.assert_array_equal(exact.labels_, plain.labels_)


def test_new_rows_are_compared_by_the_cells_they_have(gaps):
    model = KSums(5, missing="ignore", random_state=0).fit(gaps)
    distances = np.sqrt(np.nansum((gaps[:, None] - model.cluster_centers_) ** 2, axis=2))
    np.testing.assert_allclose(model.transform(gaps), distances)
    np.testing.assert_array_equal(model.predict(gaps), distances.argmin(axis=1))
    assert model.score(gaps) == pytest.approx(-np.square(distances.min(axis=1)).sum())
    full = SimpleImputer().fit_transform(gaps)
    np.testing.assert_array_equal(
        model.predict(full), np.sqrt(((full[:, None] - model.cluster_centers_) ** 2).sum(2)).argmin(1)
    )


def test_float32_frames_weights_and_given_labels(blobs, gaps):
    frame = pd.DataFrame(gaps.astype(np.float32), columns=list("abcdef"))
    model = KSums(5, missing="ignore", random_state=0).fit(frame, sample_weight=np.r_[np.zeros(10), np.ones(290)])
    assert model.cluster_centers_.dtype == np.float32
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert model.sizes_.sum() == 290
    given = KSums(5, missing="ignore", init=np.arange(300) % 5, random_state=0).fit(gaps)
    assert given.plan_.start == "the given labels"


def test_models_with_gaps_are_saved_and_loaded(gaps, tmp_path):
    model = KSums(5, missing="ignore", random_state=0).fit(gaps)
    model.save(tmp_path / "gaps.safetensors")
    loaded = ksums.load(tmp_path / "gaps.safetensors")
    np.testing.assert_array_equal(loaded.predict(gaps), model.predict(gaps))
    np.testing.assert_array_equal(loaded.cell_counts_, model.cell_counts_)


def test_a_row_without_a_value_gets_the_largest_cluster(gaps):
    gaps[3] = np.nan
    with pytest.warns(UserWarning, match=r"1 row has no value at all \(row 3\)"):
        model = KSums(4, missing="ignore", random_state=0).fit(gaps)
    assert model.labels_[3] == model.sizes_.argmax() == model.predict(gaps)[3]
    assert model.sizes_.sum() == 299


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"missing": "error"}, "contains NaN.*or use missing='ignore'"),
        ({"missing": "drop"}, "missing must be one of 'error', 'ignore'; got 'drop'"),
        ({"metric": "cosine"}, "metric='cosine' is not offered for rows with missing cells; use 'l2'"),
        ({"size_max": 70}, "size_max=70 is not offered for rows with missing cells"),
        ({"engine": "neighbors"}, "engine='neighbors' is not offered"),
        ({"rule": "paper"}, "rule='paper' is not offered"),
        (
            {"init": np.zeros((5, 6))},
            r"init must be 'auto', 'k-means\+\+' or labels \(n,\) for rows with missing",
        ),
        ({"checkpoint": "a.ckpt"}, "checkpoint='a.ckpt' is not offered"),
    ],
)
def test_what_is_not_offered_is_refused(gaps, parameters, message):
    with pytest.raises(ValueError, match=message):
        KSums(5, **{"missing": "ignore", **parameters}).fit(gaps)


def test_links_and_empty_columns_are_refused(gaps):
    with pytest.raises(ValueError, match="must_link, cannot_link and fixed_labels are not offered"):
        KSums(5, missing="ignore").fit(gaps, must_link=[[0, 1]])
    gaps[:, 2] = np.nan
    with pytest.raises(ValueError, match="column 2 of X has no value at all; drop it"):
        KSums(5, missing="ignore").fit(gaps)


def test_nullable_tables_and_objects(blobs, gaps):
    frame = pd.DataFrame(gaps, columns=list("abcdef"))
    expected = KSums(5, missing="ignore", random_state=0).fit(frame)
    for table in (frame.convert_dtypes(), frame.astype(object).where(frame.notna(), None)):
        model = KSums(5, missing="ignore", random_state=0).fit(table)
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        np.testing.assert_array_equal(model.predict(table), expected.predict(frame))
        assert model.feature_names_in_.tolist() == list("abcdef")


def test_new_rows_with_gaps_are_refused_where_gaps_are_not_offered(blobs, gaps):
    model = KSums(5, missing="ignore", metric="cosine", random_state=0).fit(blobs)
    for method in (model.predict, model.transform, model.score):
        with pytest.raises(ValueError, match="metric='cosine' is not offered for rows with missing cells"):
            method(gaps)


def test_a_column_with_values_only_in_rows_that_do_not_count_is_refused(gaps):
    gaps[5:, 1], weights = np.nan, np.ones(300)
    weights[:5] = 0
    with pytest.raises(ValueError, match="column 1 of X has no value at all"):
        KSums(5, missing="ignore").fit(gaps, sample_weight=weights)


def test_yes_and_no_are_numbers_beside_gaps(gaps):
    frame = pd.DataFrame(gaps, columns=list("abcdef")).assign(member=np.arange(300) % 2 == 0)
    model = KSums(5, missing="ignore", random_state=0).fit(frame)
    numbers = KSums(5, missing="ignore", random_state=0).fit(frame.astype({"member": float}))
    np.testing.assert_array_equal(model.labels_, numbers.labels_)


def test_a_card_and_assignments_are_refused_with_gaps(blobs, gaps):
    with pytest.raises(ValueError, match="device='cuda' is not offered for rows with missing cells"):
        KSums(5, missing="ignore", device="cuda").fit(gaps)
    with pytest.raises(ValueError, match="assign is not offered for rows with missing cells"):
        KSums(5, missing="ignore", random_state=0).fit(blobs).assign(gaps, size_max=80)


def test_equal_clusters_are_named():
    X = [[1.0, np.nan]] * 10 + [[2.0, 3.0]] * 10
    with pytest.warns(
        ConvergenceWarning, match=r"Number of distinct clusters \(2\) found smaller than n_clusters \(5\)"
    ):
        model = KSums(5, missing="ignore", random_state=0).fit(X)
    assert model.inertia_ >= 0
    assert model.converged_


def test_the_graph_of_a_model_with_gaps_is_for_complete_rows(gaps):
    onnx = pytest.importorskip("onnx")
    model = KSums(5, missing="ignore", random_state=0).fit(gaps)
    with pytest.warns(UserWarning, match="labels for complete rows only"):
        assert isinstance(to_onnx(model), onnx.ModelProto)


@pytest.mark.parametrize("unit", [1e-138, 1e138])
def test_any_unit_will_do(gaps, unit):
    model, other = (KSums(5, missing="ignore", random_state=0).fit(X) for X in (gaps, unit * gaps))
    assert adjusted_rand_score(model.labels_, other.labels_) == 1.0
    assert other.inertia_ == pytest.approx(unit**2 * model.inertia_)


def test_the_first_run_starts_from_rows_that_are_filled_in(gaps):
    model = KSums(5, missing="ignore", random_state=0).fit(gaps)
    assert model.plan_.start.startswith("the clusters of rows with gaps filled in")
    assert model.plan_.filled.shape.k == 5
    table = pd.DataFrame(gaps).assign(word=list("abc") * 100)
    table.columns = table.columns.astype(str)
    assert ksums.TableKSums(5, random_state=0).fit(table).plan_.filled is None
    assert KSums(5, missing="ignore", init=model.labels_).fit(gaps).plan_.filled is None


def test_an_interrupted_start_is_a_result(gaps, monkeypatch):
    class Interrupted:
        labels, interrupted = np.arange(300) % 5, True

    monkeypatch.setattr("ksums.method.fitting.tables.fit", lambda job, seeds: Interrupted)
    with pytest.warns(ksums.FitInterrupted):
        model = KSums(5, missing="ignore", random_state=0).fit(gaps)
    np.testing.assert_array_equal(model.labels_, Interrupted.labels)
    assert not model.converged_
