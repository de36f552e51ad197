"""Exchanges under size limits: two samples change places where neither may move alone.

With every cluster full or minimal no single sample can move, however much it would gain. So after each pass, the
samples that want to move, most eager first, each look for a partner in the cluster they want: the member that gains
most, or loses least, by coming over. They change places if that pays for both together. For the monotone rules the
profit of an exchange is the exact fall of the objective, as that of a move is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from ksums.drivers import Driver, block_costs, join_costs, stay_cost
from ksums.rows import Rows
from ksums.state import ClusterState, Limits, reallocate


class Wishes(NamedTuple):
    """Who wants to go where, and who would be the best to send from one cluster to another."""

    eager: np.ndarray  # samples with something to gain, most first
    target: np.ndarray  # (n,)   the cluster each sample likes best besides its own
    gain: np.ndarray  # (n,)   what it gains there
    sent: np.ndarray  # (k, k)  the member of one cluster that gains most, or loses least, in another
    sent_gain: np.ndarray  # (k, k)


def exchange_pass(rows: Rows, state: ClusterState, driver: Driver, limits: Limits) -> int:
    """Exchange pairs of samples as long as it pays; returns the number of samples that moved."""
    wishes = _wishes(rows, state, driver)
    weights = rows.weights_of(wishes.eager)
    moved = 0
    for i, weight in zip(wishes.eager, weights, strict=True):
        src, dst = state.labels[i], wishes.target[i]
        if state.sizes[dst] + weight <= limits.high[dst] and state.sizes[src] - weight >= limits.low[src]:
            continue  # free to move by itself, in the next pass
        j = wishes.sent[dst, src]
        if j < 0 or state.labels[j] != dst or wishes.gain[i] + wishes.sent_gain[dst, src] <= 0:
            continue
        if _exchange(rows, state, driver, limits, int(i), int(j)):
            wishes.sent[dst, src] = -1
            moved += 2
    return moved


def _wishes(rows: Rows, state: ClusterState, driver: Driver) -> Wishes:
    k = len(state.sizes)
    target, gain = np.zeros(rows.n, np.int64), np.full(rows.n, -np.inf)
    sent, sent_gain = np.full((k, k), -1), np.full((k, k), -np.inf)
    for ids in rows.blocks_of(rows.pulling):
        own = state.labels[ids]
        with threadpool_limits(1, user_api="blas"):  # its rounding may depend on the number of threads
            products = np.asarray(rows.read(ids, np.float64) @ state.composites.T)
        stay, join = block_costs(driver, products, rows.sq_norms[ids], rows.weights_of(ids), own, state)
        gains = stay[:, None] - join
        gains[np.arange(len(ids)), own] = -np.inf
        gains[state.counts[own] == 1] = -np.inf  # the last of a cluster stays
        target[ids] = gains.argmax(axis=1)
        gain[ids] = gains.max(axis=1)
        for r in np.unique(own):
            members = np.flatnonzero(own == r)
            best = gains[members].argmax(axis=0)
            best_gain = gains[members[best], np.arange(k)]
            better = best_gain > sent_gain[r]
            sent[r, better], sent_gain[r, better] = ids[members[best[better]]], best_gain[better]
    wanting = np.flatnonzero(gain > 0)
    return Wishes(wanting[np.argsort(-gain[wanting], kind="stable")], target, gain, sent, sent_gain)


def _exchange(rows: Rows, state: ClusterState, driver: Driver, limits: Limits, i: int, j: int) -> bool:
    """Let i and j change places, and back again if that does not pay."""
    (x, y), (v, w) = _rows_of(rows, i, j), rows.weights_of(np.array([i, j])).tolist()
    src, dst = int(state.labels[i]), int(state.labels[j])
    for cluster, change in ((src, w - v), (dst, v - w)):
        if not limits.low[cluster] <= state.sizes[cluster] + change <= limits.high[cluster]:
            return False
    profit = _profit(driver, x, v, state, src, dst)
    reallocate(state, i, x, v, src, dst)
    profit += _profit(driver, y, w, state, dst, src)
    reallocate(state, j, y, w, dst, src)
    if profit > 0:
        return True
    reallocate(state, j, y, w, src, dst)
    reallocate(state, i, x, v, dst, src)
    return False


def _profit(driver: Driver, x: np.ndarray, weight: float, state: ClusterState, src: int, dst: int) -> float:
    only = slice(dst, dst + 1)
    joined = state._replace(composites=state.composites[only], sizes=state.sizes[only], norm_sums=state.norm_sums[only])
    return stay_cost(driver, x, weight, state, src) - float(join_costs(driver, x, weight, joined)[0])


def _rows_of(rows: Rows, i: int, j: int) -> np.ndarray:
    block = rows.read(np.array([i, j]), np.float64)
    return block.toarray() if sparse.issparse(block) else block
