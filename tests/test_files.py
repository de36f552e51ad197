"""Readers of all file formats, and files that are written completely or not at all."""

import numpy as np
import pytest
from scipy import sparse

from ksums.io import atomic_write, read_arrays, read_lines, read_rows, read_table, read_vecs, write_vecs


@pytest.mark.parametrize(("suffix", "dtype"), [(".fvecs", np.float32), (".bvecs", np.uint8), (".ivecs", np.int32)])
def test_vecs_round_trip(tmp_path, rng, suffix, dtype):
    X = rng.integers(0, 200, (7, 5)).astype(dtype)
    write_vecs(tmp_path / f"a{suffix}", X)
    back = read_vecs(tmp_path / f"a{suffix}")
    assert back.dtype == dtype
    assert back.flags.c_contiguous
    np.testing.assert_array_equal(back, X)


def test_fvecs_have_the_texmex_layout(tmp_path):
    (tmp_path / "a.fvecs").write_bytes(np.int32(2).tobytes() + np.array([1.5, -2], "<f4").tobytes())
    assert read_vecs(tmp_path / "a.fvecs").tolist() == [[1.5, -2.0]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty or truncated: it has 0 bytes"),
        (b"\x02\x00", "is empty or truncated: it has 2 bytes"),
        (b"\x00\x00\x00\x00", "0 dimensions"),
        (b"\xff\xff\xff\xff", "-1 dimensions"),
        (b"\x02\x00\x00\x00" + bytes(7), "11 bytes is not a multiple of 12, the size of a vector with 2 dimensions"),
        (
            b"\x01\x00\x00\x00" + bytes(4) + b"\x03\x00\x00\x00" + bytes(4),
            "vector 1 states 3 dimensions, the first one states 1",
        ),
    ],
)
def test_damaged_vecs_are_refused(tmp_path, content, message):
    (tmp_path / "a.fvecs").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_vecs(tmp_path / "a.fvecs")


def test_vecs_with_another_suffix_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"must end in \.fvecs, \.bvecs, \.ivecs; got '\.dat'"):
        read_vecs(tmp_path / "a.dat")
    with pytest.raises(ValueError, match="got no suffix"):
        read_vecs(tmp_path / "a")


def test_every_format_gives_the_same_rows(tmp_path, rng):
    X = rng.integers(0, 9, (6, 4)).astype(np.float32)
    np.save(tmp_path / "a.npy", X)
    np.savez(tmp_path / "a.npz", X=X, y=np.arange(6))
    np.savez(tmp_path / "alone.npz", X)
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(X))
    sparse.save_npz(tmp_path / "coo.npz", sparse.coo_array(X))
    np.savetxt(tmp_path / "a.csv", X, delimiter=",")
    np.savetxt(tmp_path / "named.csv", X, delimiter=",", header="one,two,three,four", comments="")
    np.savetxt(tmp_path / "a.tsv.gz", X, delimiter="\t")
    write_vecs(tmp_path / "a.fvecs", X)
    (tmp_path / "a.mat").write_text("6 4\n" + "\n".join(" ".join(map(str, row)) for row in X.tolist()) + "\n")
    for path in sorted(tmp_path.iterdir()):
        rows = read_rows(path)
        dense = rows.toarray() if sparse.issparse(rows) else rows
        np.testing.assert_array_equal(dense, X, err_msg=path.name)
    assert isinstance(read_rows(tmp_path / "a.npy"), np.memmap)
    np.testing.assert_array_equal(read_rows(tmp_path / "a.csv", columns=[1, 3]), X[:, [1, 3]])


def test_columns_by_name_and_number(tmp_path):
    (tmp_path / "a.csv").write_text('id,"the width",height\nx,1,2\ny,3,4\n')
    assert read_rows(tmp_path / "a.csv", ["height", "the width"]).tolist() == [[2, 1], [4, 3]]
    assert read_rows(tmp_path / "a.csv", [2]).tolist() == [[2], [4]]
    with pytest.raises(
        ValueError, match=r"no column 'depth'; its columns are id, the width, height \(numbers 0 to 2\)"
    ):
        read_rows(tmp_path / "a.csv", ["depth"])
    np.save(tmp_path / "a.npy", np.arange(6.0).reshape(2, 3))
    assert read_rows(tmp_path / "a.npy", [2, 0]).tolist() == [[2, 0], [5, 3]]
    for wrong in (3, "a"):
        with pytest.raises(
            ValueError, match=f"no column {wrong!r}; its columns have no names: use numbers from 0 to 2"
        ):
            read_rows(tmp_path / "a.npy", [wrong])


