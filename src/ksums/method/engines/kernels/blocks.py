"""Passes over rows in storage order, block by block, for few clusters and many rows.

In a block all threads look at pieces of it on a frozen state. Rows whose slack (``bounds.py``) is used up are gathered
into panels and compared with the centroids; each gets a new slack or is proposed for a move. Then thread 0 takes the
proposals in order, checks each in float64 against the present state, and makes it if it is a gain. So the objective
never rises, and nothing depends on the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.compute.jit import helper, helper_inlined, helper_once, helper_reordering, kernel
from ksums.compute.panels import pack_panel
from ksums.compute.sharing import (
    PIECE,
    close,
    finish_piece,
    is_closed,
    next_piece,
    open_round,
    pause,
    wait_for_round,
)
from ksums.compute.two_nearest import two_nearest
from ksums.compute.vectors import VECTORS
from ksums.method.engines.kernels.bounds import TIGHT, join_factor, rounded_down, spend, stay_factor
from ksums.rules.kinds import ROUNDING

_ROUNDING = ROUNDING[np.dtype(np.float64)]
"""A move must lower its cost by more than this share of the cost's terms: decisions are made in float64."""


class Table(NamedTuple):
    """Rows as they are stored; (x − shift)·scale is a prepared row."""

    X: np.ndarray  # (rows, d)  in the arithmetic of the kernels
    first: int  # number of the first of these rows
    shift: np.ndarray  # (d,)
    scale: np.ndarray  # (1,)
    weights: np.ndarray  # (n,)  float64; (1,): all weights are 1
    heaviest: float


class Layout(NamedTuple):
    """How rows are divided."""

    n: int
    block: int  # rows of a block
    piece: int  # rows of a piece
    rel: float  # of bounds.py
    margin: float  # of bounds.py


class Centroids(NamedTuple):
    """The clusters as they are compared with rows."""

    vectors: np.ndarray  # (padded k, d)  rounded to the arithmetic of the kernels; infinitely far beyond k
    join: np.ndarray  # (padded k,)    a²
    stay_over_join: np.ndarray  # (k,)  b²/a²
    stamps: np.ndarray  # (k,)  the clock when the cluster last changed
    clock: np.ndarray  # (1,)  counts blocks
    reach: np.ndarray  # (2,)  length of the longest centroid the margin allows for; of the longest there was


class Work(NamedTuple):
    """Work space of the threads: rows of a piece, with room for a whole panel behind them."""

    due: np.ndarray  # (threads, room)  positions in the table
    some: np.ndarray  # (threads, room)  of these, the ones compared with a group of clusters
    index: np.ndarray  # (threads, room)  where these are in ``due``
    best: np.ndarray  # (threads, room)
    second: np.ndarray  # (threads, room)
    which: np.ndarray  # (threads, room)
    stay: np.ndarray  # (threads, room)  upper bound of b_w |x − C_w|
    lowest: np.ndarray  # (threads, room)  lower bound of a_v |x − C_v|
    goal: np.ndarray  # (threads, room)  the cluster of the least of them; −1: the second nearest of its group
    limits: np.ndarray  # (threads, k)  rows of a cluster with no more slack than this are due
    panels: np.ndarray  # (threads, d, width)


class Proposals(NamedTuple):
    """Moves that the pieces of a block propose."""

    rows: np.ndarray  # (pieces, rows of a piece)
    goals: np.ndarray  # (pieces, rows of a piece)
    count: np.ndarray  # (pieces,)
    compared: np.ndarray  # (pieces,)  rows times clusters


class PieceSums(NamedTuple):
    """Sums over the rows of each piece of a block."""

    composites: np.ndarray  # (pieces, k, d)
    sizes: np.ndarray  # (pieces, k)
    counts: np.ndarray  # (pieces, k)
    norm_sums: np.ndarray  # (pieces, k)


@helper_inlined
def _weight(table, i):
    return table.weights[i] if len(table.weights) > 1 else 1.0


@helper
def _scan(table, members, count, first, stop, centres, factors, panel, best, which, second):
    """Nearest and second nearest of some centroids for ``count`` rows; ``members`` has room for a panel behind them."""
    d, width = panel.shape
    last, scale = members[count - 1], table.scale[0]
    for j in range(count, count + width):
        members[j] = last
    for at in range(0, count, width):
        pack_panel(table.X, members, at, VECTORS, panel)
        for t in range(d):
            shift = table.shift[t]
            for lane in range(width):
                panel[t, lane] = (panel[t, lane] - shift) * scale
        two_nearest(panel, centres, factors, first, stop, best, which, second, at)


@helper_reordering
def _sq_distance_to_centre(table, at, centres, r):
    """|x − C_r|² in the arithmetic of the rows."""
    total, scale = table.X[at, 0] - table.X[at, 0], table.scale[0]
    for t in range(table.X.shape[1]):
        away = (table.X[at, t] - table.shift[t]) * scale - centres[r, t]
        total += away * away
    return np.float64(total)


