"""Merge–split search: one cluster is dissolved, another one split, and only what lies around both is relaxed.

A trial that does not pay is undone from a log, so it costs what it touched: in two dimensions some 100 µs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.engines._jit import helper, helper_inlined, kernel
from ksums.engines._local_kernels import (
    find_near,
    join_cost,
    link_members,
    may_leave,
    move_logged,
    sq_distance,
    stay_cost,
    undo,
)
from ksums.engines._random import random_below, random_share

_SPLIT_STEPS = 3  # of two-means, when a cluster is divided
_IDLE_TRIALS = 4
_CHOICE = 20  # what choosing a trial costs, in comparisons, and a quarter of the number of clusters
_SLACK = 1.1  # joining costs less than the squared distance: by a tenth for clusters of ten rows, taken for all
_BORDER = 1.0 / (1.0 + np.sqrt(_SLACK)) ** 2  # of |C − C'|²: a row this close to its own centroid stays, then


class Search(NamedTuple):
    """How a trial is made."""

    rounds: int  # of relaxation, at most
    changed_share: float  # of a cluster's members: a cluster that changed by less is relaxed no further
    reach: int  # neighbours of a changed cluster whose rows are offered to it
    hope: float  # a trial is given up unless this many times the last round's gain could still make it pay
    tournament: int  # clusters of which the best to dissolve, or to split, is taken
    optimism: float  # a trial is not begun where dissolving costs more than this many times what splitting gains
    clearly: float  # a trial must gain this share of the sum of squares: else rounding may have
    most_compared: int  # comparisons of a row with a cluster in one trial


class Prospects(NamedTuple):
    """What is known about each cluster, to choose promising trials by."""

    removal: np.ndarray  # (k+1,)  what dissolving it would cost, to first order
    gain: np.ndarray  # (k+1,)  what splitting it brought when last tried
    stale: np.ndarray  # (k+1,)  whether both are out of date


class Work(NamedTuple):
    """Work space."""

    halves: np.ndarray  # (2, d)  centres of the two halves of a split
    half_sum: np.ndarray  # (d,)    float64
    current: np.ndarray  # (k+1,)  clusters that changed in the last round
    changed: np.ndarray  # (k+1,)  clusters that change in this one
    flags: np.ndarray  # (k+1,)  1: in current, 2: in changed
    changes: np.ndarray  # (k+1,)  moves from or to it since it was last relaxed
    compared: np.ndarray  # (2,)    comparisons made: now, and when the best was found
    trials: np.ndarray  # (2,)    the same of trials, with those not begun


# ---------------------------------------------------------------------------------- the two halves of a trial
@helper
def _halve(
    r,  # IN     cluster
    local,  # IN
    seed,  # INOUT
    work,  # INOUT  halves: the means of both
):
    """Two-means inside a cluster, from a row drawn by squared distance and its mirror image; gives the split's gain."""
    halves, half_sum, d = work.halves, work.half_sum, local.rows.shape[1]
    if local.counts[r] < 2:
        return 0.0
    total, pick, i = 0.0, local.first[r], local.first[r]
    while i >= 0:
        share = local.weights[i] * np.float64(sq_distance(local.rows, i, local.centroids, r))
        total += share
        if random_share(seed) * total < share:
            pick = i
        i = local.following[i]
    for t in range(d):
        halves[0, t] = local.rows[pick, t]
        halves[1, t] = local.centroids[r, t] + local.centroids[r, t] - local.rows[pick, t]
    work.compared[0] += local.counts[r] * (1 + 2 * _SPLIT_STEPS)
    n, gain = local.sizes[r], 0.0
    for _ in range(_SPLIT_STEPS):
        for t in range(d):
            half_sum[t] = 0.0
        size, i = 0.0, local.first[r]
        while i >= 0:
            if sq_distance(local.rows, i, halves, 0) < sq_distance(local.rows, i, halves, 1):
                weight = local.weights[i]
                size += weight
                for t in range(d):
                    half_sum[t] += weight * local.rows[i, t]
            i = local.following[i]
        rest = n - size
        if size <= 0.0 or rest <= 0.0:
            return 0.0
        gain = 0.0
        for t in range(d):
            one, other = half_sum[t] / size, (local.composites[r, t] - half_sum[t]) / rest
            halves[0, t], halves[1, t] = one, other
            gain += (one - other) * (one - other)
        gain *= size * rest / n
    return gain


