"""When a run has settled, and the best labels that it found. ``engines/kernels/resident.py`` has the compiled twin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def has_settled(values: Sequence[float], tol: float, patience: int) -> bool:
    """Whether the best value fell by no more than ``tol``, relatively, over the last ``patience`` passes.

    With ``tol`` = 0 a run ends only when no sample moves.
    """
    if tol == 0 or len(values) <= patience:
        return False
    earlier, now = min(values[:-patience]), min(values)
    return earlier - now <= tol * earlier


class Best:
    """The lowest objective of a run and its labels."""

    def __init__(self) -> None:
        self.value = np.inf
        self.labels: np.ndarray | None = None
        """None: the present labels are the best."""

    def update(self, value: float, labels: np.ndarray, steady: bool) -> None:
        """After a pass. A steady rule is always at its best now; of any other the labels of the best pass are kept."""
        if value < self.value or steady:
            self.value, self.labels = value, None if steady else labels.copy()
