"""Notations of numbers and dates: each is read right, refused, or left out with the reason, and never in silence."""

import datetime
import warnings

import pytest

from ksums.io import read_frame, read_rows


def frame_of(folder, content, name="a.csv", **options):
    """Write a file and read it; also returns its notes."""
    (folder / name).write_text(content)
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        frame = read_frame(folder / name, **options)
    return frame, [str(warning.message) for warning in raised]


@pytest.mark.parametrize(
    ("content", "columns", "note"),
    [
        ("u;q\n856;3,45\n1.203;7,12\n", {"u": [856, 1203], "q": [3.45, 7.12]}, "'1.203' is read as 1203"),
        ("u;q\n1.203,5;3,45\n2;7\n", {"u": [1203.5, 2], "q": [3.45, 7]}, "'1.203,5' is read as 1203.5"),
        ("u;q\n1.203.456;3\n2.000;7\n", {"u": [1203456, 2000], "q": [3, 7]}, "'1.203.456' is read as 1203456"),
        ("u;q\n856;0.41\n1,203;0.5\n", {"u": [856, 1203], "q": [0.41, 0.5]}, "'1,203' is read as 1203"),
        ("u;q\n0.41;5\n0.5;6\n", {"u": [0.41, 0.5], "q": [5, 6]}, None),
        ("u;q\n1,5;5\n-2;6\n", {"u": [1.5, -2], "q": [5, 6]}, None),
        ("u;q\n1,203;5\n4,567;6\n", {"u": [1.203, 4.567], "q": [5, 6]}, None),
        ("u;q\n856;5\n1.203;6\n", {"u": [856, 1203], "q": [5, 6]}, "'1.203' is read as 1203"),
        ('u,q\n"1,203",0.5\n7,1.125\n', {"u": [1203, 7], "q": [0.5, 1.125]}, "'1,203' is read as 1203"),
        ('u,q\n"1,203",3\n"4,567",4\n', {"u": [1203, 4567], "q": [3, 4]}, "'1,203' is read as 1203"),
        ('u,q\n"3,45",1.203\n"7,1",5\n', {"u": [3.45, 7.1], "q": [1203, 5]}, "'1.203' is read as 1203"),
        ("u\tq\n3,45\ta\n7,1\tb\n", {"u": [3.45, 7.1], "q": ["a", "b"]}, "are read with a decimal comma"),
        ("u\tq\n856\ta\n1,203\tb\n", {"u": [856, 1203], "q": ["a", "b"]}, "'1,203' is read as 1203"),
        ("u\tq\n1.203\ta\n5\tb\n", {"u": [1.203, 5], "q": ["a", "b"]}, None),
        ("p,m\n74 %,$12.50\n60%,$5\n", {"p": [74, 60], "m": [12.5, 5]}, "column 'p' is read without the sign '%'"),
        ("p;m\n-1,5 €;a\n1.200 €;b\n", {"p": [-1.5, 1200], "m": ["a", "b"]}, "is read without the sign '€'"),
        ("p;m\n1,5;$1.50\n2,5;$2.25\n", {"p": [1.5, 2.5], "m": ["$1.50", "$2.25"]}, None),
        ("v;x\n10.0.0.1;1,5\n10.0.0.2;2,5\n", {"v": ["10.0.0.1", "10.0.0.2"], "x": [1.5, 2.5]}, None),
    ],
)
def test_the_decimal_sign_is_that_of_the_file(tmp_path, content, columns, note):
    name = "a.tsv" if "\t" in content else "a.csv"
    frame, notes = frame_of(tmp_path, content, name)
    assert frame.table.to_pydict() == columns
    assert bool(notes) == (note is not None), notes
    assert note is None or any(note in line for line in notes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "u;q\n1.203;4,567\n203;1,234\n",
            r"line 2, column 'u': '1\.203' and '4,567' \(.*line 2, column 'q'\): one of",
        ),
        (
            "u;q\n3,45;1\n2,1;0.5\n",
            r"line 2, column 'u': '3,45' and '0\.5' \(.*line 3, column 'q'\) cannot have the same",
        ),
        ("u;q\n856;1\n1,203;2\n", r"line 3, column 'u': '1,203' may be 1\.203 or 1203, and nothing in the file says"),
        ("u;q\n2.856;1\n1.203;2\n", r"line 2, column 'u': '2\.856' may be 2\.856 or 2856, and nothing"),
        ("u\tq\n2,856\t1\n1,203\t2\n", r"line 2, column 'u': '2,856' may be 2\.856 or 2856, and nothing"),
    ],
)
def test_numbers_that_can_be_read_in_two_ways_are_refused(tmp_path, content, message):
    name = "a.tsv" if "\t" in content else "a.csv"
    (tmp_path / name).write_text(content)
    for read in (read_frame, read_rows):
        with pytest.raises(ValueError, match=message):
            read(tmp_path / name)
    other = "q" if "'q'" in message else "u"
    assert frame_of(tmp_path, content, name, texts=[other])[0].table.num_rows == 2  # the way out


