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
from numba import prange

from ksums.drivers import FAMILY, PAIRWISE
from ksums.engines._jit import helper, kernel, kernel_threads
from ksums.engines._score_kernels import finish_score, may_leave, reallocate_if_better, row_dot, stay_cost
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

_CHUNK = 256  # clusters whose composites are kept in cache while the panels of a group go by


class Panels(NamedTuple):
    """Work space. One panel copy per thread: packing twice is cheaper than waiting for each other."""

    panels: np.ndarray  # (threads, group, d, width)
    scores: np.ndarray  # (group, k, width)
    minima: np.ndarray  # (group, tiles, width)
    own: np.ndarray  # (group, width)  cluster of each sample
    every: np.ndarray  # (k + 1,)  0 … k−1, and k−1 again: clusters are scored at least two at a time
    touched: np.ndarray  # (k + 1,)  clusters moved since the group was scored
    stamps: np.ndarray  # (k + 1,)  group in which a cluster was last touched; last, the present group
    dirty: np.ndarray  # (tiles,)  tiles of touched clusters
    pair: np.ndarray  # (2,)  the two clusters of a move


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
    if (rule.kind == FAMILY or rule.kind == PAIRWISE) and rule.heaviest == 0.0:
        return
    for j in range(start, stop):
        finish_score(rule, state, fast, limits, ids[j], block.weights, block.sq_norms, first, scores)


@helper
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


