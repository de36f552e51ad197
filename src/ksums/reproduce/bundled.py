"""Small real data that comes with scikit-learn, for the quick size."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from ksums.datasets import Dataset


def digits() -> Dataset:
    """Images, (1797, 64)."""
    return Dataset("scikit-learn's digits", load_digits().data.astype(np.float32))


def cells() -> Dataset:
    """Measures of cells, (569, 30)."""
    return Dataset("scikit-learn's breast cancer", _scaled(load_breast_cancer().data))


def patients() -> Dataset:
    """Measures of patients, (442, 10)."""
    return Dataset("scikit-learn's diabetes", _scaled(load_diabetes().data))


def _scaled(X: np.ndarray) -> np.ndarray:
    """Each column divided by its standard deviation: they have different units."""
    return (X / X.std(axis=0)).astype(np.float32)
