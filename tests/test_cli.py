"""Commands as a new user types them, correct and wrong ones."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from unittest import mock

import numpy as np
import pytest
from helpers import run_ksums, start_ksums
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ksums
from ksums.io import read_rows


@pytest.fixture
def folder(tmp_path, blobs):
    """Files of the same 300 rows."""
    np.save(tmp_path / "rows.npy", blobs)
    np.savetxt(tmp_path / "rows.csv", blobs, delimiter=",", header="a,b,c,d,e,f", comments="", fmt="%.17g")
    bad = blobs.copy()
    bad[17, 2] = np.nan
    np.save(tmp_path / "nan.npy", bad)
    (tmp_path / "cut.npy").write_bytes((tmp_path / "rows.npy").read_bytes()[:-100])
    (tmp_path / "words.csv").write_text("a,b\n1,2\n3,high\n")
    return tmp_path


def test_fit_writes_the_requested_files(folder, blobs):
    names = ["--labels", "out/labels.npy", "--model", "out/model", "--history", "out/history.csv", "--report", "a.html"]
    (folder / "out").mkdir()
    code, output, errors = run_ksums(folder, "fit", "rows.npy", "-k", 5, *names)
    assert code == 0, errors
    model = ksums.KSums(5, random_state=0).fit(blobs)
    np.testing.assert_array_equal(np.load(folder / "out" / "labels.npy"), model.labels_)
    np.testing.assert_array_equal(ksums.load(folder / "out" / "model").predict(blobs), model.predict(blobs))
    lines = (folder / "out" / "history.csv").read_text().splitlines()
    assert len(lines) == len(model.history_) + 1
    assert f"distortion E_m {model.distortion_:.6g}" in output
    assert output.startswith("300 rows of 6 columns, 5 clusters of 60 to 60 rows\n")
    assert errors.startswith("Fitting 5 clusters to 300 rows of 6 columns\n")
    # Progress is plain lines, at most one a second, because standard error is not a terminal.
    assert "pass 1" in errors
    assert len(errors.splitlines()) < len(model.history_)
    assert ksums.load(folder / "out" / "model").verbose == 0
    assert "<!doctype html>" in (folder / "a.html").read_text()


def test_formats_columns_and_standard_input_agree(folder):
    code, output, _ = run_ksums(folder, "fit", "rows.csv", "-k", 3, "--columns", "c,0", "--json", "--labels", "one.csv")
    assert code == 0
    facts = json.loads(output)
    assert (facts["n"], facts["d"], facts["k"]) == (300, 2, 3)
    text = (folder / "rows.csv").read_text()
    code, output, errors = run_ksums(
        folder, "fit", "-", "-k", 3, "--columns", "c,0", "-q", "--labels", "two.csv", stdin=text
    )
    assert (code, output, errors) == (0, "", "")
    assert (folder / "one.csv").read_text() == (folder / "two.csv").read_text()


def test_fit_shows_the_plan_once(folder, blobs):
    plan = ksums.KSums(5, random_state=0).plan_for(blobs).summary
    _, output, errors = run_ksums(folder, "fit", "rows.npy", "-k", 5)
    assert errors.splitlines()[1] == f"KSums: {plan}"
    assert (output + errors).count(plan) == 1
    assert run_ksums(folder, "fit", "rows.npy", "-k", 5, "--quiet") == (0, "", "")
    code, output, errors = run_ksums(folder, "fit", "rows.npy", "-k", 5, "--json")
    assert (code, json.loads(output)["plan"], errors) == (0, plan, "")
    _, output, _ = run_ksums(folder, "fit", "rows.npy", "-k", 5, "--method", "bisecting k-sums-Im", "--json")
    assert "4 splits of the largest cluster" in json.loads(output)["plan"]
    _, output, _ = run_ksums(folder, "fit", "rows.npy", "-k", 5, "--method", "Sequential k-means", "--json")
    assert json.loads(output)["plan"] is None


def test_predict_and_methods_of_the_paper(folder):
    assert run_ksums(folder, "fit", "rows.npy", "-k", 5, "--method", "k-means++", "--model", "m", "-q")[0] == 0
    code, output, errors = run_ksums(folder, "predict", "m", "rows.csv", "--labels", "labels.parquet", "--json")
    assert code == 0, errors
    assert json.loads(output)["n"] == 300
    labels = ksums.load(folder / "m").predict(np.load(folder / "rows.npy"))
    np.testing.assert_array_equal(read_rows(folder / "labels.parquet")[:, 0], labels)


def test_choose_k_suggests_with_a_reason(folder):
    code, output, errors = run_ksums(
        folder, "choose-k", "rows.npy", "--from", 3, "--to", 7, "--plot", "k.png", "--table", "k.csv"
    )
    assert code == 0, errors
    assert "k = 5 is the largest number of clusters that are all found again" in output
    assert (folder / "k.png").read_bytes().startswith(b"\x89PNG")
    assert len((folder / "k.csv").read_text().splitlines()) == 6


def test_compare_lists_the_methods(folder):
    command = ["compare", "rows.npy", "-k", 5, "--methods", "k-means,ksums", "--runs", 2]
    code, output, errors = run_ksums(folder, *command, "--json", "--plot", "c.svg")
    assert code == 0, errors
    rows = json.loads(output)
    assert [row["method"] for row in rows] == ["k-means", "ksums"]
    assert rows[1]["E_m"] <= rows[0]["E_m"]
    assert "<svg" in (folder / "c.svg").read_text()
    assert run_ksums(folder, *command)[1].splitlines()[0].split()[0] == "method"


def test_report_writes_a_page_about_the_fitted_rows(folder):
    (folder / "names.txt").write_text("\n".join(f"name {i}" for i in range(300)))
    assert run_ksums(folder, "fit", "rows.csv", "-k", 5, "--model", "m", "-q")[0] == 0
    code, output, errors = run_ksums(folder, "report", "m", "rows.csv", "--names", "names.txt", "--out", "page.html")
    assert code == 0, errors
    assert "5 clusters, 300 of 300 rows in the map: page.html" in output
    assert "name 7" in (folder / "page.html").read_text()
    code, _, errors = run_ksums(folder, "report", "m", "rows.csv", "--columns", "a,b", "--out", "other.html")
    assert code == 2
    assert "the model was fitted to a,b,c,d,e,f, in this order; got a,b" in errors
    np.save(folder / "others.npy", np.load(folder / "rows.npy")[::-1])
    code, _, errors = run_ksums(folder, "report", "m", "others.npy", "--out", "other.html")
    assert code == 2
    assert "these are not the rows that the model was fitted to" in errors
    assert not (folder / "other.html").exists()
    output = run_ksums(folder, "report", "m", "rows.csv", "--out", "page.html", "--json")[1]
    assert json.loads(output) == {"clusters": 5, "n": 300, "points": 300, "warnings": [], "out": "page.html"}


def test_a_model_remembers_its_columns(folder):
    command = ["fit", "rows.csv", "-k", 3, "--columns", "b,a", "--model", "m", "--labels", "l.npy", "-q"]
    assert run_ksums(folder, *command)[0] == 0
    assert run_ksums(folder, "predict", "m", "rows.csv", "--labels", "p.npy")[0::2] == (0, "")
    assert (np.load(folder / "p.npy") == np.load(folder / "l.npy")).mean() > 0.95
    code, _, errors = run_ksums(folder, "predict", "m", "rows.csv", "--columns", "a,b", "--labels", "q.npy")
    assert code == 2
    assert "the model was fitted to b,a, in this order; got a,b" in errors
    code, _, errors = run_ksums(folder, "report", "m", "rows.csv", "--out", "r.html")
    assert code == 0, errors


def test_columns_are_found_by_their_names(folder, blobs):
    """Their order in another file does not matter; a file without names is read in the order of the model."""
    assert run_ksums(folder, "fit", "rows.csv", "-k", 5, "--model", "m", "--labels", "l.npy", "-q")[0] == 0
    assert ksums.load(folder / "m").feature_names_in_.tolist() == list("abcdef")
    np.savetxt(folder / "reversed.csv", blobs[:, ::-1], delimiter=",", header="f,e,d,c,b,a", comments="", fmt="%.17g")
    expected = ksums.KSums(5, random_state=0).fit(blobs).predict(blobs)
    note = "note: rows.npy has no column names; its columns are read as a, b, c, d, e, f, in this order.\n"
    for name, errors in (("rows.csv", ""), ("reversed.csv", ""), ("rows.npy", note)):
        assert run_ksums(folder, "predict", "m", name, "--labels", "p.npy")[0::2] == (0, errors)
        np.testing.assert_array_equal(np.load(folder / "p.npy"), expected)
    np.savetxt(folder / "other.csv", blobs[:, :5], delimiter=",", header="a,b,c,d,g", comments="")
    code, _, errors = run_ksums(folder, "predict", "m", "other.csv", "--labels", "q.npy")
    assert code == 2
    assert "other.csv has no column 'e'; its columns are a, b, c, d, g" in errors


def test_columns_with_numbers_and_commas_for_names(folder):
    (folder / "years.csv").write_text('id,2019,"age, years"\n1,5,7\n2,6,8\n3,50,70\n4,60,80\n')
    command = ["fit", "years.csv", "-k", 2, "--columns", '2019,"age, years"', "--json"]
    code, output, errors = run_ksums(folder, *command)
    assert code == 0, errors
    assert json.loads(output)["columns"] == ["2019", "age, years"]
    code, output, errors = run_ksums(folder, *command[:-1], "--model", "m", "--weights", "id")
    assert code == 0, errors
    assert errors.startswith("Fitting 2 clusters to 4 rows of 2 columns (2019, age, years)\n")
    assert output.startswith("4 rows of 2 columns, 2 clusters of weight 3 to 7\n")
    assert ksums.load(folder / "m").sizes_.sum() == 10
    output = run_ksums(folder, "fit", "years.csv", "-k", 2, "--weights", "id", "--json")[1]
    assert json.loads(output)["columns"] == ["2019", "age, years"]


def test_columns_chosen_by_number_are_remembered(folder, blobs):
    command = ["fit", "rows.npy", "-k", 3, "--columns", 4, "--columns", "1", "--model", "m", "--report", "r.html", "-q"]
    assert run_ksums(folder, *command)[0] == 0
    expected = ksums.KSums(3, random_state=0).fit(blobs[:, [4, 1]]).predict(blobs[:, [4, 1]])
    assert run_ksums(folder, "predict", "m", "rows.npy", "--labels", "p.npy")[0::2] == (0, "")
    np.testing.assert_array_equal(np.load(folder / "p.npy"), expected)
    assert "column 4" in (folder / "r.html").read_text()
    # Some weights are negative.
    assert run_ksums(folder, "fit", "rows.npy", "-k", 3, "--weights", 0, "--model", "w", "-q")[0] == 2
    np.save(folder / "weighted.npy", np.abs(blobs))
    assert run_ksums(folder, "fit", "weighted.npy", "-k", 3, "--weights", 2, "--model", "w", "-q")[0] == 0
    assert ksums.load(folder / "w").column_numbers_.tolist() == [0, 1, 3, 4, 5]
    assert run_ksums(folder, "predict", "w", "weighted.npy", "--labels", "p.npy")[0::2] == (0, "")
    np.save(folder / "narrow.npy", blobs[:, :1])
    assert (
        "narrow.npy has 1 columns; the model needs 2"
        in run_ksums(folder, "predict", "m", "narrow.npy", "--labels", "p.npy")[2]
    )
    np.save(folder / "only.npy", blobs[:, [4, 1]])
    code, _, errors = run_ksums(folder, "predict", "m", "only.npy", "--labels", "p.npy")
    note = "note: only.npy does not have the columns 4, 1 that the model was fitted to; all its columns are used.\n"
    assert (code, errors) == (0, note)
    np.testing.assert_array_equal(np.load(folder / "p.npy"), expected)
    assert run_ksums(folder, "fit", "rows.npy", "-k", 3, "--model", "m", "-q")[0] == 0
    code, _, errors = run_ksums(folder, "predict", "m", "narrow.npy", "--labels", "p.npy")
    assert (code, errors) == (2, "ksums: narrow.npy has 1 columns; the model needs 6.\n")


def test_size_limits_and_several_starts(folder):
    code, output, errors = run_ksums(
        folder, "fit", "rows.npy", "-k", 4, "--size-min", 70, "--size-max", 80, "--n-init", 2, "--json"
    )
    assert code == 0, errors
    assert 70 <= json.loads(output)["smallest"] <= json.loads(output)["largest"] <= 80


@pytest.fixture
def customers(tmp_path, rng):
    """A table with groups and known labels, both with gaps, as text and as parquet."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X = rng.normal(size=(90, 2))
    households = [f"h{i // 3}" if i < 45 else "" for i in range(90)]
    tiers = [("silver", "gold, old", "new")[i // 3 % 3] if i % 3 == 0 else "" for i in range(90)]
    lines = [f'{a!r},{h},{b!r},"{t}"' for (a, b), h, t in zip(X.tolist(), households, tiers, strict=True)]
    (tmp_path / "customers.csv").write_text("\n".join(["age,household,income,tier", *lines]) + "\n")
    texts = {"household": [h or None for h in households], "tier": pa.array(tiers).dictionary_encode()}
    parquet.write_table(pa.table({"age": X[:, 0], "income": X[:, 1], **texts}), tmp_path / "customers.parquet")
    plain = "".join(f"{a!r};{b!r}\n" for a, b in X.tolist())
    (tmp_path / "plain.csv").write_text(plain)
    np.save(tmp_path / "rows.npy", X)
    return tmp_path


CONSTRAINED = ["--link-column", "household", "--label-column", "tier", "--balanced"]
"""All options of ``fit`` for constraints on rows."""


def test_links_known_labels_and_equal_sizes(customers):
    command = ["fit", "customers.csv", "-k", 4, *CONSTRAINED, "--labels", "l.npy", "--model", "m"]
    code, output, errors = run_ksums(customers, *command)
    assert code == 0, errors
    assert errors.startswith("Fitting 4 clusters to 90 rows of 2 columns (age, income)\n")
    assert "\nclusters 0 … 2 are: gold, old, new, silver\n" in output
    labels = np.load(customers / "l.npy")
    for first in range(0, 45, 3):
        assert len(set(labels[first : first + 3])) == 1
    np.testing.assert_array_equal(labels[::3], np.tile([2, 0, 1], 10))
    assert sorted(np.bincount(labels)) == [22, 22, 23, 23]
    assert run_ksums(customers, "predict", "m", "customers.csv", "--labels", "p.npy")[0::2] == (0, "")
    text = (customers / "customers.csv").read_text()
    code, output, errors = run_ksums(customers, *command[:1], "-", *command[2:], "--json", stdin=text)
    assert (code, errors) == (0, "")
    assert json.loads(output)["label_values"] == ["gold, old", "new", "silver"]
    np.testing.assert_array_equal(np.load(customers / "l.npy"), labels)
    code, output, errors = run_ksums(customers, *command[:1], "customers.parquet", *command[2:])
    assert code == 0, errors
    assert "\nclusters 0 … 2 are: gold, old, new, silver\n" in output
    np.testing.assert_array_equal(np.load(customers / "l.npy"), labels)


def test_known_labels_that_are_numbers_are_sorted_as_numbers(folder):
    rows = [(0, 10, 1), (0, "", 1), (5, 9, 2), (5, "NA", 2), (9, 100, 3), (9, "", 3)]
    (folder / "n.csv").write_text("x;known;w\n" + "".join(f"{x},5;{known};{w}\n" for x, known, w in rows))
    command = ["fit", "n.csv", "-k", 3, "--label-column", 1, "--weights", "w", "--labels", "l.csv"]
    code, output, errors = run_ksums(folder, *command)
    assert code == 0, errors
    assert "6 rows of 1 column, 3 clusters of weight 2 to 6" in output
    assert "clusters 0 … 2 are: 9, 10, 100" in output
    assert (folder / "l.csv").read_text().split() == ["label", "1", "1", "0", "0", "2", "2"]
    (folder / "one.csv").write_text("x,known\n1,a\n2,\n8,\n9,\n")
    code, output, _ = run_ksums(folder, "fit", "one.csv", "-k", 2, "--label-column", "known")
    assert code == 0
    assert "cluster 0 is: a\n" in output
    (folder / "none.csv").write_text("x,known\n1,\n2,\n8,\n9,\n")
    code, output, _ = run_ksums(folder, "fit", "none.csv", "-k", 2, "--label-column", "known", "--json")
    assert (code, json.loads(output)["label_values"]) == (0, [])


@pytest.mark.parametrize(
    ("data", "arguments", "message"),
    [
        ("customers.csv", ["--balanced", "--size-min", 2], "--balanced and --size-min exclude each other"),
        ("customers.csv", ["--balanced", "--size-max", 50], "--balanced and --size-max exclude each other"),
        (
            "customers.csv",
            ["--label-column", "tier", "--columns", "age", "-k", 2],
            "--label-column: the column has 3 different values, too many for 2 clusters; use -k 3 or more",
        ),
        (
            "both.csv",
            ["--label-column", "a", "--link-column", "g"],
            "contradict each other: rows of the group 'u' have the labels 'x' and 'y'; correct one of them",
        ),
        ("customers.csv", ["--link-column", "house"], "customers.csv has no column 'house'; its columns are age,"),
        ("customers.csv", ["--link-column", "tier,age"], "--link-column: expected one column; got tier,age"),
        ("customers.csv", ["--label-column", ""], "--label-column: expected one column; got nothing"),
        ("customers.csv", ["--link-column", "tier", "--label-column", "tier"], "'tier' of customers.csv is requested"),
        ("customers.csv", ["--label-column", "age", "--columns", "age"], "'age' of customers.csv is requested twice"),
        ("customers.parquet", ["--label-column", "age", "--columns", "age"], "'age' of customers.parquet is requested"),
        (
            "customers.csv",
            [*CONSTRAINED, "--weights", 0],
            "--weights: with --link-column, --label-column or --id",
        ),
        (
            "customers.csv",
            ["--link-column", "household"],
            "column 'tier': 'silver' is not a number; choose",
        ),
        ("customers.parquet", ["--link-column", "household"], "columns must be numeric; tier (dictionary"),
        ("plain.csv", ["--link-column", "0"], "plain.csv has no column names, so there is no column 0"),
        ("rows.npy", ["--link-column", "0"], "rows.npy: the column 0 requires a table with column names"),
        ("only.csv", ["--link-column", "a", "--label-column", "b"], "only.csv has no columns of numbers"),
        ("lists.parquet", ["--link-column", "v"], "column 'v' (list<element: double>) cannot be read as text"),
        ("customers.*", ["--link-column", "household"], "--link-column is not offered for several files"),
        ("customers.csv", ["--label-column", "tier", "--max-memory", "1GB"], "--label-column is not offered for"),
        ("customers.csv", ["--balanced", "--dask", "tcp://a:1"], "nor with --max-memory or --dask"),
        ("customers.csv", ["--balanced", "--device", "cuda"], "--balanced is not offered with --device cuda; leave"),
        (
            "customers.csv",
            ["--link-column", "household", "--method", "k-means"],
            "--link-column is not an option of --method k-means; use --method ksums",
        ),
        ("customers.csv", ["--balanced", "--method", "bisecting k-sums-Im"], "--balanced is not an option of --method"),
    ],
)
def test_bad_use_of_constraints_writes_nothing(customers, data, arguments, message):
    import pyarrow
    from pyarrow import parquet

    (customers / "only.csv").write_text("a,b\nx,1\ny,2\n")
    (customers / "both.csv").write_text("a,g,b\nx,u,1\ny,v,2\n,u,3\ny,u,4\n")
    parquet.write_table(pyarrow.table({"a": [1.0, 2.0], "v": [[1.0], [2.0]]}), customers / "lists.parquet")
    before = sorted(customers.iterdir())
    code, output, errors = run_ksums(customers, "fit", data, "-k", 4, *arguments, "--labels", "l.npy")
    assert (code, output) == (2, "")
    assert message in errors
    assert len(errors.splitlines()) == 1
    assert sorted(customers.iterdir()) == before


def test_a_model_with_scaled_columns_keeps_the_scaling(folder, blobs):
    blobs[:, 0] *= 1e4
    np.savetxt(folder / "wide.csv", blobs, delimiter=",", header="a,b,c,d,e,f", comments="", fmt="%.17g")
    code, _, errors = run_ksums(
        folder, "fit", "wide.csv", "-k", 5, "--scale", "--model", "m", "--labels", "l.npy", "-q"
    )
    assert code == 0, errors
    pipeline = make_pipeline(StandardScaler(), ksums.KSums(5, random_state=0)).fit(blobs)
    np.testing.assert_array_equal(np.load(folder / "l.npy"), pipeline[-1].labels_)
    assert run_ksums(folder, "predict", "m", "wide.csv", "--labels", "p.npy", "-q")[0::2] == (0, "")
    np.testing.assert_array_equal(np.load(folder / "p.npy"), pipeline.predict(blobs))
    assert run_ksums(folder, "report", "m", "wide.csv", "--out", "page.html")[0::2] == (0, "")
    code, output, errors = run_ksums(folder, "choose-k", "wide.csv", "--scale", "--from", 4, "--to", 6, "--json")
    assert json.loads(output)["k"] == 5, errors
    code, output, errors = run_ksums(folder, "compare", "wide.csv", "-k", 5, "--scale", "--methods", "ksums", "--json")
    assert json.loads(output)[0]["E_m"] == pytest.approx(pipeline[-1].distortion_)


def test_cluto_names_are_on_the_page(folder):
    (folder / "a.mat").write_text("4 4 8\n1 2 2 1\n1 1 2 1\n3 1 4 2\n3 2 4 1\n")
    (folder / "a.mat.clabel").write_text("apple\npear\ncar\nbus\n")
    (folder / "a.mat.rlabel").write_text("first\nsecond\nthird\nfourth\n")
    code, _, errors = run_ksums(
        folder, "fit", "a.mat", "-k", 2, "--metric", "cosine", "--model", "m", "--report", "a.html"
    )
    assert code == 0, errors
    assert run_ksums(folder, "report", "m", "a.mat", "--out", "b.html")[0] == 0
    for page in ("a.html", "b.html"):
        text = (folder / page).read_text()
        assert all(word in text for word in ("apple", "bus", "first", "fourth"))


def test_warnings_are_notes_unless_silent(folder):
    np.save(folder / "copies.npy", np.repeat(np.arange(4.0), 5)[:, None])
    code, output, errors = run_ksums(folder, "fit", "copies.npy", "-k", 6)
    assert code == 0
    assert any(line.startswith("note: Number of distinct clusters (4)") for line in errors.splitlines())
    assert "note: Number of distinct" in run_ksums(folder, "compare", "copies.npy", "-k", 6, "--methods", "ksums")[2]
    for command in (["fit", "copies.npy", "-k", 6], ["choose-k", "copies.npy", "--from", 6, "--to", 6]):
        code, output, errors = run_ksums(folder, *command, "--json")
        assert (code, errors) == (0, "")
        assert any("distinct clusters" in message for message in json.loads(output)["warnings"])


def test_choose_k_of_a_few_rows(folder):
    np.save(folder / "few.npy", np.repeat([0.0, 9.0, 30.0], 5)[:, None] + np.arange(15.0)[:, None] / 100)
    code, output, errors = run_ksums(folder, "choose-k", "few.npy", "--json")
    assert code == 0, errors
    assert [score["k"] for score in json.loads(output)["scores"]] == list(range(2, 10))
    assert json.loads(output)["k"] == 3


def test_info_shows_versions_and_threads(folder):
    code, output, _ = run_ksums(folder, "info", "--json")
    assert code == 0
    assert json.loads(output)["ksums"] == ksums.__version__
    assert "threads" in run_ksums(folder, "info")[1]


BAD_COMMANDS = [
    (["fit", "nothing.npy", "-k", 5], "nothing.npy does not exist"),
    (["fit", ".", "-k", 5], "cut.npy is truncated"),
    (["fit", "cut.npy", "-k", 5], "cut.npy is truncated"),
    (["fit", "nan.npy", "-k", 5, "--missing", "error"], "nan.npy, row 17 (counted from 0), column 2 is missing; fill"),
    (
        ["fit", "words.csv", "-k", 1, "--metric", "cosine"],
        "words.csv, line 3, column 'b': 'high' is not a number",
    ),
    (
        ["fit", "nan.npy", "-k", 5, "--balanced"],
        "--balanced requires rows of numbers without missing cells: nan.npy, row 17 (counted from 0), column 2 is",
    ),
    (["fit", "rows.npy", "-k", 5, "--labels", "rows.npy"], "--labels: rows.npy is also the input"),
    (["fit", "rows.npy", "-k", 5, "--labels", "a.csv", "--history", "a.csv"], "a.csv is also the file of --labels"),
    (["fit", "rows.csv", "-k", 5, "--weights", "z"], "no column 'z'"),
    (["fit", "rows.csv", "-k", 5, "--weights", "a,b"], "--weights: expected one column; got a,b"),
    (["fit", "rows.csv", "-k", 5, "--model", "m.npz"], "--model: m.npz has the suffix of a data file"),
    (["fit", "rows.csv", "-k", 5, "--columns", "a", "--no-header"], "no column 'a'; its columns have no names"),
    (["fit", "-k", 5], "Missing argument 'data'"),
    (["fit", "rows.npy", "-k", "many"], "-k': Input should be a valid integer"),
    (["report", "nothing", "rows.npy"], "nothing does not exist"),
    (["report", "rows.npy", "rows.npy", "--names", "nope.txt"], "nope.txt does not exist"),
    (["fit", "rows.csv", "-k", 5, "--columns", "a,z"], "no column 'z'; its columns are a, b, c, d, e, f"),
    (["fit", "rows.npy", "-k", 500], "-k: rows.npy has 300 rows, too few for 500 clusters"),
    (["fit", "rows.csv", "-k", 5, "--columns", ""], "--columns: no column is given"),
    (["fit", "rows.csv", "-k", 5, "--columns", "a,a"], "column 'a' of rows.csv is requested twice"),
    (["predict", "rows.csv", "m", "--labels", "l.npy"], "rows.csv is not a ksums model; give the model first"),
    (["fit", "rows.npy", "-k", 0], "n_clusters"),
    (["fit", "rows.npy"], "-k"),
    (["fit", "rows.npy", "-k", 5, "--metric", "cosin"], "metric"),
    (
        ["fit", "rows.npy", "-k", 5, "--method", "kmeans"],
        "--method: unknown name 'kmeans'. Did you mean 'k-means'? The names are k-means",
    ),
    (
        ["fit", "rows.npy", "-k", 5, "--method", "k-means", "--effort", "high"],
        "--effort is not an option of --method k-means; use --method ksums",
    ),
    (["fit", "rows.npy", "-k", 5, "--effort", "much"], "effort"),
    (["fit", "rows.npy", "-k", 5, "--labels", "labels.txt"], "--labels: labels.txt must end in .npy, .csv, .parquet"),
    (["fit", "rows.npy", "-k", 5, "--model", "."], "--model: . is a folder"),
    (
        ["fit", "rows.npy", "-k", 5, "--model", "new/m"],
        "--model: new/m cannot be written: the folder new does not exist",
    ),
    (["predict", "rows.npy", "rows.npy", "--labels", "l.npy"], "give the model first, then the data"),
    (["predict", "nothing", "rows.npy", "--labels", "l.npy"], "nothing does not exist"),
    (["choose-k", "rows.npy", "--from", 9, "--to", 3], "--to must be at least --from, 9; got 3"),
    (["choose-k", "rows.npy", "--to", 400], "--to: 300 rows allow at most 209 clusters; got 400"),
    (["compare", "rows.npy", "-k", 5, "--methods", "k-means,kmedoids"], "--methods: unknown name 'kmedoids'. "),
    (["compare", "rows.npy", "-k", 5, "--plot", "a.txt"], "--plot: a.txt must end in .png, .svg, .pdf"),
    (["reproduce", "nothing"], "there is no experiment 'nothing'; there are steps, significance"),
    (["reproduce", "--data", "no/such/folder"], "--data: no/such/folder is not a folder"),
    (["reproduce", "--data", "."], "SIFT (learn) is not in ."),
    (["reproduce", "--only-page", "--out", "no/such/folder"], "there are no results in"),
    (["reproduce", "--quick", "--report", "."], "--report: . is a folder"),
    (["reproduce", "--runs", "0"], "--runs"),
    (["nonsense"], "nonsense"),
]
"""Each entry is a wrong command and what its error message must contain."""


@pytest.mark.parametrize(
    ("arguments", "message"), BAD_COMMANDS, ids=lambda value: None if isinstance(value, str) else str(value)
)
def test_bad_use_is_reported_in_one_line_and_writes_nothing(folder, arguments, message):
    before = sorted(folder.iterdir())
    code, output, errors = run_ksums(folder, *arguments)
    assert code == 2
    assert message in errors
    lines = [line for line in errors.splitlines() if not line.startswith("Fitting ")]
    assert len(lines) == (6 if arguments == ["reproduce", "--data", "."] else 1), errors
    assert output == ""
    assert sorted(folder.iterdir()) == before


def test_commands_work_in_a_separate_process(folder):
    text = (folder / "rows.csv").read_text()
    process = start_ksums("fit", "-", "-k", 5, "--labels", "l.npy", cwd=folder, stdin=subprocess.PIPE)
    output, errors = process.communicate(text, timeout=120)
    assert process.returncode == 0, errors
    assert "labels: l.npy" in output
    process = start_ksums("fit", "nan.npy", "-k", 5, "--missing", "error", cwd=folder)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "Traceback" not in errors
    assert errors.splitlines()[-1].startswith("ksums: ")


def test_an_error_in_a_table_does_not_abort_the_process(folder):
    """PyArrow reads ahead in another thread, which must not need Python when the program ends."""
    (folder / "words.csv").write_text("x,word\n" + "1,north\n" * 2000)
    for encoding in ("utf-8", "utf-16"):
        (folder / "words.csv").write_text("x,word\n" + "1,nörth\n" * 2000, encoding=encoding)
        for _ in range(3):
            process = start_ksums("fit", "words.csv", "-k", 5, "--metric", "cosine", cwd=folder)
            _, errors = process.communicate(timeout=120)
            assert process.returncode == 2, errors
            assert errors.count("\n") == 1


def test_arrays_with_gaps(folder):
    code, output, errors = run_ksums(
        folder, "fit", "nan.npy", "-k", 5, "--labels", "l.npy", "--model", "m.st", "--json"
    )
    assert code == 0, errors
    assert json.loads(output)["missing"] == {"2": 1}
    assert ksums.load(folder / "m.st").missing == "ignore"
    code, _, errors = run_ksums(folder, "predict", "m.st", "nan.npy", "--labels", "p.npy")
    assert code == 0, errors
    code, output, errors = run_ksums(
        folder, "fit", "nan.npy", "-k", 5, "--drop-missing", "--labels", "l.npy", "--model", "d.st"
    )
    assert code == 0, errors
    assert "1 row with missing cells is dropped; its label is -1" in errors
    labels = np.load(folder / "l.npy")
    assert np.flatnonzero(labels == -1).tolist() == [17]
    code, _, errors = run_ksums(folder, "predict", "d.st", "nan.npy", "--labels", "p.npy")
    assert code == 2
    assert "first row 17 (counted from 0); use --drop-missing to leave such rows out (their label is -1)" in errors
    code, _, errors = run_ksums(folder, "predict", "d.st", "nan.npy", "--labels", "p.npy", "--drop-missing")
    assert code == 0, errors
    np.testing.assert_array_equal(np.load(folder / "p.npy"), labels)
    code, output, errors = run_ksums(folder, "report", "d.st", "nan.npy", "--drop-missing")
    assert code == 0, errors
    code, output, errors = run_ksums(folder, "compare", "nan.npy", "-k", 5, "--runs", 1, "--methods", "k-means++")
    assert code == 0, errors
    assert "1 missing cell; filled in with the mean of the column" in errors


def test_missing_permission_is_reported_before_the_work(folder):
    """Root may write anywhere, so for root ``os.access`` is replaced by one that refuses."""
    (folder / "locked").mkdir(mode=0o500)
    with mock.patch("os.access", return_value=False) if os.geteuid() == 0 else contextlib.nullcontext():
        code, _, errors = run_ksums(folder, "fit", "rows.npy", "-k", 5, "--labels", "locked/l.npy")
    assert code == 2
    assert errors == "ksums: --labels: locked/l.npy cannot be written: no permission in locked.\n"


def test_a_closed_pipe_is_not_an_error(folder):
    command = f"{sys.executable} -m ksums fit rows.npy -k 5 | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}"
    finished = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=120)
    assert finished.returncode in (0, 1)  # It is 1 if the command was still writing.
    assert "Traceback" not in finished.stderr
    assert "Exception" not in finished.stderr


def test_ctrl_c_leaves_a_usable_model(folder, rng):
    np.save(folder / "many.npy", rng.random((60_000, 20)).astype(np.float32))
    process = start_ksums(
        "fit", "many.npy", "-k", 300, "--effort", 600, "--model", "m", "--labels", "l.npy", cwd=folder
    )
    lines = "".join(process.stderr.readline() for _ in range(3))  # The data, the plan, and the first pass.
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, lines + errors
    assert "interrupted" in errors
    assert ksums.load(folder / "m").cluster_centers_.shape == (300, 20)
    assert len(np.load(folder / "l.npy")) == 60_000


@pytest.mark.parametrize(
    "command",
    [
        ["compare", "many.npy", "-k", 300, "--methods", "k-means++,ksums", "--runs", 3, "--table", "t.csv"],
        ["choose-k", "many.npy", "--from", 2, "--to", 300, "--table", "t.csv"],
    ],
    ids=["compare", "choose-k"],
)
def test_ctrl_c_keeps_finished_results(folder, rng, command):
    """A fit that was cut short is not a result, so it is not in the table."""
    np.save(folder / "many.npy", rng.random((20_000, 10)).astype(np.float32))
    process = start_ksums(*command, cwd=folder)
    process.stdout.readline()  # This is the header.
    process.stdout.readline()  # This is the first method, or the first k.
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 130, output + errors
    finished = int(re.search(r"ksums: interrupted after (\d+) of", errors)[1])
    assert finished >= 1
    assert len((folder / "t.csv").read_text().splitlines()) == 1 + finished


def test_a_kill_while_writing_leaves_no_partial_file(folder):
    """The old file stays until the new one is complete."""
    (folder / "labels.csv").write_text("before")
    script = (
        "import time\n"
        "from pathlib import Path\n"
        "def slow():\n"
        "    for i in range(10**9):\n"
        "        yield i\n"
        "        if i == 100_000: print('half', flush=True); time.sleep(60)\n"
        "from ksums.cli.outputs import write_table\n"
        "write_table(Path('labels.csv'), {'label': slow()})\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "half\n"
    process.kill()
    process.communicate(timeout=60)
    assert (folder / "labels.csv").read_text() == "before"
    left = [path.name for path in folder.iterdir() if path.name.endswith(".part")]
    assert len(left) == 1  # It is hidden, so nobody takes it for a result.
    assert left[0].startswith(".labels.csv.")


def test_help_and_version():
    for arguments, expected in (
        (["--help"], "reproduce"),
        (["fit", "--help"], "ksums fit vectors.npy -k 100"),
        (["reproduce", "--help"], "--quick"),
        (["--version"], ksums.__version__),
    ):
        code, output, errors = run_ksums(".", *arguments)
        assert code == 0, errors
        assert expected in output
    _, output, errors = run_ksums(".")
    assert "Usage" in output + errors


def test_a_model_of_lists_finds_its_columns(folder, blobs):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"s": ["x"] * 300, "v": blobs.tolist()}), folder / "v.parquet")
    assert run_ksums(folder, "fit", "v.parquet", "-k", 5, "--columns", "v", "--model", "m", "-q")[0] == 0
    assert run_ksums(folder, "predict", "m", "v.parquet", "--labels", "p.npy")[0::2] == (0, "")
    assert run_ksums(folder, "report", "m", "v.parquet")[0::2] == (0, "")


