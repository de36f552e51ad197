"""Rows that alone carry much of the sum of squares. A sample without them would have no cluster for them."""

from __future__ import annotations

import numpy as np

from ksums.compute.threads import in_order
from ksums.method.data.norms import exact_sq_norms
from ksums.method.data.rows import Rows, listed
from ksums.method.data.sums import sq_distances_to_own
from ksums.planning.samples import NUMBERS


def heavy_rows(rows: Rows, count: int) -> np.ndarray:
    """Active rows with more than a few times 1/count of the sum of squares around the mean: at most ``count``."""

    origin = np.zeros((1, rows.d))

    def measure(ids: np.ndarray | slice) -> tuple[np.ndarray | slice, np.ndarray]:
        block = rows.read(ids)
        if rows.is_sparse:
            squares = exact_sq_norms(block)
        else:  # a compiled loop; NumPy adds up narrow rows slowly
            squares = sq_distances_to_own(block, origin, np.zeros(len(block), np.int32))
        return ids, squares if rows.weights is None else squares * rows.weights[ids]

    kept_ids, kept, total = np.empty(0, np.int64), np.empty(0), 0.0
    for ids, squares in in_order(measure, rows.active_blocks()):
        total += float(squares.sum(dtype=np.float64))
        limit = NUMBERS.heavy * total / count
        heavy = squares > limit
        if heavy.any() or len(kept):
            kept_ids = np.concatenate([kept_ids[kept > limit], listed(ids)[heavy]])
            kept = np.concatenate([kept[kept > limit], squares[heavy]])
    return np.sort(kept_ids[kept > NUMBERS.heavy * total / count])


def stands_for(sample: np.ndarray, heavy: np.ndarray, n: int) -> np.ndarray:
    """For how many of n rows each row of a sample stands that holds all heavy ones, which stand for themselves."""
    is_heavy = np.isin(sample, heavy, assume_unique=True)
    return np.where(is_heavy, 1.0, (n - len(heavy)) / max(1, len(sample) - len(heavy)))
