"""The nearest clusters of each cluster: a blocked product, and the least few scores of each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.compute.jit import helper, helper_once, kernel
from ksums.compute.panels import count_within, pack_panel, score_listed, tile_minimum_all
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

_TILE = 8
"""Of this many scores only the least is looked at first."""
_HALVINGS = 30
"""After this many halvings a bound is as narrow as float32 can tell."""
_GRAIN = np.float32(1e-6)
"""A bound rises by at least this share of itself, also where all scores so far are equal."""
CHUNK = 1024
"""Candidates scored at a time: their scores stay in the second-level cache."""


class Neighbours(NamedTuple):
    """The nearest clusters of each cluster, itself first."""

    lists: np.ndarray  # (k, length)  int32; the length is a multiple of 8, the most clusters scored at a time
    filled: np.ndarray  # (k,)  how many entries of each list count; those behind may be scored but not chosen


def list_length(wanted: int, k: int) -> int:
    """Length of a list for ``wanted`` of k clusters: a multiple of the most clusters scored at a time."""
    return -(-min(wanted, k) // 8) * 8


class Groups(NamedTuple):
    """Clusters sorted into groups, and the groups in which each group looks for neighbours."""

    order: np.ndarray  # (k + width,)  clusters, group after group
    starts: np.ndarray  # (groups + 1,)  of each group in ``order``
    near: np.ndarray  # (groups, groups)  groups sorted by distance, itself first
    reach: np.ndarray  # (groups,)  how many of them are searched
    panel_group: np.ndarray  # (panels,)  the group of each panel of clusters
    panel_start: np.ndarray  # (panels,)  where the panel starts in ``order``


class ListSpace(NamedTuple):
    """Work space, a part for each thread."""

    panels: np.ndarray  # (threads, d, width)
    scores: np.ndarray  # (threads, CHUNK, width)
    minima: np.ndarray  # (threads, CHUNK / 8, width)
    ids: np.ndarray  # (threads, CHUNK)
    coefficients: np.ndarray  # (threads, 3, CHUNK)
    sq_norms: np.ndarray  # (threads, width)
    bounds: np.ndarray  # (threads, width)
    trial: np.ndarray  # (threads, 2, width)
    counts: np.ndarray  # (threads, width)  int32
    found: np.ndarray  # (threads, width, capacity)  the best scores so far
    found_ids: np.ndarray  # (threads, width, capacity)  and their clusters
    at: np.ndarray  # (threads, 2)  next candidate
    comparisons: np.ndarray  # (threads,)


@helper_once
def _bound(
    scores,  # IN   (candidates, width)
    candidates,  # IN
    minima,  # IN   (tiles, width)
    tiles,  # IN
    wanted,  # IN
    trial,  # OUT  (2, width)  work space
    counts,  # OUT  (width,)  work space
    bounds,  # OUT  (width,)  not exceeded by ``wanted`` scores of each lane, and by few more
):
    """A bound for all lanes at once, by halving; infinite where there are too few candidates."""
    low, test = trial[0], trial[1]
    width = bounds.shape[0]
    for lane in range(width):
        low[lane], bounds[lane] = minima[0, lane], np.inf
    if candidates <= wanted:
        return
    for tile in range(tiles):
        for lane in range(width):
            low[lane] = min(low[lane], minima[tile, lane])
    for lane in range(width):  # where lists are long this is too low to begin with, and is raised
        test[lane] = low[lane] + (max(minima[0, lane], minima[tiles // 2, lane]) - low[lane]) / 2
    for _ in range(_HALVINGS):
        count_within(scores, candidates, test, counts)
        settled = True
        for lane in range(width):
            if counts[lane] >= wanted:
                bounds[lane] = test[lane]
            elif bounds[lane] == np.inf:
                low[lane], test[lane] = test[lane], test[lane] + 2 * (test[lane] - low[lane]) + abs(test[lane]) * _GRAIN
            else:
                low[lane] = test[lane]
            if bounds[lane] < np.inf:
                test[lane] = low[lane] + (bounds[lane] - low[lane]) / 2
            settled &= wanted <= counts[lane] <= wanted + wanted // 4
        if settled:
            return


@helper
def _least(
    found,  # INOUT  (count, …)  scores
    found_ids,  # INOUT  (count, …)
    count,  # IN
    wanted,  # IN
):
    """Move the ``wanted`` least scores to the front: Hoare's selection."""
    left, right = 0, count - 1
    while left < right:
        pivot = found[(left + right) // 2]
        i, j = left, right
        while i <= j:
            while found[i] < pivot:
                i += 1
            while pivot < found[j]:
                j -= 1
            if i <= j:
                found[i], found[j] = found[j], found[i]
                found_ids[i], found_ids[j] = found_ids[j], found_ids[i]
                i += 1
                j -= 1
        if wanted <= j + 1:
            right = j
        elif wanted > i:
            left = i
        else:
            return


@helper
def _sort(
    found,  # INOUT  (count, …)  scores
    found_ids,  # INOUT  (count, …)
    count,  # IN
):
    """Sort by score: Shell's sort."""
    gap = count // 2
    while gap > 0:
        for i in range(gap, count):
            score, r, j = found[i], found_ids[i], i
            while j >= gap and found[j - gap] > score:
                found[j], found_ids[j] = found[j - gap], found_ids[j - gap]
                j -= gap
            found[j], found_ids[j] = score, r
        gap //= 2


@helper
def _fill_chunk(
    at,  # INOUT  (2,)  group in ``near``, and position in that group, to continue from
    g,  # IN     the panel's group
    coefficients,  # IN     (3, k)
    groups,  # IN
    ids,  # OUT    (CHUNK,)
    own,  # OUT    (3, CHUNK)
):
    """The next candidates, nearest groups first; returns their number."""
    count, group, position = 0, at[0], at[1]
    while group < groups.reach[g] and count < CHUNK:
        near = groups.near[g, group]
        first, stop = groups.starts[near] + position, groups.starts[near + 1]
        taken = min(stop - first, CHUNK - count)
        for j in range(taken):
            r = groups.order[first + j]
            ids[count + j] = r
            for i in range(3):
                own[i, count + j] = coefficients[i, r]
        count += taken
        position += taken
        if first + taken == stop:
            group, position = group + 1, 0
    at[0], at[1] = group, position
    for j in range(count, -(-count // _TILE) * _TILE):
        ids[j] = 0
        own[0, j], own[1, j], own[2, j] = 0.0, 0.0, np.inf
    return count


@helper_once
def _keep(
    lane,  # IN
    score,  # IN
    r,  # IN     cluster
    wanted,  # IN
    bounds,  # INOUT  (width,)   what a score must not exceed
    counts,  # INOUT  (width,)   found so far
    found,  # INOUT  (width, capacity)
    found_ids,  # INOUT  (width, capacity)
):
    """Keep one more candidate. When there is no room left only the best are kept, and the bound falls."""
    if counts[lane] == found.shape[1]:
        _least(found[lane], found_ids[lane], np.int64(counts[lane]), wanted)
        counts[lane] = wanted
        worst = found[lane, 0]
        for i in range(1, wanted):
            worst = max(worst, found[lane, i])
        bounds[lane] = worst
        if score > worst:
            return
    found[lane, counts[lane]], found_ids[lane, counts[lane]] = score, r
    counts[lane] += 1


@helper_once
def _list_panel(
    thread,  # IN
    piece,  # IN   which panel
    centres,  # IN   (k, d)
    sq_centres,  # IN   (k,)
    coefficients,  # IN   (3, k)
    groups,  # IN
    space,  # OUT
    length,  # IN
    neighbours,  # OUT
):
    """The lists of the clusters of one panel, all of one group; returns the number of comparisons."""
    panel, scores, minima, ids = space.panels[thread], space.scores[thread], space.minima[thread], space.ids[thread]
    own, sq_norms, bounds = space.coefficients[thread], space.sq_norms[thread], space.bounds[thread]
    found, found_ids, counts = space.found[thread], space.found_ids[thread], space.counts[thread]
    at = space.at[thread]
    width, g, first = panel.shape[1], groups.panel_group[piece], groups.panel_start[piece]
    lists, count = neighbours.lists, min(width, groups.starts[g + 1] - first)
    wanted = np.int64(length - 1)
    pack_panel(centres, groups.order, first, VECTORS, panel)
    for lane in range(width):
        sq_norms[lane] = sq_centres[groups.order[first + lane]]
    at[0], at[1], done = 0, 0, np.int64(0)
    candidates = _fill_chunk(at, g, coefficients, groups, ids, own)
    while candidates > 0:
        tiles = -(-candidates // _TILE)
        for position in range(0, tiles * _TILE, CLUSTERS):
            score_listed(np.int64(VECTORS), panel, centres, own, sq_norms, ids, position, scores[position:])
        for lane in range(count):
            itself = first + lane - groups.starts[g] - done  # its own group is searched first
            if 0 <= itself < candidates:
                scores[itself, lane] = np.inf
        for tile in range(tiles):
            tile_minimum_all(scores, tile * _TILE, tile * _TILE + _TILE, minima, tile)
        if done == 0:
            _bound(scores, candidates, minima, tiles, wanted, space.trial[thread], counts, bounds)
            for lane in range(width):
                counts[lane] = 0
        for tile in range(tiles):
            for lane in range(count):
                if minima[tile, lane] <= bounds[lane]:
                    for position in range(tile * _TILE, tile * _TILE + _TILE):
                        if scores[position, lane] <= bounds[lane] and scores[position, lane] < np.inf:
                            _keep(lane, scores[position, lane], ids[position], wanted, bounds, counts, found, found_ids)
        done += candidates
        candidates = _fill_chunk(at, g, coefficients, groups, ids, own)
    for lane in range(count):
        w, taken = groups.order[first + lane], min(np.int64(counts[lane]), wanted)
        _least(found[lane], found_ids[lane], np.int64(counts[lane]), taken)
        _sort(found[lane], found_ids[lane], taken)
        neighbours.filled[w], lists[w, 0] = taken + 1, w
        for position in range(1, taken + 1):
            lists[w, position] = found_ids[lane, position - 1]
        for position in range(taken + 1, lists.shape[1]):
            lists[w, position] = w
    return done * count


@kernel
def nearest_lists(
    thread,  # IN
    threads,  # IN
    board,  # INOUT  see ``compute/sharing.py``: one round, a piece is a panel of clusters
    centres,  # IN   (k, d)
    sq_centres,  # IN   (k,)
    coefficients,  # IN   (3, k)  of the score a·|C|² − b·(C·C_r) + c
    groups,  # IN
    space,  # OUT
    length,  # IN   entries to fill in each list, the cluster itself included
    neighbours,  # OUT
):
    """The nearest clusters of all, nearest first."""
    pieces = groups.panel_group.shape[0]
    if thread == 0:
        open_round(1, pieces, threads, board)
    spins, ticket = 0, np.int64(0)
    while not is_closed(board) and (thread > 0 or ticket >= 0):
        ticket = next_piece(thread, threads, pieces, board)
        if ticket < 0:
            spins += 1
            pause(spins)
        else:
            piece = ticket & PIECE
            done = _list_panel(thread, piece, centres, sq_centres, coefficients, groups, space, length, neighbours)
            space.comparisons[thread] += done
            finish_piece(board)
    if thread == 0:
        wait_for_round(pieces, board)
        close(board)


@kernel
def add_ways_back(
    nearest,  # IN     (k,)  how many entries of each list are filled, the cluster itself included
    neighbours,  # INOUT
):
    """Put each cluster also into the lists of those nearest to it, as far as there is room.

    In many dimensions some clusters are among the nearest of no other (and some among the nearest of very many), so no
    sample would ever find them. The nearest clusters come first, so that each gets at least one way back.
    """
    lists, filled = neighbours.lists, neighbours.filled
    for position in range(1, lists.shape[1]):
        for w in range(lists.shape[0]):
            if position < nearest[w]:
                v, known = lists[w, position], 0
                if filled[v] == lists.shape[1]:
                    continue
                while known < filled[v] and lists[v, known] != w:
                    known += 1
                if known == filled[v]:
                    lists[v, known] = w
                    filled[v] += 1
