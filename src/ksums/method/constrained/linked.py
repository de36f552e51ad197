"""Visits of rows that no engine knows: those that must not meet others, and groups of rows whose scatter counts.

They come one at a time, and go to clusters where none is that they must not meet.
"""

from __future__ import annotations

import numpy as np

from ksums.compute.arrays import as_dense
from ksums.method.constrained.costs import costs_of_scatter
from ksums.method.constrained.cycles import make_moves, move_row
from ksums.method.data.rows import Rows
from ksums.method.state.constraints import Constraints
from ksums.method.state.limits import Limits
from ksums.method.state.state import ClusterState
from ksums.rules.kinds import Rule
from ksums.rules.plain import plain_form


def visit_linked(
    rows: Rows, state: ClusterState, rule: Rule, constraints: Constraints, limits: Limits, order: np.ndarray
) -> int:
    """Each of these rows once: it moves, or changes places with the one row that keeps it out; returns the moves."""
    form, moves, k = plain_form(rule), 0, len(state.sizes)
    for i in order:
        src = int(state.labels[i])
        x = as_dense(rows.read(np.array([i]), np.float64))[0]
        weight = float(rows.weights_of(np.array([i]))[0])
        if state.counts[src] < 2:
            continue
        stay_more, join_more = costs_of_scatter(rows, rule, np.array([i]), state.sizes, state.sizes[[src]])
        costs = form.join_costs(rule, x, weight, state) + join_more[0]
        costs[src] = np.inf
        stay = form.stay_cost(rule, x, weight, state, src) + float(stay_more[0])
        to_beat = stay - form.rounding_margin(x, state, src)
        in_the_way = np.zeros(k, np.int64)
        if constraints.conflicts is not None:
            in_the_way = np.bincount(state.labels[constraints.conflicts.of(i)], minlength=k)
        may_leave = state.sizes[src] - weight >= limits.low[src]
        alone = np.where((in_the_way > 0) | (state.sizes + weight > limits.high) | (not may_leave), np.inf, costs)
        dst = int(alone.argmin())
        if alone[dst] < to_beat:
            move_row(rows, state, int(i), x, src, dst)
            moves += 1
            continue
        dst = int(np.where(in_the_way == 1, costs, np.inf).argmin())
        if in_the_way[dst] == 1 and costs[dst] < to_beat:
            moves += _change_places(rows, state, rule, constraints, limits, int(i), src, dst)
    return moves


def _change_places(
    rows: Rows,
    state: ClusterState,
    rule: Rule,
    constraints: Constraints,
    limits: Limits,
    i: int,
    src: int,
    dst: int,
) -> int:
    """Row i goes to ``dst``, and the row there that must not meet it comes to ``src``, if that pays."""
    assert constraints.conflicts is not None
    partners = constraints.conflicts.of(i)
    j = int(partners[state.labels[partners] == dst][0])
    if not constraints.allows(state.labels, j, src, without=i):
        return 0
    change = float(np.subtract(*rows.weights_of(np.array([j, i]))))
    for cluster, more in ((src, change), (dst, -change)):
        if not limits.low[cluster] <= state.sizes[cluster] + more <= limits.high[cluster]:
            return 0
    return make_moves(rows, state, rule, [(i, src, dst), (j, dst, src)])