@helper_reordering
def _exact_sq_distance(table, at, composites, r, inverse):
    """|x − D_r/n_r|² in float64."""
    total, scale = 0.0, table.scale[0]
    for t in range(table.X.shape[1]):
        away = np.float64((table.X[at, t] - table.shift[t]) * scale) - composites[r, t] * inverse
        total += away * away
    return total


@helper_reordering
def _terms(table, at, composites, r, inverse):
    """|x|² + |D_r/n_r|² in float64, the terms of a squared distance."""
    total, scale = 0.0, table.scale[0]
    for t in range(table.X.shape[1]):
        x, c = np.float64((table.X[at, t] - table.shift[t]) * scale), composites[r, t] * inverse
        total += x * x + c * c
    return total


@helper
def _renew(r, state, heaviest, centroids):
    """Rounded centroid and factors of cluster r from its sums."""
    n = state.sizes[r]
    inverse, squares = 1.0 / n, 0.0
    for t in range(state.composites.shape[1]):
        value = state.composites[r, t] * inverse
        centroids.vectors[r, t] = value
        squares += value * value
    join = join_factor(n, heaviest)
    centroids.join[r] = join
    centroids.stay_over_join[r] = stay_factor(n, heaviest) / join
    centroids.reach[1] = max(centroids.reach[1], np.sqrt(squares))


@kernel
def renew_all(state, heaviest, centroids):
    """The clusters as they are compared with rows, from their sums."""
    for r in range(len(state.sizes)):
        _renew(r, state, heaviest, centroids)