def test_parquet(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"a": [1, 2], "b": [0.5, 1.5], "word": ["x", "y"]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert read_rows(tmp_path / "a.parquet", ["b", "a"]).tolist() == [[0.5, 1], [1.5, 2]]
    with pytest.raises(ValueError, match=r"columns must be numeric; word \(string\) is not"):
        read_rows(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="no column 'c'; its columns are a, b, word"):
        read_rows(tmp_path / "a.parquet", ["c"])
    complete = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(complete[: len(complete) // 2])
    with pytest.raises(ValueError, match="truncated, or not a parquet file"):
        read_rows(tmp_path / "a.parquet")


def test_svmlight(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:0.5 3:2\n-1 2:1\n")
    assert read_rows(tmp_path / "a.svm").toarray().tolist() == [[0.5, 0, 2], [0, 1, 0]]
    (tmp_path / "a.svm").write_text("nonsense here\n")
    with pytest.raises(ValueError, match="cannot be read as an svmlight file"):
        read_rows(tmp_path / "a.svm")


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        ("a,b\n1,2\n3,4\n", ["a", "b"], [[1, 2], [3, 4]]),
        ("1,2\n3,4\n", None, [[1, 2], [3, 4]]),
        ("\ufeff1,2\n3,4\n", None, [[1, 2], [3, 4]]),
        ("\ufeffa,b\r\n1,2\r\n", ["a", "b"], [[1, 2]]),
        ("id,2019\n1,2\n", ["id", "2019"], [[1, 2]]),
        ("a;b\n1;2\n", ["a", "b"], [[1, 2]]),
        ('"a,b";c\n1;2\n', ["a,b", "c"], [[1, 2]]),
        ("1\t2\n3\t4\n", None, [[1, 2], [3, 4]]),
        ("1|2\n", None, [[1, 2]]),
        ('a,b\n"1","2"\n\n3,4\n\n', ["a", "b"], [[1, 2], [3, 4]]),
        ("a\n1\n2\n\n", ["a"], [[1], [2]]),
        ("a,b\n\n1,2\n", ["a", "b"], [[1, 2]]),
        ("a , b\n 1 , 2 \n", ["a", "b"], [[1, 2]]),
        ("a;b\n1,5;2\n", ["a", "b"], [[1.5, 2]]),
        ("30,5;2\n1,25;3\n", None, [[30.5, 2], [1.25, 3]]),
        ("0,1,2\n5,6,7\n", None, [[0, 1, 2], [5, 6, 7]]),
        ("2019,2020\n2020,2021\n", None, [[2019, 2020], [2020, 2021]]),
        ("5,6\n7,8\n", None, [[5, 6], [7, 8]]),
        ("sep=;\na;b\n1;2\n", ["a", "b"], [[1, 2]]),
        ("1,5;2,5\n3,5;4,5\n", None, [[1.5, 2.5], [3.5, 4.5]]),
        ("1;2,5\n3;4\n", None, [[1, 2.5], [3, 4]]),
        ("1,x,\n1,2,\n3,4,\n", ["1", "x"], [[1, 2], [3, 4]]),
        ("a,b,\n1,2,\n3,4,\n", ["a", "b"], [[1, 2], [3, 4]]),
        ("a;b\n1;2\n;\n;\n", ["a", "b"], [[1, 2]]),
    ],
)
def test_separators_and_names_are_found(tmp_path, text, names, rows):
    (tmp_path / "a.csv").write_text(text, newline="")
    table = read_table(tmp_path / "a.csv")
    assert table.columns == names
    assert table.X.tolist() == rows


def test_a_column_of_words_is_not_a_header(tmp_path):
    """Otherwise the first row would be lost, and all labels would be shifted."""
    (tmp_path / "a.csv").write_text("u1,1,2\nu2,3,4\n")
    assert read_rows(tmp_path / "a.csv", [1, 2]).tolist() == [[1, 2], [3, 4]]
    assert read_rows(tmp_path / "a.csv", [1, 2], header=True).tolist() == [[3, 4]]
    (tmp_path / "years.csv").write_text("19,20\n1,2\n")
    assert read_rows(tmp_path / "years.csv").tolist() == [[19, 20], [1, 2]]
    assert read_rows(tmp_path / "years.csv", ["20"], header=True).tolist() == [[2]]
    assert read_rows(tmp_path / "years.csv", [20], header=True).tolist() == [[2]]
    (tmp_path / "gap.csv").write_text("NA,2\n3,4\n")
    with pytest.raises(ValueError, match="line 1, column 0 has the value 'NA': fill it in, or delete the row"):
        read_rows(tmp_path / "gap.csv")


def test_columns_of_the_same_name_are_told_apart(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,a,a (2),a\n1,2,3,4,5\n")
    with pytest.warns(UserWarning, match=r"several columns have the same name; they are called a \(3\), a \(4\)"):
        assert read_table(tmp_path / "a.csv").columns == ["a", "b", "a (3)", "a (2)", "a (4)"]
    with pytest.warns(UserWarning, match="the same name"):
        assert read_rows(tmp_path / "a.csv", ["a", 2]).tolist() == [[1, 3]]


def test_columns_to_read_if_the_file_has_names(tmp_path):
    (tmp_path / "a.csv").write_text("word,b,a\nx,1,2\n")
    table = read_table(tmp_path / "a.csv", if_named=["a", "b"])
    assert (table.X.tolist(), table.columns) == ([[2, 1]], ["a", "b"])
    (tmp_path / "plain.csv").write_text("1,2\n")
    assert read_table(tmp_path / "plain.csv", if_named=["a", "b"]).X.tolist() == [[1, 2]]


def test_windows_encodings(tmp_path):
    (tmp_path / "w.csv").write_bytes("größe;b\n1;2\n".encode("cp1252"))
    with pytest.warns(UserWarning, match="is not UTF-8; it was read as cp1252"):
        assert read_table(tmp_path / "w.csv").columns == ["größe", "b"]
    (tmp_path / "u.csv").write_bytes("größe\tb\n1\t2\n".encode("utf-16"))
    assert read_table(tmp_path / "u.csv").columns == ["größe", "b"]


def test_the_pandas_index_is_not_a_feature(tmp_path):
    (tmp_path / "a.csv").write_text(",a\n0,5\n1,6\n2,7\n")
    with pytest.warns(UserWarning, match="the first column has no name and only counts the rows; it is ignored"):
        assert read_rows(tmp_path / "a.csv").tolist() == [[5], [6], [7]]
    (tmp_path / "a.csv").write_text('"","a",\n"1",5,\n"2",6,\n')
    with pytest.warns(UserWarning, match="the first column has no name and only counts the rows; it is ignored"):
        assert read_rows(tmp_path / "a.csv").tolist() == [[5], [6]]
    (tmp_path / "a.csv").write_text(",a\n3,5\n1,6\n2,7\n")
    assert read_rows(tmp_path / "a.csv").shape == (3, 2)
    with pytest.raises(ValueError, match=r"column 'a' of .* is requested twice"):
        read_rows(tmp_path / "a.csv", ["a", 1])


@pytest.mark.parametrize("text", ["2019,2020\n5,6\n", "0,1,2\n5.5,6,7\n"])
def test_numbers_as_names_are_reported(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    with pytest.warns(UserWarning, match="is read as column names; if it is a row, use header=False"):
        assert len(read_rows(tmp_path / "a.csv")) == 1
    assert len(read_rows(tmp_path / "a.csv", header=False)) == 2


def test_wide_rows_and_long_cells(tmp_path):
    (tmp_path / "a.csv").write_text("\n".join(",".join(["0.25"] * 60_000) for _ in range(2)))
    assert read_rows(tmp_path / "a.csv").shape == (2, 60_000)
    (tmp_path / "a.csv").write_text(f'a,b\n1,"{"x" * 200_000}"\n')
    assert read_rows(tmp_path / "a.csv", ["a"]).tolist() == [[1]]


def test_quoted_cells_may_have_line_breaks(tmp_path):
    (tmp_path / "a.csv").write_text('a,"b\n(cm)"\n1,"x\ny"\n\n2,"z"\n3,\n')
    assert read_rows(tmp_path / "a.csv", ["a"]).tolist() == [[1], [2], [3]]
    with pytest.raises(ValueError, match=r"line 3, column 'b\\n\(cm\)': 'x\\ny' is not a number"):
        read_rows(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text('a,b\n"1","2\n"\n\n2,3\n3,north\n')
    with pytest.raises(ValueError, match="line 6, column 'b': 'north' is not a number"):
        read_rows(tmp_path / "a.csv")


def test_no_digits_are_lost(tmp_path):
    X = np.array([[1_700_000_000 + i, 16_777_216 + i] for i in range(4)])
    np.savetxt(tmp_path / "a.csv", X, delimiter=",", fmt="%d")
    np.testing.assert_array_equal(read_rows(tmp_path / "a.csv"), X)
    assert read_rows(tmp_path / "a.csv").dtype == np.float64
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"a": X[:, 0], "b": X[:, 1].astype(np.int32)}), tmp_path / "a.parquet")
    np.testing.assert_array_equal(read_rows(tmp_path / "a.parquet"), X)
    (tmp_path / "small.csv").write_text("1,2.5\n")
    assert read_rows(tmp_path / "small.csv").dtype == np.float32


def test_parquet_with_a_pandas_index_and_with_lists(tmp_path):
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    from pyarrow import parquet

    pd.DataFrame({"a": [1, 2], "b": [3, 4]}, index=[70, 80]).to_parquet(tmp_path / "i.parquet")
    assert read_table(tmp_path / "i.parquet").columns == ["a", "b"]
    vectors = np.arange(6, dtype=np.float32).reshape(2, 3)
    for kind in (pa.list_(pa.float32(), 3), pa.list_(pa.float32())):
        parquet.write_table(pa.table({"v": pa.array(vectors.tolist(), kind)}), tmp_path / "v.parquet")
        table = read_table(tmp_path / "v.parquet")
        np.testing.assert_array_equal(table.X, vectors)
        assert table.columns == ["v[0]", "v[1]", "v[2]"]
    parquet.write_table(pa.table({"v": [[1.0], [1.0, 2.0]]}), tmp_path / "v.parquet")
    with pytest.raises(ValueError, match="the lists in column 'v' must all have the same length"):
        read_rows(tmp_path / "v.parquet")
    parquet.write_table(pa.table([[1, 2], [3, 4]], names=["a", "a"]), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="2 columns called 'a'"):
        read_rows(tmp_path / "t.parquet")


def test_cluto_names_are_read(tmp_path):
    (tmp_path / "a.mat").write_text("2 3 3\n1 2 3 1\n2 4\n")
    (tmp_path / "a.mat.clabel").write_text("apple\npear\nplum\n")
    (tmp_path / "a.mat.rlabel").write_text("one\ntwo\n")
    table = read_table(tmp_path / "a.mat", ["plum", 0])
    assert (table.columns, table.rows) == (["plum", "apple"], ["one", "two"])
    assert table.X.toarray().tolist() == [[1, 2], [0, 0]]


def test_lines_end_at_line_feeds_only(tmp_path):
    (tmp_path / "a.txt").write_text("\ufeffone\u2028more\r\n\x0btwo\n\nlast", newline="")
    assert read_lines(tmp_path / "a.txt") == ["one\u2028more", "\x0btwo", "", "last"]
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_lines(tmp_path / "b.txt")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"a,b\n1,10,20\n", "the header has 2 names, but the next line has 3 cells"),
        ("a.csv", b"1\n\n3\n", "line 2, column 0 is empty: fill it in, or delete the row"),
        ("a.csv", b'a,b\n"1,5,00",2\n', "line 2, column 'a': '1,5,00' is not a number; choose the numeric columns"),
        ("a.csv", b"sep=;\n", "is empty"),
        ("a.csv", b"a,b\n1,2\n,\n\n3,4\n", "line 3, column 'a' is empty"),
        ("a.csv", b"Survey,of,1,2\nby,us,3,4\n", "if this line is a title, delete it"),
        ("a.csv", b"Survey 2023\na,b\n1,2\n", "line 1 has a single cell, 'Survey 2023', above lines with 2 cells"),
        ("a.csv", b"Survey 2023,,\na,b,c\n1,2,3\n", "line 1 has a single cell, 'Survey 2023'.*if it is a title"),
        ("a.tsv", b"1\t2\n\t3\n", "line 2, column 0 is empty"),
        ("a.csv", b"one,two\n", "has a header, but no rows"),
        ("a.csv", b"1,\xff\x00", "not a text file with columns"),
        ("a.csv.gz", b"1,2\n", "not a text file with columns"),
        ("a.csv", b"1,2\n3\n", "line 2 has 1 cells; the lines before it have 2"),
        ("a.npy", b"\x93NUMPY\x01\x00", "truncated, or not an .npy file"),
        ("a.npy", b"", "truncated, or not an .npy file"),
        ("a.npz", b"PK\x03\x04 nothing", "truncated, or not an .npz file"),
        ("a.csv", b"", "is empty"),
        ("a.csv", b"1,2\n3,\n", "line 2, column 1 is empty: fill it in, or delete the row"),
        ("a.csv", b"1,2\n3,x\n", "line 2, column 1: 'x' is not a number; choose the numeric columns"),
        ("a.csv", b"one,two\n3,x\n", "line 2, column 'two': 'x' is not a number"),
        ("a.txt", b"1 2\n", r"got '\.txt'"),
        ("a", b"1 2\n", "got no suffix"),
    ],
)
def test_damaged_files_are_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_rows(tmp_path / name)


