"""What a loader returns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ksums.compute.arrays import Matrix


@dataclass(frozen=True)
class Dataset:
    """Rows, with their classes if they are known."""

    name: str
    """What the data is, for captions."""
    X: Matrix
    """(n, d)"""
    y: np.ndarray | None = None
    """(n,) Class of each row; None if there are no classes."""
    path: Path | None = None
    """The file that was read; None for generated data."""
