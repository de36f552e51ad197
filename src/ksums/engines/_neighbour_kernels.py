"""A pass in which a sample looks only at the clusters nearest to its own: propose, then verify.

Clusters are visited in batches. All threads *propose* for a batch: the members of one cluster, in panels, against the
composites of its list, which stay in cache; where a join cost is below the stay cost, the best cluster is noted. Then
thread 0 takes the proposals in order and makes each move that is a gain in the present state too. So no move of a
monotone rule raises the objective, and nothing depends on the number of threads.

Each list begins with the cluster itself, whose products give the stay costs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums._jit import helper, helper_once, kernel
from ksums.drivers import ANGLE, FAMILY, PAIRWISE
from ksums.engines._score_kernels import bound_in, cost_to_beat, finish_score, may_leave, reallocate_if_better, row_dot
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
    listed_best,
    listed_best_last1,
    listed_best_last2,
    listed_scores,
    listed_scores_last1,
    listed_scores_last2,
    pack_panel,
    prefetch_row,
)

_AHEAD = 6  # rows: so far ahead of its turn is asked for what a move will touch, which takes that long to come


class Visit(NamedTuple):
    """Clusters in visiting order, and the rows of each: ``members[starts[q]:stops[q]]``."""

    clusters: np.ndarray  # (c,)
    starts: np.ndarray  # (c,)
    stops: np.ndarray  # (c,)
    members: np.ndarray  # (count + width,)  rows of the block; readable a panel beyond the last
    targets: np.ndarray  # (count,)  proposals; −1: stay

    @property
    def rows(self) -> list[slice]:
        """Where the rows of each cluster are in ``members``."""
        return [slice(start, stop) for start, stop in zip(self.starts, self.stops, strict=True)]


class Neighbours(NamedTuple):
    """The lists."""

    lists: np.ndarray  # (k, length)  int32; the length is a multiple of 8, the most clusters scored at a time
    filled: np.ndarray  # (k,)  how much of each list counts; what is behind may be scored but not chosen


def list_length(wanted: int, k: int) -> int:
    """Places in a list for so many of k clusters: a whole number of times the most clusters scored at a time."""
    return -(-min(wanted, k) // 8) * 8


class ListWork(NamedTuple):
    """Work space of one thread each."""

    panels: np.ndarray  # (threads, d, width)
    scores: np.ndarray  # (threads, CLUSTERS, width)
    best: np.ndarray  # (threads, width)
    places: np.ndarray  # (threads, width)  int32
    bounds: np.ndarray  # (threads, width)  float64
    ids: np.ndarray  # (threads, length)
    coefficients: np.ndarray  # (threads, 3, length)
    samples: np.ndarray  # (threads, 2, width)  squared norms and weights


@helper
def score_some(
    vectors,  # IN   vectors of the panel that are in use, the last ones
    panel,  # IN   (d, width)
    composites,  # IN   (k, d)
    coefficients,  # IN   (3, length)  by place in the list
    sq_norms,  # IN   (width,)
    ids,  # IN   (length,)  clusters
    first,  # IN   place of the first one to score
    scores,  # OUT  (CLUSTERS, width)
):
    """Affine scores of CLUSTERS places of a list for the samples of a panel."""
    a, b, c = coefficients[0], coefficients[1], coefficients[2]
    if vectors == 3:
        listed_scores(panel, composites, a, b, c, sq_norms, ids, first, scores)
    elif vectors == 2:
        listed_scores_last2(panel, composites, a, b, c, sq_norms, ids, first, scores)
    else:
        listed_scores_last1(panel, composites, a, b, c, sq_norms, ids, first, scores)


@helper_once
def _best_of_rest(
    vectors,  # IN     vectors of the panel that are in use, the last ones
    panel,  # IN     (d, width)
    composites,  # IN     (k, d)
    coefficients,  # IN     (3, length)
    sq_norms,  # IN     (width,)
    ids,  # IN     (length,)
    length,  # IN     a multiple of CLUSTERS
    best,  # INOUT  (width,)
    place,  # INOUT  (width,)
):
    """The least affine score from place CLUSTERS of the list on."""
    a, b, c = coefficients[0], coefficients[1], coefficients[2]
    if vectors == 3:
        for first in range(CLUSTERS, length, CLUSTERS):
            listed_best(panel, composites, a, b, c, sq_norms, ids, first, best, place)
    elif vectors == 2:
        for first in range(CLUSTERS, length, CLUSTERS):
            listed_best_last2(panel, composites, a, b, c, sq_norms, ids, first, best, place)
    else:
        for first in range(CLUSTERS, length, CLUSTERS):
            listed_best_last1(panel, composites, a, b, c, sq_norms, ids, first, best, place)


@helper
def _best_of_scores(
    scores,  # IN     (CLUSTERS, width)  of the places from ``first`` on,
    start,  # IN     of which those from this one on are looked at
    first,  # IN
    best,  # INOUT  (width,)
    place,  # INOUT  (width,)
):
    for j in range(start, CLUSTERS):
        for lane in range(best.shape[0]):
            below = scores[j, lane] < best[lane]
            best[lane] = scores[j, lane] if below else best[lane]
            place[lane] = np.int32(first + j) if below else place[lane]


@helper_once
def _note_list(
    w,  # IN   cluster
    fast,  # IN
    neighbours,  # IN
    ids,  # OUT  (length,)
    coefficients,  # OUT  (3, length)
):
    """The list of a cluster with the coefficients of those in it; of itself, the product alone is wanted."""
    for place in range(ids.shape[0]):
        v = np.int64(neighbours.lists[w, place])
        ids[place] = v
        coefficients[0, place], coefficients[1, place], coefficients[2, place] = fast.a[v], fast.b[v], fast.c[v]
    coefficients[0, 0], coefficients[1, 0], coefficients[2, 0] = 0.0, -1.0, 0.0
    for place in range(neighbours.filled[w], ids.shape[0]):
        coefficients[0, place], coefficients[1, place], coefficients[2, place] = 0.0, 0.0, np.inf


@helper_once
def _propose(
    thread,  # IN
    q,  # IN     which cluster of the visit
    rule,  # IN
    state,  # IN
    fast,  # IN
    limits,  # IN
    block,  # IN
    visit,  # INOUT  targets
    neighbours,  # IN
    work,  # OUT
):
    """For each member of a cluster, the best cluster of the list, if it is better than to stay."""
    w, start, stop = visit.clusters[q], visit.starts[q], visit.stops[q]
    panel, scores, ids = work.panels[thread], work.scores[thread], work.ids[thread]
    best, places, bounds = work.best[thread], work.places[thread], work.bounds[thread]
    coefficients, sq_norms, weights = work.coefficients[thread], work.samples[thread, 0], work.samples[thread, 1]
    width, filled = panel.shape[1], np.int64(neighbours.filled[w])
    affine = (rule.kind == FAMILY or rule.kind == PAIRWISE or rule.kind == ANGLE) and rule.heaviest == 0.0
    if state.counts[w] <= 1 or filled <= 1:
        for at in range(start, stop):
            visit.targets[at] = -1
        return
    _note_list(w, fast, neighbours, ids, coefficients)
    n, m, norm_sum, composite_sq = state.sizes[w], state.counts[w], state.norm_sums[w], state.sq_composites[w]
    length = -(-filled // CLUSTERS) * CLUSTERS
    lanes = width // VECTORS
    for first in range(start, stop, width):
        count = min(width, stop - first)
        vectors = -(-count // lanes)
        skipped = width - vectors * lanes
        pack_panel(block.rows, visit.members, first, vectors, panel)
        for lane in range(count):
            row = visit.members[first + lane]
            sq_norms[skipped + lane], weights[skipped + lane] = block.sq_norms[row], block.weights[row]
        for lane in range(width):
            best[lane] = np.inf
        score_some(vectors, panel, fast.composites, coefficients, sq_norms, ids, np.int64(0), scores)
        for j in range(count):
            row = visit.members[first + j]
            weight, sq_norm = block.exact_weights[row], block.exact_sq_norms[row]
            product = np.float64(scores[0, skipped + j])
            bounds[j] = bound_in(rule, n, m, norm_sum, composite_sq, sq_norm, weight, product)
        if affine:
            _best_of_scores(scores, np.int64(1), np.int64(0), best, places)
            _best_of_rest(vectors, panel, fast.composites, coefficients, sq_norms, ids, length, best, places)
        else:
            for at in range(0, length, CLUSTERS):
                if at > 0:
                    score_some(vectors, panel, fast.composites, coefficients, sq_norms, ids, at, scores)
                others = np.int64(1) if at == 0 else np.int64(0)  # the first of the list is the cluster itself
                for j in range(others, CLUSTERS):
                    if at + j < filled:
                        finish_score(rule, state, fast, limits, ids[at + j], weights, sq_norms, np.int64(0), scores[j])
                _best_of_scores(scores, others, at, best, places)
        for j in range(count):
            lane = skipped + j
            visit.targets[first + j] = np.int32(ids[places[lane]]) if best[lane] < bounds[j] else np.int32(-1)


@helper_once
def _apply(
    q,  # IN     which cluster of the visit
    rule,  # IN
    state,  # INOUT
    fast,  # INOUT
    limits,  # IN
    block,  # IN
    visit,  # IN
):
    """Make the moves proposed for a cluster's members that are gains now; returns their number."""
    src = visit.clusters[q]
    moves = np.int64(0)
    for at in range(visit.starts[q], visit.stops[q]):
        ahead = at + _AHEAD
        if ahead < visit.stops[q] and visit.targets[ahead] >= 0:
            prefetch_row(block.rows, visit.members[ahead])
            prefetch_row(fast.composites, np.int64(visit.targets[ahead]))
            prefetch_row(state.composites, np.int64(visit.targets[ahead]))
        dst = np.int64(visit.targets[at])
        if dst < 0:
            continue
        row = visit.members[at]
        weight, sq_norm = block.exact_weights[row], block.exact_sq_norms[row]
        if not may_leave(src, weight, state, limits) or state.sizes[dst] + weight > limits.high[dst]:
            continue
        from_src = np.float64(row_dot(block.rows, row, fast.composites, src))
        from_dst = np.float64(row_dot(block.rows, row, fast.composites, dst))
        to_beat = cost_to_beat(rule, src, state, sq_norm, weight, from_src)
        if reallocate_if_better(rule, to_beat, block, row, src, dst, from_src, from_dst, state, fast):
            moves += 1
    return moves


