"""The definition of right: a pass over samples in plain NumPy, with all sums made from the labels for every sample.

Never optimised. ``kernels.visit_samples`` is tested against this, label by label.
"""

from __future__ import annotations

import numpy as np

_ROUNDING, _ROUNDING_OF_SUMS = 1e-10, 1e-14
"""As in ``kernels.py``."""


def visit_plainly(
    square: np.ndarray,
    weights: np.ndarray,
    order: np.ndarray,
    relaxation: float,
    objective: str,
    labels: np.ndarray,
    k: int,
) -> int:
    """Move each sample to the cluster where it costs least; changes ``labels`` and returns the number of moves.

    There are no limits on sizes here.
    """
    moves = 0
    for i in order:
        src, w = labels[i], weights[i]
        if (labels == src).sum() <= 1:
            continue
        inside = [weights * (labels == r) for r in range(k)]
        m = np.array([own.sum() for own in inside])
        s = np.array([own @ square[:, i] for own in inside])
        pairs = np.array([own @ square @ own / 2 for own in inside])
        counted = w * np.minimum(relaxation, np.maximum(1.0, m / w / 8.0))
        if objective == "distortion":
            stay, join = (s - pairs / m) / (m - counted), (s - pairs / m) / (m + counted)
        else:
            stay, join = s * m / (m - counted + w), s * m / (m + counted - w)
        join[src] = np.inf
        dst = int(join.argmin())
        noise = _ROUNDING_OF_SUMS * s.sum() / (m[src] if objective == "distortion" else 1.0)
        if join[dst] < stay[src] - _ROUNDING * abs(stay[src]) - noise:
            labels[i] = dst
            moves += 1
    return moves


def objective_of(square: np.ndarray, weights: np.ndarray, labels: np.ndarray, k: int, objective: str) -> float:
    """What is minimised, from the labels alone, not divided by the number of samples."""
    total = 0.0
    for r in range(k):
        own = weights * (labels == r)
        pairs = float(own @ square @ own) / 2
        total += pairs / own.sum() if objective == "distortion" else pairs
    return total
