"""Compiled loops over a matrix of distances: sums, seeds, the pass that moves samples, exchanges and medoids."""

from __future__ import annotations

import numpy as np

from ksums.compute.jit import helper, kernel

_MEMBERS_PER_RELAXATION = 8.0
"""The twin of ``rules/annealing.py``: a cluster of m samples is relaxed by at most m/8."""

ROUNDING = 1e-10
"""A sample moves if it gains more than this share of its cost; less may be rounding."""

ROUNDING_OF_SUMS = 1e-14
"""The share of the sum of all distances from a sample that may be rounding in each of its sums: they are sums of terms
that came and went, so one that should be 0, among duplicates, is not."""

TILE = 64
"""A matrix is compared with its transpose tile by tile, so that the columns of a tile stay in the cache."""


@kernel
def look_for_faults(
    square,  # IN     (n, n)
    first,  # IN     first row of tiles
    last,  # IN     end of the rows of tiles
    tolerance,  # IN     how much two distances that should be equal may differ, relatively
    values,  # OUT    (5,)  see below
):
    """What a matrix of distances must not hold, in some rows of tiles and in their mirror image.

    The largest distance, the least one, the largest asymmetry that the tolerance does not explain, the largest
    asymmetry of all, and how many distances are not finite. The caller looks for the places if something is wrong.
    """
    n = len(square)
    largest, least, excess, asymmetry, infinite = -np.inf, np.inf, 0.0, 0.0, 0
    for tile in range(first, last):
        for left in range(tile * TILE, n, TILE):
            for i in range(tile * TILE, min(n, (tile + 1) * TILE)):
                for j in range(max(i, left), min(n, left + TILE)):
                    d = np.float64(square[i, j])
                    if square[j, i] != square[i, j]:  # also where one of them is NaN
                        e = np.float64(square[j, i])
                        gap = abs(d - e)
                        infinite += not gap < np.inf
                        asymmetry = max(asymmetry, gap)
                        excess = max(excess, gap - tolerance * max(abs(d), abs(e)))
                        least = min(least, e)
                    largest, least = max(largest, d), min(least, d)
    infinite += not (largest < np.inf and least > -np.inf)
    values[0], values[1], values[2], values[3], values[4] = largest, least, excess, asymmetry, infinite


@kernel
def copy_part(
    square,  # IN   (n, n)
    rows,  # IN   (a,)
    columns,  # IN   (b,)
    part,  # OUT  (a, b)
):
    """Copy the distances between some samples and others, several times as fast as NumPy does."""
    for i in range(len(rows)):
        row = square[rows[i]]
        for j in range(len(columns)):
            part[i, j] = row[columns[j]]


@kernel
def add_rows(
    square,  # IN     (n, n)
    weights,  # IN     (n,), or (0,) if all are 1
    rows,  # IN     (m,)  samples
    clusters,  # IN     (m,)  the cluster of each of them
    first,  # IN     first column
    last,  # IN     end of the columns
    sums,  # INOUT  (k, n)
):
    """Add the distances from some samples to the sums of their clusters, in some columns.

    The sum of a column is always made in the order of the rows, so it does not depend on how columns are shared out.
    """
    weighted = len(weights) > 0
    for at in range(len(rows)):
        i = rows[at]
        _add(square[i, first:last], weights[i] if weighted else 1.0, sums[clusters[at], first:last])


@helper
def _add(distances, w, out):
    for j in range(len(out)):
        out[j] += w * np.float64(distances[j])


@helper
def _counted_as(m, w, relaxation):
    """The weight that a sample is counted as: p samples, but no more than an eighth of what is there."""
    return w * min(relaxation, max(1.0, m / (w * _MEMBERS_PER_RELAXATION)))


@helper
def _set_price(r, w, relaxation, by_size, state):
    """What a sample of weight w would cost in cluster r, divided by w: (S − offset) · factor."""
    m = state.sizes[r]
    counted = _counted_as(m, w, relaxation)
    state.offsets[r] = state.pairs[r] / m if by_size else 0.0
    state.factors[r] = 1.0 / (m + counted) if by_size else m / (m + counted - w)


@helper
def _stay_cost(s, p, m, w, relaxation, by_size):
    """What a sample of weight w costs in its cluster, divided by w; s: its sum of distances, p: the cluster's pairs."""
    counted = _counted_as(m, w, relaxation)
    return (s - p / m) / (m - counted) if by_size else s * m / (m - counted + w)


