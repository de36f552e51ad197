"""What a block does in a round: pure functions of its rows, its labels and the sums of all clusters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ksums.method.data.centres import Centres
from ksums.method.data.rows import Rows
from ksums.method.nearest.centres import nearest_centres
from ksums.method.shards.kept import KeptEngines
from ksums.method.shards.orders import Order
from ksums.method.shards.sums import Sums, Units, changes
from ksums.method.state.state import ClusterState

_LEAST = 2.0
"""A cluster of less than two rows could not spare one."""


class Step(NamedTuple):
    """What a block hands back."""

    changes: Sums
    moves: int = 0
    comparisons: int = 0  # of a row with a cluster

    def plus(self, other: Step) -> Step:
        return Step(self.changes.plus(other.changes), self.moves + other.moves, self.comparisons + other.comparisons)


def first_labels(rows: Rows, centres: Centres) -> np.ndarray:
    """The nearest of the centres, also for rows without weight; 0 for rows without a direction."""
    labels, ids = np.zeros(rows.n, np.int32), np.arange(rows.n)
    if rows.cosine:
        ids = np.flatnonzero(rows.scales > 0)
    labels[ids] = nearest_centres(rows, ids, centres)
    return labels


def sums_of(rows: Rows, labels: np.ndarray, k: int, units: Units) -> Sums:
    """The share of a block in the clusters."""
    found = Sums.zero(k, rows.d)
    found.add(rows, rows.active, labels[rows.active], units)
    return found


def with_lists(order: Order, dtype: np.dtype[Any]) -> Order:
    """The order with the lists of nearest clusters, if its engine has some: they are the same for all blocks."""
    if order.engine.name != "neighbors" or order.foreseen:
        return order
    from ksums.method.nearest.lists import NeighbourLists  # Numba is loaded by the first fit, not by the import

    options = order.engine.options
    lists = NeighbourLists(dtype).make(order.clusters, order.rule, options["length"])
    return order._replace(engine=replace(order.engine, options={**options, "neighbours": lists}))


def make_pass(rows: Rows, before: np.ndarray, order: Order, block: int, kept: KeptEngines) -> tuple[np.ndarray, Step]:
    """The labels after a pass over the rows of a block, in an order of its own; all other blocks stand still.

    If the order says so, some of them do as this one does instead: clusters are as much smaller, so a move changes them
    by as much as if all these blocks made it. Then none may shrink by more than half, because a block that has most of
    its rows would use up the smaller cluster. ``kept`` has the engines of the last round.
    """
    clusters = order.clusters
    if not rows.n_active:
        return before, Step(Sums.zero(len(clusters.counts), rows.d))
    if order.foreseen:
        clusters = _scaled(clusters, 1.0 / order.foreseen)
    state = ClusterState(before.copy(), *(sums.copy() for sums in clusters[1:]))
    engine = kept.take(block, rows, state, order)
    for _ in engine.visit(engine.draw_order(np.random.default_rng((*order.seed, block)))):
        pass
    kept.give_back(block, engine)
    changed = changes(rows, before, state.labels, len(clusters.counts), order.units)
    return state.labels, Step(changed, int(np.count_nonzero(before != state.labels)), engine.comparisons)


def _scaled(clusters: ClusterState, share: float) -> ClusterState:
    """Clusters of this share of their size, and of two rows at least."""
    _, composites, sizes, counts, norm_sums, squares = clusters
    scale = np.minimum(1.0, np.maximum(share, _LEAST / sizes))
    return ClusterState(
        clusters.labels, composites * scale[:, None], sizes * scale, counts, norm_sums * scale, squares * scale**2
    )


def taken_back(before: np.ndarray, after: np.ndarray, emptied: np.ndarray) -> np.ndarray:
    """The labels without the moves out of clusters that would be empty."""
    return np.where(emptied[before] & (before != after), before, after)
