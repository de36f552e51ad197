"""Tables with columns of any type: what a cell becomes, whatever the file looks like, and where errors are."""

import datetime
import gzip
import io
import sys
import warnings

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

from ksums.io import read_frame, read_rows, read_table
from ksums.io.cells import Cells
from ksums.io.readers import read_with_texts


def frame_of(folder, content, name="a.csv", **options):
    """Write a file and read it."""
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_frame(folder / name, **options)


def types_of(frame):
    return dict(zip(frame.table.column_names, map(str, frame.table.schema.types), strict=True))


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["1", "-2", "007"], "int64", [1, -2, 7]),
        (["1", "2.5", "1e3"], "double", [1.0, 2.5, 1000.0]),
        (["1", "NA", "3"], "int64", [1, None, 3]),
        (["0.5", "-", "nan", "NULL", " n/a ", "?", "None", ""], "double", [0.5] + [None] * 7),
        (["1", "99999999999999999999"], "double", [1.0, 1e20]),
        (["true", "False", "", "TRUE"], "bool", [True, False, None, True]),
        (["yes", "no"], "string", ["yes", "no"]),
        (["true", "1", "FALSE"], "string", ["True", "1", "False"]),  # as in a column of booleans
        (["2024-03-01", "na"], "date32[day]", [datetime.date(2024, 3, 1), None]),
        (
            ["2024-03-01", "2024-03-01 10:00:00", "2024-03-01T10:30"],
            "timestamp[us]",
            [datetime.datetime(2024, 3, 1, hour, minute) for hour, minute in ((0, 0), (10, 0), (10, 30))],
        ),
        (
            ["2024-03-01T10:00:00Z", "2024-03-01 10:00:00+02:00"],
            "timestamp[us, tz=UTC]",
            [datetime.datetime(2024, 3, 1, hour, tzinfo=datetime.UTC) for hour in (10, 8)],
        ),
        (["2024-03-01", "2024-13-01"], "string", ["2024-03-01", "2024-13-01"]),
        (["0x1F", "12"], "string", ["0x1F", "12"]),
        (["1_000", "2"], "string", ["1_000", "2"]),
        (['"1,5,34"', "2"], "string", ["1,5,34", "2"]),
        (["#N/A", "2"], "int64", [None, 2]),
        ([" north ", "null", "- 5"], "string", ["north", None, "- 5"]),
        (["NA", "", "-"], "string", [None, None, None]),
    ],
)
def test_the_type_of_a_column_is_found(tmp_path, cells, kind, values):
    content = "id,x\n" + "".join(f"{at},{cell}\n" for at, cell in enumerate(cells))
    frame = frame_of(tmp_path, content)
    assert frame.named
    assert types_of(frame) == {"id": "int64", "x": kind}
    assert frame.table["x"].to_pylist() == values


@pytest.mark.parametrize(
    ("first", "later", "kind"),
    [
        ("1", "2.5", "double"),
        ("2.5", "1", "double"),
        ("1", "north", "string"),
        ("NA", "north", "string"),
        ("NA", "3", "int64"),
        ("north", "3", "string"),
        ("true", "maybe", "string"),
        ("2024-03-01", "2024-03-01 10:00", "timestamp[us]"),
        ("2024-03-01 10:00", "2024-03-01", "timestamp[us]"),
        ("2024-03-01", "5", "string"),
    ],
)
def test_types_are_those_of_the_whole_file(tmp_path, monkeypatch, first, later, kind):
    """A cell of another type can come blocks later; the cells before it must keep their text."""
    monkeypatch.setattr("ksums.io.cells._BLOCK", 200)
    monkeypatch.setattr("ksums.io.cells._BLOCK_PER_COLUMN", 1)
    frame = frame_of(tmp_path, "a,b\n" + f"0.5,{first}\n" * 100 + f"0.5,{later}\n" * 100)
    assert types_of(frame) == {"a": "double", "b": kind}
    assert frame.table.num_rows == 200
    assert frame.table["b"].null_count == (100 if first == "NA" else 0)
    if kind == "string" and first != "NA":
        assert frame.table["b"].to_pylist() == [first.replace("true", "True")] * 100 + [later] * 100


