"""What a block does in a round: pure functions of its rows, its labels and the sums of all clusters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.method.data.centres import Centres
from ksums.method.data.rows import Rows
from ksums.method.engines.protocol import make_engine
from ksums.method.nearest.centres import nearest_centres
from ksums.method.shards.sums import Sums, Units, changes
from ksums.method.state.limits import no_limits
from ksums.method.state.state import ClusterState
from ksums.planning.plan import EnginePlan
from ksums.rules.kinds import Rule

_LEAST = 2.0
"""A cluster of less than two rows could not spare one."""


class Order(NamedTuple):
    """What all blocks are handed in a round."""

    clusters: ClusterState  # of all rows, without labels; the composites may be ahead of the true ones
    units: Units
    rule: Rule
    engine: EnginePlan
    seed: tuple[int, ...]  # of the fit and the round
    foreseen: bool = False  # whether a block supposes that all others do as it does


class Step(NamedTuple):
    """What a block hands back."""

    changes: Sums
    moves: int


def first_labels(rows: Rows, centres: Centres) -> np.ndarray:
    """The nearest of the centres; 0 for rows that are not active."""
    labels = np.zeros(rows.n, np.int32)
    labels[rows.active] = nearest_centres(rows, rows.active, centres)
    return labels


def sums_of(rows: Rows, labels: np.ndarray, k: int, units: Units) -> Sums:
    """The share of a block in the clusters."""
    found = Sums.zero(k, rows.d)
    found.add(rows, rows.active, labels[rows.active], units)
    return found


def make_pass(rows: Rows, labels: np.ndarray, order: Order, block: int) -> np.ndarray:
    """The labels after a pass over the rows of a block, in an order of its own; all other blocks stand still.

    If the order says so, they do as this one does instead: the clusters are as small as the share of the block in all
    rows, and a move changes them by as much as if every block made it.
    """
    clusters = order.clusters
    if order.foreseen:
        clusters = _scaled(clusters, rows.n_active / float(clusters.counts.sum()))
    state = ClusterState(labels.copy(), *(sums.copy() for sums in clusters[1:]))
    limits = no_limits(len(state.sizes))
    engine = make_engine(order.engine.name, rows, state, order.rule, limits, **order.engine.options)
    for _ in engine.visit(engine.draw_order(np.random.default_rng((*order.seed, block)))):
        pass
    return state.labels


def _scaled(clusters: ClusterState, share: float) -> ClusterState:
    """Clusters of this share of their size, and of two rows at least."""
    _, composites, sizes, counts, norm_sums, squares = clusters
    scale = np.minimum(1.0, np.maximum(share, _LEAST / sizes))
    return ClusterState(
        clusters.labels, composites * scale[:, None], sizes * scale, counts, norm_sums * scale, squares * scale**2
    )


def step(rows: Rows, before: np.ndarray, after: np.ndarray, order: Order) -> Step:
    """What a block hands back after a pass."""
    moved = changes(rows, before, after, len(order.clusters.counts), order.units)
    return Step(moved, int(np.count_nonzero(before != after)))


def taken_back(before: np.ndarray, after: np.ndarray, emptied: np.ndarray) -> np.ndarray:
    """The labels without the moves out of clusters that would be empty."""
    return np.where(emptied[before] & (before != after), before, after)