@helper
def _propose(
    thread,  # IN
    threads,  # IN
    rule,  # IN
    state,  # IN
    fast,  # IN
    limits,  # IN
    block,  # IN
    first,  # IN     first row of the group
    group,  # IN     panels in the group
    tile,  # IN
    work,  # INOUT
):
    """One thread's share of the tiles, for all panels of the group."""
    width = work.scores.shape[2]
    k, tiles = work.scores.shape[1], work.minima.shape[1]
    from_tile, to_tile = thread * tiles // threads, (thread + 1) * tiles // threads
    lanes = width // VECTORS
    panels = work.panels[thread]
    for r in range(group):
        pack_panel(block.rows, first + r * width, lanes, panels[r])
    chunk = max(1, _CHUNK // tile)
    for g in range(from_tile, to_tile, chunk):
        end = min(g + chunk, to_tile)
        for r in range(group):
            _score(
                rule, state, fast, limits, block, first + r * width, panels[r],
                work.every, g * tile, min(end * tile, k), work.scores[r],
            )  # fmt: skip
            own, scores = work.own[r], work.scores[r]
            for lane in range(width):
                if g * tile <= own[lane] < end * tile:
                    scores[own[lane], lane] = np.inf
            for h in range(g, end):
                _refresh_tile(h, tile, np.int64(0), scores, work.minima[r])


@helper
def _rescore_touched(
    rule,  # IN
    state,  # IN
    fast,  # IN
    limits,  # IN
    block,  # IN
    first,  # IN     the panel's first row
    r,  # IN     panel of the group
    count,  # IN     touched clusters
    tile,  # IN
    work,  # INOUT
):
    """Bring a panel's scores up to date after the moves of the panels before it in the group."""
    touched, own, scores, dirty = work.touched, work.own[r], work.scores[r], work.dirty
    touched[count] = touched[count - 1]  # _score may read one beyond the last
    _score(
        rule, state, fast, limits, block, first, work.panels[0, r],
        touched, np.int64(0), count, scores,
    )  # fmt: skip
    for lane in range(own.shape[0]):
        scores[own[lane], lane] = np.inf
    for j in range(count):
        dirty[touched[j] // tile] = True
    for g in range(dirty.shape[0]):
        if dirty[g]:
            dirty[g] = False
            _refresh_tile(g, tile, np.int64(0), scores, work.minima[r])


@helper
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
    """After one move: the two clusters that changed, for the samples of the panel still to come."""
    width = panel.shape[1]
    decided = (lane + 1) * VECTORS // width  # whole vectors that need no new score
    pair[0], pair[1] = src, dst
    if decided == 0:
        panel_scores_pair(panel, fast.composites, fast.a, fast.b, fast.c, block.sq_norms, first, pair, 0, scores)
    elif decided == 1:
        panel_scores_pair_last2(panel, fast.composites, fast.a, fast.b, fast.c, block.sq_norms, first, pair, 0, scores)
    else:
        panel_scores_pair_last1(panel, fast.composites, fast.a, fast.b, fast.c, block.sq_norms, first, pair, 0, scores)
    _finish(rule, state, fast, limits, block, first, pair, np.int64(0), np.int64(2), scores)
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


@helper
def _decide(
    rule,  # IN
    state,  # INOUT
    fast,  # INOUT
    limits,  # IN
    block,  # IN
    first,  # IN     first row of the group
    last,  # IN     end of the block's real rows
    group,  # IN     panels in the group
    tile,  # IN
    work,  # INOUT
):
    """The samples of the group, one by one; returns the number of moves."""
    width = work.scores.shape[2]
    moves, count = np.int64(0), np.int64(0)  # plain zeros are types of their own to Numba: callees compile twice
    work.stamps[-1] += 1  # the group's number
    stamp, pair = work.stamps[-1], work.pair
    for r in range(group):
        start = first + r * width
        if count:
            _rescore_touched(rule, state, fast, limits, block, start, r, count, tile, work)
        panel, scores, minima, own = work.panels[0, r], work.scores[r], work.minima[r], work.own[r]
        for lane in range(min(width, last - start)):
            src = own[lane]
            row = start + lane
            weight, sq_norm = float(block.weights[row]), float(block.sq_norms[row])
            if not may_leave(src, weight, state, limits):
                continue
            from_src = float(row_dot(block.rows, row, fast.composites, src))
            stay = stay_cost(
                rule, state.sizes[src], state.sq_composites[src], state.norm_sums[src], sq_norm, weight, from_src
            )
            dst = best_cluster(scores, minima, tile, lane, stay)
            if dst < 0:
                continue
            from_dst = float(row_dot(block.rows, row, fast.composites, dst))
            if not reallocate_if_better(rule, stay, block, row, src, dst, from_src, from_dst, state, fast):
                continue
            moves += 1
            for c in (src, dst):
                if work.stamps[c] != stamp:
                    work.stamps[c] = stamp
                    work.touched[count] = c
                    count += 1
            if lane + 1 < width:
                _rescore_pair(
                    rule, state, fast, limits, block, start, lane, src, dst, tile,
                    panel, own, pair, scores, minima,
                )  # fmt: skip
    return moves


@helper
def _open_group(
    state,  # IN
    block,  # IN
    first,  # IN     first row of the group
    last,  # IN     end of the block's real rows
    work,  # INOUT  own
):
    """Note the cluster of each sample; returns the number of panels in the group."""
    most, width = work.own.shape
    for r in range(most):
        for lane in range(width):
            row = first + r * width + lane
            work.own[r, lane] = state.labels[block.ids[row]] if row < last else 0
    return min(most, (last - first + width - 1) // width)


@kernel
def panel_block(
    rule,  # IN
    state,  # INOUT
    fast,  # INOUT
    limits,  # IN
    block,  # IN
    count,  # IN     real rows in the block
    tile,  # IN     clusters in a tile
    work,  # INOUT
):
    """All samples of a block in order, on one thread; returns the number of moves."""
    moves, step = 0, work.own.size
    for first in range(0, count, step):
        group = _open_group(state, block, first, count, work)
        _propose(np.int64(0), np.int64(1), rule, state, fast, limits, block, first, group, tile, work)
        moves += _decide(rule, state, fast, limits, block, first, count, group, tile, work)
    return moves


@kernel_threads
def panel_block_threads(
    threads,  # IN
    rule,  # IN
    state,  # INOUT
    fast,  # INOUT
    limits,  # IN
    block,  # IN
    count,  # IN
    tile,  # IN
    work,  # INOUT
):
    """As ``panel_block``, the scoring shared by ``threads`` threads: each has its own tiles."""
    moves, step = 0, work.own.size
    for first in range(0, count, step):
        group = _open_group(state, block, first, count, work)
        for thread in prange(threads):
            _propose(thread, threads, rule, state, fast, limits, block, first, group, tile, work)
        moves += _decide(rule, state, fast, limits, block, first, count, group, tile, work)
    return moves