@kernel
def visit_samples(
    square,  # IN     (n, n)
    weights,  # IN     (n,), or (0,) if all are 1
    order,  # IN     (m,)  the samples to visit
    relaxation,  # IN     p
    by_size,  # IN     whether the pairs of a cluster are divided by its size
    low,  # IN     (k,)  least sizes
    high,  # IN     (k,)  largest sizes
    state,  # INOUT  DistanceSums
):
    """Move each sample to the cluster where it costs least; returns the number of moves."""
    moves = 0
    k, weighted = len(state.sizes), len(weights) > 0
    sums, sizes = state.sums, state.sizes
    for r in range(k):
        _set_price(r, 1.0, relaxation, by_size, state)
    for i in order:
        src = state.labels[i]
        w = weights[i] if weighted else 1.0
        if state.counts[src] <= 1 or sizes[src] - w < low[src]:
            continue
        if weighted:
            for r in range(k):
                _set_price(r, w, relaxation, by_size, state)
        stay = _stay_cost(sums[src, i], state.pairs[src], sizes[src], w, relaxation, by_size)
        noise = state.noise[i] / sizes[src] if by_size else state.noise[i]
        dst, least = src, stay - ROUNDING * abs(stay) - noise
        for r in range(k):
            cost = (sums[r, i] - state.offsets[r]) * state.factors[r]
            if cost < least and r != src and sizes[r] + w <= high[r]:
                dst, least = r, cost
        if dst != src:
            _reallocate(square[i], w, i, src, dst, state)
            _set_price(src, 1.0, relaxation, by_size, state)
            _set_price(dst, 1.0, relaxation, by_size, state)
            moves += 1
    return moves


@helper
def _reallocate(distances, w, i, src, dst, state):
    """The one place that moves a sample."""
    state.labels[i] = dst
    state.counts[src] -= 1
    state.counts[dst] += 1
    state.sizes[src] -= w
    state.sizes[dst] += w
    state.pairs[src] -= w * state.sums[src, i]
    state.pairs[dst] += w * state.sums[dst, i]
    _shift(distances, w, state.sums[src], state.sums[dst])


@helper
def _shift(distances, w, away, to):
    for j in range(len(distances)):
        e = w * np.float64(distances[j])
        away[j] -= e
        to[j] += e


@kernel
def exchange_samples(
    square,  # IN     (n, n)
    order,  # IN     (m,)  the samples to visit
    by_size,  # IN     whether the pairs of a cluster are divided by its size
    state,  # INOUT  DistanceSums of samples without weights
):
    """Let each sample change places with the one with which that gains most, so sizes stay; returns the exchanges."""
    exchanges = 0
    sums, labels = state.sums, state.labels
    for i in order:
        a = labels[i]
        m = state.sizes[a] if by_size else 1.0
        most, partner = 0.0, -1
        for j in range(len(labels)):
            b = labels[j]
            if b == a:
                continue
            d, other = np.float64(square[i, j]), state.sizes[b] if by_size else 1.0
            stay = sums[a, i] / m + sums[b, j] / other
            gain = stay - (sums[a, j] - d) / m - (sums[b, i] - d) / other
            noise = (state.noise[i] + state.noise[j]) * (1.0 / m + 1.0 / other)
            if gain > most + ROUNDING * stay + noise:
                most, partner = gain, j
        if partner >= 0:
            b = labels[partner]
            _reallocate(square[i], 1.0, i, a, b, state)
            _reallocate(square[partner], 1.0, partner, b, a, state)
            exchanges += 1
    return exchanges


@kernel
def add_between(
    weights,  # IN     (n,), or (0,) if all are 1
    labels,  # IN     (n,)
    sums,  # IN     (k, n)
    between,  # INOUT  (k, k)
):
    """Add up the distances between the samples of any two clusters; on the diagonal each pair counts twice."""
    weighted = len(weights) > 0
    for r in range(len(sums)):
        row, out = sums[r], between[r]
        for j in range(len(labels)):
            out[labels[j]] += (weights[j] if weighted else 1.0) * row[j]


@kernel
def greedy_seeds(
    square,  # IN   (n, n)
    weights,  # IN   (n,), or (0,) if all are 1
    uniform,  # IN   (k, c)  random numbers: c candidates for each seed
    nearest,  # OUT  (n,)  the distance to the nearest seed
    labels,  # OUT  (n,)
    seeds,  # OUT  (k,)
):
    """Seeds as in k-means++ with plain distances: of some candidates the one that leaves least distance is taken."""
    n = len(nearest)
    weighted = len(weights) > 0
    nearest[:] = np.inf
    for r in range(len(seeds)):
        best, chosen = np.inf, -1
        for c in range(uniform.shape[1] if r else 1):
            at = _drawn(uniform[r, c], weights, nearest, seeds[:r])
            left = 0.0
            for j in range(n):
                left += (weights[j] if weighted else 1.0) * min(nearest[j], np.float64(square[at, j]))
            if left < best or chosen < 0:
                best, chosen = left, at
        for j in range(n):
            if square[chosen, j] < nearest[j]:
                nearest[j] = square[chosen, j]
                labels[j] = r
        nearest[chosen] = 0.0
        labels[chosen] = r
        seeds[r] = chosen


