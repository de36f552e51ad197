"""TfIdf weights as in the paper; CLUTO files are read, or refused with the number of the bad line."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from ksums import KSums
from ksums.io import read_cluto
from ksums.text import TfIdf

COUNTS = np.array([[2, 1, 0, 0], [0, 1, 1, 0], [0, 1, 0, 0], [1, 1, 0, 0]])
"""These are the counts of four terms in four texts."""


@parametrize_with_checks([TfIdf()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array, sparse.coo_matrix, lambda X: X.tolist()])
def test_weights_by_hand(kind):
    """df = 2, 4, 1, 0 of 4 texts: weights ln 2, 0, ln 4, and 0 for a term that is in no text."""
    model = TfIdf().fit(kind(COUNTS))
    np.testing.assert_allclose(model.idf_, [np.log(2), 0, np.log(4), 0])
    X = model.transform(kind(COUNTS))
    X = X.toarray() if sparse.issparse(X) else X
    np.testing.assert_allclose(X, [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]])
    new = model.transform(kind(np.array([[1, 7, 1, 5]])))
    new = new.toarray() if sparse.issparse(new) else new
    np.testing.assert_allclose(new, np.array([[np.log(2), 0, np.log(4), 0]]) / np.hypot(np.log(2), np.log(4)))


def test_rare_terms_and_bad_counts(rng):
    np.testing.assert_allclose(TfIdf(min_df=2).fit(COUNTS).idf_, [np.log(2), 0, 0, 0])
    for bad in (0, 1.5, "2", True):
        with pytest.raises(ValueError, match="min_df must be an integer of at least 1"):
            TfIdf(min_df=bad).fit(COUNTS)
    with pytest.raises(ValueError, match="X must hold term counts, which are >= 0; got -2"):
        TfIdf().fit(-COUNTS[:1])
    # Each entry is the sum of two parts.
    duplicated = sparse.csr_array((np.ones(4), [0, 0, 1, 1], [0, 2, 4]), shape=(2, 2))
    np.testing.assert_allclose(TfIdf().fit(duplicated).idf_, TfIdf().fit(duplicated.toarray()).idf_)
    np.testing.assert_allclose(TfIdf().fit_transform(duplicated).toarray(), TfIdf().fit_transform(duplicated.toarray()))
    counts = sparse.csr_array(COUNTS.astype(float))
    TfIdf().fit_transform(counts)
    np.testing.assert_array_equal(counts.toarray(), COUNTS)


def test_tf_idf_works_in_a_pipeline():
    texts = ["red apple", "green apple", "blue sea", "deep blue sea", "apple and pear", "sea and salt"]
    pipeline = make_pipeline(CountVectorizer(), TfIdf(), KSums(2, metric="cosine", random_state=0))
    labels = pipeline.fit_predict(texts)
    assert labels[0] == labels[1] != labels[2] == labels[3]
    names = pipeline[:-1].get_feature_names_out()
    assert "apple" in names
    frame = TfIdf().set_output(transform="pandas").fit_transform(COUNTS)
    assert list(frame.columns) == ["x0", "x1", "x2", "x3"]


def write(folder, **files):
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder / "a.mat"


def test_a_sparse_file_is_read(tmp_path):
    path = write(
        tmp_path,
        a_mat="3 4 4\n1 2 4 0.5\n\n 3 1e1  2 7 \n",
        a_mat_rclass="x\ny z\nx\n",
        a_mat_clabel="one\ntwo\nthree\nfour",
    )
    data = read_cluto(str(path))
    assert isinstance(data.X, sparse.csr_array)
    assert data.X.has_sorted_indices
    np.testing.assert_array_equal(data.X.toarray(), [[2, 0, 0, 0.5], [0, 0, 0, 0], [0, 7, 10, 0]])
    assert data.classes.tolist() == ["x", "y z", "x"]
    assert data.terms.tolist() == ["one", "two", "three", "four"]
    assert data.row_names is None


def test_a_dense_file_is_read(tmp_path):
    data = read_cluto(write(tmp_path, a_mat="2 3\n1 2 3\n-4 5.5 6e-1\n\n\n", a_rclass="p\nq\n\n", a_rlabel="r\ns\n"))
    np.testing.assert_array_equal(data.X, [[1, 2, 3], [-4, 5.5, 0.6]])
    assert data.classes.tolist() == ["p", "q"]
    assert data.row_names.tolist() == ["r", "s"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a_mat": ""}, "a.mat, line 1: the first line must be 'rows columns entries' .* got ''"),
        ({"a_mat": "3\n"}, "a.mat, line 1: the first line must be"),
        ({"a_mat": "2 x\n"}, "line 1: the first line must be .* got '2 x'"),
        ({"a_mat": "2 -3\n"}, "line 1: the first line must be"),
        ({"a_mat": "0 3\n"}, "line 1: rows and columns must be from 1 to 2147483647"),
        ({"a_mat": "2 3 99999999999\n"}, "line 1: rows and columns must be from 1 to 2147483647"),
        ({"a_mat": "2 3\n1 2 3\n"}, "a.mat, line 3: the file ends after 1 of 2 rows"),
        ({"a_mat": "2 3\n1 2 3\n4 5\n"}, "line 3: a row must have 3 values; got 2"),
        ({"a_mat": "2 3\n1 2 3\n4 five 6\n"}, "line 3: 'five' is not a number"),
        ({"a_mat": "2 3\n1 2 3\n4 nan 6\n"}, "line 3: NaN and infinity are not allowed"),
        ({"a_mat": "1 3\n1 2 3\n4 5 6\n"}, "line 3: the matrix should end after row 1"),
        (
            {"a_mat": "2 3 2\n1 2\n3\n"},
            r"line 3: a row must be pairs 'column value'; got an odd number of values \(1\)",
        ),
        ({"a_mat": "2 3 2\n1 2\n4 1\n"}, "line 3: columns must be integers from 1 to 3; got 4"),
        ({"a_mat": "2 3 2\n0 2\n3 1\n"}, "line 2: columns must be integers from 1 to 3; got 0"),
        ({"a_mat": "2 3 2\n1.5 2\n3 1\n"}, "line 2: columns must be integers from 1 to 3; got 1.5"),
        ({"a_mat": "2 3 3\n1 2 1 4\n3 1\n"}, "line 2: column 1 appears twice"),
        ({"a_mat": "2 3 5\n1 2\n3 1\n"}, "line 1: the line announces 5 entries, but the 2 rows have 2"),
        (
            {"a_mat": "1 1\n7\n", "a_mat_rclass": "a\nb\n"},
            "a.mat.rclass, line 2: expected 1 lines, one for each row; got 2",
        ),
        (
            {"a_mat": "1 2\n7 8\n", "a_mat_clabel": "a\n"},
            "a.mat.clabel, line 2: expected 2 lines, one for each column; got 1",
        ),
    ],
)
def test_malformed_files_are_refused(files, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read_cluto(write(tmp_path, **files))


def test_missing_files_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_cluto(tmp_path / "none.mat")
    with pytest.raises(IsADirectoryError):
        read_cluto(tmp_path)
    (tmp_path / "a.mat").write_bytes(b"\x93NUMPY\x01\x00\xff\xfe")
    with pytest.raises(ValueError, match=r"a.mat, line 1: the first line must be"):
        read_cluto(tmp_path / "a.mat")