@pytest.mark.parametrize(
    ("first", "later", "separator", "expected"),
    [
        ("1,5;2", "1.203;2", ";", 1203),
        ("7;2", "1.203,5;2", ";", 1203.5),
        ("1.5,2", '"1,203",2', ",", 1203),
        ("1,5;2", "0.5;2", ";", None),
        ("1.5,2", '"0,5",2', ",", None),
    ],
)
def test_later_blocks_have_a_say(tmp_path, monkeypatch, first, later, separator, expected):
    monkeypatch.setattr("ksums.io.cells._BLOCK", 300)
    monkeypatch.setattr("ksums.io.cells._BLOCK_PER_COLUMN", 1)
    content = f"x{separator}y\n" + f"{first}\n" * 200 + f"{later}\n"
    (tmp_path / "a.csv").write_text(content)
    if expected is None:
        for read in (read_frame, read_rows):
            with pytest.raises(ValueError, match=r"line 202, column 'x'\) cannot have the same decimal sign"):
                read(tmp_path / "a.csv")
        return
    frame, notes = frame_of(tmp_path, content)
    assert frame.table["x"].to_pylist()[-1] == expected
    assert any("line 202" in note for note in notes)
    with pytest.warns(UserWarning, match="line 202"):
        assert read_rows(tmp_path / "a.csv")[-1, 0] == expected


def test_words_among_decimal_commas(tmp_path):
    rows = "".join(f"{i % 9},{i % 7};{'k.A.' if i == 3 else f'{i},5'};c\n" for i in range(20))
    frame, _ = frame_of(tmp_path, "x;y;c\n" + rows)
    assert frame.reasons == {
        "y": "it holds numbers, and words such as 'k.A.' in line 5: list it in --numeric to take words as missing "
        "cells, or in --categorical"
    }
    assert frame.table["y"].to_pylist()[:2] == ["0,5", "1,5"]
    frame, notes = frame_of(tmp_path, "x;y;c\n" + rows, numeric=["y"])
    assert frame.table["y"].to_pylist() == [None if i == 3 else i + 0.5 for i in range(20)]
    words = "1 cell is not a number and counts as missing; the first is 'k.A.' in line 5."
    assert notes == [f"{tmp_path / 'a.csv'}, column 'y': {words}"]
    with pytest.raises(ValueError, match="line 2, column 'c': 'c' is not a number, and neither is any other cell"):
        read_frame(tmp_path / "a.csv", numeric=["c"])
    header_again = "x;y;c\n" + rows.replace("k.A.", "y")
    assert frame_of(tmp_path, header_again)[0].reasons == {
        "y": "it holds numbers, and its own name 'y' in line 5: delete that header line"
    }


