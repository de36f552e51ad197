"""Matrices as NumPy and SciPy have them, the arithmetic that goes with their type, and the loop over blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

Matrix: TypeAlias = Any
"""A NumPy array or a SciPy CSR array of shape (n, d)."""


def arithmetic_of(X: Matrix) -> np.dtype[Any]:
    """float64 for float64 data, float32 for every narrower type."""
    return np.dtype(np.float64 if X.dtype == np.float64 else np.float32)


def as_dense(block: Matrix) -> np.ndarray:
    """The block as a NumPy array."""
    return block.toarray() if sparse.issparse(block) else block


def blocks(count: int, length: int) -> Iterator[slice]:
    """The positions 0 … count − 1 as slices of ``length``; the last one may be shorter.

    >>> list(blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for first in range(0, count, length):
        yield slice(first, min(first + length, count))
