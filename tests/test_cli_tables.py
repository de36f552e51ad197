"""Commands on tables with words, dates and gaps, as a new user types them."""

import csv
import json

import numpy as np
import pytest
from helpers import run_ksums

import ksums


@pytest.fixture
def survey(tmp_path):
    """A survey of 120 people, with quoted line breaks, gaps spelt in many ways, an id, a constant and free text."""
    rng = np.random.default_rng(1)
    gaps = ["", "NA", "n/a", "-", "null"]
    with (tmp_path / "survey.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["person", "age", "income", "region", "member", "joined", "comment", "wave", "empty"])
        for i in range(120):
            group = i % 3
            age = gaps[i % 5] if i % 13 == 0 else int(25 + 15 * group + rng.integers(-4, 5))
            income = gaps[i % 5] if i % 7 == 0 else round(20000 + 9000 * group + rng.normal(0, 2000), 2)
            region = ["north", "south", "west"][group if i % 10 else (group + 1) % 3]
            joined = f"20{20 + group}-0{1 + i % 9}-1{i % 10}"
            rows.writerow(
                [
                    f"P{i:03d}",
                    age,
                    income,
                    region,
                    "yes" if i % 4 else "no",
                    joined,
                    f'Answer {i},\nin "two" lines',
                    3,
                    "",
                ]
            )
    np.savetxt(tmp_path / "rows.csv", rng.normal(size=(40, 2)), delimiter=",", header="a,b", comments="")
    return tmp_path


def test_a_messy_table_is_clustered_and_described(survey):
    options = ["--id", "person", "--labels", "labels.csv", "--model", "model.safetensors", "--report", "page.html"]
    code, output, errors = run_ksums(survey, "fit", "survey.csv", "-k", 3, *options)
    assert code == 0, errors
    assert "numbers: age, income; categories: region, member; dates: joined" in errors
    assert "left out: comment (it looks like free text), wave (all of its cells are the same), empty (it is" in errors
    assert "missing cells: age 10, income 18; they are ignored (use --missing drop or --missing error" in errors
    assert "numbers are scaled to standard deviation 1, because cells are missing" in errors
    assert "120 rows of 5 columns, 3 clusters of 40 to 40 rows" in output
    assert "region north" in output
    with (survey / "labels.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["person", "label"]
    assert rows[7]["person"] == "P007"
    labels = np.array([int(row["label"]) for row in rows])
    assert all(len(set(labels[group::3])) == 1 for group in range(3))
    page = (survey / "page.html").read_text()
    assert "P007" in page
    model = ksums.load(survey / "model.safetensors")
    assert model.columns_["joined"] == "date"
    code, output, _ = run_ksums(
        survey, "predict", "model.safetensors", "survey.csv", "--id", "person", "--labels", "again.csv"
    )
    assert (code, output) == (0, "120 rows in 3 clusters; labels: again.csv\n")
    assert (survey / "again.csv").read_text() == (survey / "labels.csv").read_text()
    code, output, errors = run_ksums(survey, "report", "model.safetensors", "survey.csv", "--id", "person")
    assert code == 0, errors
    assert "3 clusters, 120 of 120 rows in the map: report.html" in output


def test_rows_with_gaps_are_dropped_or_an_error(survey):
    fit = ["fit", "survey.csv", "-k", 3, "--labels", "l.csv"]
    code, output, errors = run_ksums(survey, *fit, "--drop-missing", "--json")
    assert code == 0, errors
    facts = json.loads(output)
    labels = np.loadtxt(survey / "l.csv", skiprows=1, dtype=int)
    assert facts["n"] + facts["dropped"] == 120 == len(labels)
    assert (labels == -1).sum() == facts["dropped"] > 0
    assert facts["columns"]["region"] == "category"
    assert facts["left_out"]["wave"] == "left out: all of its cells are the same"
    code, _, errors = run_ksums(survey, *fit, "--missing", "error")
    assert code == 2
    assert errors == (
        "ksums: survey.csv, line 2, column 'age' is missing, like 9 other cells of the column; fill it in, or use "
        "--missing ignore or --missing drop.\n"
    )


def test_columns_are_taken_as_the_user_says(survey):
    options = ["--categorical", "wave,age", "--ignore", "member", "--numeric", "income", "--json"]
    code, output, errors = run_ksums(survey, "fit", "survey.csv", "-k", 3, *options)
    assert code == 0, errors
    facts = json.loads(output)
    assert (facts["columns"]["wave"], facts["columns"]["age"]) == ("category", "category")
    assert facts["left_out"]["member"] == "left out: you asked for it"


def test_chosen_columns_standard_input_and_weights(survey):
    chosen = ["-k", 3, "--columns", "income,region", "--weights", "wave", "--json"]
    code, output, errors = run_ksums(survey, "fit", "survey.csv", *chosen)
    assert code == 0, errors
    facts = json.loads(output)
    assert facts["columns"] == {"income": "number", "region": "category"}
    assert facts["largest"] + facts["smallest"] > 200  # sums of weights
    text = (survey / "survey.csv").read_text()
    code, again, errors = run_ksums(survey, "fit", "-", *chosen, stdin=text)
    assert code == 0, errors
    assert json.loads(again)["distortion"] == facts["distortion"]


def test_identifiers_in_tables_of_numbers_are_left_out(survey):
    (survey / "numbers.csv").write_text("user_id,a\n" + "".join(f"{7 * i % 101},{i % 5}\n" for i in range(60)))
    code, output, errors = run_ksums(survey, "fit", "numbers.csv", "-k", 2)
    assert code == 0, errors
    assert "left out: user_id (it looks like an identifier; list it in --numeric to use it)" in errors
    assert "60 rows of 1 column" in output
    code, output, _ = run_ksums(survey, "fit", "numbers.csv", "-k", 2, "--columns", "user_id,a")
    assert "60 rows of 2 columns" in output
    code, output, _ = run_ksums(survey, "fit", "numbers.csv", "-k", 2, "--numeric", "user_id")
    assert "60 rows of 2 columns" in output


def test_comparing_and_choosing_k_use_rows_of_numbers(survey):
    """Rows of weight 0 count for nothing: the result is that of the file without them."""
    with (survey / "survey.csv").open(newline="") as file:
        names, *rows = csv.reader(file)
    for name, weights in (("zeros.csv", [int(i % 5 > 0) for i in range(120)]), ("ones.csv", [1] * 120)):
        kept = rows if name == "zeros.csv" else [row for i, row in enumerate(rows) if i % 5 > 0]
        with (survey / name).open("w", newline="") as file:
            csv.writer(file).writerows([[*names, "w"], *([*row, w] for row, w in zip(kept, weights, strict=False))])
    found = {}
    for name in ("zeros.csv", "ones.csv"):
        code, output, errors = run_ksums(
            survey, "compare", name, "-k", 3, "--runs", 1, "--methods", "ksums", "--weights", "w", "--json"
        )
        assert code == 0, errors
        found[name] = json.loads(output)[0]["E_m"]
        code, output, errors = run_ksums(survey, "choose-k", name, "--to", 4, "--weights", "w", "--json")
        assert code == 0, errors
        assert json.loads(output)["k"] == 3
    assert found["zeros.csv"] == pytest.approx(found["ones.csv"])
    code, output, errors = run_ksums(survey, "compare", "survey.csv", "-k", 3, "--runs", 1, "--methods", "ksums")
    assert code == 0, errors
    assert json.loads(
        run_ksums(survey, "compare", "survey.csv", "-k", 3, "--runs", 1, "--methods", "ksums", "--json")[1]
    )[0]["E_m"] != pytest.approx(found["ones.csv"])
    assert "missing cells: age 10, income 18; they are filled in" in errors
    assert "the table is used as rows of numbers" in errors
    code, _, errors = run_ksums(survey, "choose-k", "survey.csv", "--to", 3, "--drop-missing")
    assert code == 0, errors
    assert "rows with missing cells are dropped\n" in errors  # there are no labels


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--missing", "skip"], "--missing must be one of ignore, drop, error; got 'skip'"),
        (["--drop-missing", "--missing", "error"], "--drop-missing and --missing error exclude each other"),
        (["--categorical", "regoin"], "survey.csv has no column 'regoin'; its columns are person, age, income, region"),
        (["--numeric", "age", "--ignore", "age"], "column 'age' is in both"),
        (["--categorical", "region", "--metric", "cosine"], "--categorical is not offered with --metric cosine, which"),
        (
            ["--method", "k-means++"],
            "--method k-means++ requires rows of numbers without missing cells: survey.csv, line 2, column 'person': "
            "'P000' is not a number; choose the numeric columns. Without --method k-means++, fit accepts any table.",
        ),
        (
            ["--balanced", "--columns", "age"],
            "--balanced requires rows of numbers without missing cells: survey.csv, line 2",
        ),
        (["--columns", "income,empty"], "column 'empty' cannot be used: it has no value"),
        (["--numeric", "region"], "column 'region': 'south' is not a number, and neither is any other cell"),
        (["--id", "person"], "--id: names of rows are written beside the labels; use --labels or --report"),
        (["--id", "person", "--labels", "l.npy"], "--id: names of rows cannot be written to l.npy"),
        (["--id", "nobody", "--labels", "l.csv"], "survey.csv has no column 'nobody'; its columns are person, age"),
        (["--weights", "region"], "survey.csv, line 2, column 'region': 'south' is not a number, and neither is any"),
        (["--weights", "age"], "--weights: survey.csv, line 2, column 'age' must be a number ≥ 0; it is missing."),
        (["--max-memory", "1GB", "--id", "person"], "--id is not offered for several files"),
    ],
)
def test_bad_use_is_refused_in_one_line_and_writes_nothing(survey, arguments, message):
    before = sorted(survey.iterdir())
    code, output, errors = run_ksums(survey, "fit", "survey.csv", "-k", 3, *arguments)
    assert (code, output) == (2, ""), errors
    assert message in errors
    assert errors.count("\n") == 1
    assert sorted(survey.iterdir()) == before