@helper
def _split(
    r,  # IN     cluster
    free,  # IN     the free place
    work,  # IN     halves
    local,  # INOUT
    log,  # INOUT
):
    """Members of r nearer to the first of the halves go to the free place; gives the change of the sum of squares."""
    i = local.first[r]
    while i >= 0:
        behind = local.following[i]
        if local.counts[r] > 1 and sq_distance(local.rows, i, work.halves, 0) < sq_distance(
            local.rows, i, work.halves, 1
        ):
            move_logged(i, free, local, log)
        i = behind
    if local.counts[free] == 0:
        return 0.0
    n, m = local.sizes[r], local.sizes[free]
    return -n * m / (n + m) * np.float64(sq_distance(local.centroids, r, local.centroids, free))


@helper
def _find_near(r, local, work):
    find_near(r, local)
    work.compared[0] += local.counts.shape[0]


@helper_inlined
def _best_join(
    i,  # IN     row
    r,  # IN     its cluster
    own_sq,  # IN     its squared distance to that
    best,  # IN     cost to stay below
    local,  # IN
):
    """The neighbour of r that row i joins at least cost, below ``best``: cost, cluster (−1 if there is none), and
    how many it was compared with.

    By the triangle inequality no cluster is worth a look that is farther from r than both distances together; a
    little more is allowed, as joining costs a little less than the squared distance. For small clusters that is a
    rule of thumb, as the lists are: what it misses is left to the exact passes.
    """
    dst, weight = -1, local.weights[i]
    own = np.sqrt(own_sq)
    reach = (own + np.sqrt(_SLACK * best / weight)) ** 2
    compared = local.near.shape[1]
    for at in range(local.near.shape[1]):
        if local.near_sq[r, at] > reach or local.near[r, at] < 0:
            compared = at
            break
        v = local.near[r, at]
        n = local.sizes[v]
        # join_cost(i, v) < best, without the division that nearly always comes to nothing
        distance = weight * n * np.float64(sq_distance(local.rows, i, local.centroids, v))
        if distance < best * (n + weight) and n + weight <= local.high:
            best, dst = distance / (n + weight), v
            reach = (own + np.sqrt(_SLACK * best / weight)) ** 2
    return best, dst, compared


@helper
def _removal_cost(r, local, work):
    """What dissolving cluster r costs to first order: every row joins its best neighbour."""
    _find_near(r, local, work)
    total, compared, i = 0.0, 0, local.first[r]
    while i >= 0:
        own_sq = np.float64(sq_distance(local.rows, i, local.centroids, r))
        cost, _, looked = _best_join(i, r, own_sq, np.inf, local)
        total += cost - local.weights[i] * own_sq
        compared += 1 + looked
        i = local.following[i]
    work.compared[0] += compared
    return total


@helper
def _dissolve(
    r,  # IN     cluster
    local,  # INOUT
    log,  # INOUT
    work,  # INOUT
):
    """Every row of r joins its best neighbour. Gives the change of the sum of squares; inf where one finds no room."""
    _find_near(r, local, work)
    for t in range(local.rows.shape[1]):  # the neighbours are those of where the centroid was before rows left it
        work.halves[0, t] = local.centroids[r, t]
    total, compared, i = 0.0, 0, local.first[r]
    while i >= 0:
        behind = local.following[i]
        own_sq = np.float64(sq_distance(local.rows, i, work.halves, 0))
        cost, dst, looked = _best_join(i, r, own_sq, np.inf, local)
        compared += 1 + looked
        if dst < 0:
            total = np.inf
            break
        if local.counts[r] > 1:
            total -= stay_cost(i, local)
        total += cost
        move_logged(i, dst, local, log)
        i = behind
    work.compared[0] += compared
    return total


