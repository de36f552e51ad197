"""TableKSums: what columns are taken for, fits, predictions, profiles, files, and what is refused."""

import datetime
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import ksums
from ksums import FitInterrupted, KSums, TableKSums
from ksums.tables.columns import Columns, roles_of

TOWNS = np.array(["Rome", "Oslo", "Bern"])


@pytest.fixture(scope="module")
def people():
    """Return 300 people of three groups, with words, dates, gaps, an identifier, a constant and free text."""
    rng = np.random.default_rng(3)
    n = 300
    group = rng.integers(0, 3, n)
    town = TOWNS[np.where(rng.random(n) < 0.9, group, rng.integers(0, 3, n))].astype(object)
    town[rng.random(n) < 0.1] = None
    frame = pd.DataFrame(
        {
            "person_id": rng.permutation(10 * n)[:n],
            "age": np.where(rng.random(n) < 0.1, np.nan, 20 + 20 * group + rng.normal(0, 4, n)),
            "town": town,
            "member": rng.random(n) < np.array([0.1, 0.9, 0.5])[group],
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(300 * group + rng.integers(0, 60, n), unit="D"),
            "wave": 3,
            "remark": [f"this is remark number {i}" for i in range(n)],
            "empty": pd.Series([None] * n, dtype=object),
        }
    )
    return frame, group


def test_columns_are_taken_for_what_they_are(people):
    frame, group = people
    model = TableKSums(3, random_state=0).fit(frame)
    assert model.columns_ == {
        "person_id": "left out: it looks like an identifier",
        "age": "number",
        "town": "category",
        "member": "category",
        "since": "date",
        "wave": "left out: all of its cells are the same",
        "remark": "left out: it looks like free text",
        "empty": "left out: it is empty",
    }
    assert sum("is left out" in note for note in model.plan_.notes) == 4
    assert adjusted_rand_score(group, model.labels_) > 0.95
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert model.n_features_in_ == 8


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.5, 2.0, None, 3.0], "number"),
        ([True, False, None, True], "category"),
        (["a", "b", None, "a"], "category"),
        ([datetime.date(2024, 1, 1), None, datetime.date(2025, 1, 1), datetime.date(2024, 5, 5)], "date"),
        ([datetime.timedelta(days=1), None, datetime.timedelta(days=3), datetime.timedelta(0)], "number"),
        ([7, 7, None, 7], "left out"),
        ([None, None, None, None], "left out"),
    ],
)
def test_types_of_all_libraries(values, kind):
    tables = [pd.DataFrame({"x": values}), pl.DataFrame({"x": values}), pa.table({"x": values})]
    tables.append(pd.DataFrame({"x": pd.Series(values, dtype=object)}))
    if kind == "category":
        tables.append(pd.DataFrame({"x": pd.Categorical(values)}))
    for table in tables:
        assert [role.kind for role in roles_of(Columns(table), [], [], [])] == [kind]


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("nr", [4, 9, 1, 7], "identifier"),
        ("rows", list(range(1, 31)), "identifier"),
        ("rows", list(range(30))[::-1], "identifier"),
        ("rows", list(range(4)), ""),
        ("year", list(range(1990, 2020)), ""),
        ("price_index", [104, 99, 112, 131], ""),
        ("level", pd.Categorical(["1", "2", "3", "4", "5", "other"]), ""),
        ("town", pd.Categorical([f"t{i}" for i in range(40)]), ""),
        ("customerId", ["x1", "x2", "x3", "x4"], "identifier"),
        ("code", [f"c{i}" for i in range(40)], "nearly all of its cells differ"),
        ("text", [f"a text of {i} words" for i in range(40)], "free text"),
        ("income", ["12", "15", "9", "20", "unknown"], "words such as 'unknown'"),
        ("income", [12, 15, 9, 20, "unknown"], "words such as 'unknown'"),
        ("grade", ["1", "2", "a", "b"], ""),
        ("lists", [[1, 2], [3], [4], [5]], "lists"),
    ],
)
def test_columns_that_are_left_out(name, values, reason):
    (role,) = roles_of(Columns(pd.DataFrame({name: pd.Series(values)})), [], [], [])
    if name == "lists":
        (role,) = roles_of(Columns(pa.table({name: values})), [], [], [])
    assert (reason in role.reason) if reason else (role.kind != "left out")