def test_options_for_columns_are_refused_for_arrays(survey):
    np.save(survey / "rows.npy", np.zeros((5, 2)))
    code, _, errors = run_ksums(survey, "fit", "rows.npy", "-k", 2, "--categorical", "0")
    assert code == 2
    assert "--categorical is for tables" in errors


def test_columns_by_number_are_those_of_the_file(survey):
    chosen = ["--columns", "1,3", "--id", 0, "--weights", 7, "--labels", "l.csv", "--json"]
    code, output, errors = run_ksums(survey, "fit", "survey.csv", "-k", 3, *chosen)
    assert code == 0, errors
    assert json.loads(output)["columns"] == {"age": "number", "region": "category"}
    assert (survey / "l.csv").read_text().splitlines()[1].startswith("P000,")


def test_ids_are_written_as_they_are(survey):
    rows = "".join(f"{i:05d},{i % 3},{'x' if i % 2 else ''}\n" for i in range(30))
    (survey / "zeros.csv").write_text("label,a,b\n" + rows)
    code, _, errors = run_ksums(
        survey, "fit", "zeros.csv", "-k", 2, "--id", "label", "--labels", "l.csv", "--model", "m.st"
    )
    assert code == 0, errors
    assert (survey / "l.csv").read_text().startswith("label,cluster\n00000,")
    code, _, errors = run_ksums(survey, "predict", "m.st", "zeros.csv", "--id", "label", "--labels", "again.csv")
    assert code == 0, errors
    assert (survey / "again.csv").read_text().startswith("label,cluster\n00000,")


