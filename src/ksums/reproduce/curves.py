"""E_m and E_s of a method, pass by pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from ksums.interruption import whole_fits
from ksums.methods import METHODS
from ksums.reproduce.experiment import Result

OURS, OURS_HIGH = "ksums", "ksums, high effort"
_OURS: dict[str, dict[str, Any]] = {OURS: {}, OURS_HIGH: {"effort": "high"}}
RELEASED = "k-sums-Im (released)"


def curve(method: str, X: np.ndarray, k: int, seed: int, passes: int) -> Result:
    """One run: both measures, moves and seconds after each pass. Ours takes as long as it takes."""
    more = _OURS.get(method, {"max_iter": passes, "tol": 0})
    with whole_fits():  # what else they warn of is known: that clusters are copies of each other, for instance
        model = METHODS[OURS if method in _OURS else method](k, random_state=seed, **more).fit(X)
    records = model.history_
    return {
        "E_m": [record.distortion for record in records],
        "E_s": [record.pairwise for record in records],
        "moves": [record.moves for record in records],
        "seconds": [round(record.seconds, 5) for record in records],
    }


def warm_up(methods: tuple[str, ...], X: np.ndarray, k: int) -> None:
    """Compile, or load what was compiled, before anything is timed."""
    few = min(len(X), max(4 * k, 200))
    for method in methods:
        curve(method, np.asarray(X[:few], np.float32), min(k, few // 4), 0, 2)
