"""Seeds that lie far apart: k-means++, for any rows and, faster, for two clusters of a few rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ksums.compute.arrays import Matrix, as_dense, blocks
from ksums.compute.threads import workers
from ksums.method.data.rows import Rows

_KEPT_BYTES = 256 << 20
"""Rows up to this size are kept ready during the rounds of k-means++; more are read again in each round."""
_ROUND_BYTES = 1 << 20
"""Distances in a part of a round: small enough to stay in the second-level cache."""
_PART_BYTES = 16 << 20
"""Rows in a part of a round."""


def k_means_plus_plus(rows: Rows, candidates: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Greedy k-means++, k rows: each next one is the best of a few rows drawn by weight times squared distance.

    The best one leaves the least sum of squared distances to the nearest centre so far; 2 + ln k rows are drawn, as in
    scikit-learn.
    """
    weights = rows.weights_of(candidates).astype(rows.dtype)
    sq_norms = rows.sq_norms.astype(rows.dtype)
    own_norms = sq_norms[candidates, None]
    trials = 2 + int(np.log(k))
    tie = 1e-9 if rows.dtype == np.float64 else 1e-5
    closest = np.full(len(candidates), np.inf, rows.dtype)
    distances = np.empty((len(candidates), trials), rows.dtype)  # reused: a round is a few milliseconds
    length = max(1, min(_ROUND_BYTES // trials, _PART_BYTES // max(rows.d, 1)) // rows.dtype.itemsize)
    parts = list(blocks(len(candidates), length))
    block_of = _keep_or_read(rows, candidates, parts)

    def try_out(ids: np.ndarray) -> np.ndarray:
        """What would be left with each of these rows as the next centre; fills ``distances`` with the closest then."""
        points, norms = as_dense(rows.read(ids)).T, sq_norms[ids]

        def try_part(at: int) -> np.ndarray:
            part = parts[at]
            out = distances[part, : len(ids)]
            out[...] = block_of(at) @ points
            out *= -2
            out += own_norms[part]
            out += norms
            np.maximum(out, 0, out=out)
            np.minimum(out, closest[part, None], out=out)
            return weights[part] @ out

        return np.sum(list(run_through(try_part, range(len(parts)))), axis=0)

    chosen = np.empty(k, np.int64)
    chosen[0] = candidates[_draw(np.cumsum(weights, dtype=np.float64), 1, rng)[0]]
    with workers(len(parts)) as run_through:
        try_out(chosen[:1])
        closest[:] = distances[:, 0]
        for r in range(1, k):
            cumulated = np.cumsum(weights * closest, dtype=np.float64)
            if not cumulated[-1] > 0:  # fewer distinct rows than clusters: any will do
                chosen[r:] = rng.choice(candidates, k - r)
                break
            drawn = _draw(cumulated, trials, rng)
            left = try_out(candidates[drawn])
            # Two rows that are each other's nearest leave the same sum: the first drawn of them wins, not rounding.
            best = int(np.argmax(left <= left.min() * (1 + tie)))
            chosen[r] = candidates[drawn[best]]
            closest[:] = distances[:, best]
    return chosen


def two_seeds(rows: np.ndarray, sq_norms: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels 0 and 1 from greedy k-means++ for two clusters of a few dense rows that are not all equal.

    The same as above with k = 2, in a tenth of the time: a tree has thousands of such splits.
    """

    def sq_distances(ids: np.ndarray) -> np.ndarray:
        return np.maximum(sq_norms[:, None] - 2.0 * (rows @ rows[ids].T) + sq_norms[ids], 0.0)

    first = _draw(np.cumsum(weights), 1, rng)
    near = sq_distances(first)
    near[first] = 0.0
    drawn = _draw(np.cumsum(weights * near[:, 0]), 2, rng)
    far = sq_distances(drawn)
    far[drawn, np.arange(2)] = 0.0
    best = int(np.argmin(weights @ np.minimum(far, near)))
    return (far[:, best] < near[:, 0]).astype(np.int32)


def _draw(cumulated: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Positions drawn in proportion to the steps of a cumulated sum."""
    drawn = np.searchsorted(cumulated, rng.random(count) * cumulated[-1], side="right")
    return np.minimum(drawn, len(cumulated) - 1)


def _keep_or_read(rows: Rows, ids: np.ndarray, parts: list[slice]) -> Callable[[int], Matrix]:
    """A function that gives the rows of a part: kept ready if they are few, else read each time."""
    share = len(ids) / rows.n * (rows.X.data.nbytes + rows.X.indices.nbytes if rows.is_sparse else 0)
    if (share if rows.is_sparse else len(ids) * rows.d * rows.dtype.itemsize) <= _KEPT_BYTES:
        kept = [rows.read(ids[part]) for part in parts]
        return lambda at: kept[at]
    return lambda at: rows.read(ids[parts[at]])