@kernel
def neighbour_batches(
    thread,  # IN     this thread
    threads,  # IN     number of threads that share the work
    board,  # INOUT  see ``_threads.py``: a round is a batch of clusters, a piece is one of them
    rule,  # IN
    state,  # INOUT
    fast,  # INOUT
    limits,  # IN
    block,  # IN
    visit,  # INOUT
    batch,  # IN     clusters in a batch
    neighbours,  # IN
    only_proposed,  # IN     whether nothing is moved
    work,  # OUT
):
    """Some clusters, batch by batch: all threads propose, thread 0 verifies and moves. Returns the number of moves."""
    clusters = visit.clusters.shape[0]
    moves, first, spins, is_open = np.int64(0), np.int64(-batch), 0, False
    while thread == 0 or not is_closed(board):
        if thread == 0 and not is_open:
            first += batch
            if first >= clusters:
                close(board)
                break
            open_round(first // batch + 1, batch, threads, board)
            is_open = True
        ticket = next_piece(thread, threads, batch, board)
        if ticket >= 0:
            q = ((ticket >> 32) - 1) * batch + (ticket & PIECE)
            if q < clusters:
                _propose(thread, q, rule, state, fast, limits, block, visit, neighbours, work)
            finish_piece(board)
        elif thread == 0:
            wait_for_round(batch, board)
            for q in range(first, first if only_proposed else min(first + batch, clusters)):
                moves += _apply(q, rule, state, fast, limits, block, visit)
            is_open = False
        else:
            spins += 1
            pause(spins)
    return moves
