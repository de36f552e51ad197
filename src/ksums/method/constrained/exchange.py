"""Exchanges under size limits: two samples swap clusters where neither may move alone.

If every cluster is full or minimal, no single sample can move, however much it would gain. So after each pass the
samples that want to move, those with most to gain first, each look for a partner in the cluster they want: the member
that gains most, or loses least, by coming over. They swap if that pays for both together. For the monotone rules the
profit of an exchange is the exact fall of the objective, as that of a move is.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from ksums.method.constrained.costs import costs_of_scatter
from ksums.method.constrained.cycles import make_moves
from ksums.method.data.rows import Rows
from ksums.method.data.sums import members_by_cluster
from ksums.method.state.constraints import Constraints, limits_of
from ksums.method.state.state import ClusterState
from ksums.rules.kinds import Rule
from ksums.rules.plain import gain_factors, plain_form


class Wishes(NamedTuple):
    """Who wants to go where, and who would be the best one to send the other way."""

    eager: np.ndarray  # samples with something to gain, those with most first
    target: np.ndarray  # for each of them: the cluster it would gain most by joining
    gain: np.ndarray  # what the objective gains by that
    partner: np.ndarray  # the member of that cluster that gains most, or loses least, by coming over
    partner_gain: np.ndarray  # and its gain


def exchange_pass(
    rows: Rows,
    state: ClusterState,
    rule: Rule,
    constraints: Constraints,
    deadline: float = np.inf,
    lists: np.ndarray | None = None,
) -> int:
    """Exchange pairs of samples as long as it pays; returns the number of samples that moved.

    With ``lists`` (k, L) samples look only at the clusters in the list of their own, which is among them.
    """
    limits = limits_of(constraints, len(state.sizes))
    lightest = 1.0 if rows.weights is None else float(rows.weights[rows.active].min())
    free = constraints.conflicts is None
    if free and (state.sizes + lightest <= limits.high).all() and (state.sizes - lightest >= limits.low).all():
        return 0  # every sample that may move is free to
    wishes = _wishes(rows, state, rule, constraints, lists, deadline)
    weights = rows.weights_of(wishes.eager)
    moved = 0
    for i, weight, dst, gain, j, partner_gain in zip(
        wishes.eager, weights, wishes.target, wishes.gain, wishes.partner, wishes.partner_gain, strict=True
    ):
        if time.perf_counter() > deadline:
            break
        src = state.labels[i]
        fits = state.sizes[dst] + weight <= limits.high[dst] and state.sizes[src] - weight >= limits.low[src]
        if fits and constraints.allows(state.labels, int(i), int(dst)):
            continue  # free to move by itself, in the next pass
        if j >= 0 and state.labels[j] == dst and state.labels[i] != dst and gain + partner_gain > 0:
            moved += 2 * _exchange(rows, state, rule, constraints, int(i), int(j))
    return moved


def _wishes(
    rows: Rows, state: ClusterState, rule: Rule, constraints: Constraints, lists: np.ndarray | None, deadline: float
) -> Wishes:
    """After the deadline no more are looked for."""
    k = len(state.sizes)
    movable = constraints.movable(rows.active)
    members = members_by_cluster(movable, state.labels[movable], k)
    target, gain = np.zeros(rows.n, np.int64), np.full(rows.n, -np.inf)
    if lists is None:
        looks = ((ids, np.arange(k)) for ids in rows.blocks_of(movable, k))
    else:
        looks = (
            (ids, clusters)
            for own, clusters in zip(members, map(np.unique, lists), strict=True)
            for ids in rows.blocks_of(own, len(clusters))
        )
    for ids, clusters in looks:
        if time.perf_counter() > deadline:
            break
        gains = _gains(rows, state, rule, ids, clusters)
        target[ids], gain[ids] = clusters[gains.argmax(axis=1)], gains.max(axis=1)
    eager = np.flatnonzero(gain > 0)
    eager = eager[np.argsort(-gain[eager], kind="stable")]
    # Only the pairs of clusters that some sample wants are looked at: all k × k would be too many for large k.
    wanted, of_sample = np.unique(target[eager] * k + state.labels[eager], return_inverse=True)
    partner, partner_gain = np.full(len(wanted), -1), np.full(len(wanted), -np.inf)
    bounds = np.searchsorted(wanted, np.arange(k + 1) * k)
    for r in np.flatnonzero(np.diff(bounds)):
        if time.perf_counter() > deadline:
            break
        pairs = np.arange(bounds[r], bounds[r + 1])
        sources = wanted[pairs] - r * k
        clusters = np.sort(np.append(sources, r))
        for ids in rows.blocks_of(members[r], len(clusters)):
            offers = _gains(rows, state, rule, ids, clusters)[:, np.searchsorted(clusters, sources)]
            best = offers.argmax(axis=0)
            best_gain = offers[best, np.arange(len(pairs))]
            better = best_gain > partner_gain[pairs]
            partner[pairs[better]], partner_gain[pairs[better]] = ids[best[better]], best_gain[better]
    return Wishes(eager, target[eager], gain[eager], partner[of_sample], partner_gain[of_sample])


def _gains(rows: Rows, state: ClusterState, rule: Rule, ids: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """What the objective gains by moving each of some samples to each of some clusters, their own among these."""
    here = state if len(clusters) == len(state.sizes) else state.of_clusters(clusters)
    own, weights, every = np.searchsorted(clusters, state.labels[ids]), rows.weights_of(ids), np.arange(len(ids))
    products = np.asarray(rows.read(ids, np.float64) @ here.composites.T)
    stay, join = plain_form(rule).block_costs(rule, products, rows.sq_norms[ids], weights, own, here)
    stay_more, join_more = costs_of_scatter(rows, rule, ids, here.sizes, here.sizes[own])
    gains = gain_factors(rule, weights)[:, None] * ((stay + stay_more)[:, None] - join - join_more)
    gains[every, own] = -np.inf
    gains[here.counts[own] == 1] = -np.inf  # the last sample of a cluster stays
    return gains


def _exchange(rows: Rows, state: ClusterState, rule: Rule, constraints: Constraints, i: int, j: int) -> bool:
    """Let i and j swap clusters if that pays and the constraints allow it."""
    v, w = rows.weights_of(np.array([i, j])).tolist()
    src, dst = int(state.labels[i]), int(state.labels[j])
    if not (
        constraints.allows(state.labels, i, dst, without=j) and constraints.allows(state.labels, j, src, without=i)
    ):
        return False
    limits = limits_of(constraints, len(state.sizes))
    for cluster, change in ((src, w - v), (dst, v - w)):
        if not limits.low[cluster] <= state.sizes[cluster] + change <= limits.high[cluster]:
            return False
    return make_moves(rows, state, rule, [(i, src, dst), (j, dst, src)]) > 0
