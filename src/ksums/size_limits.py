"""First labels that keep to size limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ksums import state as states
from ksums.drivers import FAMILY
from ksums.engines import list_clusters
from ksums.rows import Rows
from ksums.state import ClusterState, Limits
from ksums.sums import members_by_cluster

_LIST = 64  # nearest clusters among which a place is looked for, before all are


def limits_for(size_min: float | None, size_max: float | None, rows: Rows, k: int) -> Limits | None:
    """Limits as arrays, whole numbers where sizes are; None where there are none."""
    if size_min is None and size_max is None:
        return None
    low, high = 0.0 if size_min is None else size_min, np.inf if size_max is None else size_max
    if rows.weights is None:
        low, high = np.ceil(low), np.floor(high)
    return Limits(np.full(k, float(low)), np.full(k, float(high)))


def place_with_room(rows: Rows, k: int, limits: Limits, costs_of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Greedy labels under size limits: heavy rows first, then those that lose most if their place is taken.

    ``costs_of(ids)`` gives the cost (len(ids), k) of each row in each cluster.
    """
    ids = rows.pulling
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
            if short.any() and left <= missing.sum() + spilled:  # all that is left is needed for the smallest sizes
                open_to &= short
            if not open_to.any():
                raise ValueError(
                    f"no place was found for row {i} of weight {weights[i]:g} with cluster sizes limited to "
                    f"{limits.low.min():g} … {limits.high.max():g}; widen size_min and size_max."
                )
            r = int(np.argmin(np.where(open_to, costs, np.inf)))
            labels[i] = r
            sizes[r] += weights[i]
            left -= weights[i]
    refuse_outside(labels, rows, k, limits)
    return labels


def outside(labels: np.ndarray, rows: Rows, k: int, limits: Limits) -> np.ndarray:
    """Clusters that are smaller or larger than they may be."""
    sizes = np.bincount(labels[rows.pulling], rows.weights_of(rows.pulling), minlength=k)
    return np.flatnonzero((sizes < limits.low) | (sizes > limits.high))


def refuse_outside(labels: np.ndarray, rows: Rows, k: int, limits: Limits) -> None:
    """Raise if a cluster is smaller or larger than it may be."""
    for r in outside(labels, rows, k, limits):
        size = rows.weights_of(rows.pulling)[labels[rows.pulling] == r].sum()
        raise ValueError(
            f"the first labels give cluster {r} the size {size:g}, outside size_min and size_max "
            f"({limits.low[r]:g} … {limits.high[r]:g}); pass other labels as init, or widen the limits."
        )


def fit_into(rows: Rows, labels: np.ndarray, k: int, limits: Limits, n_threads: int) -> np.ndarray:
    """Move rows out of clusters that are too large, and into those that are too small, among nearest clusters if it
    can be done: work in proportion to what is too much, not to n·k."""
    state = states.build(rows, labels, k)
    movers = _Movers(rows, state, limits, n_threads)
    for r in np.flatnonzero(state.sizes > limits.high):
        movers.empty(int(r))
    for r in np.flatnonzero(state.sizes < limits.low):
        movers.fill(int(r))
    refuse_outside(state.labels, rows, k, limits)
    return state.labels


class _Movers:
    """Single moves that make a state keep to limits; distances are to the centres there were at first."""

    def __init__(self, rows: Rows, state: ClusterState, limits: Limits, n_threads: int) -> None:
        self.rows, self.state, self.limits = rows, state, limits
        self.lists = list_clusters(state, FAMILY, rows.dtype, _LIST, n_threads).lists
        self.centres = state.composites / state.sizes[:, None]
        self.squares = np.einsum("rt,rt->r", self.centres, self.centres)
        self.members = members_by_cluster(rows.pulling, state.labels[rows.pulling], len(state.sizes))

    def empty(self, src: int) -> None:
        """Rows leave, those first to which another cluster is nearly as good, until the rest is not too much."""
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
        """The nearest rows of clusters that can spare them come, until they are enough."""
        state, limits = self.state, self.limits
        for near in self._nearest(dst, lambda clusters: state.sizes[clusters] > limits.low[clusters]):
            ids = np.concatenate([self.members[r] for r in near])
            losses = self._costs(ids, np.array([dst]))[:, 0]
            for at in np.argsort(losses, kind="stable"):
                if state.sizes[dst] >= limits.low[dst]:
                    return
                self._move(int(ids[at]), int(state.labels[ids[at]]), dst)

    def _nearest(self, r: int, suits: Callable[[np.ndarray], np.ndarray]) -> Iterator[np.ndarray]:
        """Clusters that suit: of the list of r, then some of the nearest of all, as long as there are any."""
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
        """If the row may go, and neither cluster is worse off for it than it may be."""
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
