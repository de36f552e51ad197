"""Columns and cells of tables on the command line: by number, of the same name, bad ones, ids, and in new rows."""

import json

import pytest
from helpers import run_ksums

import ksums


def mixed_table(*, member=None, code=None, x=None, region=None, joined=None):
    """A table of 60 rows in three groups; the arguments replace single cells of row 5."""
    lines = ["x;region;member;joined;code"]
    for i in range(60):
        group = i % 3
        cells = [f"{10 * group + i % 4},{i % 10}", ["north", "south", "west"][group], ["true", "false"][group > 0]]
        cells += [f"{1 + i % 28:02d}.0{1 + 3 * group}.2023", f"0{group + 1}"]
        if i == 5:
            given = (x, region, member, joined, code)
            cells = [cell if own is None else own for cell, own in zip(cells, given, strict=True)]
        lines.append(";".join(cells))
    return "\n".join(lines) + "\n"


def test_new_rows_are_read_as_those_of_the_fit(tmp_path):
    """The type of a column, the decimal sign and the spelling of categories do not depend on other cells."""
    (tmp_path / "t.csv").write_text(mixed_table())
    options = ["--categorical", "code", "--model", "m.st", "--labels", "l.csv"]
    code, _, errors = run_ksums(tmp_path, "fit", "t.csv", "-k", 3, *options)
    assert code == 0, errors
    assert "numbers: x; categories: region, member, code; dates: joined" in errors
    model = ksums.load(tmp_path / "m.st")
    assert [sorted(words) for words in model._encoding.categories][1:] == [["False", "True"], ["01", "02", "03"]]
    expected = (tmp_path / "l.csv").read_text()
    notes = {
        "member": ("maybe", "column 'member': 1 cell has a category that the fit did not see; the first is 'maybe'"),
        "code": ("x3", "column 'code': 1 cell has a category that the fit did not see; the first is 'x3' in line 7"),
        "x": ("k.A.", "column 'x': 1 cell is not a number and counts as missing; the first is 'k.A.' in line 7"),
        "joined": (
            "soon",
            "column 'joined': 1 cell is not a date and counts as missing; the first is 'soon' in line 7",
        ),
    }
    for name, (cell, note) in notes.items():
        (tmp_path / "new.csv").write_text(mixed_table(**{name: cell}))
        code, output, errors = run_ksums(tmp_path, "predict", "m.st", "new.csv", "--labels", "p.csv", "--json")
        assert code == 0, errors
        (found,) = json.loads(output)["warnings"]
        assert note in found
        assert (tmp_path / "p.csv").read_text() == expected
    (tmp_path / "new.csv").write_text(mixed_table().replace("x;region", "y;region"))
    code, _, errors = run_ksums(tmp_path, "predict", "m.st", "new.csv", "--labels", "p.csv")
    assert code == 2
    assert (
        "no column 'x'; the model was fitted to x, joined, region, member, code. A column of missing values" in errors
    )
    (tmp_path / "new.csv").write_text(mixed_table().replace(".2023", ""))
    code, _, errors = run_ksums(tmp_path, "predict", "m.st", "new.csv", "--labels", "p.csv")
    assert code == 2


def test_models_of_dropped_rows_can_be_used(tmp_path):
    (tmp_path / "t.csv").write_text(mixed_table(x="", region="NA"))
    (tmp_path / "n.csv").write_text("a,b\n" + "".join(f"{i % 7},{'' if i == 5 else i % 4}\n" for i in range(40)))
    for name, how in (
        ("t.csv", "the model was fitted to 59 rows; the file has 60"),
        ("n.csv", "line 7, column 'b' is"),
    ):
        options = ["--drop-missing", "--model", "m.st", "--labels", "l.csv"]
        code, _, errors = run_ksums(tmp_path, "fit", name, "-k", 3, *options)
        assert code == 0, errors
        labels = (tmp_path / "l.csv").read_text()
        assert labels.splitlines()[6] == "-1"
        code, output, errors = run_ksums(
            tmp_path, "predict", "m.st", name, "--labels", "p.csv", "--missing", "drop", "--json"
        )
        assert code == 0, errors
        assert (json.loads(output)["dropped"], (tmp_path / "p.csv").read_text()) == (1, labels)
        code, _, errors = run_ksums(tmp_path, "predict", "m.st", name, "--labels", "p.csv", "--missing", "error")
        assert code == 2
        assert f"{name}, line 7, column" in errors
        code, _, errors = run_ksums(tmp_path, "report", "m.st", name)
        assert code == 2
        assert how in errors
        assert "--drop-missing" in errors
        code, output, errors = run_ksums(tmp_path, "report", "m.st", name, "--drop-missing")
        assert code == 0, errors


