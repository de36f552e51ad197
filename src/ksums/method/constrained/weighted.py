"""Labels within size limits where these cannot be had exactly: rows of different weights, and very many clusters.

With weights even the question whether there are such labels is that of packing boxes. Rows get prices as in
``transport.py``, so that nearly all clusters are within their limits; what is wrong is repaired by single moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ksums.compute.arrays import blocks
from ksums.method.constrained.transport import Assignment, Costs, InfeasibleError, choices_of, nearly_right_prices
from ksums.method.data.norms import sq_norms
from ksums.method.data.rows import Rows
from ksums.method.data.sums import members_by_cluster
from ksums.method.state.limits import Limits, check_limits
from ksums.method.state.state import ClusterState, build_state
from ksums.rules.kinds import rule_for

_ROWS = 1024
"""Rows whose costs are computed together."""
_SLACK = 1e-9
"""Sums of weights are compared with limits up to this share of a weight."""
_LIST = 64
"""Nearest clusters that are tried first when a row must change its cluster."""


def weighted_assignment(
    ids: np.ndarray, loads: np.ndarray, costs_of: Costs, limits: Limits, prices: np.ndarray | None = None
) -> Assignment:
    """Labels of low total cost within limits on the sums of ``loads``; raises InfeasibleError if none are found."""
    k = len(limits.low)
    if not len(ids) or k == 1:
        return Assignment(np.zeros(len(ids), np.int32), np.zeros(k))

    def costs_of_load(part: np.ndarray) -> np.ndarray:
        return costs_of(part) / loads[np.searchsorted(ids, part)][:, None]

    prices = nearly_right_prices(ids, costs_of_load, limits.low, limits.high, prices, loads)
    labels = choices_of(ids, costs_of_load, prices).best.astype(np.int32)
    return Assignment(_Repair(ids, loads, costs_of, limits, labels).go(), prices)


class _Repair:
    """Moves, and exchanges, that bring sizes within their limits, the cheapest for what they bring."""

    def __init__(self, ids: np.ndarray, loads: np.ndarray, costs_of: Costs, limits: Limits, labels: np.ndarray) -> None:
        self.ids, self.loads, self.costs_of, self.limits, self.labels = ids, loads, costs_of, limits, labels
        self.sizes = np.bincount(labels, loads, minlength=len(limits.low))
        self.slack = _SLACK * float(loads.max())

    def go(self) -> np.ndarray:
        """The labels; raises InfeasibleError where neither moves nor exchanges help any more."""
        while True:
            wrong = self._violation(self.sizes, np.arange(len(self.sizes)))
            worst = int(wrong.argmax())
            if wrong[worst] <= self.slack:
                return self.labels
            if not (self._move(worst) or self._exchange(worst)):
                raise InfeasibleError(
                    "no labels within size_min and size_max were found for rows of these weights, or groups of linked "
                    f"rows: the size of cluster {worst} is wrong by {wrong[worst]:g}, and no move or exchange helps; "
                    "widen the limits."
                )

    def _violation(self, sizes: np.ndarray, clusters: np.ndarray) -> np.ndarray:
        """By how much clusters of these sizes would be outside their limits."""
        return np.maximum(np.maximum(sizes - self.limits.high[clusters], self.limits.low[clusters] - sizes), 0.0)

    def _gain(self, src: np.ndarray, dst: np.ndarray, load: np.ndarray) -> np.ndarray:
        """By how much the violations fall if this load goes from one cluster to another."""
        sizes = self.sizes
        before = self._violation(sizes[src], src) + self._violation(sizes[dst], dst)
        return before - self._violation(sizes[src] - load, src) - self._violation(sizes[dst] + load, dst)

    def _move(self, worst: int) -> bool:
        """Single rows leave a cluster that is too large, or join one that is too small."""
        too_large = self.sizes[worst] > self.limits.high[worst]
        rows = np.flatnonzero((self.labels == worst) == too_large)
        if not len(rows):
            return False
        src = self.labels[rows]
        costs = np.concatenate([self.costs_of(self.ids[rows[part]]) for part in blocks(len(rows), _ROWS)])
        costs -= costs[np.arange(len(rows)), src][:, None]
        dst = np.arange(len(self.sizes)) if too_large else np.array([worst])
        gains = self._gain(src[:, None], dst[None, :], self.loads[rows, None])
        prices = np.where(gains > self.slack, costs[:, dst] / np.maximum(gains, self.slack), np.inf)
        moved = False
        for at in np.argsort(prices, axis=None, kind="stable"):
            i, b = int(rows[at // len(dst)]), int(dst[at % len(dst)])
            if (
                not np.isfinite(prices.flat[at])
                or self._violation(self.sizes[[worst]], np.array([worst])) <= self.slack
            ):
                break
            a = int(self.labels[i])
            if a == src[at // len(dst)] and self._gain(np.array(a), np.array(b), self.loads[i]) > self.slack:
                self._put(i, b)
                moved = True
        return moved

    def _exchange(self, worst: int) -> bool:
        """A row of the cluster changes places with one elsewhere."""
        own = np.flatnonzero(self.labels == worst)
        others = np.flatnonzero(self.labels != worst)
        best, pair = self.slack, (-1, -1)
        for i in own:
            there = self.labels[others]
            gains = self._gain(np.full(len(others), worst), there, self.loads[i] - self.loads[others])
            at = int(gains.argmax())
            if gains[at] > best:
                best, pair = float(gains[at]), (int(i), int(others[at]))
        first, second = pair
        if first < 0:
            return False
        self._put(first, int(self.labels[second]))
        self._put(second, worst)
        return True

    def _put(self, i: int, dst: int) -> None:
        self.sizes[self.labels[i]] -= self.loads[i]
        self.sizes[dst] += self.loads[i]
        self.labels[i] = dst


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

        self.rows, self.state, self.limits, self.moves = rows, state, limits, 0
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
            if state.sizes[src] <= limits.high[src] or not len(near):
                continue
            losses = self._costs(ids, near) - self._costs(ids, np.array([src]))
            for at in np.argsort(losses, axis=None, kind="stable"):
                if state.sizes[src] <= limits.high[src]:
                    return
                self._move(int(ids[at // len(near)]), src, int(near[at % len(near)]))

    def fill(self, dst: int) -> None:
        """The nearest rows of clusters that can spare them join, until the cluster is large enough."""
        state, limits = self.state, self.limits
        for near in self._nearest(dst, lambda clusters: state.sizes[clusters] > limits.low[clusters]):
            if state.sizes[dst] >= limits.low[dst] or not len(near):
                continue
            ids = np.concatenate([self.members[r] for r in near])
            losses = self._costs(ids, np.array([dst]))[:, 0]
            for at in np.argsort(losses, kind="stable"):
                if state.sizes[dst] >= limits.low[dst]:
                    return
                self._move(int(ids[at]), int(state.labels[ids[at]]), dst)

    def _nearest(self, r: int, suits: Callable[[np.ndarray], np.ndarray]) -> Iterator[np.ndarray]:
        """Clusters that suit: those of the list of r, then all, the nearest first, as long as rows move."""
        near = self.lists[r][self.lists[r] != r]
        yield near[suits(near)]
        before = -1
        while self.moves > before:
            before = self.moves
            others = np.delete(np.arange(len(self.squares)), r)
            distances = self.squares[others] - 2 * (self.centres[others] @ self.centres[r])
            order = others[np.argsort(distances, kind="stable")]
            for part in blocks(len(order), _LIST):
                yield order[part][suits(order[part])]

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
        self.moves += 1
        for cluster, sign in ((src, -1), (dst, 1)):
            state.sizes[cluster] += sign * weight
            state.counts[cluster] += sign
        self.members[dst] = np.append(self.members[dst], i)