@pytest.mark.parametrize(
    ("content", "named", "columns"),
    [
        ("x,y\n1,2\n", True, {"x": [1], "y": [2]}),
        ("1,2\n3,4\n", False, {"0": [1, 3], "1": [2, 4]}),
        ('x,note\n1,"two\nlines"\n2,"a ""word"""\n', True, {"x": [1, 2], "note": ["two\nlines", 'a "word"']}),
        ('"x\n(cm)",y\r\n1,2\r\n', True, {"x\n(cm)": [1], "y": [2]}),
        ('x,note\n1,5" pipe\n2,6" pipe\n', True, {"x": [1, 2], "note": ['5" pipe', '6" pipe']}),
        ("x;y\n1,5;a,b\n2;c\n", True, {"x": [1.5, 2.0], "y": ["a,b", "c"]}),
        ("sep=;\nx;y\n1,5;2\n", True, {"x": [1.5], "y": [2]}),
        ("sep=^\nx^y\n1^2\n", True, {"x": [1], "y": [2]}),
        ('"sep=;"\r\nx;y\r\n1;2\r\n', True, {"x": [1], "y": [2]}),
        ("x|y\n1|a\n", True, {"x": [1], "y": ["a"]}),
        ("\ufeffx,y\n1,2\n", True, {"x": [1], "y": [2]}),
        ("x,y\r1,2\r3,4\r", True, {"x": [1, 3], "y": [2, 4]}),
        ("\n\nx,y\n\n1,2\n   \n3,4\n\n", True, {"x": [1, 3], "y": [2, 4]}),
        ("x;y\n1;2\n;\n;\n", True, {"x": [1], "y": [2]}),
        ("x,y,\n1,2,\n3,4,\n", True, {"x": [1, 3], "y": [2, 4]}),
        ("x,y,\n1,2,\n3,4,late\n", True, {"x": [1, 3], "y": [2, 4], "2": [None, "late"]}),
        ("x\n1\n2\n\n", True, {"x": [1, 2]}),
        ("x,,y\n1,a,2\n", True, {"x": [1], "1": ["a"], "y": [2]}),
    ],
)
def test_hostile_files(tmp_path, content, named, columns):
    frame = frame_of(tmp_path, content)
    assert frame.named == named
    assert frame.table.to_pydict() == columns


def test_encodings(tmp_path):
    text = "größe;ort\n1,5;Zürich\n"
    expected = {"größe": [1.5], "ort": ["Zürich"]}
    assert frame_of(tmp_path, text.encode("utf-8-sig")).table.to_pydict() == expected
    assert frame_of(tmp_path, text.encode("utf-16")).table.to_pydict() == expected
    with pytest.warns(UserWarning, match=r"a\.csv is not UTF-8; it was read as cp1252"):
        assert frame_of(tmp_path, text.encode("cp1252")).table.to_pydict() == expected


def test_gzip_and_tabs(tmp_path):
    content = b"x\ty\n1\ta,b\n2\tc;d\n" * 1
    assert frame_of(tmp_path, content, "a.tsv").table["y"].to_pylist() == ["a,b", "c;d"]
    packed = gzip.compress(content * 50)
    assert frame_of(tmp_path, gzip.compress(content), "a.tsv.gz").table["x"].to_pylist() == [1, 2]
    with pytest.raises(ValueError, match=r"a\.tsv\.gz is truncated, or not a text file"):
        frame_of(tmp_path, packed[:-9], "a.tsv.gz")


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("größe,n\n1,a\n".encode())))
    assert read_frame(None).table.to_pydict() == {"größe": [1], "n": ["a"]}
    monkeypatch.setattr(sys, "stdin", io.StringIO("a\n1\nx\n"))  # the column is read twice
    assert read_frame(None, header=True).table.to_pydict() == {"a": ["1", "x"]}
    monkeypatch.setattr(sys, "stdin", io.StringIO("a,b\n1\n"))
    with pytest.raises(ValueError, match="standard input: the header has 2 names, but the next line has 1 cells"):
        read_frame(None)


def test_columns_and_header(tmp_path):
    content = "id,x,y\na,1,2\nb,3,4\n"
    assert frame_of(tmp_path, content, columns=["y", 0]).table.to_pydict() == {"y": [2, 4], "id": ["a", "b"]}
    without = frame_of(tmp_path, content, header=False, columns=[1])
    assert (without.named, without.table.to_pydict()) == (False, {"1": ["x", "1", "3"]})
    with pytest.raises(ValueError, match="no column 'z'; its columns are id, x, y"):
        frame_of(tmp_path, content, columns=["z"])
    with pytest.warns(UserWarning, match="is read as column names"):
        assert frame_of(tmp_path, "2019,2020\n5,6\n").table.column_names == ["2019", "2020"]
    assert frame_of(tmp_path, "x,y\n1,\n2,\n,3\n", columns=["y"]).table.to_pydict() == {"y": [None, None, 3]}