def test_numbers_of_columns_count_those_of_the_file(tmp_path):
    rows = "".join(f"{i},n{i},{i % 3 + 1},{i % 5},{'ab'[i % 2]}\n" for i in range(30))
    (tmp_path / "p.csv").write_text(",name,w,x,c\n" + rows)
    options = ["--id", 1, "--weights", 2, "--categorical", 3, "--ignore", 4, "--labels", "l.csv", "--json"]
    code, output, errors = run_ksums(tmp_path, "fit", "p.csv", "-k", 2, *options)
    assert code == 0, errors
    facts = json.loads(output)
    assert facts["columns"] == {"x": "category", "c": "left out: you asked for it"}
    assert facts["smallest"] + facts["largest"] == 60
    assert (tmp_path / "l.csv").read_text().startswith("name,label\nn0,")
    (tmp_path / "n.csv").write_text(",w,x,y\n" + "".join(f"{i},{i % 3 + 1},{i % 5},{i % 7}\n" for i in range(30)))
    code, output, errors = run_ksums(tmp_path, "fit", "n.csv", "-k", 2, "--weights", 1, "--json")
    assert code == 0, errors
    assert json.loads(output)["columns"] == ["x", "y"]


def test_columns_of_the_same_name(tmp_path):
    (tmp_path / "t.csv").write_text("a,a,c\n" + "".join(f"{i % 7},{i % 3},{'xy'[i % 2]}\n" for i in range(30)))
    for options, columns in (
        (["--columns", "0,2"], ["a", "c"]),
        (["--ignore", 1], ["a", "c"]),
        ([], ["a", "a (2)", "c"]),
    ):
        code, output, errors = run_ksums(tmp_path, "fit", "t.csv", "-k", 2, "--json", *options)
        assert code == 0, errors
        assert [name for name, kind in json.loads(output)["columns"].items() if "left" not in kind] == columns


def test_cells_that_are_lists_or_objects_are_left_out(tmp_path):
    lines = [{"x": i % 5, "tags": ["a"] * (i % 3), "o": {"a": i}, "c": "pq"[i % 2]} for i in range(30)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, output, errors = run_ksums(tmp_path, "fit", "t.jsonl", "-k", 2, "--json")
    assert code == 0, errors
    assert json.loads(output)["left_out"] == {
        "tags": "left out: its cells are lists",
        "o": "left out: its cells are objects",
    }


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("inf", "t.csv, line 5, column 'v' is infinite"),
        ("-1", "--weights: t.csv, line 5, column 'v' must be a number ≥ 0; got -1."),
    ],
)
def test_bad_cells_are_named_before_the_work(tmp_path, cell, message):
    options = ["--weights", "v"] if cell == "-1" else []
    for words in ("xy", "12"):
        rows = (f"{cell if i == 3 else i % 4},{i % 7},{words[i % 2]}\n" for i in range(40))
        (tmp_path / "t.csv").write_text("v,x,c\n" + "".join(rows))
        for command in (
            "fit t.csv -k 2",
            "compare t.csv -k 2",
            "choose-k t.csv",
            "fit t.csv -k 2 --n-init 2 --balanced",
        ):
            if words == "xy" and "--balanced" in command:
                continue
            code, output, errors = run_ksums(tmp_path, *command.split(), *options)
            assert (code, output, errors.count("\n")) == (2, "", 1), errors
            assert message in errors


def test_ids_of_excel_files_and_missing_ids(tmp_path):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl writes the Excel files of the tests")
    pytest.importorskip("fastexcel", reason="reading Excel files requires fastexcel")
    book = openpyxl.Workbook()
    book.create_sheet("other").append(["a"])
    for row in [
        [],
        ["pid", "x", "c"],
        *([None if i == 2 else 4006381333931 + i, i % 5, "ab"[i % 2]] for i in range(20)),
    ]:
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    code, _, errors = run_ksums(
        tmp_path, "fit", "t.xlsx", "-k", 2, "--id", "pid", "--labels", "l.csv", "--report", "page.html"
    )
    assert code == 0, errors
    assert "the first sheet, 'Sheet', is read; the others are other" in errors
    names = [line.split(",")[0] for line in (tmp_path / "l.csv").read_text().splitlines()]
    assert names[:5] == ["pid", "4006381333931", "4006381333932", "", "4006381333934"]
    page = (tmp_path / "page.html").read_text()
    assert "4006381333931" in page
    assert "4006381333931.0" not in page
    assert "None" not in page.split("</h1>")[1].split('id="data"')[1]
    import pyarrow
    from pyarrow import parquet

    ids = pyarrow.array(
        [4711.0, None, *range(4713, 4731)], pyarrow.float64()
    )  # as pandas stores whole numbers with gaps
    parquet.write_table(pyarrow.table({"pid": ids, "x": range(20), "c": list("ab") * 10}), tmp_path / "t.parquet")
    for name in ("l.csv", "l.parquet"):
        code, _, errors = run_ksums(tmp_path, "fit", "t.parquet", "-k", 2, "--id", "pid", "--labels", name)
        assert code == 0, errors
    assert (tmp_path / "l.csv").read_text().splitlines()[1][:5] == "4711,"
    assert parquet.read_table(tmp_path / "l.parquet")["pid"].to_pylist()[:3] == [4711, None, 4713]


def test_several_files_need_rows_of_numbers(tmp_path):
    for name, cell in (("a", "1"), ("b", "north")):
        (tmp_path / f"{name}.csv").write_text(f"x,y\n1,2\n3,{cell}\n5,6\n")
    code, _, errors = run_ksums(tmp_path, "fit", "*.csv", "-k", 2)
    assert code == 2
    assert "several files, --max-memory and --dask require rows of numbers without missing cells: " in errors
    assert "b.csv, line 3, column 'y': 'north' is not a number" in errors
    assert "For a single file that fits into memory, fit accepts any table." in errors
