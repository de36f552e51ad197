"""What a loader gives."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ksums.typing import Matrix


@dataclass(frozen=True)
class Dataset:
    """Rows, with what is known of them."""

    name: str
    """What it is, for captions."""
    X: Matrix
    """(n, d)"""
    y: np.ndarray | None = None
    """(n,) Classes, where there are some."""
    path: Path | None = None
    """The file that was read."""