def test_a_column_that_counts_the_rows_is_dropped(tmp_path):
    with pytest.warns(UserWarning, match="the first column has no name and only counts the rows; it is ignored"):
        assert frame_of(tmp_path, ",x\n0,a\n1,b\n").table.to_pydict() == {"x": ["a", "b"]}
    assert frame_of(tmp_path, ",x\n5,2\n1,3\n").table.to_pydict() == {"0": [5, 1], "x": [2, 3]}
    for asked in ({"kept": [0]}, {"numeric": [0]}):
        assert frame_of(tmp_path, ",x\n0,a\n1,b\n", **asked).table.to_pydict() == {"0": [0, 1], "x": ["a", "b"]}
    with pytest.warns(UserWarning, match="only counts the rows"):
        frame = frame_of(tmp_path, ",x,y\n0,a,c\n1,b,d\n")
    assert (frame.name_of(1), frame.name_of("y"), frame.name_of(2)) == ("x", "y", "y")  # numbers are those of the file


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"a\.csv is empty"),
        ("\n\n", r"a\.csv is empty"),
        ("x,y\n", "has a header, but no rows"),
        ("x,y\n1,2\n3\n", "line 3 has 1 cells; the lines before it have 2"),
        ('x,y\n1,"a\nb"\n\n3,4,5\n', "line 5 has 3 cells; the lines before it have 2"),
        ('x,y\n1,2\n3,"a\n5,6\n', "line 3: a quoted cell is not closed before the end of the file"),
        (b"1,\xff\x00", "not a text file with columns"),
    ],
)
def test_errors_state_the_line(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        frame_of(tmp_path, content)


def test_rows_without_a_value_are_kept(tmp_path):
    for blank in ("", "   ", "NA"):
        frame = frame_of(tmp_path, f'x,y\n1,"a\nb"\n{blank},{blank}\n3,c\n,\n,\n')
        assert frame.table.to_pydict() == {"x": [1, None, 3], "y": ["a\nb", None, "c"]}


def test_large_integers_before_a_decimal(tmp_path, monkeypatch):
    monkeypatch.setattr("ksums.io.cells._BLOCK", 400)
    monkeypatch.setattr("ksums.io.cells._BLOCK_PER_COLUMN", 1)
    frame = frame_of(tmp_path, "a,b\n" + "9007199254740993,1\n" * 100 + "0.5,1\n")
    assert types_of(frame)["a"] == "double"
    assert frame.table["a"].to_pylist()[-1] == 0.5


@pytest.mark.parametrize("separator", [",", ";"])
def test_errors_state_line_and_column_far_into_a_file(tmp_path, monkeypatch, separator):
    monkeypatch.setattr("ksums.io.cells._BLOCK", 500)
    monkeypatch.setattr("ksums.io.cells._BLOCK_PER_COLUMN", 1)
    rows = ['1,"2\n"\n', "3,4\n", "\n"] * 500
    (tmp_path / "a.csv").write_text("".join(["x,y\n", *rows, "5,north\n", *rows]).replace(",", separator))
    with pytest.raises(ValueError, match="line 2002, column 'y': 'north' is not a number; choose the numeric columns"):
        read_rows(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text("".join(["x,y\n", *rows, "5\n", *rows]).replace(",", separator))
    with pytest.raises(ValueError, match="line 2002 has 1 cells; the lines before it have 2"):
        read_rows(tmp_path / "a.csv")


def test_rows_longer_than_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr("ksums.io.cells._BLOCK", 100)
    monkeypatch.setattr("ksums.io.cells._BLOCK_PER_COLUMN", 1)
    long = "word " * 1000 + "end"
    content = "x,y\n" + "1,a\n" * 200 + f"2,{long}\n" + "3,b\n" * 200
    frame = frame_of(tmp_path, content)
    assert frame.table["x"].to_pylist() == [1] * 200 + [2] + [3] * 200
    assert frame.table["y"].to_pylist()[200] == long


def test_batches_cover_every_row_once(tmp_path, monkeypatch, rng):
    monkeypatch.setattr("ksums.io.cells._BLOCK", 3000)
    monkeypatch.setattr("ksums.io.cells._BLOCK_PER_COLUMN", 1)
    starts = []
    batches = Cells.batches

    def counted(self):
        for start, columns in batches(self):
            starts.append(start)
            yield start, columns

    monkeypatch.setattr(Cells, "batches", counted)
    for X in (rng.random((500, 3)), np.vstack([np.arange(900).reshape(300, 3), rng.random((300, 3))])):
        np.savetxt(tmp_path / "a.csv", X, delimiter=",", fmt="%.17g")
        found = read_rows(tmp_path / "a.csv")
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, X)
    assert len(starts) > 5


TYPED = {
    "n": pa.array([1, None, 3], pa.int16()),
    "x": pa.array([0.5, 1.5, float("nan")], pa.float32()),
    "word": pa.array(["NA", " b ", "5"]).dictionary_encode(),
    "ok": [True, None, False],
    "day": [datetime.date(2024, 3, 1)] * 3,
    "v": [[1.0, 2.0]] * 3,
}
STANDARD = {
    "n": [1, None, 3],
    "x": [0.5, 1.5, None],
    "word": [None, "b", "5"],
    "ok": [True, None, False],
    "day": [datetime.date(2024, 3, 1)] * 3,
    "v": [[1.0, 2.0]] * 3,
}
KINDS = ["int64", "double", "string", "bool", "date32[day]"]


def test_parquet_and_arrow(tmp_path):
    table = pa.table(TYPED)
    parquet.write_table(table, tmp_path / "a.parquet")
    feather.write_feather(table, tmp_path / "a.feather")
    with ipc.new_stream(tmp_path / "stream.arrow", table.schema) as writer:
        writer.write_table(table)
    for path in sorted(tmp_path.iterdir()):
        frame = read_frame(path)
        assert frame.table.to_pydict() == STANDARD, path.name
        assert list(types_of(frame).values())[:5] == KINDS
        assert read_frame(path, columns=["word", 0]).table.column_names == ["word", "n"]
        with pytest.raises(ValueError, match="no column 'z'"):
            read_frame(path, columns=["z"])
        path.write_bytes(path.read_bytes()[:40])
        with pytest.raises(ValueError, match=f"{path.name} is truncated, or not a"):
            read_frame(path)


def test_json_lines(tmp_path):
    text = '{"n": 1, "word": "a", "ok": true}\n\n{"n": 2.5, "word": "null"}\n{"n": null, "word": "c", "ok": false}\n'
    frame = frame_of(tmp_path, text, "a.jsonl")
    assert frame.table.to_pydict() == {"n": [1, 2.5, None], "word": ["a", None, "c"], "ok": [True, None, False]}
    assert types_of(frame) == {"n": "double", "word": "string", "ok": "bool"}
    day = frame_of(tmp_path, '{"day": "2024-03-01 10:00:00"}\n', "a.ndjson").table["day"].to_pylist()
    assert day == [datetime.datetime(2024, 3, 1, 10)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\n", r"a\.jsonl is empty"),
        ('{"n": 1}\n\n{"n": }\n', r"a\.jsonl, line 3, character 7: Expecting value"),
        ('{"n": 1}\n{"n": "x"}\n', r"a\.jsonl, line 2, column 'n': \"x\" is a text, but line 1 has a number"),
        ("[1, 2]\n", r"a\.jsonl, line 1: expected an object"),
    ],
)
def test_damaged_json_lines(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        frame_of(tmp_path, content, "a.jsonl")


def write_excel(path, rows, *more):
    """Write a sheet, and one for each further list of rows."""
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl writes the Excel files of the tests")
    pytest.importorskip("fastexcel", reason="reading Excel files requires fastexcel")
    book = openpyxl.Workbook()
    for sheet, own in zip([book.active, *(book.create_sheet() for _ in more)], [rows, *more], strict=True):
        for row in own:
            sheet.append(row)
    book.save(path)


def test_excel(tmp_path):
    pytest.importorskip("fastexcel", reason="reading Excel files requires fastexcel")
    when = datetime.datetime(2024, 3, 1, 10)
    rows = [["n", "word", "mixed", "when", "ok"], [1, "a", 5, when, True], [2.5, "NA", "-", None, False]]
    write_excel(tmp_path / "a.xlsx", rows)
    frame = read_frame(tmp_path / "a.xlsx")
    assert frame.named
    assert frame.table.to_pydict() == {
        "n": [1, 2.5],
        "word": ["a", None],
        "mixed": [5, None],
        "when": [when, None],
        "ok": [True, False],
    }
    assert read_frame(tmp_path / "a.xlsx", columns=["word", 0]).table.column_names == ["word", "n"]
    write_excel(tmp_path / "plain.xlsx", [[1, 2.5], [3, 4.5]])
    frame = read_frame(tmp_path / "plain.xlsx")
    assert (frame.named, frame.table.to_pydict()) == (False, {"0": [1, 3], "1": [2.5, 4.5]})
    assert read_table(tmp_path / "plain.xlsx").columns is None
    write_excel(tmp_path / "twice.xlsx", [["a", "a"], [1, 2]])
    with pytest.warns(UserWarning, match="several columns have the same name"):
        assert read_frame(tmp_path / "twice.xlsx").table.column_names == ["a", "a (2)"]
    write_excel(tmp_path / "header.xlsx", [["a", "b"]])
    with pytest.raises(ValueError, match="has a header, but no rows"):
        read_frame(tmp_path / "header.xlsx")
    write_excel(tmp_path / "empty.xlsx", [])
    with pytest.raises(ValueError, match="is empty"):
        read_frame(tmp_path / "empty.xlsx")
    (tmp_path / "bad.xlsx").write_text("a,b\n")
    with pytest.raises(ValueError, match=r"bad\.xlsx is truncated, or not an Excel file"):
        read_frame(tmp_path / "bad.xlsx")


def test_excel_sheets_as_people_make_them(tmp_path, capfd):
    data = [
        ["id", "x", None, "when", "paid"],
        [4711, 1, None, "05.10.2023", "1,5"],
        [],
        [4713, None, None, "-", "2,25"],
    ]
    write_excel(tmp_path / "a.xlsx", [[], [None], *data, [], [None, ""]], [["other"], [1]])
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        frame = read_frame(tmp_path / "a.xlsx", texts=["id"])
    notes = "\n".join(str(warning.message) for warning in raised)
    assert "the first sheet, 'Sheet', is read; the others are Sheet1." in notes
    assert "numbers are read with a decimal comma" in notes
    day = datetime.date(2023, 10, 5)
    assert frame.table.to_pydict() == {
        "id": ["4711", None, "4713"],
        "x": [1, None, None],
        "when": [day, None, None],
        "paid": [1.5, None, 2.25],
    }
    assert frame.places.cell(2, "paid") == f"{tmp_path / 'a.xlsx'}, row 6, column 'paid'"
    assert capfd.readouterr().err == ""  # fastexcel has remarks about columns without a value
    write_excel(tmp_path / "title.xlsx", [[], ["Survey 2023"], *data])
    with pytest.raises(ValueError, match=r"title\.xlsx, row 2 has a single cell, 'Survey 2023', above lines with 5"):
        read_frame(tmp_path / "title.xlsx")


def test_excel_without_its_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastexcel", None)
    (tmp_path / "a.xlsx").write_bytes(b"")
    with pytest.raises(ImportError, match=r"requires fastexcel: pip install 'ksums\[excel\]'"):
        read_frame(tmp_path / "a.xlsx")


def test_numbers_of_typed_files(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"x": 1, "y": 2, "home": "h1"}\n{"x": 3, "y": 4, "home": null}\n')
    feather.write_feather(pa.table({"x": [1, 3], "y": [2, 4], "home": ["h1", None]}), tmp_path / "a.feather")
    for name in ("a.jsonl", "a.feather"):
        table = read_table(tmp_path / name, ["y", "x"])
        assert (table.columns, table.X.tolist()) == (["y", "x"], [[2, 1], [4, 3]])
        assert read_table(tmp_path / name, if_named=["y"]).X.tolist() == [[2], [4]]
        table, texts = read_with_texts(tmp_path / name, None, ["home"])
        assert (table.columns, table.X.tolist(), texts) == (["x", "y"], [[1, 2], [3, 4]], [["h1", ""]])
        with pytest.raises(ValueError, match=r"columns must be numeric; home \(string\) is not"):
            read_table(tmp_path / name)


def test_text_of_typed_files_is_read_as_told(tmp_path):
    table = pa.table({"x": ["1234.5", "2", "soon"], "day": ["5.10.2023", "-", "6.10.2023"], "o": [{"a": 1}] * 3})
    parquet.write_table(table, tmp_path / "a.parquet")
    frame = read_frame(tmp_path / "a.parquet")
    assert frame.table["x"].to_pylist() == ["1234.5", "2", "soon"]
    assert frame.reasons == {"o": "its cells are objects"}
    with pytest.warns(UserWarning, match=r"column 'x': 1 cell is not a number .* first is 'soon' in row 2"):
        frame = read_frame(tmp_path / "a.parquet", numeric=["x"], dates=["day"])
    assert frame.table["x"].to_pylist() == [1234.5, 2, None]
    assert frame.table["day"].to_pylist() == [datetime.date(2023, 10, 5), None, datetime.date(2023, 10, 6)]
    parquet.write_table(
        pa.table({"n": [str(i / 7) for i in range(30)], "code": list("123") * 10}), tmp_path / "t.parquet"
    )
    assert list(read_frame(tmp_path / "t.parquet").reasons) == ["n"]


def test_other_suffixes_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.csv, .*\.xlsx; got '\.npy'"):
        frame_of(tmp_path, b"", "a.npy")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_frame(tmp_path / "b.csv")