def test_what_the_user_says_goes_first(people):
    frame, _ = people
    model = TableKSums(3, numeric=["person_id"], categorical=["remark"], ignore=["town"], random_state=0).fit(frame)
    kinds = model.columns_
    assert (kinds["person_id"], kinds["remark"], kinds["town"]) == ("number", "category", "left out: you asked for it")
    odd = pd.DataFrame({"income": ["12", "15", "9", "20", "unknown"], "b": [1, 2, 3, 4, 6]})
    with pytest.warns(UserWarning, match="'income': 1 cell is not a number \\(first 'unknown'\\)"):
        taken = TableKSums(2, numeric=["income"], random_state=0).fit(odd)
    assert taken.gap_shares_.sum() > 0  # the word is a gap
    with pytest.warns(UserWarning, match="'b': 2 cells are not numbers"):
        taken.predict(odd.assign(b=["1", "2,5", "3", "4", "6,5"]).assign(income=1.0))
    with pytest.raises(ValueError, match=r"'b' must hold numbers; got words such as 'x'. Pass numbers, as in the fit"):
        taken.predict(odd.assign(b="x", income=1.0))


def test_an_empty_word_is_a_missing_cell():
    table = pd.DataFrame({"town": ["Rome", "Rome", "", "Oslo", " ", "Oslo"]})
    model = TableKSums(2, random_state=0)
    with pytest.warns(UserWarning, match="2 rows have no value at all"):
        model.fit(table)
    assert model._encoding.words.tolist() == ["Oslo", "Rome"]


def test_a_day_is_the_same_category_with_and_without_a_time():
    days = ["2020-01-01", "2020-02-01"] * 3
    model = TableKSums(2, categorical=["day"], random_state=0).fit(pd.DataFrame({"day": pd.to_datetime(days)}))
    other = pl.DataFrame({"day": [datetime.date.fromisoformat(day) for day in days]})
    np.testing.assert_array_equal(model.predict(other), model.labels_)


def test_tables_of_all_libraries_give_the_same_labels(people):
    frame, _ = people
    plain = frame.drop(columns=["empty"])
    model = TableKSums(3, random_state=0).fit(plain)
    for table in (pl.from_pandas(plain), pa.Table.from_pandas(plain), plain.convert_dtypes()):
        np.testing.assert_array_equal(TableKSums(3, random_state=0).fit(table).labels_, model.labels_)
        np.testing.assert_array_equal(model.predict(table), model.predict(plain))


def test_the_order_of_columns_and_the_names_of_categories_change_nothing(people):
    frame, _ = people
    used = ["age", "town", "member", "since"]
    labels = TableKSums(3, random_state=0).fit(frame[used]).labels_
    np.testing.assert_array_equal(TableKSums(3, random_state=0).fit(frame[used[::-1]]).labels_, labels)
    renamed = frame[used].assign(town=frame.town.map({"Rome": "c", "Oslo": "a", "Bern": "b"}, na_action="ignore"))
    np.testing.assert_array_equal(TableKSums(3, random_state=0).fit(renamed).labels_, labels)


def test_numbers_without_gaps_are_clustered_as_ever(blobs):
    expected = make_pipeline(StandardScaler(), KSums(5, random_state=0)).fit(blobs)[-1]
    model = TableKSums(5, random_state=0).fit(blobs)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    assert model.distortion_ == pytest.approx(expected.distortion_)
    assert not hasattr(model, "feature_names_in_")
    raw = TableKSums(5, scale=None, random_state=0).fit(pd.DataFrame(blobs))
    np.testing.assert_array_equal(raw.labels_, KSums(5, random_state=0).fit(blobs - blobs.mean(axis=0)).labels_)


