"""Sparse rows in the svmlight format."""

from __future__ import annotations

from pathlib import Path

from scipy import sparse


def read_svmlight(path: Path, width: int | None = None) -> sparse.csr_array:
    """Sparse rows of an svmlight file, without its labels; ``width`` is the number of columns, if it is known."""
    from sklearn.datasets import load_svmlight_file

    try:
        return sparse.csr_array(load_svmlight_file(path, n_features=width)[0])
    except ValueError as error:
        raise ValueError(f"{path} cannot be read as an svmlight file: {str(error).rstrip('.')}.") from error
