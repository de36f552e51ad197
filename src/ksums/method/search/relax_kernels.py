"""Relaxation around the clusters that changed: exact moves (p = 1) near them, round by round."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.compute.jit import helper, helper_inlined, helper_once
from ksums.method.search.local_kernels import find_near, join_cost, may_leave, move_logged, sq_distance, stay_cost

_SLACK = 1.1
"""Joining costs less than the squared distance: by a tenth for clusters of ten rows, which is assumed for all."""
_BORDER = 1.0 / (1.0 + np.sqrt(_SLACK)) ** 2
"""A row stays if its squared distance to its centroid is at most this share of |C − C'|²."""


class Search(NamedTuple):
    """How a trial is made: see ``planning.search.TrialPlan``."""

    rounds: int
    changed_share: float
    reach: int
    hope: float
    tournament: int
    optimism: float
    clearly: float  # a trial must gain this share of the sum of squares; less may be rounding
    most_compared: int  # comparisons of a row with a cluster in one trial


class Work(NamedTuple):
    """Work space."""

    halves: np.ndarray  # (4, d)  centres of the two halves of a split, and those of another way to split
    half_sum: np.ndarray  # (d,)    float64
    current: np.ndarray  # (k+1,)  clusters that changed in the last round
    changed: np.ndarray  # (k+1,)  clusters that change in this one
    flags: np.ndarray  # (k+1,)  1: in current, 2: in changed
    changes: np.ndarray  # (k+1,)  moves from or to it since it was last relaxed
    compared: np.ndarray  # (2,)    comparisons made: now, and when the best was found
    trials: np.ndarray  # (2,)    trials considered: now, and when the best was found


@helper
def find_near_counted(r, local, work):
    find_near(r, local)
    work.compared[0] += local.counts.shape[0]


@helper_inlined
def best_join(
    i,  # IN     row
    r,  # IN     its cluster
    own_sq,  # IN     its squared distance to that
    best,  # IN     cost to stay below
    reach,  # IN     squared distance from r beyond which no cluster can cost less than that
    local,  # IN
):
    """The neighbour of r that row i joins at least cost, below ``best``: cost, cluster (−1 if there is none), and
    the number of comparisons made.

    By the triangle inequality no cluster can be better that is farther from r than both distances together. A little
    more is allowed, because joining costs a little less than the squared distance. For small clusters that is a rule of
    thumb, as the lists are: what it misses is left to the exact passes.
    """
    dst, weight = np.int64(-1), local.weights[i]
    compared = local.near.shape[1]
    for at in range(local.near.shape[1]):
        if local.near_sq[r, at] > reach or local.near[r, at] < 0:
            compared = at
            break
        v = local.near[r, at]
        n = local.sizes[v]
        # join_cost(i, v) < best without its division, which would nearly always be made for nothing
        distance = weight * n * np.float64(sq_distance(local.rows, i, local.centroids, v))
        if distance < best * (n + weight):
            best, dst = distance / (n + weight), v
            reach = (np.sqrt(own_sq) + np.sqrt(_SLACK * best / weight)) ** 2
    return best, dst, compared


@helper_inlined
def _note_change(r, marked, work):
    """Cluster r changed in this round."""
    work.changes[r] += 1
    if work.flags[r] < 2:
        work.flags[r] += 2
        work.changed[marked] = r
        marked += 1
    return marked


@helper_once
def _relax_members(r, marked, local, log, work):
    """The rows of r against its neighbours; returns the change of the sum of squares and how many clusters changed."""
    total, compared, i = 0.0, 0, local.first[r]
    n, weight, factor, inside = -1.0, 0.0, 0.0, 0.0
    while i >= 0:
        behind = local.following[i]
        if log.length[0] >= log.rows.shape[0]:
            break
        if may_leave(i, local):
            own_sq = np.float64(sq_distance(local.rows, i, local.centroids, r))
            if n != local.sizes[r] or weight != local.weights[i]:
                n, weight = local.sizes[r], local.weights[i]
                factor = (1.0 + np.sqrt(_SLACK * n / (n - weight))) ** 2
                inside = local.near_sq[r, 0] / factor
            compared += 1
            if own_sq < inside:  # no cluster is near enough, and that is most rows
                i = behind
                continue
            stay = stay_cost(i, own_sq, local)
            cost, dst, looked = best_join(i, r, own_sq, stay, factor * own_sq, local)
            compared += looked
            if dst >= 0:
                move_logged(i, dst, local, log)
                total += cost - stay
                marked = _note_change(r, marked, work)
                marked = _note_change(dst, marked, work)
        i = behind
    work.compared[0] += compared
    return total, marked


@helper_once
def _relax_neighbours(r, reach, marked, local, log, work):
    """The rows of the unchanged neighbours of r, against r only."""
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
                stay = stay_cost(i, own_sq, local)
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


@helper_once
def much_changed(search, count, local, work):
    """Puts those of work.changed that changed by their share or more into work.current; returns their number."""
    much = 0
    for at in range(count):
        r = work.changed[at]
        if local.counts[r] > 0 and work.changes[r] >= search.changed_share * local.counts[r]:
            work.changes[r] = 0
            work.current[much] = r
            much += 1
    return much


@helper_once
def relax(
    search,  # IN
    count,  # IN     clusters in work.current
    base,  # IN     change of the sum of squares by the trial so far
    bar,  # IN     change that the trial must get below
    stop_at,  # IN     comparisons after which no further round starts
    local,  # INOUT
    log,  # INOUT
    work,  # INOUT
):
    """Exact moves (p = 1) around the clusters that changed; the clusters that change here are relaxed next."""
    total, last = 0.0, 0.0
    for _ in range(search.rounds):
        marked = 0
        for at in range(count):
            work.flags[work.current[at]] = 1
            find_near_counted(work.current[at], local, work)
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
        count = much_changed(search, marked, local, work)
        hopeless = base + total - search.hope * (last - total) > bar
        if count == 0 or hopeless or work.compared[0] > stop_at or log.length[0] >= log.rows.shape[0]:
            break
        last = total
    return total
