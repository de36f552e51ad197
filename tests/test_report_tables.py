"""The report about tables and rows with missing cells: its facts are true, and its page says what was left out."""

import html
import re

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ksums import KSums, TableKSums, load
from ksums.report import describe, show_report, tables, write_report
from ksums.report.profiles import _number, _percent

pd = pytest.importorskip("pandas")


@pytest.fixture
def toy():
    return pd.DataFrame({"age": [0, 2, None, 10, 12, 14], "town": ["A", "A", "A", "B", "B", None]})


@pytest.fixture
def messy(rng):
    """Three groups of 100 people; some cells are missing, and some columns are of no use."""
    n, group = 300, np.repeat(np.arange(3), 100)
    towns = np.array(["Oslo <N>", "Rome & Lazio", "Bergen"], object)
    town = towns[np.where(rng.random(n) < 0.8, group, rng.integers(0, 3, n))]
    town[rng.random(n) < 0.1] = None
    income = np.array([20_000.0, 60_000.0, 30_000.0])[group] + rng.normal(0, 2_000, n)
    income[rng.random(n) < 0.2] = np.nan
    joined = pd.Series(pd.to_datetime("2020-01-01") + pd.to_timedelta(group * 400 + rng.integers(0, 90, n), unit="D"))
    joined[rng.random(n) < 0.1] = pd.NaT
    return pd.DataFrame(
        {
            "customer_id": np.arange(n) + 1_000,
            "age": np.array([25, 45, 70])[group] + rng.integers(-5, 5, n),
            "income <EUR>": income,
            "town": town,
            "member": rng.random(n) < np.array([0.9, 0.5, 0.1])[group],
            "joined": joined,
            "notes": [f"the order {i} came too late" for i in range(n)],
        }
    )


@pytest.fixture
def model(messy):
    return TableKSums(3, random_state=0).fit(messy)


