"""Merge–split trials: one cluster is dissolved, another one split, and only the rows around both are moved.

A trial that does not pay is undone from a log, so it costs what it touched: in two dimensions some 100 µs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.compute.jit import helper, helper_once, kernel
from ksums.compute.random import random_below, random_share
from ksums.method.search.local_kernels import link_members, move_logged, sq_distance, stay_cost, undo
from ksums.method.search.relax_kernels import best_join, find_near_counted, much_changed, relax

_SPLIT_STEPS = 3
"""Iterations of two-means when a cluster is split."""
_CLEARLY_MORE = 2.0
"""Times the gain of the usual seeds."""
_IDLE_TRIALS = 4
"""The search is idle only after this many trials for each cluster without a new best."""
_CHOICE = 20
"""What choosing a trial costs, in comparisons, apart from a quarter of the number of clusters."""


class Prospects(NamedTuple):
    """What is known about each cluster, so that promising trials can be chosen."""

    removal: np.ndarray  # (k+1,)  what dissolving it would cost, to first order
    gain: np.ndarray  # (k+1,)  what splitting it brought when last tried
    stale: np.ndarray  # (k+1,)  whether both are out of date


# ---------------------------------------------------------------------------------- the two halves of a trial
@helper
def _two_means_step(
    r,  # IN     cluster
    at,  # IN     0 or 2
    local,  # IN
    work,  # INOUT  halves[at : at + 2]: the means of both
):
    """One step of two-means inside a cluster; returns what the two halves gain, 0 if one of them is empty."""
    halves, half_sum, d = work.halves, work.half_sum, local.rows.shape[1]
    for t in range(d):
        half_sum[t] = 0.0
    size, i = 0.0, local.first[r]
    while i >= 0:
        to_one = sq_distance(local.rows, i, halves, at)
        to_other = sq_distance(local.rows, i, halves, at + 1)
        weight = local.weights[i] if to_one < to_other else 0.0  # a branch would be guessed wrong for every other row
        size += weight
        for t in range(d):
            half_sum[t] += weight * local.rows[i, t]
        i = local.following[i]
    n = local.sizes[r]
    rest = n - size
    if size <= 0.0 or rest <= 0.0:
        return 0.0
    gain = 0.0
    for t in range(d):
        one, other = half_sum[t] / size, (local.composites[r, t] - half_sum[t]) / rest
        halves[at, t], halves[at + 1, t] = one, other
        gain += (one - other) * (one - other)
    return gain * size * rest / n


@helper
def _halve(
    r,  # IN     cluster
    local,  # IN
    seed,  # INOUT
    work,  # INOUT  halves: the means of both
):
    """Two-means inside a cluster; returns the gain.

    The seeds are a row drawn by squared distance and its mirror image; or, if the first step gains clearly more, the
    row farthest out and the centre. Between a few rows far out and their mirror image, the others would part in the
    middle.
    """
    halves, d = work.halves, local.rows.shape[1]
    if local.counts[r] < 2:
        return 0.0
    total, pick, i = 0.0, local.first[r], local.first[r]
    most, farthest = 0.0, i
    while i >= 0:
        sq = np.float64(sq_distance(local.rows, i, local.centroids, r))
        share = local.weights[i] * sq
        total += share
        if random_share(seed) * total < share:
            pick = i
        if sq > most:
            most, farthest = sq, i
        i = local.following[i]
    for t in range(d):
        halves[0, t] = local.rows[pick, t]
        halves[1, t] = local.centroids[r, t] + local.centroids[r, t] - local.rows[pick, t]
        halves[2, t] = local.rows[farthest, t]
        halves[3, t] = local.centroids[r, t]
    # The step from the other seeds is not counted: that would only mean fewer trials where nothing is far out.
    work.compared[0] += local.counts[r] * (1 + 2 * _SPLIT_STEPS)
    gain, alone = _two_means_step(r, np.int64(0), local, work), _two_means_step(r, np.int64(2), local, work)
    if alone > _CLEARLY_MORE * gain:
        gain = alone
        for t in range(d):
            halves[0, t], halves[1, t] = halves[2, t], halves[3, t]
    for _ in range(1, _SPLIT_STEPS):
        if gain <= 0.0:
            break
        gain = _two_means_step(r, np.int64(0), local, work)
    return gain


@helper_once
def _split(
    r,  # IN     cluster
    free,  # IN     the free slot
    work,  # IN     halves
    local,  # INOUT
    log,  # INOUT
):
    """Moves the members of r nearer to the first half to the free slot; returns the change of the sum of squares."""
    i = local.first[r]
    while i >= 0:
        behind = local.following[i]
        if local.counts[r] > 1 and sq_distance(local.rows, i, work.halves, np.int64(0)) < sq_distance(
            local.rows, i, work.halves, np.int64(1)
        ):
            move_logged(i, free, local, log)
        i = behind
    if local.counts[free] == 0:
        return 0.0
    n, m = local.sizes[r], local.sizes[free]
    return -n * m / (n + m) * np.float64(sq_distance(local.centroids, r, local.centroids, free))


@helper
def _dissolve(
    r,  # IN     cluster
    only_estimate,  # IN     1: nothing is moved and the cost is estimated to first order
    local,  # INOUT
    log,  # INOUT
    work,  # INOUT
):
    """Every row of r joins its best neighbour; returns the change of the sum of squares, inf if a row finds no room."""
    find_near_counted(r, local, work)
    for t in range(local.rows.shape[1]):  # the neighbours are those of the centroid before rows left it
        work.halves[0, t] = local.centroids[r, t]
    total, compared, i = 0.0, 0, local.first[r]
    while i >= 0:
        behind = local.following[i]
        own_sq = np.float64(sq_distance(local.rows, i, work.halves, np.int64(0)))
        cost, dst, looked = best_join(i, r, own_sq, np.inf, np.inf, local)
        compared += 1 + looked
        total += cost
        if only_estimate:
            total -= local.weights[i] * own_sq
        elif dst < 0:
            total = np.inf
            break
        else:
            if local.counts[r] > 1:
                total -= stay_cost(i, np.float64(sq_distance(local.rows, i, local.centroids, r)), local)
            move_logged(i, dst, local, log)
        i = behind
    work.compared[0] += compared
    return total


# ---------------------------------------------------------------------------------- trials
@helper_once
def _choose(search, prospects, local, seed):
    """A cluster to dissolve and one to split, each the most promising of a few drawn; −1 if there is none."""
    slots, dissolved, divided = local.counts.shape[0], np.int64(-1), np.int64(-1)
    for _ in range(search.tournament):
        r = random_below(slots, seed)
        if local.counts[r] > 0 and (dissolved < 0 or prospects.removal[r] < prospects.removal[dissolved]):
            dissolved = r
    for _ in range(search.tournament):
        r = random_below(slots, seed)
        if r != dissolved and local.counts[r] > 1 and (divided < 0 or prospects.gain[r] > prospects.gain[divided]):
            divided = r
    return dissolved, divided


@helper
def _touched(local, log, work):
    """Puts the clusters that the moves of the log left or joined into work.changed; returns their number."""
    count = 0
    for at in range(log.length[0]):
        for side in range(2):
            r = log.clusters[at] if side == 0 else local.labels[log.rows[at]]
            if work.flags[r] == 0:
                work.flags[r] = 1
                work.changes[r] = 0
                work.changed[count] = r
                count += 1
            work.changes[r] += 1
    for at in range(count):
        work.flags[work.changed[at]] = 0
    return count


@helper_once
def _try(search, dissolved, divided, free, bar, local, log, work):
    """Split one cluster by work.halves, dissolve another, relax; returns the change of the sum of squares."""
    stop_at = work.compared[0] + search.most_compared
    change = _split(divided, free, work, local, log)
    if local.counts[free] == 0:
        return np.inf
    change += _dissolve(dissolved, np.int64(0), local, log, work)
    if change == np.inf:
        return change
    count = much_changed(search, _touched(local, log, work), local, work)
    change += relax(search, count, change, bar, stop_at, local, log, work)
    for at in range(_touched(local, log, work)):
        work.changes[work.changed[at]] = 0
    return change


@helper_once
def _keep_prospects_fresh(local, prospects, seed, log, work):
    for r in range(local.counts.shape[0]):
        if prospects.stale[r] and local.counts[r] > 0:
            prospects.removal[r] = _dissolve(r, np.int64(1), local, log, work)
            prospects.gain[r] = _halve(r, local, seed, work)
        prospects.stale[r] = False


@helper_once
def is_idle(k, idle_after, work):
    """Whether there was no new best for ``idle_after`` comparisons and a few trials of each cluster."""
    idle_trials = work.trials[0] - work.trials[1]
    return work.compared[0] - work.compared[1] >= idle_after and idle_trials >= _IDLE_TRIALS * k


@kernel
def start_search(local):
    """Link the members of each cluster."""
    link_members(local)


@kernel
def merge_split_trials(
    search,  # IN
    stop_at,  # IN     comparisons (of all calls) after which no further trial starts
    idle_after,  # IN     comparisons without a new best after which the search ends
    first_heat,  # IN     temperature now, as a share of the mean sum of squares of a cluster; 0: only downhill
    last_heat,  # IN     temperature at the end of the call
    values,  # INOUT  (2,)  sum of squares: now, and the least
    best_labels,  # OUT    (n,)  labels of the least, if that is not the present one
    seed,  # INOUT  (1,)
    local,  # INOUT
    prospects,  # INOUT
    log,  # INOUT
    work,  # INOUT
):
    """Some trials; returns how many were made and how many were kept. Trials that are not promising are skipped."""
    slots, made, kept, free = local.counts.shape[0], 0, 0, np.int64(0)
    while local.counts[free] > 0:
        free += 1
    begin = work.compared[0]
    while work.compared[0] < stop_at and not is_idle(slots - 1, idle_after, work):
        work.trials[0] += 1
        work.compared[0] += _CHOICE + slots // 4
        _keep_prospects_fresh(local, prospects, seed, log, work)
        dissolved, divided = _choose(search, prospects, local, seed)
        if dissolved < 0 or divided < 0:
            continue
        if prospects.removal[dissolved] > search.optimism * prospects.gain[divided]:
            continue
        prospects.gain[divided] = _halve(divided, local, seed, work)
        if prospects.removal[dissolved] > search.optimism * prospects.gain[divided]:
            continue
        made += 1
        bar = -search.clearly * values[0]
        done = (work.compared[0] - begin) / (stop_at - begin)
        heat = first_heat + (last_heat - first_heat) * min(1.0, done)
        temperature = heat * values[0] / (slots - 1)
        if temperature > 0.0:
            bar = max(bar, -temperature * np.log(1.0 - random_share(seed)))
        log.length[0] = 0
        change = _try(search, dissolved, divided, free, bar, local, log, work)
        # The sum of squares can fall below 0 where weights are so unequal that n − w lost all its digits.
        if not change < bar or not values[0] + change >= 0.0:
            undo(local, log)
            continue
        if change > 0.0 and values[0] <= values[1]:  # about to leave the best labels so far
            for i in range(best_labels.shape[0]):
                best_labels[i] = local.labels[i]
            for at in range(log.length[0] - 1, -1, -1):
                best_labels[log.rows[at]] = log.clusters[at]
        kept += 1
        values[0] += change
        if values[0] < values[1]:
            values[1] = values[0]
            work.compared[1], work.trials[1] = work.compared[0], work.trials[0]
        count = _touched(local, log, work)
        for at in range(count):
            r = work.changed[at]
            if local.counts[r] == 0:
                continue
            find_near_counted(r, local, work)
            prospects.stale[r] = True
            for near in range(min(6, local.near.shape[1])):
                if local.near[r, near] >= 0:
                    prospects.stale[local.near[r, near]] = True
        free = dissolved
    return made, kept