def test_the_reference_engine_gives_the_same_labels(people):
    frame, _ = people
    few = frame[["age", "town", "member"]].iloc[:40]
    options = {"n_clusters": 3, "effort": "low", "max_iter": 6, "random_state": 0}
    for objective in ("distortion", "pairwise"):
        exact = TableKSums(objective=objective, **options).fit(few)
        plain = TableKSums(objective=objective, engine="reference", **options).fit(few)
        np.testing.assert_array_equal(exact.labels_, plain.labels_)


def test_profiles_are_in_the_units_of_the_data(people):
    frame, _ = people
    model = TableKSums(3, random_state=0).fit(frame)
    for profile in model.cluster_profiles_:
        own = frame[model.labels_ == profile.cluster]
        assert profile.size == len(own)
        assert profile.share == pytest.approx(len(own) / 300)
        assert profile.means["age"] == pytest.approx(own.age.mean())
        assert profile.means["since"] == str(own.since.mean().date())
        shares = own.town.value_counts(normalize=True)
        word, share = profile.categories["town"][0]
        assert (word, share) == (shares.index[0], pytest.approx(shares.iloc[0]))
        if own.age.isna().any():
            assert profile.gaps["age"] == pytest.approx(own.age.isna().mean())
        assert f"cluster {profile.cluster}" in str(profile)
        assert "town" in profile.in_one_line()


def test_records_fall_and_the_fit_is_repeatable(people):
    frame, _ = people
    first, second = (TableKSums(4, random_state=1, n_threads=threads).fit(frame) for threads in (1, 2))
    np.testing.assert_array_equal(first.labels_, second.labels_)
    exact = [record.objective for record in first.history_ if record.stage != "annealing"]
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(exact))
    assert first.objective_ == pytest.approx(first.history_[-1].objective)
    assert first.converged_
    best = TableKSums(4, random_state=1, n_init=3).fit(frame)
    assert best.objective_ <= first.objective_ + 1e-12


def test_predict_transform_and_score(people):
    frame, _ = people
    model = TableKSums(3, random_state=0).fit(frame)
    distances = model.transform(frame)
    np.testing.assert_array_equal(model.predict(frame), distances.argmin(axis=1))
    assert (model.predict(frame) == model.labels_).mean() > 0.99
    assert model.score(frame) == pytest.approx(-np.square(distances.min(axis=1)).sum())
    assert model.score(frame, sample_weight=np.full(300, 2.0)) == pytest.approx(2 * model.score(frame))
    assert list(model.get_feature_names_out()) == ["tableksums0", "tableksums1", "tableksums2"]
    few = frame[["since", "town", "age", "member"]].iloc[:5]  # other columns are not needed, nor is their order
    np.testing.assert_array_equal(model.predict(few), model.predict(frame)[:5])


def test_unknown_categories_count_as_missing_or_are_refused(people):
    frame, _ = people
    model = TableKSums(3, random_state=0).fit(frame)
    strange = frame.iloc[:3].assign(town="Atlantis")
    with pytest.warns(
        UserWarning, match="column 'town' has no category that the fit saw, only others such as 'Atlantis'"
    ):
        labels = model.predict(strange)
    np.testing.assert_array_equal(labels, model.predict(frame.iloc[:3].assign(town=None)))
    model.set_params(unknown="error")
    with pytest.raises(ValueError, match="column 'town' has categories that the fit did not see: 'Atlantis'"):
        model.predict(strange)


def test_rows_without_a_value_are_kept_and_named(people):
    frame, _ = people
    used = frame[["age", "town"]].copy()
    used.loc[[7, 9]] = None
    with pytest.warns(UserWarning, match="rows have no value at all"):
        model = TableKSums(3, random_state=0).fit(used)
    largest = model.sizes_.argmax()
    assert (model.labels_[used.isna().all(axis=1)] == largest).all()
    assert model.sizes_.sum() == (~used.isna().all(axis=1)).sum()
    assert model.predict(pd.DataFrame({"age": [None], "town": [None]})).tolist() == [largest]


