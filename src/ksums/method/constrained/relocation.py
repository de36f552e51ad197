"""Trials: one cluster is dissolved, another one split in two, whatever the constraints are."""

from __future__ import annotations

import numpy as np

from ksums.compute.arrays import as_dense
from ksums.method.constrained.costs import costs_of_centres
from ksums.method.data.rows import Rows
from ksums.method.data.sums import members_by_cluster
from ksums.method.state.constraints import Constraints
from ksums.method.state.state import ClusterState, build_state
from ksums.rules.kinds import Rule
from ksums.rules.objectives import within_clusters

_HALVES = 4
"""Steps of two-means that divide a cluster."""
_EAGER = 3.0
"""The cluster to dissolve is that of rank r among the cheapest with a probability that falls as exp(−r / this)."""


def relocated(
    rows: Rows,
    sums: ClusterState,
    rule: Rule,
    constraints: Constraints,
    rng: np.random.Generator,
) -> ClusterState | None:
    """A state in which one cluster is elsewhere; it need not keep to constraints. None: no cluster can be dissolved."""
    k = len(sums.sizes)
    bound = np.zeros(k, bool)  # clusters that stand for something
    if constraints.centres is not None:
        bound[: len(constraints.centres)] = True
    if constraints.fixed is not None:
        bound[np.unique(constraints.fixed[constraints.fixed >= 0])] = True
    gone = _to_dissolve(sums, bound, rng)
    within = np.maximum(within_clusters("distortion", sums), 0.0) * (sums.counts > 1)
    if gone is None:
        return None
    within[gone] = 0.0
    if not within.sum() > 0:
        return None
    split = int(rng.choice(k, p=within / within.sum()))
    labels = sums.labels.copy()
    members = members_by_cluster(rows.active, labels[rows.active], k)
    costs_of = costs_of_centres(rows, sums, rule, constraints)
    for part in rows.blocks_of(members[gone], k):
        costs = costs_of(part)
        costs[:, gone] = np.inf
        labels[part] = costs.argmin(axis=1)
    half = _half_of(rows, members[split], rng)
    if half is None:
        return None
    labels[half] = gone
    return build_state(rows, labels, k)


def _to_dissolve(sums: ClusterState, bound: np.ndarray, rng: np.random.Generator) -> int | None:
    """A cluster that is cheap to merge with another one: n_a n_b / (n_a + n_b) |C_a − C_b|², by Ward."""
    sizes, centres = sums.sizes, sums.composites / sums.sizes[:, None]
    squares = np.einsum("rt,rt->r", centres, centres)
    distances = squares[:, None] - 2 * centres @ centres.T + squares
    costs = sizes[:, None] * sizes / (sizes[:, None] + sizes) * distances
    np.fill_diagonal(costs, np.inf)
    cheapest = np.where(bound, np.inf, costs.min(axis=1))
    order = np.argsort(cheapest, kind="stable")[: np.count_nonzero(~bound)]
    if not len(order):
        return None
    chances = np.exp(-np.arange(len(order)) / _EAGER)
    return int(rng.choice(order, p=chances / chances.sum()))


def _half_of(rows: Rows, ids: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    """One of the two parts of a cluster, by two-means from a far row and its mirror image."""
    block = rows.read(ids, np.float64)
    weights = rows.weights_of(ids)
    mean = np.asarray(weights @ block) / weights.sum()
    products = np.asarray(block @ mean)
    distances = np.maximum(rows.sq_norms[ids] - 2 * products + mean @ mean, 0.0) * weights
    if not distances.sum() > 0:
        return None
    seed = as_dense(block[[int(rng.choice(len(ids), p=distances / distances.sum()))]])[0]
    first, second = seed, 2 * mean - seed
    side = np.zeros(len(ids), bool)
    for _ in range(_HALVES):
        side = np.asarray(block @ (first - second)) > (first @ first - second @ second) / 2
        if side.all() or not side.any():
            return None
        first = np.asarray((weights * side) @ block) / weights[side].sum()
        second = np.asarray((weights * ~side) @ block) / weights[~side].sum()
    return ids[side]
