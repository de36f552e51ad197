"""First labels: the paper's random labels, k-means++ or random points, given labels or given centres."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from ksums.computing import workers
from ksums.engines import nearest_centres
from ksums.rows import Rows, place_centres
from ksums.size_limits import outside, place_with_room, refuse_outside
from ksums.state import Limits
from ksums.typing import Matrix

_SAMPLE = 5000  # rows that "auto" seeds from at least,
_SAMPLE_PER_CLUSTER = 10  # and for each cluster
_MOST_SEEDED = 1000  # clusters; above, k rounds over the sample cost more than they bring
_KEPT_BYTES = 256 << 20  # rows kept ready during the rounds of k-means++
_ROUND_BYTES = 1 << 20  # distances in a part of a round: small enough to stay in the second-level cache
_PART_BYTES = 16 << 20  # rows in it


def first_labels(
    init: str | np.ndarray,
    rows: Rows,
    k: int,
    metric: str,
    limits: Limits | None,
    rng: np.random.Generator,
    n_threads: int,
) -> np.ndarray:
    """Labels (n,) with no cluster of pulling rows empty, and all sizes within the limits if there are any."""
    labels = np.zeros(rows.n, np.int32)
    if isinstance(init, np.ndarray) and init.ndim == 1:
        labels[rows.pulling] = init[rows.pulling]
    elif isinstance(init, str) and init == "random-labels":
        if limits is None or rows.weights is None:
            labels[rows.pulling] = random_labels(len(rows.pulling), k, limits is not None, rng)
        else:
            labels = place_with_room(rows, k, limits, lambda part: rng.random((len(part), k)))
    else:
        centres, sq_centres = _centres(init, rows, k, metric, rng)
        labels[rows.pulling] = nearest_centres(rows, rows.pulling, centres, sq_centres, n_threads)
        if limits is not None and len(outside(labels, rows, k, limits)):
            labels = place_with_room(
                rows, k, limits, lambda part: sq_centres - 2 * np.asarray(rows.read(part) @ centres.T, np.float64)
            )
    fill_empty(labels, rows.pulling, k, rng)
    if limits is not None:
        refuse_outside(labels, rows, k, limits)
    return labels


def random_labels(n: int, k: int, even: bool, rng: np.random.Generator) -> np.ndarray:
    """A random label for each sample (Algorithm 1, line 2); ``even``: sizes as equal as they can be."""
    return rng.permutation(np.arange(n) % k) if even else rng.integers(0, k, n)


def fill_empty(labels: np.ndarray, pulling: np.ndarray, k: int, rng: np.random.Generator) -> None:
    """Give each empty cluster a random sample of the cluster that is largest then, so that k stays k."""
    counts = np.bincount(labels[pulling], minlength=k)
    for cluster in np.flatnonzero(counts == 0):
        largest = int(np.argmax(counts))
        moved = rng.choice(pulling[labels[pulling] == largest])
        labels[moved] = cluster
        counts[largest] -= 1
        counts[cluster] += 1


def _centres(
    init: str | np.ndarray, rows: Rows, k: int, metric: str, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Centres (k, d) in the space of the finished rows, and their squared norms."""
    if isinstance(init, np.ndarray):
        return place_centres(init, rows, metric)
    candidates = rows.pulling
    if init == "auto":
        init = "k-means++" if k <= _MOST_SEEDED else "random-points"
        size = max(_SAMPLE, _SAMPLE_PER_CLUSTER * k)
        if len(candidates) > size:
            candidates = np.sort(rng.choice(candidates, size, replace=False))
    if init == "random-points":
        chosen = np.sort(rng.choice(rows.pulling, k, replace=False))
    else:
        chosen = k_means_plus_plus(rows, candidates, k, rng)
    return _dense(rows.read(chosen)), rows.sq_norms[chosen]


def centres_of(composites: np.ndarray, sizes: np.ndarray, cosine: bool) -> tuple[np.ndarray, np.ndarray]:
    """Centres for ``nearest_centres``, D/n, and their squared norms; under cosine D/|D| and zeros."""
    lengths = np.linalg.norm(composites, axis=1) if cosine else sizes
    centres = np.ascontiguousarray(composites) / np.where(lengths > 0, lengths, 1.0)[:, None]
    return centres, np.zeros(len(centres)) if cosine else np.einsum("rt,rt->r", centres, centres)


def k_means_plus_plus(rows: Rows, candidates: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Greedy k-means++, k rows: each next one is the best of a few samples drawn by weight times squared distance.

    Best is what leaves the least sum of squared distances to the nearest centre so far; 2 + ln k samples are
    drawn, as in scikit-learn.
    """
    weights = rows.weights_of(candidates).astype(rows.dtype)
    sq_norms = rows.sq_norms.astype(rows.dtype)
    own_norms = sq_norms[candidates, None]
    trials = 2 + int(np.log(k))
    tie = 1e-9 if rows.dtype == np.float64 else 1e-5
    closest = np.full(len(candidates), np.inf, rows.dtype)
    distances = np.empty((len(candidates), trials), rows.dtype)  # reused: one round is a few milliseconds
    length = max(1, min(_ROUND_BYTES // trials, _PART_BYTES // max(rows.d, 1)) // rows.dtype.itemsize)
    parts = [slice(first, first + length) for first in range(0, len(candidates), length)]
    block_of = _keep_or_read(rows, candidates, parts)

    def try_out(ids: np.ndarray) -> np.ndarray:
        """What would be left with each of these rows as the next centre; fills ``distances`` with the closest then."""
        points, norms = _dense(rows.read(ids)).T, sq_norms[ids]

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
            # Two rows that are each other's nearest leave the same sum: the first drawn of those wins, not rounding.
            best = int(np.argmax(left <= left.min() * (1 + tie)))
            chosen[r] = candidates[drawn[best]]
            closest[:] = distances[:, best]
    return chosen


def two_seeds(rows: np.ndarray, sq_norms: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels 0 and 1 from greedy k-means++ for two clusters of a few dense rows, not all equal.

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
    """A function that gives the rows of a part: kept ready where they are few, else read each time."""
    share = len(ids) / rows.n * (rows.X.data.nbytes + rows.X.indices.nbytes if rows.is_sparse else 0)
    if (share if rows.is_sparse else len(ids) * rows.d * rows.dtype.itemsize) <= _KEPT_BYTES:
        kept = [rows.read(ids[part]) for part in parts]
        return lambda at: kept[at]
    return lambda at: rows.read(ids[parts[at]])


def _dense(block) -> np.ndarray:
    return block.toarray() if sparse.issparse(block) else block