def test_weights_and_rows_of_weight_zero(people):
    frame, _ = people
    weights = np.ones(300)
    weights[:20] = 0
    model = TableKSums(3, random_state=0).fit(frame, sample_weight=weights)
    assert model.sizes_.sum() == 280
    assert (model.labels_[:20] == model.predict(frame)[:20]).all()
    heavy = TableKSums(3, random_state=0).fit(frame, sample_weight=np.full(300, 3.0))
    assert heavy.sizes_.sum() == 900


@pytest.mark.parametrize("scale", ["std", "range"])
def test_rows_that_do_not_count_change_nothing(people, scale):
    frame, _ = people
    counting = frame[["age", "town", "member"]].dropna()
    strange = pd.DataFrame({"age": [1e9, np.nan], "town": ["Pisa", None], "member": [None, True]})
    weights = np.concatenate([np.full(len(counting), 2.0), np.zeros(2)])
    model = TableKSums(3, scale=scale, random_state=0).fit(pd.concat([counting, strange]), sample_weight=weights)
    alone = TableKSums(3, scale=scale, random_state=0).fit(counting, sample_weight=weights[:-2])
    np.testing.assert_array_equal(model.labels_[:-2], alone.labels_)
    assert model.inertia_ == alone.inertia_
    assert model._encoding.pulls.tolist() == [0.0, 0.0, 0.0]
    assert "Pisa" not in model._encoding.words


def test_callbacks_are_called_for_tables_of_all_kinds(people):
    frame, _ = people
    calls = []

    class Counting:
        def setup(self, estimator, context): ...

        def on_fit_task_begin(self, estimator, context): ...

        def on_fit_task_end(self, estimator, context):
            calls.append(context.task_name)

        def teardown(self, estimator, context): ...

    for table in (frame, frame[["age"]].dropna()):
        calls.clear()
        TableKSums(3, random_state=0).set_callbacks(Counting()).fit(table)
        assert calls


def test_scale_and_column_weights(people):
    frame, group = people
    only_age = TableKSums(3, column_weights={"age": 1e6}, random_state=0).fit(frame[["age", "town", "member"]].dropna())
    by_age = KSums(3, random_state=0).fit(frame[["age"]].dropna())
    assert only_age.distortion_ > 0
    assert adjusted_rand_score(group, TableKSums(3, scale="range", random_state=0).fit(frame).labels_) > 0.8
    assert by_age.sizes_.sum() > 0
    rows = frame[["age", "town", "member"]].dropna()
    ages = KSums(3, random_state=0).fit(rows[["age"]])
    assert adjusted_rand_score(only_age.labels_, ages.labels_) > 0.98


def test_models_of_tables_are_saved_and_loaded(people, tmp_path):
    frame, _ = people
    model = TableKSums(3, ignore=["wave"], column_weights={"age": 2.0}, random_state=0).fit(frame)
    model.save(tmp_path / "table.safetensors")
    loaded = ksums.load(tmp_path / "table.safetensors")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    assert loaded.columns_ == model.columns_
    assert str(loaded.cluster_profiles_[1]) == str(model.cluster_profiles_[1])
    assert loaded.get_params()["column_weights"] == {"age": 2.0}
    assert loaded.history_ == model.history_
    assert str(loaded.plan_) == str(model.plan_)


def test_pipelines_and_clones(people):
    frame, _ = people
    pipeline = make_pipeline(
        FunctionTransformer(lambda table: table.drop(columns="remark")), TableKSums(3, random_state=0)
    )
    labels = pipeline.fit_predict(frame)
    np.testing.assert_array_equal(labels, TableKSums(3, random_state=0).fit(frame.drop(columns="remark")).labels_)
    assert clone(pipeline[-1]).get_params() == pipeline[-1].get_params()


