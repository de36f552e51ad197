"""A state in which a change stays local: it knows the members of each cluster and the clusters nearest to it.

One move, one scan of a cluster's members or of its neighbourhood costs the same however many rows and clusters there
are in all. Distances are sums of squared differences, so no digits are lost far from the origin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.compute.jit import helper, helper_inlined, helper_once, helper_reordering_inlined


class Local(NamedTuple):
    """Rows, and clusters in k + 1 slots, one of which is free."""

    rows: np.ndarray  # (n, d)   prepared rows
    weights: np.ndarray  # (n,)
    labels: np.ndarray  # (n,)     the slot of each row's cluster
    composites: np.ndarray  # (k+1, d) float64
    centroids: np.ndarray  # (k+1, d) D/n in the arithmetic of the rows
    sizes: np.ndarray  # (k+1,)
    counts: np.ndarray  # (k+1,)
    following: np.ndarray  # (n,)     members of a cluster as a doubly linked list; −1 at its ends
    preceding: np.ndarray  # (n,)
    first: np.ndarray  # (k+1,)
    near: np.ndarray  # (k+1, L) clusters whose centroids are nearest, nearest first; −1 where there are fewer
    near_sq: np.ndarray  # (k+1, L) and their squared distances, inf beyond


class Log(NamedTuple):
    """The moves of a trial, so that they can be undone."""

    rows: np.ndarray  # (most,)
    clusters: np.ndarray  # (most,)  where they came from
    length: np.ndarray  # (1,)


@helper_reordering_inlined
def sq_distance(rows, i, points, r):
    """|rows[i] − points[r]|²."""
    if rows.shape[1] == 2:
        x, y = rows[i, 0] - points[r, 0], rows[i, 1] - points[r, 1]
        return x * x + y * y
    total = rows[i, 0] - rows[i, 0]
    for t in range(rows.shape[1]):
        difference = rows[i, t] - points[r, t]
        total += difference * difference
    return total


@helper_once
def link_members(
    local,  # INOUT  the lists, from the labels
):
    for r in range(local.first.shape[0]):
        local.first[r] = -1
    for i in range(local.labels.shape[0] - 1, -1, -1):
        r = local.labels[i]
        behind = local.first[r]
        local.following[i], local.preceding[i], local.first[r] = behind, -1, i
        if behind >= 0:
            local.preceding[behind] = i


@helper
def move(
    i,  # IN     row
    dst,  # IN     cluster it joins
    local,  # INOUT
):
    """Row i from its cluster to another: sums, sizes, centroids and lists of both."""
    src, weight = local.labels[i], local.weights[i]
    local.sizes[src] -= weight
    local.sizes[dst] += weight
    local.counts[src] -= 1
    local.counts[dst] += 1
    left = 1.0 / local.sizes[src] if local.counts[src] > 0 else 0.0
    joined = 1.0 / local.sizes[dst]
    kept = 1.0 if local.counts[src] > 0 else 0.0  # an emptied slot leaves nothing to the cluster that comes next
    local.sizes[src] *= kept
    rows, composites, centroids = local.rows, local.composites, local.centroids
    for t in range(rows.shape[1]):
        x = weight * rows[i, t]
        composites[src, t] = (composites[src, t] - x) * kept
        composites[dst, t] += x
        centroids[src, t] = composites[src, t] * left
        centroids[dst, t] = composites[dst, t] * joined
    before, behind = local.preceding[i], local.following[i]
    if before >= 0:
        local.following[before] = behind
    else:
        local.first[src] = behind
    if behind >= 0:
        local.preceding[behind] = before
    behind = local.first[dst]
    local.following[i], local.preceding[i], local.first[dst] = behind, -1, i
    if behind >= 0:
        local.preceding[behind] = i
    local.labels[i] = dst


@helper_inlined
def move_logged(i, dst, local, log):
    """The same, recorded in the log."""
    at = log.length[0]
    log.rows[at], log.clusters[at] = i, local.labels[i]
    log.length[0] = at + 1
    move(i, dst, local)


@helper_once
def undo(local, log):
    """Undo all moves of the log, the last one first."""
    for at in range(log.length[0] - 1, -1, -1):
        move(np.int64(log.rows[at]), np.int64(log.clusters[at]), local)
    log.length[0] = 0


@helper
def find_near(
    r,  # IN     cluster
    local,  # INOUT  row r of the neighbours
):
    """The clusters nearest to r, by insertion into a short sorted list."""
    near, near_sq, found = local.near, local.near_sq, 0
    most = near.shape[1]
    for v in range(local.counts.shape[0]):
        if v == r or local.counts[v] == 0:
            continue
        distance = np.float64(sq_distance(local.centroids, r, local.centroids, v))
        if found == most and not distance < near_sq[r, most - 1]:
            continue
        found = min(found + 1, most)
        at = found - 1
        while at > 0 and near_sq[r, at - 1] > distance:
            near_sq[r, at], near[r, at] = near_sq[r, at - 1], near[r, at - 1]
            at -= 1
        near_sq[r, at], near[r, at] = distance, v
    for at in range(found, most):
        near_sq[r, at], near[r, at] = np.inf, -1


@helper_inlined
def stay_cost(i, own_sq, local):
    """What the sum of squares loses when row i leaves its cluster, which is not its last row: w·n/(n − w)·|x − C|²."""
    n, weight = local.sizes[local.labels[i]], local.weights[i]
    return weight * n / (n - weight) * own_sq


@helper_inlined
def join_cost(i, r, local):
    """What the sum of squares gains when row i joins cluster r: w·n/(n + w)·|x − C|²."""
    n, weight = local.sizes[r], local.weights[i]
    return weight * n / (n + weight) * np.float64(sq_distance(local.rows, i, local.centroids, r))


@helper_inlined
def may_leave(i, local):
    """A cluster never gives up its last row."""
    return local.counts[local.labels[i]] > 1
