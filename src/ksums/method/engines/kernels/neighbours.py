"""A pass in which a sample looks only at the clusters nearest to its own: propose, then verify.

Clusters are visited in batches. All threads *propose* for a batch: they score the members of one cluster, in panels,
against the composites of its list, which stay in the cache, and note the best cluster where its join cost is below the
stay cost. Then thread 0 goes through the proposals in order and makes each move that is still a gain in the present
state. So no move of a monotone rule raises the objective, and nothing depends on the number of threads. The plain twin
is ``reference.ReferenceNeighbours``.

Each list starts with the cluster itself, whose products give the stay costs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.compute.jit import helper, helper_once, kernel
from ksums.compute.panels import listed_best, listed_best_last1, listed_best_last2, pack_panel, score_listed
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
from ksums.compute.vectors import CLUSTERS, VECTORS, prefetch_row
from ksums.method.engines.kernels.moves import may_leave, reallocate_if_better, row_dot
from ksums.rules.compiled import cost_to_beat, finish_score, is_finished, stay_bound

_AHEAD = 6
"""What a move will touch is prefetched this many rows ahead, which is about the time memory takes to answer."""


class Visit(NamedTuple):
    """Clusters in visiting order, and the rows of each: ``members[starts[q]:stops[q]]``."""

    clusters: np.ndarray  # (c,)
    starts: np.ndarray  # (c,)
    stops: np.ndarray  # (c,)
    members: np.ndarray  # (count + width,)  rows of the block; a panel can be read from any position
    targets: np.ndarray  # (count,)  proposals; −1: stay

    @property
    def rows(self) -> list[slice]:
        """Where the rows of each cluster are in ``members``."""
        return [slice(start, stop) for start, stop in zip(self.starts, self.stops, strict=True)]


class ListWork(NamedTuple):
    """Work space, a part for each thread."""

    panels: np.ndarray  # (threads, d, width)
    scores: np.ndarray  # (threads, CLUSTERS, width)
    best: np.ndarray  # (threads, width)
    positions: np.ndarray  # (threads, width)  int32
    bounds: np.ndarray  # (threads, width)  float64
    ids: np.ndarray  # (threads, length)
    coefficients: np.ndarray  # (threads, 3, length)
    samples: np.ndarray  # (threads, 2, width)  squared norms and weights


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
    position,  # INOUT  (width,)
):
    """The least affine score from position CLUSTERS of the list."""
    a, b, c = coefficients[0], coefficients[1], coefficients[2]
    if vectors == 3:
        for first in range(CLUSTERS, length, CLUSTERS):
            listed_best(panel, composites, a, b, c, sq_norms, ids, first, best, position)
    elif vectors == 2:
        for first in range(CLUSTERS, length, CLUSTERS):
            listed_best_last2(panel, composites, a, b, c, sq_norms, ids, first, best, position)
    else:
        for first in range(CLUSTERS, length, CLUSTERS):
            listed_best_last1(panel, composites, a, b, c, sq_norms, ids, first, best, position)


@helper
def _best_of_scores(
    scores,  # IN     (CLUSTERS, width)  of the positions from ``first``
    start,  # IN     the first of them that counts
    first,  # IN
    best,  # INOUT  (width,)
    position,  # INOUT  (width,)
):
    for j in range(start, CLUSTERS):
        for lane in range(best.shape[0]):
            below = scores[j, lane] < best[lane]
            best[lane] = scores[j, lane] if below else best[lane]
            position[lane] = np.int32(first + j) if below else position[lane]


@helper_once
def _note_list(
    w,  # IN   cluster
    scan,  # IN
    neighbours,  # IN
    ids,  # OUT  (length,)
    coefficients,  # OUT  (3, length)
):
    """The list of a cluster with the coefficients of its entries; for the cluster itself only the product is wanted."""
    for position in range(ids.shape[0]):
        v = np.int64(neighbours.lists[w, position])
        ids[position] = v
        coefficients[0, position], coefficients[1, position], coefficients[2, position] = (
            scan.a[v],
            scan.b[v],
            scan.c[v],
        )
    coefficients[0, 0], coefficients[1, 0], coefficients[2, 0] = 0.0, -1.0, 0.0
    for position in range(neighbours.filled[w], ids.shape[0]):
        coefficients[0, position], coefficients[1, position], coefficients[2, position] = 0.0, 0.0, np.inf


@helper_once
def _propose(
    thread,  # IN
    q,  # IN     which cluster of the visit
    clusters,  # IN
    block,  # IN
    visit,  # INOUT  targets
    neighbours,  # IN
    work,  # OUT
):
    """For each member of a cluster, the best cluster of the list, if joining it is better than staying."""
    rule, state, scan = clusters.rule, clusters.state, clusters.scan
    w, start, stop = visit.clusters[q], visit.starts[q], visit.stops[q]
    panel, scores, ids = work.panels[thread], work.scores[thread], work.ids[thread]
    best, positions, bounds = work.best[thread], work.positions[thread], work.bounds[thread]
    coefficients, sq_norms, weights = work.coefficients[thread], work.samples[thread, 0], work.samples[thread, 1]
    width, filled = panel.shape[1], np.int64(neighbours.filled[w])
    if state.counts[w] <= 1 or filled <= 1:
        for at in range(start, stop):
            visit.targets[at] = -1
        return
    _note_list(w, scan, neighbours, ids, coefficients)
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
        score_listed(vectors, panel, scan.composites, coefficients, sq_norms, ids, np.int64(0), scores)
        for j in range(count):
            row = visit.members[first + j]
            weight, sq_norm = block.exact_weights[row], block.exact_sq_norms[row]
            product = np.float64(scores[0, skipped + j])
            bounds[j] = stay_bound(rule, n, m, norm_sum, composite_sq, sq_norm, weight, product)
        if is_finished(rule):
            _best_of_scores(scores, np.int64(1), np.int64(0), best, positions)
            _best_of_rest(vectors, panel, scan.composites, coefficients, sq_norms, ids, length, best, positions)
        else:
            for at in range(0, length, CLUSTERS):
                if at > 0:
                    score_listed(vectors, panel, scan.composites, coefficients, sq_norms, ids, at, scores)
                others = np.int64(1) if at == 0 else np.int64(0)  # the first of the list is the cluster itself
                for j in range(others, CLUSTERS):
                    if at + j < filled:
                        finish_score(clusters, ids[at + j], weights, sq_norms, np.int64(0), scores[j])
                _best_of_scores(scores, others, at, best, positions)
        for j in range(count):
            lane = skipped + j
            visit.targets[first + j] = np.int32(ids[positions[lane]]) if best[lane] < bounds[j] else np.int32(-1)


@helper_once
def _apply(
    q,  # IN     which cluster of the visit
    clusters,  # INOUT
    block,  # IN
    visit,  # IN
):
    """Make those moves proposed for a cluster's members that are gains now; returns their number."""
    state, scan = clusters.state, clusters.scan
    src = visit.clusters[q]
    moves = np.int64(0)
    for at in range(visit.starts[q], visit.stops[q]):
        ahead = at + _AHEAD
        if ahead < visit.stops[q] and visit.targets[ahead] >= 0:
            prefetch_row(block.rows, visit.members[ahead])
            prefetch_row(scan.composites, np.int64(visit.targets[ahead]))
            prefetch_row(state.composites, np.int64(visit.targets[ahead]))
        dst = np.int64(visit.targets[at])
        if dst < 0:
            continue
        row = visit.members[at]
        weight, sq_norm = block.exact_weights[row], block.exact_sq_norms[row]
        if not may_leave(clusters, src, weight) or state.sizes[dst] + weight > clusters.limits.high[dst]:
            continue
        from_src = np.float64(row_dot(block.rows, row, scan.composites, src))
        from_dst = np.float64(row_dot(block.rows, row, scan.composites, dst))
        to_beat = cost_to_beat(clusters, src, sq_norm, weight, from_src)
        if reallocate_if_better(clusters, to_beat, block, row, src, dst, from_src, from_dst):
            moves += 1
    return moves


