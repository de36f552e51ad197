"""The one type that NumPy and SciPy have no common name for."""

from __future__ import annotations

from typing import Any, TypeAlias

Matrix: TypeAlias = Any
"""A NumPy array or a SciPy CSR array of shape (n, d)."""