def test_truncated_npy_is_refused(tmp_path, rng):
    np.save(tmp_path / "a.npy", rng.random((50, 4)))
    complete = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(complete[:-8])
    with pytest.raises(ValueError, match="is truncated"):
        read_rows(tmp_path / "a.npy")


def test_arrays_of_the_wrong_shape_and_objects_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(4.0))
    with pytest.raises(ValueError, match=r"must have shape \(n, d\); got shape \(4,\)"):
        read_rows(tmp_path / "a.npy")
    np.save(tmp_path / "o.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(ValueError, match="plain numbers"):
        read_rows(tmp_path / "o.npy")
    np.savez(tmp_path / "two.npz", a=np.ones((2, 2)), b=np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"has the arrays \['a', 'b'\]"):
        read_rows(tmp_path / "two.npz")
    assert set(read_arrays(tmp_path / "two.npz")) == {"a", "b"}


def test_a_folder_is_not_a_file(tmp_path):
    with pytest.raises(ValueError, match="is a folder; expected a file"):
        read_rows(tmp_path)


def test_no_partial_file_remains(tmp_path):
    path = tmp_path / "new" / "a.txt"
    with atomic_write(path, "w") as file:
        file.write("first")
    assert path.read_text() == "first"

    def write_half() -> None:
        with atomic_write(path, "w") as file:
            file.write("second")
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        write_half()
    assert path.read_text() == "first"
    assert [entry.name for entry in path.parent.iterdir()] == ["a.txt"]


def test_files_under_the_wrong_name_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((2, 2)))
    (tmp_path / "a.npy").rename(tmp_path / "a.npz")
    with pytest.raises(ValueError, match=r"not an \.npz file of plain arrays: it is a single array"):
        read_rows(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", X=np.ones((2, 2)))
    (tmp_path / "b.npz").rename(tmp_path / "b.npy")
    with pytest.raises(ValueError, match=r"is an archive of arrays: rename it so that it ends in \.npz"):
        read_rows(tmp_path / "b.npy")
    np.save(tmp_path / "c.npy", np.ones((2, 2), complex))
    with pytest.raises(ValueError, match="must contain real numbers; got dtype complex128"):
        read_rows(tmp_path / "c.npy")
    (tmp_path / "D.CSV").write_text("1,2\n")
    assert read_rows(tmp_path / "D.CSV").tolist() == [[1, 2]]


def test_damaged_sparse_matrices_are_refused(tmp_path):
    """Otherwise compiled loops would write outside their arrays."""
    complete = {"format": b"csr", "shape": (2, 3), "data": np.ones(2), "indices": [0, 2], "indptr": [0, 1, 2]}
    np.savez(tmp_path / "complete.npz", **complete)
    assert read_rows(tmp_path / "complete.npz").shape == (2, 3)
    for wrong in ({"indices": [0, 7]}, {"indptr": [0, 9, 2]}, {"indices": [0, -1]}, {"format": b"nonsense"}):
        np.savez(tmp_path / "a.npz", **{**complete, **wrong})
        with pytest.raises(ValueError, match="is damaged, or not a SciPy sparse matrix"):
            read_rows(tmp_path / "a.npz")
    del complete["indptr"]
    np.savez(tmp_path / "a.npz", **complete)
    with pytest.raises(ValueError, match="is damaged, or not a SciPy sparse matrix"):
        read_rows(tmp_path / "a.npz")


def test_vecs_that_the_format_cannot_hold_are_not_written(tmp_path):
    for X, message in (([[300.7, -1.0]], "integers from 0 to 255"), ([1.0, 2.0], r"shape \(n, d\)")):
        with pytest.raises(ValueError, match=message):
            write_vecs(tmp_path / "a.bvecs", np.array(X))
    assert list(tmp_path.iterdir()) == []
