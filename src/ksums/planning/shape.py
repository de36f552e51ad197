"""What planning knows of the data: its size and kind, never its values."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Shape:
    """The shape of a problem."""

    n: int
    """Active rows: those with a weight and, under cosine, a direction."""
    d: int
    k: int
    dtype: str = "float64"
    """The arithmetic: float32 or float64."""
    sparse: bool = False
    weighted: bool = False
    constraints: tuple[str, ...] = ()
    """The kinds of constraints that labels must keep to (``constraints.py``)."""
    memory: float = field(default=np.inf, compare=False)
    """Bytes of memory that are free. Only decisions that do not change labels may depend on it."""
    threads: int = field(default=1, compare=False)
    """Threads that may be used. Only decisions that do not change labels may depend on it."""

    @property
    def members(self) -> float:
        """Rows per cluster, on average."""
        return self.n / self.k

    @property
    def bytes(self) -> int:
        """Size of the dense rows."""
        return self.n * self.d * np.dtype(self.dtype).itemsize
