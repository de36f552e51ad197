"""The one type that NumPy and SciPy have no common name for, and the arithmetic that goes with a type of data."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Matrix: TypeAlias = Any
"""A NumPy array or a SciPy CSR array of shape (n, d)."""


def arithmetic_of(X: Matrix) -> np.dtype[Any]:
    """float64 for float64 data, float32 for everything narrower."""
    return np.dtype(np.float64 if X.dtype == np.float64 else np.float32)