@kernel
def neighbour_batches(
    thread,  # IN     this thread
    threads,  # IN     threads that share the work
    board,  # INOUT  see ``compute/sharing.py``: a round is a batch of clusters, a piece is one of them
    clusters,  # INOUT
    block,  # IN
    visit,  # INOUT
    batch,  # IN     clusters in a batch
    neighbours,  # IN
    only_propose,  # IN     whether nothing is moved
    work,  # OUT
):
    """Some clusters, batch by batch: all threads propose, thread 0 verifies and moves. Returns the number of moves."""
    count = visit.clusters.shape[0]
    moves, first, spins, is_open = np.int64(0), np.int64(-batch), 0, False
    while thread == 0 or not is_closed(board):
        if thread == 0 and not is_open:
            first += batch
            if first >= count:
                close(board)
                break
            open_round(first // batch + 1, batch, threads, board)
            is_open = True
        ticket = next_piece(thread, threads, batch, board)
        if ticket >= 0:
            q = ((ticket >> 32) - 1) * batch + (ticket & PIECE)
            if q < count:
                _propose(thread, q, clusters, block, visit, neighbours, work)
            finish_piece(board)
        elif thread == 0:
            wait_for_round(batch, board)
            for q in range(first, first if only_propose else min(first + batch, count)):
                moves += _apply(q, clusters, block, visit)
            is_open = False
        else:
            spins += 1
            pause(spins)
    return moves
