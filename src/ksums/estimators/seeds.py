"""Seeds of the runs of a fit."""

from __future__ import annotations

from numbers import Integral
from threading import Lock
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

_LARGEST = 2**31 - 1
_STATE, _LOCK = np.random.RandomState(0), Lock()
"""To seed this one again takes a tenth of the time that a new one takes."""


def seeds_for(random_state: Any, count: int) -> list[int]:
    """A seed for each run."""
    if isinstance(random_state, np.random.Generator):
        return random_state.integers(_LARGEST + 1, size=count).tolist()
    if isinstance(random_state, Integral):
        with _LOCK:
            _STATE.seed(int(random_state))
            return _STATE.randint(_LARGEST, size=count).tolist()
    return check_random_state(random_state).randint(_LARGEST, size=count).tolist()