# ---------------------------------------------------------------------------------- relaxation around it
@helper_inlined
def _note_change(r, marked, work):
    """Cluster r changed in this round."""
    work.changes[r] += 1
    if work.flags[r] < 2:
        work.flags[r] += 2
        work.changed[marked] = r
        marked += 1
    return marked


@helper
def _relax_members(r, marked, local, log, work):
    """The rows of r against its neighbours; gives the change of the sum of squares, and how many clusters changed."""
    total, compared, i = 0.0, 0, local.first[r]
    while i >= 0:
        behind = local.following[i]
        if log.length[0] >= log.rows.shape[0]:
            break
        if may_leave(i, local):
            own_sq = np.float64(sq_distance(local.rows, i, local.centroids, r))
            n, weight = local.sizes[r], local.weights[i]
            stay = weight * n / (n - weight) * own_sq
            cost, dst, looked = _best_join(i, r, own_sq, stay, local)
            compared += 1 + looked
            if dst >= 0:
                move_logged(i, dst, local, log)
                total += cost - stay
                marked = _note_change(r, marked, work)
                marked = _note_change(dst, marked, work)
        i = behind
    work.compared[0] += compared
    return total, marked


@helper
def _relax_neighbours(r, reach, marked, local, log, work):
    """The rows of the unchanged neighbours of r against r only."""
    total, compared = 0.0, 0
    for at in range(min(reach, local.near.shape[1])):
        u = local.near[r, at]
        if u < 0:
            break
        if work.flags[u] & 1:
            continue
        border, i = _BORDER * local.near_sq[r, at], local.first[u]
        while i >= 0:
            behind = local.following[i]
            if log.length[0] >= log.rows.shape[0]:
                break
            own_sq = np.float64(sq_distance(local.rows, i, local.centroids, u))
            compared += 1
            if own_sq > border and may_leave(i, local):
                n, weight = local.sizes[u], local.weights[i]
                stay = weight * n / (n - weight) * own_sq
                compared += 1
                cost = join_cost(i, r, local)
                if cost < stay:
                    move_logged(i, r, local, log)
                    total += cost - stay
                    marked = _note_change(r, marked, work)
                    marked = _note_change(u, marked, work)
            i = behind
    work.compared[0] += compared
    return total, marked


@helper
def _much_changed(search, count, local, work):
    """Those of work.changed that changed by their share or more, in work.current; gives their number."""
    much = 0
    for at in range(count):
        r = work.changed[at]
        if local.counts[r] > 0 and work.changes[r] >= search.changed_share * local.counts[r]:
            work.changes[r] = 0
            work.current[much] = r
            much += 1
    return much


@helper
def _relax(
    search,  # IN
    count,  # IN     clusters in work.current
    base,  # IN     change of the sum of squares by the trial so far
    bar,  # IN     what the trial must get below
    stop_at,  # IN     comparisons after which there is no other round
    local,  # INOUT
    log,  # INOUT
    work,  # INOUT
):
    """Exact moves (p = 1) around the clusters that changed; those that change are the next round's."""
    total, last = 0.0, 0.0
    for _ in range(search.rounds):
        marked = 0
        for at in range(count):
            work.flags[work.current[at]] = 1
            _find_near(work.current[at], local, work)
        for at in range(count):
            r = work.current[at]
            change, marked = _relax_members(r, marked, local, log, work)
            total += change
            change, marked = _relax_neighbours(r, search.reach, marked, local, log, work)
            total += change
        for at in range(count):
            work.flags[work.current[at]] = 0
        for at in range(marked):
            work.flags[work.changed[at]] = 0
        count = _much_changed(search, marked, local, work)
        hopeless = base + total - search.hope * (last - total) > bar
        if count == 0 or hopeless or work.compared[0] > stop_at or log.length[0] >= log.rows.shape[0]:
            break
        last = total
    return total


