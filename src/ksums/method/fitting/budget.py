"""The time that a fit and each of its runs may take."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Budget:
    """Time limits of a fit; without any, nothing depends on the clock."""

    deadline: float = np.inf
    """When the fit must end, by ``time.perf_counter()``."""
    run_seconds: float = np.inf
    """Seconds that one run may take."""

    @staticmethod
    def of(seconds: float, runs: int, started: float) -> Budget:
        """``seconds`` from the moment ``started``, divided evenly among the runs."""
        return Budget(started + seconds, seconds / runs)

    def is_over(self, soon: float = 0.0) -> bool:
        """Whether the fit must end now, or within ``soon`` seconds."""
        return time.perf_counter() + soon > self.deadline

    def end_of_run(self, started: float, share: float = 1.0) -> float:
        """When a run that ``started`` then must be done with this share of its time."""
        return min(self.deadline, started + share * self.run_seconds)