def test_many_rows_are_searched_by_a_sample():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 4, 60_000)
    codes = np.where(rng.random((60_000, 6)) < 0.8, group[:, None], rng.integers(0, 4, (60_000, 6)))
    frame = pl.DataFrame({f"c{j}": codes[:, j].astype(str) for j in range(6)})
    model = TableKSums(4, random_state=0)
    assert model.plan_for(frame).sample.shape.n == 20_000
    model.fit(frame)
    assert adjusted_rand_score(group, model.labels_) > 0.9
    assert model.converged_


def test_ctrl_c_in_the_search_of_a_sample_keeps_its_clusters(monkeypatch):
    from ksums.method.fitting import listener

    def interrupt(self, run):
        if run.records[-1].index == 3:
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr(listener.OfSample, "pass_ends", interrupt)
    codes = np.random.default_rng(0).integers(0, 3, (51_000, 3)).astype(str)
    with pytest.warns(FitInterrupted):
        model = TableKSums(3, random_state=0).fit(pl.DataFrame({f"c{j}": codes[:, j] for j in range(3)}))
    assert len(model.labels_) == 51_000
    assert (model.sizes_ > 0).all()


def test_a_callback_stops_and_ctrl_c_keeps_the_best(people):
    frame, _ = people
    stopped = TableKSums(3, callbacks=[lambda record: record.index == 4], random_state=0).fit(frame)
    assert len(stopped.history_) == 4

    def interrupt(record):
        if record.index == 5:
            raise KeyboardInterrupt

    with pytest.warns(FitInterrupted, match="interrupted after 5 passes"):
        model = TableKSums(3, callbacks=[interrupt], random_state=0).fit(frame)
    assert len(model.labels_) == 300
    limited = TableKSums(3, effort=0.05, random_state=0).fit(frame)
    assert "so labels depend on the machine" in str(limited.plan_)


@pytest.mark.parametrize(
    ("parameters", "change", "message"),
    [
        ({"numeric": ["agee"]}, None, "numeric: the table has no column 'agee'. Did you mean 'age'"),
        ({"ignore": "age"}, None, "ignore must be a list of columns, or None; got 'age'"),
        ({"numeric": ["age"], "ignore": ["age"]}, None, "column 'age' is in both numeric and ignore"),
        ({"numeric": ["town"]}, None, "column 'town' must hold numbers; got words such as"),
        ({"column_weights": {"age": 0}}, None, r"column_weights\['age'\] must be a number > 0; got 0"),
        ({"column_weights": [1.0]}, None, "column_weights must be a dictionary"),
        ({"scale": "minmax"}, None, "scale must be 'std', 'range' or None; got 'minmax'"),
        ({"unknown": "raise"}, None, "unknown must be one of 'ignore', 'error'; got 'raise'"),
        ({"n_clusters": 500}, None, "n_samples=300 should be >= n_clusters=500"),
        ({"ignore": ["age", "town", "member", "since"]}, None, "no column of the table"),
        ({}, lambda table: table.assign(age=table.age.where(table.age > 30, np.inf)), "column 'age' holds inf in row"),
        ({}, lambda table: table.rename(columns={"age": "town"}), "two columns are called 'town'"),
        ({}, lambda table: table.iloc[:0], "0 sample"),
    ],
)
def test_errors_name_the_parameter_and_the_way_out(people, parameters, change, message):
    frame, _ = people
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=message):
            TableKSums(**{"n_clusters": 3, **parameters}).fit(frame if change is None else change(frame.copy()))


def test_a_missing_column_is_refused_when_predicting(people):
    frame, _ = people
    model = TableKSums(3, random_state=0).fit(frame)
    with pytest.raises(ValueError, match="the table has no column 'town'; the model was fitted to"):
        model.predict(frame.drop(columns="town"))


def test_onnx_is_refused(people, tmp_path):
    from ksums.contrib.onnx import to_onnx

    frame, _ = people
    with pytest.raises(TypeError, match="TableKSums"):
        to_onnx(TableKSums(3, random_state=0).fit(frame))


