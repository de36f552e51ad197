"""Units: rows that must share a cluster move as one row, their mean with the sum of their weights.

The scatter of the rows inside a unit is kept, so that objectives are those of all rows. For E_m it is a constant; for
E_s a unit that moves takes it along, so its costs are more than those of its mean (``constrained/costs.py``).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from ksums.method.data.rows import Rows
from ksums.method.data.sums import add_by_cluster


def rows_of_units(rows: Rows, units: np.ndarray) -> Rows:
    """One row for each unit; ``units`` (n,) are the units of the rows, numbered from 0."""
    count = int(units.max()) + 1
    weights = np.zeros(rows.n)
    weights[rows.active] = rows.weights_of(rows.active)
    total = np.bincount(units, weights, minlength=count)
    shares = sparse.csr_array(
        (weights / np.where(total > 0, total, 1.0)[units], (units, np.arange(rows.n))), shape=(count, rows.n)
    )
    if rows.is_sparse:
        means = sparse.csr_array(shares @ rows.read(np.arange(rows.n), np.float64))
        squares = np.asarray(means.multiply(means).sum(axis=1)).ravel()
    else:
        means = np.zeros((count, rows.d))
        for ids in rows.blocks_of(rows.active):
            add_by_cluster(rows.read(ids), units[ids], weights[ids] / total[units[ids]], means)
        squares = np.einsum("it,it->i", means, means)
    mean_squares = shares @ rows.sq_norms
    return replace(
        rows,
        X=(means / rows.scales[0] if not rows.cosine else means).astype(rows.dtype),
        shift=None,
        scales=np.ones(1) if rows.cosine else rows.scales,
        weights=total,
        known_sq_norms=None,
        known_active=None if (total > 0).all() else np.flatnonzero(total > 0),
        ids=None,
        inner=np.maximum(total * (mean_squares - squares), 0.0),
    )
