"""Accepted kinds of input: they are never changed, and copied only if necessary."""

import logging

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from ksums import KSums
from ksums.checking.data import check_rows
from ksums.method.data.rows import prepare


@pytest.fixture
def X(rng):
    return rng.standard_normal((120, 9))


def fit(X, **more):
    return KSums(6, random_state=0, **more).fit(X)


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int8", "uint16", "int16", "float16", "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_types_are_read_as_their_float_values(dtype, order, rng):
    X = np.asarray(rng.integers(0, 2 if dtype == "bool" else 100, (200, 12)).astype(dtype), order=order)
    before = X.copy()
    model = fit(X)
    as_float = fit(X.astype("float64" if dtype == "float64" else "float32"))
    np.testing.assert_array_equal(model.labels_, as_float.labels_)
    np.testing.assert_array_equal(model.predict(X), as_float.predict(X))
    np.testing.assert_array_equal(X, before)
    assert model.cluster_centers_.dtype == (np.float64 if dtype == "float64" else np.float32)
    assert model.transform(X).dtype == model.cluster_centers_.dtype


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
def test_wide_integers_become_float64(dtype, rng):
    assert fit(rng.integers(0, 100, (60, 4)).astype(dtype)).cluster_centers_.dtype == np.float64


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "float16"])
def test_rows_in_c_order_are_not_copied(dtype, X):
    X = X.astype(dtype)
    assert np.shares_memory(check_rows(KSums(), X, reset=True), X)
    assert prepare(X, "l2").X is X


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_read_only_memory_maps_are_accepted(dtype, X, tmp_path):
    X = (X * 10).astype(dtype)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    np.testing.assert_array_equal(fit(mapped).labels_, fit(X).labels_)
    np.testing.assert_array_equal(fit(X).predict(mapped), fit(X).predict(X))


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil"])
def test_all_sparse_layouts_are_accepted(layout, X, caplog):
    X = X * (X > 0.3)
    X[:, 0] += 1
    converted = sparse.csr_array(X).asformat(layout)
    before = converted.toarray()
    with caplog.at_level(logging.INFO, "ksums"):
        model = fit(converted)
    np.testing.assert_array_equal(model.labels_, fit(X, refine=None).labels_)
    np.testing.assert_array_equal(converted.toarray(), before)
    assert ("converting" in caplog.text) == (layout != "csr")


def test_sparse_matrices_of_counts_and_with_duplicate_entries(X):
    X = (np.abs(X) * 3).astype(np.int64)
    X[:, 0] += 1
    counts = sparse.csr_matrix(X)
    np.testing.assert_array_equal(fit(counts).labels_, fit(sparse.csr_array(X.astype(float))).labels_)
    duplicated = sparse.csr_array(
        (np.full(2 * X.size, 0.5), np.repeat(np.tile(np.arange(9), 120), 2), np.arange(0, 2 * X.size + 1, 18)),
        shape=X.shape,
    )
    data = duplicated.data.copy()
    with pytest.warns(UserWarning, match="distinct"):
        fit(duplicated)
    np.testing.assert_array_equal(duplicated.data, data)


def test_tables_are_accepted(X):
    names = [f"column {i}" for i in range(9)]
    labels = fit(X).labels_
    for table in (
        pd.DataFrame(X, columns=names),
        pl.DataFrame(X, schema=names),
        pa.table({name: X[:, i] for i, name in enumerate(names)}),
    ):
        model = fit(table)
        np.testing.assert_array_equal(model.labels_, labels)
        np.testing.assert_array_equal(model.predict(table), fit(X).predict(X))
    assert fit(pd.DataFrame(X, columns=names)).feature_names_in_.tolist() == names
    np.testing.assert_array_equal(fit(X.tolist()).labels_, labels)


class OnlyDLPack:
    """An array of another library."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **kwargs):
        return self.array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class OnAnotherDevice(OnlyDLPack):
    """An array that the CPU cannot read."""

    def __dlpack__(self, **kwargs):
        raise BufferError("the data is on cuda:0")


class OnlyArray:
    """An object that NumPy can convert to an array."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype=dtype)


def test_arrays_of_other_libraries_are_accepted(X):
    labels = fit(X).labels_
    np.testing.assert_array_equal(fit(OnlyDLPack(X)).labels_, labels)
    np.testing.assert_array_equal(fit(OnlyArray(X)).labels_, labels)
    with pytest.raises(TypeError, match="move it to the CPU"):
        fit(OnAnotherDevice(X))


def test_data_weights_and_start_are_not_changed(X, rng):
    weights, labels = rng.uniform(0, 2, 120), rng.integers(0, 6, 120)
    copies = X.copy(), weights.copy(), labels.copy()
    for array in (X, weights, labels):
        array.setflags(write=False)
    KSums(6, init=labels, metric="cosine").fit(X, sample_weight=weights)
    for array, copy in zip((X, weights, labels), copies, strict=True):
        np.testing.assert_array_equal(array, copy)