def test_notations_that_are_not_read_are_named(tmp_path):
    content = "a,b,c,ages\n" + "".join(
        f"$1{i}.5,1 20{i},{i}:30,{i}0-{i}9\n5{i} €,2'00{i},1{i}:45,{i}0-{i}9\n" for i in range(9)
    )
    frame, _ = frame_of(tmp_path, content)
    assert frame.reasons["a"].startswith("its cells are numbers in different forms, or in one that is not read")
    assert frame.reasons["b"].startswith("its cells are numbers in different forms, or in one that is not read")
    assert frame.reasons["c"].startswith("dates and times such as '0:30' are not read")
    assert "ages" not in frame.reasons


DAY = datetime.date(2023, 10, 5)


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["05.10.2023", "5.10.2023", "-"], [DAY, DAY, None]),
        (["2023/10/05", "2023-10-5"], [DAY, DAY]),
        (["10/5/2023", "10/13/2023"], [DAY, datetime.date(2023, 10, 13)]),
        (["5/10/2023", "13/10/2023"], [DAY, datetime.date(2023, 10, 13)]),
        (["5.10.2023 9:30", "05.10.2023"], [datetime.datetime(2023, 10, 5, 9, 30), datetime.datetime(2023, 10, 5)]),
    ],
)
def test_dates_that_are_clear_are_read(tmp_path, cells, values):
    frame, notes = frame_of(tmp_path, "d,x\n" + "".join(f"{cell},a\n" for cell in cells))
    assert (frame.table["d"].to_pylist(), notes) == (values, [])


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (
            ["3/7/2023", "4/8/2023"],
            "in dates such as '3/7/2023' the day may be first or second; write",
        ),
        (["13/7/2023", "4/18/2023"], "in '13/7/2023' the day is first, in '4/18/2023' it is second"),
        (["10:30", "11:45"], "dates and times such as '10:30' are not read; write them as 2024-03-01"),
        (["3.7.23", "4.8.23"], "dates and times such as '3.7.23' are not read"),
        (["March 3, 2023", "May 4, 2023"], "dates and times such as 'March 3, 2023' are not read"),
        (
            [*(f"2023-01-{day:02d}" for day in range(1, 20)), "soon"],
            "dates, and words such as 'soon' in line 21",
        ),
        ([*(f"{day:02d}.01.2023" for day in range(1, 20)), "32.01.2023"], "words such as '32.01.2023' in line 21"),
    ],
)
def test_dates_that_are_not_clear_are_left_out_with_the_reason(tmp_path, cells, reason):
    content = "d,x\n" + "".join(f'"{cell}",a\n' for cell in cells)
    frame, _ = frame_of(tmp_path, content)
    assert reason in frame.reasons["d"]
    assert frame.table["d"].to_pylist() == cells
    if "soon" in cells:
        frame, notes = frame_of(tmp_path, content, numeric=["d"])
        assert frame.table["d"].to_pylist()[-2:] == [datetime.date(2023, 1, 19), None]
        assert "1 cell is not a date and counts as missing; the first is 'soon' in line 21." in notes[0]


def test_a_few_dates_among_words_are_words(tmp_path):
    frame, _ = frame_of(tmp_path, "d,x\n3/7/2023,a\nnorth,b\nsouth,c\n10:30,a\n")
    assert (frame.reasons, frame.table["d"].to_pylist()) == ({}, ["3/7/2023", "north", "south", "10:30"])


def test_dates_are_expected_where_a_model_has_them(tmp_path):
    frame, _ = frame_of(tmp_path, "d,x\n5.10.2023,1\nsoon,2\nlater,3\n", dates=["d"])
    assert frame.table["d"].to_pylist() == [DAY, None, None]
    for cells in ("20231005\n20231006", "soon\nlater"):
        with pytest.raises(
            ValueError, match=r"line 2, column 'd': (expected a date such as 2024-03-01; got|'soon' is not)"
        ):
            frame_of(tmp_path, f"d\n{cells}\n", dates=["d"], header=True)


def test_categories_keep_their_spelling(tmp_path):
    for last in ("02", "x3"):
        frame, _ = frame_of(tmp_path, f"code,b\n01,true\n{last},FALSE\nNA,maybe\n", words=["code", "b"])
        assert frame.table.to_pydict() == {"code": ["01", last, None], "b": ["True", "False", "maybe"]}