# -------------------------------------------------------------------------------------------- several files
@pytest.fixture
def several(tmp_path, blobs):
    """The same rows in three files, as arrays and as tables with a column of lists."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    (tmp_path / "in").mkdir()
    for at, X in enumerate(np.array_split(blobs, 3)):
        np.save(tmp_path / "in" / f"{at}.npy", X)
        lists = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(X.ravel()), X.shape[1])
        parquet.write_table(pyarrow.table({"id": np.arange(len(X)), "emb": lists}), tmp_path / "in" / f"{at}.parquet")
    return tmp_path


def test_several_files_get_a_folder_of_labels(several, blobs):
    expected = ksums.KSums(5, random_state=0).fit(np.array_split(blobs, 3))
    names = ["--labels", "out", "--model", "model", "--checkpoint", "run.ckpt", "--max-memory", "1GB"]
    code, output, errors = run_ksums(several, "fit", "in/*.npy", "-k", 5, *names)
    assert code == 0, errors
    assert "300 rows of 6 columns in 3 files" in output
    found = [np.load(several / "out" / f"{at}.npy") for at in range(3)]
    np.testing.assert_array_equal(np.concatenate(found), expected.labels_)
    code, output, errors = run_ksums(
        several, "fit", "in/*.parquet", "-k", 5, "--columns", "emb", "--labels", "lists", "--json"
    )
    assert code == 0, errors
    assert json.loads(output)["files"] == 3
    found = [read_rows(several / "lists" / f"{at}.parquet").ravel() for at in range(3)]
    np.testing.assert_array_equal(np.concatenate(found), expected.labels_)
    code, output, errors = run_ksums(several, "predict", "model", "in/*.npy", "--labels", "predicted")
    assert code == 0, errors
    found = [np.load(several / "predicted" / f"{at}.npy") for at in range(3)]
    np.testing.assert_array_equal(np.concatenate(found), expected.predict(blobs))


def test_a_model_of_lists_finds_its_column_again(several, blobs):
    code, _, errors = run_ksums(several, "fit", "in/*.parquet", "-k", 5, "--columns", "emb", "--model", "model")
    assert code == 0, errors
    code, _, errors = run_ksums(several, "predict", "model", "in/*.parquet", "--labels", "predicted")
    assert code == 0, errors
    assert len(read_rows(several / "predicted" / "2.parquet")) == 100


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scale"], "--scale is not offered for several files"),
        (["--labels", "labels.npy"], "must be the name of a folder"),
        (["--labels", "in"], "in exists already; give the name of a new folder"),
        (["--labels", "no/out"], "the folder no does not exist"),
        (["--max-memory", "much"], "max_memory must be a number of bytes > 0, a size such as '2GB', or None"),
        (["--method", "k-means++"], "several files are for --method ksums"),
        (["--model", "in/0.npy"], "has the suffix of a data file"),
    ],
)
def test_bad_use_of_several_files_writes_nothing(several, arguments, message):
    before = sorted(several.rglob("*"))
    code, _, errors = run_ksums(several, "fit", "in/*.npy", "-k", 5, *arguments)
    assert code != 0
    assert message in errors
    assert len(errors.strip().splitlines()) == 1
    assert sorted(several.rglob("*")) == before
