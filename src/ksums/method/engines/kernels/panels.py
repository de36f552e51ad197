"""Algorithm 1 by panels: exact, one sample after another, at the speed of a matrix product.

All samples of a panel are first scored against all clusters at once (``_propose``). This takes most of the time, and
threads share it. Then the samples are decided one by one, in order (``_decide``). Each move changes two clusters, and
only these two are scored again for the samples still to come. So every decision is made on the present state, and
nothing depends on the size of the panels or the number of threads.

``scores[r, lane]`` is the join cost of cluster r, infinite for the sample's own cluster. ``minima[g, lane]`` is the
least of them in tile g, a run of ``tile`` clusters, so that the best cluster is found in about 2√k steps. Equal costs
go to the cluster with the lowest index.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.compute.jit import helper, helper_once, kernel
from ksums.compute.panels import (
    best_cluster,
    pack_panel,
    panel_scores_many,
    panel_scores_pair,
    panel_scores_pair_last1,
    panel_scores_pair_last2,
    tile_minimum_all,
    tile_minimum_last1,
    tile_minimum_last2,
)
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
from ksums.compute.vectors import CLUSTERS, VECTORS
from ksums.method.engines.kernels.moves import may_leave, reallocate_if_better, row_dot
from ksums.rules.compiled import cost_to_beat, finish_score, is_finished

CHUNK = 128
"""A thread scores this many clusters before it takes their minima, while the scores are still in the cache."""


class Panels(NamedTuple):
    """Work space. Each thread has its own copy of the panel: packing twice is cheaper than waiting for each other."""

    panels: np.ndarray  # (threads, d, width)
    scores: np.ndarray  # (k, width)
    minima: np.ndarray  # (tiles, width)
    own: np.ndarray  # (width,)  cluster of each sample; −1: none yet
    every: np.ndarray  # (k + 1,)  0 … k−1, and k−1 again: clusters are scored at least two at a time
    pair: np.ndarray  # (2,)  the two clusters of a move
    in_order: np.ndarray  # (rows of a block + width,)  0, 1, 2 …: the rows in order


@helper
def tiles_in_a_piece(tile):
    """Tiles that one thread scores before it takes their minima."""
    return max(1, CHUNK // tile)


@helper
def _finish(
    clusters,  # IN
    block,  # IN
    first,  # IN     the panel's first row in the block
    ids,  # IN     clusters
    start,  # IN     from this position in ids …
    stop,  # IN     … to this one
    scores,  # INOUT  (k, width)
):
    """Turn products into scores where the rule is not affine, and exclude the clusters that are full."""
    if is_finished(clusters.rule):
        return
    for j in range(start, stop):
        finish_score(clusters, ids[j], block.weights, block.sq_norms, first, scores[ids[j]])


@helper_once
def _score(
    clusters,  # IN
    block,  # IN
    first,  # IN   the panel's first row in the block
    panel,  # IN   (d, width)
    ids,  # IN   clusters, readable one beyond the last
    start,  # IN   from this position in ids …
    stop,  # IN   … to this one
    scores,  # OUT  rows of these clusters (k, width)
):
    """Join costs of some clusters for one panel."""
    scan, at = clusters.scan, start
    while at + CLUSTERS <= stop:
        panel_scores_many(panel, scan.composites, scan.a, scan.b, scan.c, block.sq_norms, first, ids, at, scores)
        at += CLUSTERS
    while at < stop:
        panel_scores_pair(panel, scan.composites, scan.a, scan.b, scan.c, block.sq_norms, first, ids, at, scores)
        at += 2
    _finish(clusters, block, first, ids, start, stop, scores)


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
    clusters,  # IN
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
    _score(clusters, block, first, panel, work.every, start, stop, scores)
    for lane in range(width):
        if start <= own[lane] < stop:
            scores[own[lane], lane] = np.inf
    for g in range(from_tile, to_tile):
        _refresh_tile(g, tile, np.int64(0), scores, minima)


@helper_once
def _rescore_pair(
    clusters,  # IN
    block,  # IN
    first,  # IN     the panel's first row
    lane,  # IN     sample that moved; the later ones are scored again
    src,  # IN
    dst,  # IN
    tile,  # IN
    work,  # INOUT
):
    """After one move: score the two clusters that changed for the samples of the panel still to come.

    ``src`` and ``dst`` are the same if the sample was in no cluster before.
    """
    scan, panel, pair, scores, minima = clusters.scan, work.panels[0], work.pair, work.scores, work.minima
    width = panel.shape[1]
    decided = (lane + 1) * VECTORS // width  # whole vectors that need no new score
    pair[0], pair[1] = src, dst
    if decided == 0:
        panel_scores_pair(panel, scan.composites, scan.a, scan.b, scan.c, block.sq_norms, first, pair, 0, scores)
    elif decided == 1:
        panel_scores_pair_last2(panel, scan.composites, scan.a, scan.b, scan.c, block.sq_norms, first, pair, 0, scores)
    else:
        panel_scores_pair_last1(panel, scan.composites, scan.a, scan.b, scan.c, block.sq_norms, first, pair, 0, scores)
    changed = np.int64(2) if src != dst else np.int64(1)
    _finish(clusters, block, first, pair, np.int64(0), changed, scores)
    for later in range(lane + 1, width):
        if work.own[later] == src or work.own[later] == dst:
            scores[work.own[later], later] = np.inf
    _refresh_tile(src // tile, tile, decided, scores, minima)
    if dst // tile != src // tile:
        _refresh_tile(dst // tile, tile, decided, scores, minima)


@helper_once
def _decide(
    clusters,  # INOUT
    block,  # IN
    first,  # IN     the panel's first row
    last,  # IN     end of the block's real rows
    tile,  # IN
    work,  # INOUT
):
    """The samples of the panel, one by one; returns the number of moves."""
    scan, scores, minima, own = clusters.scan, work.scores, work.minima, work.own
    width = scores.shape[1]
    moves = np.int64(0)
    for lane in range(min(width, last - first)):
        src, row = own[lane], first + lane
        weight, sq_norm = block.exact_weights[row], block.exact_sq_norms[row]
        if not may_leave(clusters, src, weight):
            continue
        from_src = float(row_dot(block.rows, row, scan.composites, src)) if src >= 0 else 0.0
        to_beat = cost_to_beat(clusters, src, sq_norm, weight, from_src)
        dst = best_cluster(scores, minima, tile, lane, to_beat)
        if dst < 0:
            continue
        from_dst = float(row_dot(block.rows, row, scan.composites, dst))
        if reallocate_if_better(clusters, to_beat, block, row, src, dst, from_src, from_dst):
            moves += 1
            if lane + 1 < width:
                left = src if src >= 0 else dst
                _rescore_pair(clusters, block, first, lane, left, dst, tile, work)
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
    threads,  # IN     threads that share the work
    board,  # INOUT  see ``compute/sharing.py``: a round is a panel, a piece is some of its tiles
    clusters,  # INOUT
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
            _note_clusters(clusters.state, block, first, count, work.own)
            open_round(first // width + 1, pieces, threads, board)
            is_open = True
        ticket = next_piece(thread, threads, pieces, board)
        if ticket >= 0:
            start = ((ticket >> 32) - 1) * width
            if packed != ticket >> 32:
                pack_panel(block.rows, work.in_order, start, VECTORS, panel)
                packed = ticket >> 32
            _propose(ticket & PIECE, clusters, block, start, tile, panel, work)
            finish_piece(board)
        elif thread == 0:
            wait_for_round(pieces, board)
            if packed != first // width + 1:  # all pieces were done by others
                pack_panel(block.rows, work.in_order, first, VECTORS, panel)
                packed = first // width + 1
            moves += _decide(clusters, block, first, count, tile, work)
            is_open = False
        else:
            spins += 1
            pause(spins)
    return moves
