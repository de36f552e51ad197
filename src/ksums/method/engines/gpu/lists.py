"""Lists of clusters that rows are compared with, where there are too many to compare them with all."""

from __future__ import annotations

import torch

from ksums.method.engines.gpu.card import Card, Lists
from ksums.method.engines.gpu.operations import Operations
from ksums.planning.gpu import LISTS

_DISTANCES = 1 << 24
"""Distances of clusters that are kept at a time."""
_ROUNDING = 1e-5
"""The share of the squared norms of two centres by which their squared distance may be wrong."""


def nearest_clusters(operations: Operations, card: Card, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(k, count) The other clusters nearest to each, the nearest first, and squared distances of centres.

    They are the nearest of many bins, so few are missed.
    """
    k = card.layout.k
    bins = min(k, LISTS.bins * count)
    count = min(count, bins)
    operations.refresh(card)
    device = card.clusters.low.device
    numbers = torch.empty(k, count, dtype=torch.int32, device=device)
    squares = torch.empty(k, count, device=device)
    step = max(1, _DISTANCES // bins)
    for first in range(0, k, step):
        part = slice(first, min(first + step, k))
        least, which = operations.nearest_in_bins(card, first, part.stop - first, bins)
        squares[part], places = torch.topk(least, count, dim=1, largest=False)
        numbers[part] = torch.gather(which, 1, places)
    return numbers, squares


def nearest_lists(operations: Operations, card: Card, length: int) -> Lists:
    """For each cluster: itself, the nearest others, and ways back.

    In many dimensions some clusters are among the nearest of no other, and no row would ever be compared with them. So
    a part of each list is for clusters that have this one among their nearest while it does not have them.
    """
    k, length = card.layout.k, min(length, card.layout.k)
    near = max(1, length - 1 - int(LISTS.back * length))
    numbers, squares = nearest_clusters(operations, card, near)
    entries = numbers[:, :1].repeat(1, length)  # an entry that is not filled in below is compared twice: no harm
    entries[:, 0] = torch.arange(k, device=entries.device)
    entries[:, 1 : near + 1] = numbers
    _add_ways_back(entries[:, near + 1 :], numbers, squares, card.clusters.low_squares)
    return Lists(entries.view(-1), torch.arange(0, (k + 1) * length, length, device=entries.device))


def _add_ways_back(room: torch.Tensor, numbers: torch.Tensor, squares: torch.Tensor, low_squares: torch.Tensor) -> None:
    """Fill what is left of the lists, the nearest first."""
    if not room.shape[1]:
        return
    # Two clusters that are last in each other's lists have the same distance, but for rounding, which must not decide.
    rounding = _ROUNDING * (low_squares[:, None] + low_squares[numbers.long()])
    one_way = squares > squares[:, -1][numbers.long()] + rounding
    source = torch.arange(len(room), dtype=torch.int32, device=room.device)[:, None].expand_as(numbers)[one_way]
    target, far = numbers[one_way].long(), squares[one_way]
    by_distance = torch.sort(far, stable=True).indices
    order = by_distance[torch.sort(target[by_distance], stable=True).indices]
    target, source = target[order], source[order]
    rank = torch.arange(len(target), device=target.device) - torch.searchsorted(target, target)
    fits = rank < room.shape[1]
    room[target[fits], rank[fits]] = source[fits]


def seeds_nearby(groups_of_seeds: torch.Tensor, centres: torch.Tensor) -> Lists:
    """For each group of rows, the seeds in the groups whose centres are nearest."""
    counts = torch.bincount(groups_of_seeds, minlength=len(centres))
    squares = torch.cdist(centres, centres)
    squares[:, counts == 0] = torch.inf
    near = torch.topk(squares, min(LISTS.groups, len(centres)), dim=1, largest=False).indices
    lengths, begins = counts[near].flatten(), (torch.cumsum(counts, 0) - counts)[near].flatten()
    at = torch.arange(int(lengths.sum()), device=centres.device)
    at += torch.repeat_interleave(begins - torch.cumsum(lengths, 0) + lengths, lengths)
    seeds = torch.sort(groups_of_seeds, stable=True).indices
    return Lists(seeds[at].int(), ends_of(counts[near].sum(1)).long())


def ends_of(counts: torch.Tensor) -> torch.Tensor:
    """Where parts of these lengths begin, and the last one ends."""
    ends = torch.zeros(len(counts) + 1, dtype=torch.int32, device=counts.device)
    ends[1:] = torch.cumsum(counts, 0)
    return ends
