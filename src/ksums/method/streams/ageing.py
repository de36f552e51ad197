"""A half-life h for streams that drift: a sample that came a samples ago has the weight 2^(−a/h).

All costs depend on ratios of weights only, so instead of shrinking the past, new samples get growing weights. They grow
from 1 again after each period, so that they never overflow.
"""

from __future__ import annotations

import numpy as np

_PERIOD = 1 << 16
"""Samples after which running sums are renewed, however the stream is cut into chunks ..."""
_HALF_LIVES = 64
"""... or this many half-lives, if that is less: growing weights must not overflow."""
_FADED = 1e-30
"""A cluster that got nothing for very long stays open with this weight."""


class Ageing:
    """The weights of samples by the time of their arrival; without a half-life all are 1."""

    def __init__(self, half_life: float | None) -> None:
        self.half_life = half_life
        self.period = _PERIOD if half_life is None else int(np.clip(_HALF_LIVES * half_life, 1, _PERIOD))

    def weights_of_next(self, seen: int, count: int) -> np.ndarray | None:
        """(count,) Weights of the samples that come after ``seen`` others."""
        if self.half_life is None:
            return None
        return np.exp2((seen % self.period + np.arange(count)) / self.half_life)

    def weights_of_past(self, seen: int, ages: np.ndarray | None) -> np.ndarray | None:
        """Weights, as they count now, of samples that were followed by ``ages`` others."""
        if ages is None or self.half_life is None:
            return None
        return np.exp2((self._since_renewal(seen) - 1 - ages) / self.half_life)

    def present_weight(self, seen: int) -> float:
        """The weight of the sample that came last."""
        return 1.0 if self.half_life is None else float(np.exp2((self._since_renewal(seen) - 1) / self.half_life))

    def fading(self, sizes: np.ndarray) -> np.ndarray | None:
        """(k,) What the sums of clusters are multiplied by when weights grow from 1 again."""
        if self.half_life is None:
            return None
        fade = np.full(len(sizes), np.exp2(-self.period / self.half_life))
        alive = sizes > 0
        fade[alive] = np.maximum(fade[alive], _FADED / sizes[alive])
        return fade

    def _since_renewal(self, seen: int) -> int:
        """Samples since the weights began to grow from 1."""
        return 0 if seen == 0 else (seen - 1) % self.period + 1
