"""Algorithm 1 by panels: exact, one sample after the other, at the speed of a matrix product.

All samples of a panel are first scored against all clusters at once (``_propose``), which is where the time
goes and what threads share. Then the samples are decided one by one, in order (``_decide``); each move
changes two clusters, and only these two are scored again for the samples still to come. So every decision is
made on the present state, and nothing depends on the size of the panels or the number of threads.

``scores[r, lane]`` is the join cost of cluster r, infinite for the sample's own cluster; ``minima[g, lane]``
is the least of them in tile g, a run of ``tile`` clusters, so that the best cluster is found in about 2√k
steps. Equal costs go to the cluster with the lowest index.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums._jit import helper, helper_once, kernel
from ksums.drivers import ANGLE, FAMILY, PAIRWISE
from ksums.engines._score_kernels import cost_to_beat, finish_score, may_leave, reallocate_if_better, row_dot
from ksums.engines._threads import (
    PIECE,
    close,
    finish_piece,
    is_closed,
    next_piece,
    open_round,
    pause,
    wait_for_round,
)
from ksums.engines._vectors import (
    CLUSTERS,
    VECTORS,
    pack_panel,
    panel_scores_many,
    panel_scores_pair,
    panel_scores_pair_last1,
    panel_scores_pair_last2,
    tile_minimum_all,
    tile_minimum_last1,
    tile_minimum_last2,
)

CHUNK = 128  # clusters that a thread scores at a time before it takes their minima, the scores still in cache


class Panels(NamedTuple):
    """Work space. One panel copy per thread: packing twice is cheaper than waiting for each other."""

    panels: np.ndarray  # (threads, d, width)
    scores: np.ndarray  # (k, width)
    minima: np.ndarray  # (tiles, width)
    own: np.ndarray  # (width,)  cluster of each sample; −1: none yet
    every: np.ndarray  # (k + 1,)  0 … k−1, and k−1 again: clusters are scored at least two at a time
    pair: np.ndarray  # (2,)  the two clusters of a move
    turns: np.ndarray  # (rows of a block + width,)  0, 1, 2 …: the rows in order


@helper
def tiles_in_a_piece(tile):
    """Tiles that one thread scores at a time, before it takes their minima."""
    return max(1, CHUNK // tile)


@helper
def _finish(
    rule,  # IN
    state,  # IN
    fast,  # IN
    limits,  # IN
    block,  # IN
    first,  # IN     the panel's first row in the block
    ids,  # IN     clusters
    start,  # IN     from this position in ids …
    stop,  # IN     … to this one
    scores,  # INOUT  (k, width)
):
    """Turn products into scores where the rule is not affine, and close the clusters that are full."""
    if (rule.kind == FAMILY or rule.kind == PAIRWISE or rule.kind == ANGLE) and rule.heaviest == 0.0:
        return
    for j in range(start, stop):
        finish_score(rule, state, fast, limits, ids[j], block.weights, block.sq_norms, first, scores[ids[j]])


@helper_once
def _score(
    rule,  # IN
    state,  # IN
    fast,  # IN
    limits,  # IN
    block,  # IN
    first,  # IN   the panel's first row in the block
    panel,  # IN   (d, width)
    ids,  # IN   clusters, readable one beyond the last
    start,  # IN   from this position in ids …
    stop,  # IN   … to this one
    scores,  # OUT  rows of these clusters (k, width)
):
    """Join costs of some clusters for one panel."""
    at = start
    while at + CLUSTERS <= stop:
        panel_scores_many(panel, fast.composites, fast.a, fast.b, fast.c, block.sq_norms, first, ids, at, scores)
        at += CLUSTERS
    while at < stop:
        panel_scores_pair(panel, fast.composites, fast.a, fast.b, fast.c, block.sq_norms, first, ids, at, scores)
        at += 2
    _finish(rule, state, fast, limits, block, first, ids, start, stop, scores)


@helper
def _refresh_tile(
    g,  # IN     tile
    tile,  # IN     clusters in a tile
    decided,  # IN     vectors of lanes already decided
    scores,  # IN     (k, width)
    minima,  # INOUT  (tiles, width)
):
    """Minimum of one tile, for the lanes still to be decided."""
    first, stop = g * tile, min(g * tile + tile, scores.shape[0])
    if decided == 0:
        tile_minimum_all(scores, first, stop, minima, g)
    elif decided == 1:
        tile_minimum_last2(scores, first, stop, minima, g)
    else:
        tile_minimum_last1(scores, first, stop, minima, g)


@helper_once
def _propose(
    piece,  # IN     which run of tiles
    rule,  # IN
    state,  # IN
    fast,  # IN
    limits,  # IN
    block,  # IN
    first,  # IN     the panel's first row
    tile,  # IN
    panel,  # IN     (d, width)
    work,  # INOUT
):
    """Some tiles, for all samples of a panel."""
    own, scores, minima = work.own, work.scores, work.minima
    (k, width), tiles = scores.shape, minima.shape[0]
    from_tile = piece * tiles_in_a_piece(tile)
    to_tile = min(from_tile + tiles_in_a_piece(tile), tiles)
    start, stop = from_tile * tile, min(to_tile * tile, k)
    _score(rule, state, fast, limits, block, first, panel, work.every, start, stop, scores)
    for lane in range(width):
        if start <= own[lane] < stop:
            scores[own[lane], lane] = np.inf
    for g in range(from_tile, to_tile):
        _refresh_tile(g, tile, np.int64(0), scores, minima)


@helper_once
def _rescore_pair(
    rule,  # IN
    state,  # IN
    fast,  # IN
    limits,  # IN
    block,  # IN
    first,  # IN     the panel's first row
    lane,  # IN     sample that moved; the later ones are scored again
    src,  # IN
    dst,  # IN
    tile,  # IN
    panel,  # IN     (d, width)
    own,  # IN     (width,)
    pair,  # OUT    (2,)
    scores,  # INOUT  (k, width)
    minima,  # INOUT  (tiles, width)
):
    """After one move: the two clusters that changed, for the samples of the panel still to come.

    They are the same where the sample was in no cluster before.
    """
    width = panel.shape[1]
    decided = (lane + 1) * VECTORS // width  # whole vectors that need no new score
    pair[0], pair[1] = src, dst
    if decided == 0:
        panel_scores_pair(panel, fast.composites, fast.a, fast.b, fast.c, block.sq_norms, first, pair, 0, scores)
    elif decided == 1:
        panel_scores_pair_last2(panel, fast.composites, fast.a, fast.b, fast.c, block.sq_norms, first, pair, 0, scores)
    else:
        panel_scores_pair_last1(panel, fast.composites, fast.a, fast.b, fast.c, block.sq_norms, first, pair, 0, scores)
    changed = np.int64(2) if src != dst else np.int64(1)
    _finish(rule, state, fast, limits, block, first, pair, np.int64(0), changed, scores)
    for later in range(lane + 1, width):
        if own[later] == src or own[later] == dst:
            scores[own[later], later] = np.inf
    _refresh_tile(src // tile, tile, decided, scores, minima)
    if dst // tile != src // tile:
        _refresh_tile(dst // tile, tile, decided, scores, minima)


@helper
def best_cluster(
    scores,  # IN  (k, width)
    minima,  # IN  (tiles, width)
    tile,  # IN
    lane,  # IN
    bound,  # IN  the cost to beat
):
    """Lowest-numbered cluster of least join cost, or −1 if none is below the bound."""
    tiles = minima.shape[0]
    best = minima[0, lane]
    for g in range(1, tiles):
        best = min(best, minima[g, lane])
    if not best < bound:
        return np.int64(-1)
    g = np.int64(0)
    while minima[g, lane] != best:
        g += 1
    r = g * tile
    while scores[r, lane] != best:
        r += 1
    return r


@helper_once
def _decide(
    rule,  # IN
    state,  # INOUT
    fast,  # INOUT
    limits,  # IN
    block,  # IN
    first,  # IN     the panel's first row
    last,  # IN     end of the block's real rows
    tile,  # IN
    work,  # INOUT
):
    """The samples of the panel, one by one; returns the number of moves."""
    panel, scores, minima, own, pair = work.panels[0], work.scores, work.minima, work.own, work.pair
    width = scores.shape[1]
    moves = np.int64(0)
    for lane in range(min(width, last - first)):
        src, row = own[lane], first + lane
        weight, sq_norm = block.exact_weights[row], block.exact_sq_norms[row]
        if not may_leave(src, weight, state, limits):
            continue
        from_src = float(row_dot(block.rows, row, fast.composites, src)) if src >= 0 else 0.0
        to_beat = cost_to_beat(rule, src, state, sq_norm, weight, from_src)
        dst = best_cluster(scores, minima, tile, lane, to_beat)
        if dst < 0:
            continue
        from_dst = float(row_dot(block.rows, row, fast.composites, dst))
        if reallocate_if_better(rule, to_beat, block, row, src, dst, from_src, from_dst, state, fast):
            moves += 1
            if lane + 1 < width:
                also = src if src >= 0 else dst
                _rescore_pair(
                    rule, state, fast, limits, block, first, lane, also, dst, tile, panel, own, pair, scores, minima
                )
    return moves


@helper_once
def _note_clusters(
    state,  # IN
    block,  # IN
    first,  # IN   the panel's first row
    last,  # IN   end of the block's real rows
    own,  # OUT  (width,)
):
    for lane in range(own.shape[0]):
        own[lane] = state.labels[block.ids[first + lane]] if first + lane < last else 0


@kernel
def panel_block(
    thread,  # IN     this thread
    threads,  # IN     number of threads that share the work
    board,  # INOUT  see ``_threads.py``: a round is a panel, a piece are some of its tiles
    rule,  # IN
    state,  # INOUT
    fast,  # INOUT
    limits,  # IN
    block,  # IN
    count,  # IN     real rows in the block
    tile,  # IN     clusters in a tile
    work,  # INOUT
):
    """All samples of a block in order: all threads propose, thread 0 decides. Returns the number of moves."""
    width, panel = work.own.shape[0], work.panels[thread]
    pieces = -(-work.minima.shape[0] // tiles_in_a_piece(tile))
    moves, first, packed, spins, is_open = np.int64(0), np.int64(-width), np.int64(0), 0, False
    while thread == 0 or not is_closed(board):
        if thread == 0 and not is_open:
            first += width
            if first >= count:
                close(board)
                break
            _note_clusters(state, block, first, count, work.own)
            open_round(first // width + 1, pieces, threads, board)
            is_open = True
        ticket = next_piece(thread, threads, pieces, board)
        if ticket >= 0:
            start = ((ticket >> 32) - 1) * width
            if packed != ticket >> 32:
                pack_panel(block.rows, work.turns, start, VECTORS, panel)
                packed = ticket >> 32
            _propose(ticket & PIECE, rule, state, fast, limits, block, start, tile, panel, work)
            finish_piece(board)
        elif thread == 0:
            wait_for_round(pieces, board)
            if packed != first // width + 1:  # all pieces were done by others
                pack_panel(block.rows, work.turns, first, VECTORS, panel)
                packed = first // width + 1
            moves += _decide(rule, state, fast, limits, block, first, count, tile, work)
            is_open = False
        else:
            spins += 1
            pause(spins)
    return moves