def test_nothing_is_left_out_in_silence(survey):
    rows = "".join(f"{i % 7},3,{'unknown' if i == 4 else 100 + i % 11}\n" for i in range(40))
    (survey / "plain.csv").write_text("a,same,income\n" + rows)
    code, _, errors = run_ksums(survey, "fit", "plain.csv", "-k", 2)
    assert code == 0, errors
    assert "same (all of its cells are the same)" in errors
    assert "income (it holds numbers, and words such as 'unknown'" in errors
    code, _, errors = run_ksums(survey, "fit", "plain.csv", "-k", 2, "--numeric", "income")
    assert code == 0, errors
    assert "missing cells: income 1" in errors
    code, _, errors = run_ksums(survey, "fit", "plain.csv", "-k", 2, "--numeric", "income", "--drop-missing")
    assert code == 0, errors
    assert "1 row with missing cells is dropped; its label is -1" in errors
    code, _, errors = run_ksums(survey, "fit", "plain.csv", "-k", 2, "--ignore", "a,income")
    assert code == 2
    assert "no column can be used (a: you asked for it; same: all of its cells are the same" in errors


def test_vectors_in_a_column_of_lists(survey):
    import pyarrow
    from pyarrow import parquet

    X = np.random.default_rng(0).normal(size=(40, 3))
    table = pyarrow.table({"name": [f"v{i}" for i in range(40)], "v": X.tolist()})
    parquet.write_table(table.select(["v"]), survey / "bare.parquet")
    parquet.write_table(table, survey / "named.parquet")
    code, output, errors = run_ksums(survey, "fit", "bare.parquet", "-k", 3, "--json", "--model", "m.st")
    assert code == 0, errors
    for options in (["--id", "name", "--labels", "l.csv"], ["--ignore", "name"], []):
        code, again, errors = run_ksums(survey, "fit", "named.parquet", "-k", 3, "--json", *options)
        assert code == 0, errors
        assert json.loads(again)["distortion"] == pytest.approx(json.loads(output)["distortion"])


