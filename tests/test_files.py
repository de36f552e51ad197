"""Readers of files of numbers, and files that are written whole or not at all."""

import numpy as np
import pytest
from scipy import sparse

from ksums.io import read_arrays, read_rows, read_vecs, whole_or_not_at_all, write_vecs


@pytest.mark.parametrize(("suffix", "dtype"), [(".fvecs", np.float32), (".bvecs", np.uint8), (".ivecs", np.int32)])
def test_vecs_come_back_as_written(tmp_path, rng, suffix, dtype):
    X = rng.integers(0, 200, (7, 5)).astype(dtype)
    write_vecs(tmp_path / f"a{suffix}", X)
    back = read_vecs(tmp_path / f"a{suffix}")
    assert back.dtype == dtype
    assert back.flags.c_contiguous
    np.testing.assert_array_equal(back, X)


def test_fvecs_have_the_layout_of_texmex(tmp_path):
    (tmp_path / "a.fvecs").write_bytes(np.int32(2).tobytes() + np.array([1.5, -2], "<f4").tobytes())
    assert read_vecs(tmp_path / "a.fvecs").tolist() == [[1.5, -2.0]]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty or cut off"),
        (b"\x02\x00", "is empty or cut off"),
        (b"\x00\x00\x00\x00", "0 dimensions"),
        (b"\xff\xff\xff\xff", "-1 dimensions"),
        (b"\x02\x00\x00\x00" + bytes(7), "no whole number of vectors"),
        (b"\x01\x00\x00\x00" + bytes(4) + b"\x03\x00\x00\x00" + bytes(4), "vector 1 says that it has 3 dimensions"),
    ],
)
def test_damaged_vecs_are_refused(tmp_path, content, words):
    (tmp_path / "a.fvecs").write_bytes(content)
    with pytest.raises(ValueError, match=words):
        read_vecs(tmp_path / "a.fvecs")


def test_vecs_of_another_kind_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"end in \.fvecs, \.bvecs, \.ivecs; got '\.dat'"):
        read_vecs(tmp_path / "a.dat")


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
    with pytest.raises(ValueError, match=r"no column 'depth'; its columns are id, the width, height"):
        read_rows(tmp_path / "a.csv", ["depth"])
    np.save(tmp_path / "a.npy", np.arange(6.0).reshape(2, 3))
    assert read_rows(tmp_path / "a.npy", [2, 0]).tolist() == [[2, 0], [5, 3]]
    for wrong in (3, "a"):
        with pytest.raises(ValueError, match=f"no column {wrong!r}; its columns are the numbers 0 to 2"):
            read_rows(tmp_path / "a.npy", [wrong])


def test_parquet(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"a": [1, 2], "b": [0.5, 1.5], "word": ["x", "y"]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert read_rows(tmp_path / "a.parquet", ["b", "a"]).tolist() == [[0.5, 1], [1.5, 2]]
    with pytest.raises(ValueError, match=r"word \(string\) is none"):
        read_rows(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="no column 'c'; its columns are a, b, word"):
        read_rows(tmp_path / "a.parquet", ["c"])
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="cut off, or no parquet file"):
        read_rows(tmp_path / "a.parquet")


def test_svmlight(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:0.5 3:2\n-1 2:1\n")
    assert read_rows(tmp_path / "a.svm").toarray().tolist() == [[0.5, 0, 2], [0, 1, 0]]
    (tmp_path / "a.svm").write_text("nonsense here\n")
    with pytest.raises(ValueError, match="is no svmlight file"):
        read_rows(tmp_path / "a.svm")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"one,two\n", "has names, but no rows"),
        ("a.csv", b"\xff\xfe\x00", "no text of columns"),
        ("a.csv.gz", b"1,2\n", "no text of columns"),
        ("a.csv", b"1,2\n3\n", "number of columns changed from 2 to 1"),
        ("a.npy", b"\x93NUMPY\x01\x00", "cut off, or no .npy file"),
        ("a.npy", b"", "cut off, or no .npy file"),
        ("a.npz", b"PK\x03\x04 nothing", "cut off, or no .npz file"),
        ("a.csv", b"", "is empty"),
        ("a.csv", b"1,2\n3,\n", "A cell is empty: fill it"),
        ("a.csv", b"1,2\n3,x\n", r"could not convert string 'x'.*row 0 is the first row"),
        ("a.csv", b"one,two\n3,x\n", "row 0 is the row below the names"),
        ("a.txt", b"1 2\n", r"got '\.txt'"),
        ("a", b"1 2\n", "got 'no suffix'"),
    ],
)
def test_damaged_files_are_refused(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=words):
        read_rows(tmp_path / name)


def test_truncated_npy_is_refused(tmp_path, rng):
    np.save(tmp_path / "a.npy", rng.random((50, 4)))
    whole = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(whole[:-8])
    with pytest.raises(ValueError, match="cut off"):
        read_rows(tmp_path / "a.npy")


def test_arrays_of_the_wrong_shape_and_objects_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(4.0))
    with pytest.raises(ValueError, match=r"shape \(n, d\) is needed; got shape \(4,\)"):
        read_rows(tmp_path / "a.npy")
    np.save(tmp_path / "o.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(ValueError, match="plain numbers"):
        read_rows(tmp_path / "o.npy")
    np.savez(tmp_path / "two.npz", a=np.ones((2, 2)), b=np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"has the arrays \['a', 'b'\]"):
        read_rows(tmp_path / "two.npz")
    assert set(read_arrays(tmp_path / "two.npz")) == {"a", "b"}


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(ValueError, match="is a folder"):
        read_rows(tmp_path)


def test_nothing_half_written_is_left(tmp_path):
    path = tmp_path / "new" / "a.txt"
    with whole_or_not_at_all(path, "w") as file:
        file.write("first")
    assert path.read_text() == "first"

    def write_half() -> None:
        with whole_or_not_at_all(path, "w") as file:
            file.write("second")
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        write_half()
    assert path.read_text() == "first"
    assert [entry.name for entry in path.parent.iterdir()] == ["a.txt"]