def text_of(part):
    """The words of a piece of HTML."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", part)).split())


def profile_rows(page):
    table = re.search(r'<table id="profiles">.*?</table>', page.html, re.S).group()
    return [[text_of(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in table.split("<tr>")[1:]]


def test_the_facts_by_hand(toy):
    model = TableKSums(2, scale=None, random_state=0).fit(toy)
    young = model.labels_[0]
    assert (model.labels_ == young).tolist() == [True] * 3 + [False] * 3
    found = describe(model, toy)
    assert (found.n, found.d, found.features) == (6, 2, ["age", "town"])
    assert (found.missing_cells, found.empty_rows, found.left_out, found.weighted) == (2, 0, 0, False)
    first, second = found.clusters[young], found.clusters[1 - young]
    assert (first.size, second.size) == (3, 3)
    assert first.spread == pytest.approx(np.sqrt((1 + 1 + 0) / 3))
    assert second.spread == pytest.approx(np.sqrt((4 + 0 + 4) / 3))
    assert first.central == [0, 1, 2]  # the missing age counts 2, the mean of the squares 1, 1, 4, 0 and 4
    assert second.central == [4, 3, 5]
    deviation = np.std([0, 2, 10, 12, 14])
    assert first.words == [("age", pytest.approx((1 - 7.6) / deviation)), ("town = A", pytest.approx(1 - 0.6))]
    assert second.words == [("town = B", pytest.approx(1 - 0.4)), ("age", pytest.approx((12 - 7.6) / deviation))]
    ages = (0 + 2 - 2 * 7.6) / 2.5, (10 + 12 + 14 - 3 * 7.6) / 3.5  # half a row more has the mean of the column
    shares = (3 + 0.5 * 0.6) / 3.5, (0 + 0.5 * 0.6) / 2.5
    expected = np.sqrt((ages[0] - ages[1]) ** 2 + 2 * (shares[0] - shares[1]) ** 2)
    assert first.nearest == [(1 - young, pytest.approx(expected))]
    assert second.nearest == [(young, pytest.approx(expected))]
    everybody = found.overall_profile
    assert everybody.means == {"age": pytest.approx(7.6)}
    assert everybody.categories == {"town": [("A", pytest.approx(0.6)), ("B", pytest.approx(0.4))]}
    assert everybody.gaps == {"age": pytest.approx(1 / 6), "town": pytest.approx(1 / 6)}
    assert [profile.cluster for profile in found.profiles] == [0, 1]
    assert found.profiles[young].means == {"age": pytest.approx(1)}


def test_the_map_by_hand(toy):
    model = TableKSums(2, scale=None, random_state=0).fit(toy)
    found = describe(model, toy)
    ages = np.array([0, 2, 7.6, 10, 12, 14]) - 7.6
    a = np.array([1, 1, 1, 0, 0, 0.6])
    pca = PCA(2).fit(np.column_stack([ages, a, 1 - a]))
    np.testing.assert_allclose(found.shares, pca.explained_variance_ratio_)
    np.testing.assert_allclose(found.points, pca.transform(np.column_stack([ages, a, 1 - a])), atol=1e-12)


def test_rare_categories_are_left_out_of_the_map(rng, monkeypatch):
    words = np.where(rng.random(400) < 0.7, "common", rng.integers(0, 60, 400).astype(str))
    table = pd.DataFrame({"a": rng.standard_normal(400), "b": rng.standard_normal(400) * 1.01, "word": words})
    model = TableKSums(3, scale=None, random_state=0).fit(table)
    expected = describe(model, table)
    monkeypatch.setattr(tables, "_MAX_MAP_CATEGORIES", 5)
    found = describe(model, table)
    np.testing.assert_allclose(found.shares, expected.shares, rtol=0.02)
    assert abs(np.corrcoef(found.points[:, 0], expected.points[:, 0])[0, 1]) > 0.99


def test_the_page_of_a_table(tmp_path, messy, model):
    found = write_report(tmp_path / "a.html", model, messy)
    page = show_report(model, messy)
    assert page.html == (tmp_path / "a.html").read_text("utf-8")
    assert "<h2>Means</h2>" not in page.html
    assert "<dt>metric</dt>" not in page.html
    taken = "2 numbers: age, income <EUR>; 1 date: joined; 2 categories: town, member; left out: customer_id, notes"
    assert f"<dt>columns</dt><dd>{html.escape(taken)}</dd>" in page.html
    assert found.left_out_columns == {
        "customer_id": "it looks like an identifier",
        "notes": "it looks like free text",
    }
    reasons = "customer_id (it looks like an identifier), notes (it looks like free text)."
    assert f"Columns that were left out: {reasons}" in page.html
    missing = int(messy[["age", "income <EUR>", "town", "member", "joined"]].isna().sum().sum())
    assert found.missing_cells == missing
    assert f"{missing} of 1,500 cells ({missing / 1500:.0%}) are missing" in page.html
    head, *rows = profile_rows(page)
    sizes = [f"{r} {size} ({size / 300:.0%})" for r, size in enumerate(model.sizes_)]
    assert head == ["column", "all rows 300", *sizes]
    assert [row[0] for row in rows] == ["age", "income <EUR>", "town", "member", "joined"]
    own = [messy] + [messy[model.labels_ == r] for r in range(3)]
    assert rows[0][1:] == [f"{part['age'].mean():.4g}" for part in own]
    income = [part["income <EUR>"] for part in own]
    assert rows[1][1:] == [f"{part.mean():,.0f} {part.isna().mean():.0%} missing" for part in income]
    for part, cell in zip(own, rows[2][1:], strict=True):
        shares = part["town"].value_counts(normalize=True)
        assert all(f"{word} {share:.0%}" in cell for word, share in shares.items())
    joined = [part["joined"] for part in own]
    assert rows[4][1:] == [f"{part.mean().date()} {part.isna().mean():.0%} missing" for part in joined]
    assert any("town = Rome & Lazio" in word for cluster in found.clusters for word, _ in cluster.words)
    for raw in ("<EUR>", "<N>", "Rome & "):
        assert raw not in page.html.split("<h1>")[1]


def test_a_saved_model_has_the_same_page(tmp_path, messy, model):
    model.save(tmp_path / "model")
    assert show_report(load(tmp_path / "model"), messy).html == show_report(model, messy).html


def test_tables_of_other_libraries(messy, model):
    expected = show_report(model, messy)
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    for table in (pl.from_pandas(messy), pa.Table.from_pandas(messy)):
        own = TableKSums(3, random_state=0).fit(table)
        for page in (show_report(own, table), show_report(model, table), show_report(own, messy)):
            np.testing.assert_allclose(page.description.points, expected.description.points, atol=1e-9)
            assert profile_rows(page) == profile_rows(expected)
            assert page.description.clusters == expected.description.clusters
    reordered = messy[messy.columns[::-1]]
    assert profile_rows(show_report(model, reordered)) == profile_rows(expected)


def test_arrays_have_a_page(rng):
    X = np.empty((60, 2), object)
    X[:, 0], X[:, 1] = rng.standard_normal(60), np.repeat(["p", "q"], 30)
    X[3, 0] = None
    page = show_report(TableKSums(2, random_state=0).fit(X), X)
    assert "1 number: x0; 1 category: x1" in page.html
    assert "1 of 120 cells (1%) is missing" in page.html
    named = TableKSums(2, random_state=0).fit(pd.DataFrame({"a": X[:, 0].astype(float), "b": X[:, 1]}))
    assert describe(named, X).features == ["a", "b"]


def test_other_rows_are_refused(messy, model):
    others = (messy[::-1], messy.assign(age=messy["age"] * 1.2), messy.assign(town="Bergen"), messy.assign(age=np.nan))
    for other in others:
        with pytest.raises(ValueError, match="these are not the rows that the model was fitted to"):
            describe(model, other)
    with pytest.raises(ValueError, match="the model was fitted to 300 rows; X has 299 rows"):
        describe(model, messy[1:])
    with pytest.raises(ValueError, match="the table has no column 'age'"):
        describe(model, messy.drop(columns="age"))
    with pytest.raises(ValueError, match="the columns of a table have names already"):
        describe(model, messy, features=list("abcdefg"))
    with pytest.raises(ValueError, match="names must name all 300 rows"):
        show_report(model, messy, names=["a"])
    numbers = messy[["age"]].astype(float)
    with pytest.raises(TypeError, match="TableKSums scales its columns itself"):
        describe(make_pipeline(StandardScaler(), TableKSums(3, random_state=0)).fit(numbers), numbers)
    with pytest.raises(ValueError, match="not fitted"):
        describe(TableKSums(3), messy)


@pytest.mark.parametrize(
    "parameters",
    [
        {"scale": "range"},
        {"scale": None},
        {"objective": "pairwise"},
        {"column_weights": {"town": 3.0, "age": 0.5}},
        {"categorical": ["age"], "ignore": ["income <EUR>"]},
    ],
)
def test_parameters_of_tables(messy, parameters):
    model = TableKSums(3, random_state=0, **parameters).fit(messy)
    page = show_report(model, messy)
    inertia = sum(cluster.size * cluster.spread**2 for cluster in page.description.clusters)
    assert inertia == pytest.approx(model.inertia_)
    name, value = next(iter(parameters.items()))
    assert (html.escape(f"{name}={value!r}") in page.html) == (name != "categorical")  # the entry "columns" says that
    with pytest.raises(ValueError, match="these are not the rows"):
        describe(model, messy[::-1])


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": list("xxyyzz"), "b": ["p", None, "q", "q", "p", "p"]}),
        pd.DataFrame({"a": [1.0, 1.0, 1.0, 7.3, 7.3, 7.3], "b": [0.1, 0.1, None, 0.3, 0.3, None]}),
        pd.DataFrame({"a": list("pppqqq"), "b": list("rrrsss")}),
        pd.DataFrame({"a": [1.0, 2.0, 3.0, 7.0, 8.0, 9.0]}),
    ],
)
def test_small_tables(table):
    page = show_report(TableKSums(2, random_state=0).fit(table), table)
    assert "<svg" in page.html
    assert all(cluster.spread >= 0 for cluster in page.description.clusters)


def test_rows_without_any_value_are_not_listed(messy):
    messy = messy.drop([7, 90]).reindex(range(300))
    with pytest.warns(UserWarning, match="2 rows have no value"):
        model = TableKSums(3, random_state=0).fit(messy)
    page = show_report(model, messy)
    found = page.description
    assert (found.empty_rows, found.weighted) == (2, False)
    assert "2 rows without any value are in the largest cluster and not listed." in page.html
    assert not {7, 90} & {row for cluster in found.clusters for row in cluster.central + cluster.distant}
    assert sum(cluster.size * cluster.spread**2 for cluster in found.clusters) == pytest.approx(model.inertia_)


def test_weights_of_tables(messy, rng):
    weights = rng.random(300)
    page = show_report(TableKSums(3, random_state=0).fit(messy, sample_weight=weights), messy)
    assert page.description.weighted
    assert "Sizes are sums of weights" in page.html
    overall = page.description.overall_profile
    assert overall.size == pytest.approx(weights.sum())
    assert overall.means["age"] == pytest.approx(np.average(messy["age"], weights=weights))
    assert "missing" not in next(row for row in profile_rows(page) if row[0] == "age")[1]


def test_many_clusters_get_a_row_each(messy):
    side_by_side = show_report(TableKSums(12, random_state=0).fit(messy), messy)
    assert len(profile_rows(side_by_side)[0]) == 14
    model = TableKSums(13, random_state=0).fit(messy)
    head, *rows = profile_rows(show_report(model, messy))
    assert head == ["cluster", "age", "income <EUR>", "town", "member", "joined"]
    assert [row[0].split()[0] for row in rows] == ["all", *map(str, range(13))]
    assert rows[1][1] == f"{messy['age'][model.labels_ == 0].mean():.4g}"


def test_many_columns_are_cut(rng):
    table = pd.DataFrame(rng.standard_normal((100, 40)), columns=[f"column {t} " + "long " * 30 for t in range(40)])
    table["constant"] = 1
    page = show_report(TableKSums(15, random_state=0).fit(table), table)
    assert len(profile_rows(page)[0]) == 31
    assert "The first 30 of 40 columns." in page.html
    assert "and 10 more" in page.html
    assert len(profile_rows(show_report(TableKSums(3, random_state=0).fit(table), table))) == 41


def test_a_cluster_without_a_value_in_a_column():
    table = pd.DataFrame(
        {"a": [0.0] * 5 + [50.0] * 5, "b": [1.0, 2, 1, 2, 1] + [None] * 5, "c": list("pqpqp") + [None] * 5}
    )
    model = TableKSums(2, scale=None, random_state=0).fit(table)
    page = show_report(model, table)
    r = model.labels_[9]
    assert [row[2 + r] for row in profile_rows(page)[1:]] == ["50", "– 100% missing", "– 100% missing"]
    assert [word for word, _ in page.description.clusters[r].words] == ["a"]


def test_shares_and_numbers_in_words():
    assert [_percent(share) for share in (0, 0.001, 0.5, 0.999, 1)] == ["0%", "<1%", "50%", ">99%", "100%"]
    values = (1234567.8, 12.3456, -4321.0, 0.00012345, float("nan"), "2020-01-01")
    assert [_number(value) for value in values] == ["1,234,568", "12.35", "-4,321", "0.0001234", "–", "2020-01-01"]


# ------------------------------------------------------------------------------------------ KSums(missing="ignore")
@pytest.fixture
def gappy(blobs, rng):
    return np.where(rng.random(blobs.shape) < 0.1, np.nan, blobs)


def test_rows_of_numbers_with_gaps(tmp_path, gappy):
    model = KSums(5, missing="ignore", random_state=0).fit(gappy)
    model.save(tmp_path / "model")
    for each in (model, load(tmp_path / "model")):
        page = show_report(each, gappy)
        found = page.description
        missing = int(np.isnan(gappy).sum())
        assert (found.missing_cells, found.empty_rows, found.weighted) == (missing, 0, False)
        assert f"{missing} of 1,800 cells ({missing / 1800:.0%}) are missing" in page.html
        assert "The map fills missing cells with the centre of the row's cluster." in page.html
        np.testing.assert_allclose(found.overall, np.nanmean(gappy, axis=0))
        means = np.array([np.nanmean(gappy[model.labels_ == r], axis=0) for r in range(5)])
        np.testing.assert_allclose(found.means, means)
        squares = np.square(gappy - means[model.labels_])
        ranks = np.where(np.isnan(squares), np.nanmean(squares, axis=0), squares).sum(axis=1)
        for cluster in found.clusters:
            members = np.flatnonzero(model.labels_ == cluster.index)
            assert cluster.spread == pytest.approx(np.sqrt(np.nansum(squares[members], axis=1).mean()))
            assert cluster.central == members[np.argsort(ranks[members])][:3].tolist()
            column, value = cluster.words[0]
            scaled = (means[cluster.index] - np.nanmean(gappy, axis=0)) / np.nanstd(gappy, axis=0)
            assert value == pytest.approx(scaled[int(column.split()[1])])
        filled = np.where(np.isnan(gappy), means[model.labels_], gappy)
        np.testing.assert_allclose(found.shares, PCA(2).fit(filled).explained_variance_ratio_)


def test_frames_and_scaling_with_gaps(gappy):
    frame = pd.DataFrame(gappy * [1, 10, 100, 1, 1, 1], columns=list("abcdef"))
    pipeline = make_pipeline(StandardScaler(), KSums(5, missing="ignore", random_state=0)).fit(frame)
    found = describe(pipeline, frame)
    labels = pipeline[-1].labels_
    np.testing.assert_allclose(found.means, frame.groupby(labels).mean())
    np.testing.assert_allclose(found.overall, frame.mean())
    assert found.features == list("abcdef")


def test_other_rows_with_gaps_are_refused(gappy, blobs):
    model = KSums(5, missing="ignore", random_state=0).fit(gappy)
    hidden = np.where(np.arange(300)[:, None] == 8, np.nan, gappy)
    for X in (gappy[::-1], gappy * 1.1, hidden, np.full_like(gappy, np.nan)):
        with pytest.raises(ValueError, match="these are not the rows that the model was fitted to"):
            describe(model, X)
    with pytest.raises(ValueError, match="the model was fitted to 300 rows and 6 columns; X has 10 rows"):
        describe(model, gappy[:10])
    with pytest.raises(ValueError, match="infinity"):
        describe(model, np.where(np.isnan(gappy), np.inf, gappy))
    complete = KSums(5, missing="ignore", random_state=0).fit(blobs)
    assert describe(complete, blobs).missing_cells == 0
    with pytest.raises(ValueError, match="contains NaN"):
        describe(complete, gappy)


def test_empty_rows_and_weights_with_gaps(gappy, rng):
    gappy[5] = np.nan
    gappy[:60, 1] = np.nan  # a whole cluster
    with pytest.warns(UserWarning, match="1 row has no value"):
        model = KSums(5, missing="ignore", random_state=0).fit(gappy)
    page = show_report(model, gappy)
    assert (page.description.empty_rows, page.description.weighted) == (1, False)
    assert "1 row without any value is in the largest cluster and not listed." in page.html
    assert np.isnan(page.description.means).any()
    assert "<td class=number>–</td>" in page.html
    assert "nan" not in page.html.split("<h1>")[1].split('id="data"')[0]
    with pytest.warns(UserWarning, match="1 row has no value"):
        weighted = KSums(5, missing="ignore", random_state=0).fit(gappy, sample_weight=rng.random(300))
    assert describe(weighted, gappy).weighted
