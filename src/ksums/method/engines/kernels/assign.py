"""First labels of blocks of rows: the nearest of given centres, with sums and bounds in the same go."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.compute.jit import helper_once, kernel
from ksums.compute.sharing import PIECE, close, finish_piece, is_closed, next_piece, open_round, pause, wait_for_round
from ksums.method.engines.kernels.bounds import rounded_down
from ksums.method.engines.kernels.tables import compare, weight_of


class PieceSums(NamedTuple):
    """Sums over the rows of each piece of a block."""

    composites: np.ndarray  # (pieces, k, d)
    sizes: np.ndarray  # (pieces, k)
    counts: np.ndarray  # (pieces, k)
    norm_sums: np.ndarray  # (pieces, k)


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
    compare(
        table, members, stop - first, 0, padded, centroids.vectors, centroids.join, work.panels[thread], best, which,
        second,
    )  # fmt: skip
    far, scale = 0.0, table.scale[0]
    for j in range(stop - first):
        i, at, r = first + j, first + j - table.first, which[j]
        state.labels[i] = r
        bounds.slack[i] = np.inf
        weight = weight_of(table, i)
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
