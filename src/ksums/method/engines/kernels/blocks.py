"""Passes over rows in storage order, block by block, for few clusters and many rows.

In a block all threads look at pieces of it on a frozen state. Rows whose slack (``bounds.py``) is used up are gathered
into panels and compared with the centroids; each gets a new slack or is proposed for a move. Then thread 0 takes the
proposals in order, checks each in float64 against the present state, and makes it if it is a gain. So the objective
never rises, and nothing depends on the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.compute.jit import helper, helper_once, kernel
from ksums.compute.sharing import PIECE, close, finish_piece, is_closed, next_piece, open_round, pause, wait_for_round
from ksums.method.engines.kernels.bounds import TIGHT, join_factor, rounded_down, spend
from ksums.method.engines.kernels.tables import (
    compare,
    exact_sq_distance,
    renew,
    sq_distance_to_centre,
    terms_of_distance,
    weight_of,
)
from ksums.rules.compiled import exponent_for, power
from ksums.rules.kinds import ROUNDING

_ROUNDING = ROUNDING[np.dtype(np.float64)]
"""A move must lower its cost by more than this share of the cost's terms: decisions are made in float64."""


class Proposals(NamedTuple):
    """Moves that the pieces of a block propose."""

    rows: np.ndarray  # (pieces, rows of a piece)
    goals: np.ndarray  # (pieces, rows of a piece)
    count: np.ndarray  # (pieces,)
    compared: np.ndarray  # (pieces,)  rows times clusters


@helper
def _compare_with_all(thread, count, table, state, centroids, layout, work):
    """Bounds of the due rows from all clusters at once."""
    due, best, second, which = work.due[thread], work.best[thread], work.second[thread], work.which[thread]
    compare(
        table, due, count, 0, len(centroids.join), centroids.vectors, centroids.join, work.panels[thread], best, which,
        second,
    )  # fmt: skip
    for j in range(count):
        w = state.labels[due[j] + table.first]
        own = which[j] == w
        stay_squares = np.float64(best[j]) * np.float64(centroids.stay_over_join[w])
        work.stay[thread, j] = np.sqrt(stay_squares) * (1.0 + layout.rel) if own else np.inf
        nearest_other = np.float64(second[j]) if own else np.float64(best[j])
        work.lowest[thread, j] = np.sqrt(nearest_other) * (1.0 - layout.rel) - layout.margin
    return count * len(state.sizes)


