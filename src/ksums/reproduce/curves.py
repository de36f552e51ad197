"""One fit of a method, with E_m and E_s after each pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from ksums.estimators.interruption import complete_fits
from ksums.methods import METHODS
from ksums.reproduce.method_names import OURS, OURS_HIGH_EFFORT
from ksums.reproduce.store import Record

OWN_STOPPING: dict[str, dict[str, Any]] = {OURS: {}, OURS_HIGH_EFFORT: {"effort": "high"}}
"""The methods that stop by themselves, not after a given number of passes, with their parameters."""


def curve(method: str, X: np.ndarray, k: int, seed: int, passes: int) -> Record:
    """Fit once; both measures, the number of moves and the seconds since the start after each pass."""
    parameters = OWN_STOPPING.get(method, {"max_iter": passes, "tol": 0})
    with complete_fits():  # Other warnings, such as those about duplicate clusters, are expected here.
        model = METHODS[OURS if method in OWN_STOPPING else method](k, random_state=seed, **parameters).fit(X)
    records = model.history_
    return {
        "E_m": [record.distortion for record in records],
        "E_s": [record.pairwise for record in records],
        "moves": [record.moves for record in records],
        "seconds": [round(record.seconds, 5) for record in records],
    }


def warm_up(methods: tuple[str, ...], X: np.ndarray, k: int) -> None:
    """Compile the code of all methods on a part of the data, so that compiling is not timed."""
    n = min(len(X), max(4 * k, 200))
    for method in methods:
        curve(method, np.asarray(X[:n], np.float32), min(k, n // 4), 0, 2)