# ------------------------------------------------------------------------------------------ first labels
@helper_once
def _assign_piece(thread, b, piece, table, layout, k, state, centroids, bounds, work, sums):
    """Rows of a piece to their nearest centres, with their slack; their sums."""
    first = b * layout.block + piece * layout.piece
    stop = min(first + layout.piece, layout.n)
    d = table.X.shape[1]
    for r in range(k):
        sums.sizes[piece, r] = 0.0
        sums.counts[piece, r] = 0
        sums.norm_sums[piece, r] = 0.0
        for t in range(d):
            sums.composites[piece, r, t] = 0.0
    if stop <= first:
        return
    members, best, second, which = work.due[thread], work.best[thread], work.second[thread], work.which[thread]
    for i in range(first, stop):
        members[i - first] = i - table.first
    padded = len(centroids.join)
    _scan(
        table, members, stop - first, 0, padded, centroids.vectors, centroids.join, work.panels[thread], best, which,
        second,
    )  # fmt: skip
    far, scale = 0.0, table.scale[0]
    for j in range(stop - first):
        i, at, r = first + j, first + j - table.first, which[j]
        state.labels[i] = r
        bounds.slack[i] = np.inf
        weight = _weight(table, i)
        if not weight > 0.0:  # never visited
            continue
        lowest = np.sqrt(np.float64(second[j])) * (1.0 - layout.rel) - layout.margin
        stay = np.sqrt(np.float64(best[j])) * (1.0 + layout.rel)
        bounds.slack[i] = rounded_down(lowest - stay)
        far = max(far, lowest)
        for g in range(len(bounds.groups) - 1 if len(bounds.groups) > 2 else 0):
            bounds.low[i // layout.piece, g, i % layout.piece] = rounded_down(lowest)
        sq_norm = 0.0
        for t in range(d):
            x = np.float64((table.X[at, t] - table.shift[t]) * scale)
            sums.composites[piece, r, t] += weight * x
            sq_norm += x * x
        sums.sizes[piece, r] += weight
        sums.counts[piece, r] += 1
        sums.norm_sums[piece, r] += weight * sq_norm
    bounds.far[b, piece] = far


@helper_once
def _add_pieces(pieces, state, sums):
    k, d = state.composites.shape
    for piece in range(pieces):
        for r in range(k):
            state.sizes[r] += sums.sizes[piece, r]
            state.counts[r] += sums.counts[piece, r]
            state.norm_sums[r] += sums.norm_sums[piece, r]
            for t in range(d):
                state.composites[r, t] += sums.composites[piece, r, t]


@kernel
def assign_blocks(
    thread,  # IN
    threads,  # IN
    board,  # INOUT
    order,  # IN     blocks
    table,  # IN
    layout,  # IN
    state,  # INOUT  labels are set, sums are added to
    centroids,  # IN     given centres, all factors 1
    bounds,  # OUT    for these centres and factors
    work,  # OUT
    sums,  # OUT
):
    """Give each row of some blocks its nearest centre."""
    pieces, k = layout.block // layout.piece, len(state.sizes)
    turn, spins, is_open = -1, 0, False
    while thread == 0 or not is_closed(board):
        if thread == 0 and not is_open:
            turn += 1
            if turn == len(order):
                close(board)
                break
            open_round(turn + 1, pieces, threads, board)
            is_open = True
        ticket = next_piece(thread, threads, pieces, board)
        if ticket >= 0:
            b, piece = order[(ticket >> 32) - 1], ticket & PIECE
            _assign_piece(thread, b, piece, table, layout, k, state, centroids, bounds, work, sums)
            finish_piece(board)
        elif thread == 0:
            wait_for_round(pieces, board)
            _add_pieces(pieces, state, sums)
            is_open = False
        else:
            spins += 1
            pause(spins)


# ---------------------------------------------------------------------------------------------- a pass
@helper
def _compare_with_all(thread, count, table, state, centroids, layout, work):
    """Bounds of the due rows from all clusters at once."""
    due, best, second, which = work.due[thread], work.best[thread], work.second[thread], work.which[thread]
    _scan(
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
        work.goal[thread, j] = -1 if own else which[j]
    return count * len(state.sizes)


@helper
def _compare_with_groups(thread, count, b, table, state, centroids, layout, bounds, work):
    """Bounds of the due rows, group by group; only groups that the row's own distance does not exclude are compared."""
    due, some, index = work.due[thread], work.some[thread], work.index[thread]
    best, second, which = work.best[thread], work.second[thread], work.which[thread]
    stay, lowest, goal = work.stay[thread], work.lowest[thread], work.goal[thread]
    compared, far = count, 0.0
    for j in range(count):
        w = state.labels[due[j] + table.first]
        factor = np.float64(centroids.join[w]) * np.float64(centroids.stay_over_join[w])
        squares = factor * _sq_distance_to_centre(table, due[j], centroids.vectors, w)
        stay[j] = np.sqrt(squares) * (1.0 + layout.rel)
        lowest[j] = np.inf
        goal[j] = -1
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
            elif lower < lowest[j]:
                lowest[j] = lower
                goal[j] = -1
        if compared_rows == 0:
            continue
        compared += compared_rows * (stop - first)
        panel = work.panels[thread]
        _scan(
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
            if value < lowest[j]:
                lowest[j] = value
                goal[j] = -1 if own else which[q]
    return compared, far


@helper
def _nearest_other(table, at, state, centroids):
    """The cluster of least join cost, the row's own aside."""
    w, found, least = state.labels[at + table.first], np.int64(-1), np.inf
    for v in range(len(state.sizes)):
        if v != w:
            cost = np.float64(centroids.join[v]) * _sq_distance_to_centre(table, at, centroids.vectors, v)
            if cost < least:
                found, least = np.int64(v), cost
    return found


@helper
def _better_cluster(i, goal, look_at_all, table, state):
    """The cluster that row i should move to in the present state, or −1. All in float64."""
    at, w, weight = i - table.first, np.int64(state.labels[i]), _weight(table, i)
    n = state.sizes[w]
    if state.counts[w] <= 1 or not n - weight > 0.0:
        return np.int64(-1)
    stay = n / (n - weight) * _exact_sq_distance(table, at, state.composites, w, 1.0 / n)
    stay -= _ROUNDING * _terms(table, at, state.composites, w, 1.0 / n)
    if goal >= 0:
        n = state.sizes[goal]
        if n / (n + weight) * _exact_sq_distance(table, at, state.composites, goal, 1.0 / n) < stay:
            return goal
    found = np.int64(-1)
    if look_at_all:
        for v in range(len(state.sizes)):
            if v != w:
                n = state.sizes[v]
                cost = n / (n + weight) * _exact_sq_distance(table, at, state.composites, v, 1.0 / n)
                if cost < stay:
                    stay, found = cost, np.int64(v)
    return found


@helper_once
def _look_at_piece(thread, b, piece, table, layout, state, centroids, bounds, work, proposals):
    """New slack for the due rows of a piece, or proposals."""
    k, first = len(state.sizes), b * layout.block + piece * layout.piece
    stop = min(first + layout.piece, layout.n)
    due, limits, count = work.due[thread], work.limits[thread], 0
    for r in range(k):
        limits[r] = np.inf if state.sizes[r] < TIGHT * table.heaviest else bounds.spent[b, r]
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
            goal = np.int64(work.goal[thread, j])
            if len(table.weights) > 1:  # the bounds are those of the heaviest row
                goal = _better_cluster(i, np.int64(-1), True, table, state) if table.weights[i] > 0.0 else np.int64(-1)
            elif goal < 0:
                goal = _nearest_other(table, due[j], state, centroids)
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
    at, w, weight, scale = i - table.first, np.int64(state.labels[i]), _weight(table, i), table.scale[0]
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

    A proposal that is no gain, perhaps because of rounding, is compared with all clusters only while no row has moved
    in the pass: a run ends with a pass without moves, and in such a pass every one of them is.
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
            _renew(r, state, table.heaviest, centroids)
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
            spend(order[turn], centroids, state, table.heaviest, bounds, drift)
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
