"""First labels that keep to size limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ksums.method.data.norms import sq_norms
from ksums.method.data.rows import Rows
from ksums.method.data.sums import members_by_cluster
from ksums.method.state.limits import Limits, check_limits
from ksums.method.state.state import ClusterState, build_state
from ksums.rules.kinds import rule_for

_LIST = 64
"""Nearest clusters that are tried first when a row must change its cluster."""


def place_with_room(rows: Rows, k: int, limits: Limits, costs_of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Greedy labels under size limits: heavy rows first, then those that lose most if their cluster is full.

    ``costs_of(ids)`` gives the cost (len(ids), k) of each row in each cluster.
    """
    ids = rows.active
    weights = np.ones(rows.n) if rows.weights is None else rows.weights
    regret = np.zeros(rows.n)
    if k > 1:
        for part in rows.blocks_of(ids, k):
            two = np.partition(costs_of(part), 1, axis=1)
            regret[part] = two[:, 1] - two[:, 0]
    order = ids[np.lexsort((ids, -regret[ids], -weights[ids]))]
    labels, sizes, left = np.zeros(rows.n, np.int32), np.zeros(k), float(weights[ids].sum())
    for part in rows.blocks_of(order, k):
        for i, costs in zip(part, costs_of(part), strict=True):
            open_to = sizes + weights[i] <= limits.high
            missing = np.maximum(limits.low - sizes, 0.0)
            short = missing > 0
            spilled = 0.0 if rows.weights is None else weights[i] * short.sum()  # a heavy row may overshoot
            if short.any() and left <= missing.sum() + spilled:  # all rows left are needed for the smallest sizes
                open_to &= short
            if not open_to.any():
                raise ValueError(
                    f"no cluster has room for row {i} of weight {weights[i]:g} with cluster sizes limited to "
                    f"{limits.low.min():g} … {limits.high.max():g}; widen size_min and size_max."
                )
            r = int(np.argmin(np.where(open_to, costs, np.inf)))
            labels[i] = r
            sizes[r] += weights[i]
            left -= weights[i]
    check_limits(labels, rows, k, limits)
    return labels


def fit_into_limits(rows: Rows, labels: np.ndarray, k: int, limits: Limits) -> np.ndarray:
    """Move rows out of clusters that are too large, and into those that are too small.

    Rows go to nearest clusters where that is possible, so the work grows with the excess, not with n·k.
    """
    state = build_state(rows, labels, k)
    movers = _Movers(rows, state, limits)
    for r in np.flatnonzero(state.sizes > limits.high):
        movers.empty(int(r))
    for r in np.flatnonzero(state.sizes < limits.low):
        movers.fill(int(r))
    check_limits(state.labels, rows, k, limits)
    return state.labels


class _Movers:
    """Single moves that make a state keep to limits; distances are to the centres of the first state."""

    def __init__(self, rows: Rows, state: ClusterState, limits: Limits) -> None:
        from ksums.method.nearest.lists import NeighbourLists  # Numba is loaded by the first fit, not by the import

        self.rows, self.state, self.limits = rows, state, limits
        self.lists = NeighbourLists(rows.dtype).make(state, rule_for("distortion", "l2", "hartigan"), _LIST).lists
        self.centres = state.composites / state.sizes[:, None]
        self.squares = sq_norms(self.centres)
        self.members = members_by_cluster(rows.active, state.labels[rows.active], len(state.sizes))

    def empty(self, src: int) -> None:
        """Rows leave, those first for which another cluster is nearly as good, until the cluster fits."""
        state, limits = self.state, self.limits
        for near in self._nearest(src, lambda clusters: state.sizes[clusters] < limits.high[clusters]):
            ids = self.members[src]
            ids = ids[state.labels[ids] == src]
            losses = self._costs(ids, near) - self._costs(ids, np.array([src]))
            for at in np.argsort(losses, axis=None, kind="stable"):
                if state.sizes[src] <= limits.high[src]:
                    return
                self._move(int(ids[at // len(near)]), src, int(near[at % len(near)]))

    def fill(self, dst: int) -> None:
        """The nearest rows of clusters that can spare them join, until the cluster is large enough."""
        state, limits = self.state, self.limits
        for near in self._nearest(dst, lambda clusters: state.sizes[clusters] > limits.low[clusters]):
            ids = np.concatenate([self.members[r] for r in near])
            losses = self._costs(ids, np.array([dst]))[:, 0]
            for at in np.argsort(losses, kind="stable"):
                if state.sizes[dst] >= limits.low[dst]:
                    return
                self._move(int(ids[at]), int(state.labels[ids[at]]), dst)

    def _nearest(self, r: int, suits: Callable[[np.ndarray], np.ndarray]) -> Iterator[np.ndarray]:
        """Clusters that suit: those of the list of r, then the nearest of all, as long as there are any."""
        near = self.lists[r]
        while len(near):
            near = near[(near != r) & suits(near)]
            if len(near):
                yield near
            others = np.flatnonzero(suits(np.arange(len(self.squares))))
            others = others[others != r]
            distances = self.squares[others] - 2 * (self.centres[others] @ self.centres[r])
            near = others[np.argsort(distances, kind="stable")[:_LIST]]

    def _costs(self, ids: np.ndarray, clusters: np.ndarray) -> np.ndarray:
        parts = self.rows.blocks_of(ids, len(clusters))
        products = [self.rows.read(part, np.float64) @ self.centres[clusters].T for part in parts]
        return self.squares[clusters] - 2 * np.concatenate(products)

    def _move(self, i: int, src: int, dst: int) -> None:
        """Move a row if it may go and neither cluster then breaks a limit that it kept before."""
        state, limits = self.state, self.limits
        weight = 1.0 if self.rows.weights is None else float(self.rows.weights[i])
        too_few = state.sizes[src] - weight < min(limits.low[src], state.sizes[src]) or state.counts[src] == 1
        if src == dst or state.labels[i] != src or too_few or state.sizes[dst] + weight > limits.high[dst]:
            return
        state.labels[i] = dst
        for cluster, sign in ((src, -1), (dst, 1)):
            state.sizes[cluster] += sign * weight
            state.counts[cluster] += sign
        self.members[dst] = np.append(self.members[dst], i)