@helper
def _drawn(share, weights, nearest, seeds):
    """A sample, drawn by its weight and its distance to the seeds; never a seed."""
    n = len(nearest)
    weighted = len(weights) > 0
    total = 0.0
    for j in range(n):
        total += (weights[j] if weighted else 1.0) * (nearest[j] if len(seeds) else 1.0)
    left, last = share * total, -1
    for j in range(n):
        part = (weights[j] if weighted else 1.0) * (nearest[j] if len(seeds) else 1.0)
        left -= part
        if part > 0.0:
            last = j
            if left <= 0.0:
                break
    if last >= 0:
        return last
    for j in range(n):  # all other samples lie on seeds
        is_seed = False
        for seed in seeds:
            is_seed |= seed == j
        if not is_seed:
            return j
    return 0


@kernel
def sum_new_rows(
    distances,  # IN     (m, n)  from new samples to the members
    weights,  # IN     (n,), or (0,) if all are 1
    labels,  # IN     (n,)
    sums,  # INOUT  (m, k)
):
    """Add up the distances from new samples to the members of each cluster."""
    weighted = len(weights) > 0
    for i in range(len(distances)):
        for j in range(len(labels)):
            sums[i, labels[j]] += (weights[j] if weighted else 1.0) * np.float64(distances[i, j])


@kernel
def find_two_nearest(
    square,  # IN   (n, n)
    medoids,  # IN   (k,)
    samples,  # IN   (m,)  the samples to look at
    near,  # OUT  (2, n)  numbers of the nearest and the second nearest medoid; k for the second if k = 1
    distances,  # OUT  (2, n)  how far they are
):
    """The two nearest medoids of some samples."""
    for j in samples:
        near[0, j] = near[1, j] = len(medoids)
        distances[0, j] = distances[1, j] = np.inf
        for r in range(len(medoids)):
            _offer(np.float64(square[medoids[r], j]), r, j, near, distances)


@helper
def _offer(d, r, j, near, distances):
    """Let medoid r be one of the two nearest of sample j, if it is."""
    if d < distances[0, j]:
        near[1, j], distances[1, j] = near[0, j], distances[0, j]
        near[0, j], distances[0, j] = r, d
    elif d < distances[1, j]:
        near[1, j], distances[1, j] = r, d


@kernel
def swap_medoids(
    square,  # IN     (n, n)
    weights,  # IN     (n,), or (0,) if all are 1
    first,  # IN     the first candidate to look at
    most,  # IN     candidates to look at, at most: n if none of them helps
    medoids,  # INOUT  (k,)
    near,  # INOUT  (2, n)
    distances,  # INOUT  (2, n)
    losses,  # OUT    (2, k)  what losing a medoid costs, and the same with a candidate in its place
):
    """Put a candidate in the place of a medoid as soon as that helps; returns the swaps, and candidates since the last.

    What a swap changes is the same sum for all medoids, but for the samples whose nearest one is lost: one look at the
    distances of a candidate tells the best swap (the idea of FasterPAM; Schubert and Rousseeuw, 2021).
    """
    n, k = len(square), len(medoids)
    swaps, since = 0, 0
    margin = ROUNDING * _lose(weights, near, distances, losses)
    for step in range(most):
        candidate = (first + step) % n
        since += 1
        if medoids[near[0, candidate]] == candidate:
            continue
        gain = _of_candidate(square[candidate], weights, near, distances, losses)
        lost = 0
        for r in range(k):
            if losses[1, r] < losses[1, lost]:
                lost = r
        total = gain + losses[1, lost]
        if total < -margin:
            medoids[lost] = candidate
            for j in range(n):
                if near[0, j] == lost or near[1, j] == lost:
                    near[0, j] = near[1, j] = k
                    distances[0, j] = distances[1, j] = np.inf
                    for r in range(k):
                        _offer(np.float64(square[medoids[r], j]), r, j, near, distances)
                else:
                    _offer(np.float64(square[candidate, j]), lost, j, near, distances)
            margin = ROUNDING * _lose(weights, near, distances, losses)
            swaps, since = swaps + 1, 0
        if since >= n:
            break
    return swaps, since


@helper
def _lose(weights, near, distances, losses):
    """What the samples of each medoid lose if it goes and they take their second nearest; returns the sum now."""
    weighted = len(weights) > 0
    losses[0, :] = 0.0
    total = 0.0
    for j in range(near.shape[1]):
        w = weights[j] if weighted else 1.0
        losses[0, near[0, j]] += w * (distances[1, j] - distances[0, j])
        total += w * distances[0, j]
    return total


@helper
def _of_candidate(row, weights, near, distances, losses):
    """What one more medoid changes; ``losses[1]`` is what is added to that if another one goes."""
    weighted = len(weights) > 0
    for r in range(losses.shape[1]):
        losses[1, r] = losses[0, r]
    gain = 0.0
    for j in range(len(row)):
        d = np.float64(row[j])
        if d < distances[1, j]:
            w = weights[j] if weighted else 1.0
            if d < distances[0, j]:
                gain += w * (d - distances[0, j])
                losses[1, near[0, j]] += w * (distances[0, j] - distances[1, j])
            else:
                losses[1, near[0, j]] += w * (d - distances[1, j])
    return gain
