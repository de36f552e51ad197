"""Seeds of the runs of a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def seeds_for(random_state: Any, count: int) -> list[int]:
    """A seed for each run."""
    if isinstance(random_state, np.random.Generator):
        return random_state.integers(2**31, size=count).tolist()
    return check_random_state(random_state).randint(2**31 - 1, size=count).tolist()