# ---------------------------------------------------------------------------------- trials
@helper
def _choose(search, prospects, local, seed):
    """A cluster to dissolve and one to split, each the most promising of a few drawn; −1 where there is none."""
    places, dissolved, divided = local.counts.shape[0], -1, -1
    for _ in range(search.tournament):
        r = random_below(places, seed)
        if local.counts[r] > 0 and (dissolved < 0 or prospects.removal[r] < prospects.removal[dissolved]):
            dissolved = r
    for _ in range(search.tournament):
        r = random_below(places, seed)
        if r != dissolved and local.counts[r] > 1 and (divided < 0 or prospects.gain[r] > prospects.gain[divided]):
            divided = r
    return dissolved, divided


@helper
def _touched(local, log, work):
    """The clusters that the moves of the log left or joined, in work.changed; gives their number."""
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


@helper
def _try(search, dissolved, divided, free, bar, local, log, work):
    """Split one cluster by work.halves, dissolve another, relax. Gives the change of the sum of squares."""
    stop_at = work.compared[0] + search.most_compared
    change = _split(divided, free, work, local, log)
    if local.counts[free] == 0 or min(local.sizes[free], local.sizes[divided]) < local.low:
        return np.inf
    change += _dissolve(dissolved, local, log, work)
    if change == np.inf:
        return change
    count = _much_changed(search, _touched(local, log, work), local, work)
    change += _relax(search, count, change, bar, stop_at, local, log, work)
    for at in range(_touched(local, log, work)):
        work.changes[work.changed[at]] = 0
    return change


@helper
def _keep_prospects_fresh(local, prospects, seed, work):
    for r in range(local.counts.shape[0]):
        if prospects.stale[r] and local.counts[r] > 0:
            prospects.removal[r] = _removal_cost(r, local, work)
            prospects.gain[r] = _halve(r, local, seed, work)
        prospects.stale[r] = False


@helper
def is_idle(k, idle_after, work):
    """Whether there was no new best for so many comparisons, and for a few trials of each cluster."""
    idle_trials = work.trials[0] - work.trials[1]
    return work.compared[0] - work.compared[1] >= idle_after and idle_trials >= _IDLE_TRIALS * k


@kernel
def start_search(local):
    """Lists of members, from the labels."""
    link_members(local)


@kernel
def merge_split_trials(
    search,  # IN
    stop_at,  # IN     comparisons (of all calls) after which no other is begun
    idle_after,  # IN     comparisons without a new best after which it ends
    first_heat,  # IN     temperature now, as a share of the mean sum of squares of a cluster; 0: only down
    last_heat,  # IN     temperature at the end of the call
    values,  # INOUT  (2,)  sum of squares: now, and the least
    best_labels,  # OUT    (n,)  those of the least, if it is not now
    seed,  # INOUT  (1,)
    local,  # INOUT
    prospects,  # INOUT
    log,  # INOUT
    work,  # INOUT
):
    """Some trials; returns how many were made, and how many were kept. Those that are not promising are not begun."""
    places, made, kept, free = local.counts.shape[0], 0, 0, 0
    while local.counts[free] > 0:
        free += 1
    begin = work.compared[0]
    while work.compared[0] < stop_at and not is_idle(places - 1, idle_after, work):
        work.trials[0] += 1
        work.compared[0] += _CHOICE + places // 4
        _keep_prospects_fresh(local, prospects, seed, work)
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
        temperature = heat * values[0] / (places - 1)
        if temperature > 0.0:
            bar = max(bar, -temperature * np.log(1.0 - random_share(seed)))
        log.length[0] = 0
        change = _try(search, dissolved, divided, free, bar, local, log, work)
        # A sum of squares below 0: weights so unequal that n − w lost all its digits.
        if not change < bar or not values[0] + change >= 0.0:
            undo(local, log)
            continue
        if change > 0.0 and values[0] <= values[1]:  # about to leave the best place so far
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
            _find_near(r, local, work)
            prospects.stale[r] = True
            for near in range(min(6, local.near.shape[1])):
                if local.near[r, near] >= 0:
                    prospects.stale[local.near[r, near]] = True
        free = dissolved
    return made, kept