def test_times_of_all_kinds():
    at = [datetime.datetime(2024, 1, 1, 12), None, datetime.datetime(2024, 1, 3), datetime.datetime(2024, 1, 4)]
    tables = [
        pd.DataFrame({"t": pd.to_datetime(at).tz_localize("UTC").tz_convert("Asia/Tokyo")}),
        pd.DataFrame(
            {"t": pd.Series([None if t is None else t.replace(tzinfo=datetime.UTC) for t in at], dtype=object)}
        ),
        pa.table({"t": pa.array(at, pa.timestamp("ns"))}),
        pl.DataFrame({"t": at}),
    ]
    for table in tables:
        (role,) = roles_of(Columns(table), [], [], [])
        assert role.kind == "date"
        np.testing.assert_allclose(Columns(table).numbers("t"), [19723.5, np.nan, 19725, 19726])
    clock = pl.DataFrame({"t": [datetime.time(6), datetime.time(18), None]})
    np.testing.assert_allclose(Columns(clock).numbers("t"), [0.25, 0.75, np.nan])
    array = np.array([["2024-01-01", "NaT"], ["2024-01-02", "2024-01-05"]], "M8[ns]")
    np.testing.assert_allclose(Columns(array).numbers("x1"), [np.nan, 19727])


def test_lists_and_arrays_of_numbers_and_words():
    rows = [[1, "a"], [2.5, "b"], [9, "a"], [8.5, "b"]]
    assert TableKSums(2, random_state=0).fit(rows).columns_ == {"x0": "number", "x1": "category"}
    assert TableKSums(2, random_state=0).fit(np.array(rows)).columns_ == {"x0": "number", "x1": "category"}
    gaps = np.array([[1.0, "a"], [pd.NA, "b"], [9.0, None], [8.5, "b"]], object)
    assert TableKSums(2, random_state=0).fit(gaps).gap_shares_.sum() > 0


def test_listed_columns_without_a_value_are_left_out(people):
    frame, _ = people
    model = TableKSums(3, categorical=["empty"], random_state=0).fit(frame)
    assert model.columns_["empty"] == "left out: it is empty"
    late = frame[["age", "town", "member"]].assign(extra=[1.0] * 5 + [np.nan] * 295)
    late.loc[:4, "extra"] = range(5)
    weights = np.r_[np.zeros(5), np.ones(295)]
    assert np.isfinite(TableKSums(3, random_state=0).fit(late, sample_weight=weights).objective_)


def test_plan_for_is_the_plan_of_the_fit(people, blobs):
    frame, _ = people
    for table in (frame, blobs):
        assert str(TableKSums(3, random_state=0).plan_for(table)) == str(TableKSums(3, random_state=0).fit(table).plan_)


def test_record_batches_and_tables_that_are_not_computed_yet(people):
    frame, _ = people
    plain = pa.Table.from_pandas(frame[["age", "town", "member"]], preserve_index=False)
    expected = TableKSums(3, random_state=0).fit(plain).labels_
    batch = plain.combine_chunks().to_batches()[0]
    np.testing.assert_array_equal(TableKSums(3, random_state=0).fit(batch).labels_, expected)
    with pytest.raises(TypeError, match=r"pass X.collect"):
        TableKSums(3).fit(pl.from_arrow(plain).lazy())


def test_more_parameters_of_tables_that_are_refused(people, tmp_path):
    frame, _ = people
    with pytest.raises(ValueError, match="numeric must be a list of columns, or None; got 5"):
        TableKSums(3, numeric=5).fit(frame)
    with pytest.raises(ValueError, match="engine must be one of 'auto', 'exact', 'reference'; got 'blocks'"):
        TableKSums(3, engine="blocks").fit(frame)
    with pytest.raises(ValueError, match="has no column 'agee'"):
        TableKSums(3, column_weights={"agee": 2.0}).plan_for(frame)
    model = TableKSums(3, numeric=np.array(["age"]), random_state=0).fit(frame)
    model.save(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(ksums.load(tmp_path / "m.safetensors").predict(frame), model.predict(frame))
