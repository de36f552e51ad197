"""Patches: a few rows near each other, for which their mean stands.

In few dimensions some thousands of patches show nearly all that there is to see in all rows; only where borders cut
through patches something is lost. A sample of as many rows shows much less.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ksums.method.data.rows import Rows


class Patches(NamedTuple):
    """What the kernel notes of each patch."""

    first: np.ndarray  # (count,)  its first row
    stop: np.ndarray  # (count,)  where the next patch begins
    widest: np.ndarray  # (count,)  the column in which it scatters most
    middle: np.ndarray  # (count,)  its mean in that column
    scatter: np.ndarray  # (count,)  Σ w |x − mean|²


def patches_of(rows: Rows, count: int) -> Rows:
    """At most this many patches of some dense rows, all active: means with weights, and the scatter inside."""
    from ksums.method.starts.patch_kernels import divide_into_patches  # Numba is loaded by the first fit

    everything = np.arange(rows.n)
    X, weights = rows.read(everything), rows.weights_of(everything).astype(np.float64)
    patches = Patches(*np.empty((3, count), np.int64), *np.empty((2, count)))
    means, totals = np.empty((count, rows.d)), np.empty(count)
    found = divide_into_patches(
        X, weights, patches, np.empty(count, np.int64), np.empty(1 + 2 * rows.d), means, totals
    )  # fmt: skip
    return replace(
        rows, X=means[:found].astype(rows.dtype), shift=None, scales=np.ones(1), weights=totals[:found],
        known_sq_norms=None, known_active=None, ids=None, inner=patches.scatter[:found],
    )  # fmt: skip
