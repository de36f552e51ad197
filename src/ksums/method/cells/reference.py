"""One pass over a table in plain NumPy: the definition of right. Each row recomputes all it needs from the labels."""

from __future__ import annotations

import numpy as np

from ksums.method.cells.cells import GAP, Cells
from ksums.rules.annealing import MEMBERS_PER_RELAXATION
from ksums.rules.kinds import ROUNDING


def reference_pass(
    cells: Cells, labels: np.ndarray, k: int, order: np.ndarray, relaxation: float, objective: str
) -> int:
    """Move each row to the cluster where it costs least; returns the number of moves. ``labels`` are changed."""
    moves = 0
    for row in order:
        src = labels[row]
        if np.count_nonzero(labels == src) <= 1:
            continue
        costs, terms = np.array([_cost(cells, labels, row, r, relaxation, objective) for r in range(k)]).T
        least = costs[src] - ROUNDING[np.dtype(np.float64)] * terms[src]
        costs[src] = np.inf
        if costs.min() < least:
            labels[row] = costs.argmin()
            moves += 1
    return moves


def _cost(cells: Cells, labels: np.ndarray, row: int, r: int, relaxation: float, objective: str) -> tuple[float, float]:
    """What a row costs in cluster r, divided by its weight, and the sum of the terms that this is a difference of.

    E_m: Σ_j N_j / (N_j ± q) · |x_j − c_j|² over its cells, with c = (D + λm)/N, N = Σ w + λ; minus if it is in r.
    E_s: Σ_j Σ_i w_i |x_j − x_ij|² over the cells of the cluster, times m / (m ∓ (q − 1)).
    """
    weights = cells.weights if len(cells.weights) else np.ones(cells.n)
    members = np.flatnonzero(labels == r)
    stays = labels[row] == r
    total = terms = 0.0
    for values, target, pull, scale in _columns(cells, row):
        seen = members[~np.isnan(values[members, 0])]
        w, x, own = weights[seen], values[seen], values[row]
        if objective == "pairwise":
            total += scale * float(w @ np.square(x - own).sum(axis=1))
            terms += scale * float(w @ (np.square(x) + np.square(own)).sum(axis=1))
            continue
        n = w.sum() + pull
        centre = (w @ x + pull * target) / n if n > 0 else np.zeros_like(own)
        q = _counted_as(n, weights[row], relaxation)
        left = (n - q if n - q > 1e-9 * n else n) if stays else n + q
        total += scale * (n / left if n > 0 else 0.0) * float(np.square(own - centre).sum())
        terms += scale * float((np.square(own) + np.square(centre)).sum())
    if objective == "pairwise":
        m = float(len(members))
        q = _counted_as(m, 1.0, relaxation)
        total *= m / (m - q + 1 if stays else m + q - 1)
    return total, terms


def _columns(cells: Cells, row: int):
    """The columns in which a row has a value, each as (n, width) with NaN for gaps, and as zeros and ones for
    categories; what its centres are pulled to; the pull; its weight."""
    a = cells.numbers.shape[1]
    for j in np.flatnonzero(~np.isnan(cells.numbers[row])):
        yield cells.numbers[:, [j]], np.zeros(1), cells.pulls[j], 1.0
    for j in np.flatnonzero(cells.codes[row] != GAP):
        categories = np.arange(cells.offsets[j], cells.offsets[j + 1])
        values = (cells.codes[:, [j]] == categories).astype(np.float64)
        values[cells.codes[:, j] == GAP] = np.nan
        yield values, cells.shares[categories], cells.pulls[a + j], cells.column_weights[j]


def _counted_as(n: float, w: float, relaxation: float) -> float:
    return w * min(relaxation, max(1.0, n / (w * MEMBERS_PER_RELAXATION)))