def test_files_without_names_remember_the_numbers_of_their_columns(survey):
    (survey / "bare.csv").write_text("".join(f"{i % 7},3.5,{i % 5 if i % 9 else ''}\n" for i in range(40)))
    code, _, errors = run_ksums(survey, "fit", "bare.csv", "-k", 2, "--missing", "drop", "--model", "m.st")
    assert code == 0, errors
    (survey / "full.csv").write_text("".join(f"{i % 7},3.5,{i % 5}\n" for i in range(40)))
    code, output, errors = run_ksums(survey, "predict", "m.st", "full.csv", "--labels", "l.npy")
    assert (code, output) == (0, "40 rows in 2 clusters; labels: l.npy\n"), errors


def test_left_out_columns_are_on_the_page_and_in_the_model(survey):
    code, output, errors = run_ksums(survey, "fit", "survey.csv", "-k", 3, "--model", "m.st", "--report", "page.html")
    assert code == 0, errors
    assert "left out: person, comment, wave, empty" in (survey / "page.html").read_text()
    assert ksums.load(survey / "m.st").columns_["comment"] == "left out: it looks like free text"
    (survey / "numbers.csv").write_text("user_id,a\n" + "".join(f"{7 * i % 101},{i % 5}\n" for i in range(60)))
    code, output, errors = run_ksums(
        survey, "fit", "numbers.csv", "-k", 2, "--json", "--model", "n.st", "--report", "page.html"
    )
    assert code == 0, errors
    assert json.loads(output)["left_out"] == {"user_id": "left out: it looks like an identifier"}
    assert "left out: user_id (it looks like an identifier)" in (survey / "page.html").read_text()
    code, _, errors = run_ksums(survey, "report", "n.st", "numbers.csv")
    assert code == 0, errors
    assert "left out: user_id (it looks like an identifier)" in (survey / "report.html").read_text()
