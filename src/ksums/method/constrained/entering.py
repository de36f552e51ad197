"""Labels that keep to all constraints and cost little, for given centres."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from ksums.compute.colouring import UncolourableError, colour, part_of, room_for
from ksums.method.constrained.costs import costs_of_centres
from ksums.method.constrained.cycles import limits_for_rows
from ksums.method.constrained.transport import Costs, InfeasibleError, cheapest_assignment
from ksums.method.constrained.weighted import weighted_assignment
from ksums.method.data.rows import Rows
from ksums.method.state.constraints import Constraints
from ksums.method.state.limits import Limits, no_limits
from ksums.method.state.state import ClusterState
from ksums.rules.kinds import Rule


def constrained_labels(
    rows: Rows, state: ClusterState, rule: Rule, constraints: Constraints, prices: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """The cheapest labels for the centres of a state, and the prices of the clusters where sizes are limited.

    Rows that stay go first, then those that must not meet others, then all others. These are placed at the least cost
    (``transport.py``); with weights at a low one.
    """
    k, labels = len(state.sizes), state.labels.copy()
    costs_of = costs_of_centres(rows, state, rule, constraints)
    if constraints.fixed is not None:
        held = constraints.fixed >= 0
        labels[held] = constraints.fixed[held]
    if constraints.conflicts is not None:
        _place_linked(rows, labels, costs_of, constraints, k)
    ids = constraints.not_apart(rows.active)
    low, high = limits_for_rows(rows, labels, ids, constraints, k)
    if rows.weights is None or constraints.limits is None:
        labels[ids], prices = cheapest_assignment(ids, costs_of, low, np.minimum(high, len(ids)), prices)
    else:
        labels[ids], prices = weighted_assignment(ids, rows.weights[ids], costs_of, Limits(low, high), prices)
    _fill_empty(rows, labels, costs_of, constraints, k)
    return labels, prices


def _fill_empty(rows: Rows, labels: np.ndarray, costs_of: Costs, constraints: Constraints, k: int) -> None:
    """Give each empty cluster the row that loses least by coming to it; nobody there must be kept apart from it."""
    low, high = no_limits(k) if constraints.limits is None else constraints.limits
    ids = constraints.movable(rows.active)
    weights = rows.weights_of(ids)
    for r in np.flatnonzero(np.bincount(labels[rows.active], minlength=k) == 0):
        own = labels[ids]
        sizes = np.bincount(labels[rows.active], rows.weights_of(rows.active), minlength=k)
        counts = np.bincount(labels[rows.active], minlength=k)
        free = (counts[own] > 1) & (sizes[own] - weights >= low[own]) & (weights <= high[r])
        if not free.any():
            raise InfeasibleError(
                f"cluster {r} would be empty: no row can join it within all constraints; ask for fewer clusters."
            )
        spare = ids[free]
        costs = np.concatenate([costs_of(part) for part in rows.blocks_of(spare, k)])
        labels[spare[int((costs[:, r] - costs[np.arange(len(spare)), labels[spare]]).argmin())]] = r


def _place_linked(rows: Rows, labels: np.ndarray, costs_of: Costs, constraints: Constraints, k: int) -> None:
    """Labels for the rows that must not meet others: a colouring of the graph that joins these."""
    assert constraints.conflicts is not None
    active = np.zeros(rows.n, bool)
    active[rows.active] = True
    linked = np.flatnonzero((np.diff(constraints.conflicts.starts) > 0) & active)
    costs = np.concatenate([costs_of(part) for part in rows.blocks_of(linked, k)])
    held = np.full(len(linked), -1) if constraints.fixed is None else constraints.fixed[linked].astype(np.int64)
    room = None
    if constraints.limits is not None:
        loads = np.zeros(rows.n)
        loads[rows.active] = rows.weights_of(rows.active)
        room = room_for(loads, *constraints.limits, linked, constraints.fixed)
    graph = part_of(constraints.conflicts, linked)
    try:
        labels[linked] = colour(graph, costs, held, room)
    except UncolourableError:  # the cheapest colours lead astray: take those that were found before the fit
        labels[linked] = colour(graph, np.zeros_like(costs), held, room)


def matched_labels(rows: Rows, state: ClusterState, constraints: Constraints) -> np.ndarray:
    """The same clusters under other numbers, so that those which constraints name are where they should be.

    Cluster r of the result is the one whose centre is nearest to the rows that stay in r, nearest to the centre that
    r must have, and whose size fits the limits of r best.
    """
    k = len(state.sizes)
    if constraints.fixed is None and constraints.centres is None and _are_alike(constraints.limits):
        return state.labels.copy()
    centres = state.composites / state.sizes[:, None]
    squares = np.einsum("rt,rt->r", centres, centres)
    costs = np.zeros((k, k))  # of cluster c of the state under the number r
    if constraints.fixed is not None:
        ids = rows.active[constraints.fixed[rows.active] >= 0]
        for part in rows.blocks_of(ids, k):
            weights, own = rows.weights_of(part), constraints.fixed[part]
            products = np.asarray(rows.read(part, np.float64) @ centres.T)
            np.add.at(costs, own, weights[:, None] * (rows.sq_norms[part, None] - 2 * products + squares))
    if constraints.centres is not None:
        m = len(constraints.centres)
        norms = np.einsum("rt,rt->r", constraints.centres, constraints.centres)
        costs[:m] += state.sizes * (norms[:, None] - 2 * constraints.centres @ centres.T + squares)
    if constraints.limits is not None:
        spread = float((state.norm_sums - state.sq_composites / state.sizes).sum() / state.sizes.sum())
        low, high = constraints.limits
        too_few, too_many = low[:, None] - state.sizes, state.sizes - high[:, None]
        costs += spread * np.maximum(np.maximum(too_few, too_many), 0.0)
    names, clusters = linear_sum_assignment(costs)
    number = np.empty(k, np.int32)
    number[clusters] = names
    return number[state.labels]


def _are_alike(limits: Limits | None) -> bool:
    """Whether all clusters have the same limits."""
    return limits is None or bool(np.ptp(limits.low) == 0 and (limits.high == limits.high[0]).all())
