"""Data that several experiments use; for ``--quick``, small real data that comes with scikit-learn."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from ksums.datasets import Dataset, load_sift
from ksums.reproduce.experiment import RunOptions


def sift100k(options: RunOptions) -> list[Dataset]:
    """The paper's SIFT100K, or a small stand-in."""
    return [digits() if options.quick else load_sift("learn", options.data_home)]


def digits() -> Dataset:
    """Images of digits, (1797, 64)."""
    return Dataset("scikit-learn's digits", load_digits().data.astype(np.float32))


def breast_cancer() -> Dataset:
    """Measurements of cell nuclei, (569, 30)."""
    return Dataset("scikit-learn's breast cancer", _scaled(load_breast_cancer().data))


def diabetes() -> Dataset:
    """Measurements of patients, (442, 10)."""
    return Dataset("scikit-learn's diabetes", _scaled(load_diabetes().data))


def _scaled(X: np.ndarray) -> np.ndarray:
    """Divide each column by its standard deviation, because the columns have different units."""
    return (X / X.std(axis=0)).astype(np.float32)
