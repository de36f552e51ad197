"""Rows as the method reads them: slices as lists of rows, columns as NumPy adds them up; seeds as scikit-learn's."""

import numpy as np
import pytest
from sklearn.utils import check_random_state

from ksums.estimators.seeds import seeds_for
from ksums.method.data.rows import prepare
from ksums.method.data.sums import column_sums


@pytest.mark.parametrize("metric", ["l2", "cosine"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "uint8", "int64"])
def test_a_slice_reads_the_same_bits_as_its_rows(dtype, metric):
    X = (50 + 20 * np.random.default_rng(0).standard_normal((300, 5))).astype(dtype)
    rows = prepare(X, metric)
    for of in (None, np.float64):
        np.testing.assert_array_equal(rows.read(slice(17, 203), of), rows.read(np.arange(17, 203), of))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("columns", [1, 2, 3, 10, 33])
def test_columns_are_added_up_with_the_bits_of_numpy(columns, dtype):
    X = np.random.default_rng(columns).standard_normal((20_000, columns)).astype(dtype)
    for block in (X, X[:100], np.asfortranarray(X)):
        np.testing.assert_array_equal(column_sums(block), block.sum(axis=0, dtype=np.float64))


@pytest.mark.parametrize("seed", [0, np.int64(7), 2**31])
def test_seeds_are_those_of_a_random_state(seed):
    assert seeds_for(seed, 3) == check_random_state(seed).randint(2**31 - 1, size=3).tolist()