@helper
def _compare_with_groups(thread, count, b, table, state, centroids, layout, bounds, work):
    """Bounds of the due rows, group by group; only groups that the row's own distance does not exclude are compared."""
    due, some, index = work.due[thread], work.some[thread], work.index[thread]
    best, second, which = work.best[thread], work.second[thread], work.which[thread]
    stay, lowest = work.stay[thread], work.lowest[thread]
    compared, far = count, 0.0
    for j in range(count):
        w = state.labels[due[j] + table.first]
        factor = np.float64(centroids.join[w]) * np.float64(centroids.stay_over_join[w])
        squares = factor * sq_distance_to_centre(table, due[j], centroids.vectors, w)
        stay[j] = np.sqrt(squares) * (1.0 + layout.rel)
        lowest[j] = np.inf
    for g in range(len(bounds.groups) - 1):
        first, stop = bounds.groups[g], bounds.groups[g + 1]
        stop_padded = stop + (stop - first) % 2  # only the last group can be odd, and it has padding behind it
        compared_rows = 0
        for j in range(count):
            i = due[j] + table.first
            lower = np.float64(bounds.low[i // layout.piece, g, i % layout.piece]) - bounds.sunk[b, g]
            some[compared_rows] = due[j]
            index[compared_rows] = j
            if lower <= stay[j]:
                compared_rows += 1
            else:
                lowest[j] = min(lowest[j], lower)
        if compared_rows == 0:
            continue
        compared += compared_rows * (stop - first)
        panel = work.panels[thread]
        compare(
            table, some, compared_rows, first, stop_padded, centroids.vectors, centroids.join, panel, best, which,
            second,
        )  # fmt: skip
        for q in range(compared_rows):
            j = index[q]
            i = due[j] + table.first
            own = which[q] == state.labels[i]
            nearest_other = np.float64(second[q]) if own else np.float64(best[q])
            value = min(np.sqrt(nearest_other) * (1.0 - layout.rel) - layout.margin, 1e30)
            far = max(far, value)
            bounds.low[i // layout.piece, g, i % layout.piece] = rounded_down(value + bounds.sunk[b, g])
            lowest[j] = min(lowest[j], value)
    return compared, far


@helper
def _nearest_other(table, at, state, centroids):
    """The cluster of least join cost, the row's own aside."""
    w, found, least = state.labels[at + table.first], np.int64(-1), np.inf
    for v in range(len(state.sizes)):
        if v != w:
            cost = np.float64(centroids.join[v]) * sq_distance_to_centre(table, at, centroids.vectors, v)
            if cost < least:
                found, least = np.int64(v), cost
    return found


@helper
def _better_cluster(i, goal, look_at_all, table, state):
    """The cluster that row i should move to in the present state, or −1. All in float64."""
    at, w, weight = i - table.first, np.int64(state.labels[i]), weight_of(table, i)
    n, relaxation = state.sizes[w], table.relaxation
    if state.counts[w] <= 1 or not n - weight > 0.0:
        return np.int64(-1)
    stay = power(n / (n - weight), exponent_for(relaxation, relaxation.p, n))
    stay *= exact_sq_distance(table, at, state.composites, w, 1.0 / n)
    stay -= _ROUNDING * terms_of_distance(table, at, state.composites, w, 1.0 / n)
    if goal >= 0:
        n = state.sizes[goal]
        cost = join_factor(n, weight, relaxation) * exact_sq_distance(table, at, state.composites, goal, 1.0 / n)
        if cost < stay:
            return goal
    found = np.int64(-1)
    if look_at_all:
        for v in range(len(state.sizes)):
            if v != w:
                n = state.sizes[v]
                cost = join_factor(n, weight, relaxation) * exact_sq_distance(table, at, state.composites, v, 1.0 / n)
                if cost < stay:
                    stay, found = cost, np.int64(v)
    return found


@helper_once
def _look_at_piece(thread, b, piece, table, layout, state, centroids, bounds, work, proposals):
    """New slack for the due rows of a piece, or proposals.

    A row is proposed if it gains on the frozen state, in float64, and its goal is found in one way, so proposals are
    the same whatever the bounds were.
    """
    k, first = len(state.sizes), b * layout.block + piece * layout.piece
    stop = min(first + layout.piece, layout.n)
    due, limits, count = work.due[thread], work.limits[thread], 0
    for r in range(k):
        limits[r] = np.inf if state.sizes[r] < TIGHT * table.relaxation.heaviest else bounds.spent[b, r]
    for i in range(first, stop):
        due[count] = i - table.first
        count += bounds.slack[i] <= limits[state.labels[i]]
    proposed, compared = 0, 0
    if count > 0:
        far = bounds.far[b, piece]
        if len(bounds.groups) > 2:
            compared, farther = _compare_with_groups(
                thread, count, b, table, state, centroids, layout, bounds, work
            )  # fmt: skip
            far = max(far, farther)
        else:
            compared = _compare_with_all(thread, count, table, state, centroids, layout, work)
        for j in range(count):
            i = due[j] + table.first
            left = work.lowest[thread, j] - work.stay[thread, j]
            if left > 0.0:
                far = max(far, work.lowest[thread, j])
                bounds.slack[i] = rounded_down(left + bounds.spent[b, state.labels[i]])
                continue
            bounds.slack[i] = -np.inf
            goal = np.int64(-1)
            if len(table.weights) == 0:
                goal = _better_cluster(i, _nearest_other(table, due[j], state, centroids), True, table, state)
            elif table.weights[i] > 0.0:  # the bounds are those of the heaviest row
                goal = _better_cluster(i, np.int64(-1), True, table, state)
            if goal >= 0:
                proposals.rows[piece, proposed] = i
                proposals.goals[piece, proposed] = goal
                proposed += 1
        bounds.far[b, piece] = far
    proposals.count[piece] = proposed
    proposals.compared[piece] = compared


@helper
def _move(i, dst, table, layout, state, centroids, bounds):
    """Move row i and update both clusters at once."""
    at, w, weight, scale = i - table.first, np.int64(state.labels[i]), weight_of(table, i), table.scale[0]
    state.labels[i] = dst
    sq_norm = 0.0
    for t in range(table.X.shape[1]):
        x = np.float64((table.X[at, t] - table.shift[t]) * scale)
        state.composites[w, t] -= weight * x
        state.composites[dst, t] += weight * x
        sq_norm += x * x
    state.sizes[w] -= weight
    state.sizes[dst] += weight
    state.counts[w] -= 1
    state.counts[dst] += 1
    state.norm_sums[w] -= weight * sq_norm
    state.norm_sums[dst] += weight * sq_norm
    centroids.stamps[w] = centroids.clock[0] + 1
    centroids.stamps[dst] = centroids.clock[0] + 1
    if (
        len(bounds.groups) > 2
    ):  # w is among the others now; that dst is not any more makes its group's bound too low: fine
        for g in range(len(bounds.groups) - 1):
            if bounds.groups[g] <= w < bounds.groups[g + 1]:
                bounds.low[i // layout.piece, g, i % layout.piece] = -np.inf


@helper_once
def _make_moves(pieces, table, layout, state, centroids, bounds, proposals, result):
    """Verify the proposals one by one and make those that are gains.

    If a proposal turns out not to be a gain, rounding may have hidden a better cluster, so all clusters are compared in
    float64. This is done only while no row has moved in the pass: a run ends with a pass without moves, and there it is
    done for every proposal.
    """
    for piece in range(pieces):
        result[1] += proposals.compared[piece]
        for j in range(proposals.count[piece]):
            i = proposals.rows[piece, j]
            dst = _better_cluster(i, np.int64(proposals.goals[piece, j]), result[0] == 0, table, state)
            if dst >= 0:
                _move(i, dst, table, layout, state, centroids, bounds)
                result[0] += 1
    for r in range(len(state.sizes)):
        if centroids.stamps[r] > centroids.clock[0]:
            renew(r, state, table.relaxation, centroids)
    centroids.clock[0] += 1


@kernel
def pass_over_blocks(
    thread,  # IN
    threads,  # IN
    board,  # INOUT
    order,  # IN     blocks
    table,  # IN
    layout,  # IN
    state,  # INOUT
    centroids,  # INOUT
    bounds,  # INOUT
    work,  # OUT
    drift,  # OUT
    proposals,  # OUT
    result,  # INOUT  (2,)  moves, and rows compared with clusters, of the pass so far
):
    """Visit some blocks of rows."""
    pieces, turn, spins, is_open = layout.block // layout.piece, -1, 0, False
    while thread == 0 or not is_closed(board):
        if thread == 0 and not is_open:
            turn += 1
            if turn == len(order):
                close(board)
                break
            spend(order[turn], centroids, state, table.relaxation, bounds, drift)
            open_round(turn + 1, pieces, threads, board)
            is_open = True
        ticket = next_piece(thread, threads, pieces, board)
        if ticket >= 0:
            b, piece = order[(ticket >> 32) - 1], ticket & PIECE
            _look_at_piece(thread, b, piece, table, layout, state, centroids, bounds, work, proposals)
            finish_piece(board)
        elif thread == 0:
            wait_for_round(pieces, board)
            _make_moves(pieces, table, layout, state, centroids, bounds, proposals, result)
            is_open = False
        else:
            spins += 1
            pause(spins)
