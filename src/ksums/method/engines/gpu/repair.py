"""Clusters that a start missed, groups and outliers: centres that are of little use move to where they are needed.

A cluster is of little use if merging it with another one costs little: n·m/(n + m)·|C − C'|². A centre is needed at a
row x if many rows of its cluster are nearer to x than to their centre: it gains Σ (|y − C|² − |y − x|²) over them. Rows
are tried that are far from their centres, drawn by squared distance. Where data has no groups that lie apart, no row
gains enough, and nothing happens.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from ksums.method.engines.gpu.lists import nearest_clusters
from ksums.method.engines.gpu.passes import Passes
from ksums.method.engines.gpu.rows import shares_of
from ksums.planning.gpu import REPAIR

_COSTS = 1 << 24
"""Distances that are computed at a time."""
_ROUNDING = 1e-5
"""The share of the squared norms by which a difference of squared distances may be wrong: without it all rows of a
cluster of copies might leave it."""


def repair(passes: Passes, seed: int, rounds: int, lists: int = 0) -> int:
    """Move centres and make a pass, until none pays; returns how many were moved. If that is 0, nothing has changed.

    ``lists``: the length of the lists of the passes, which are made again for every pass; 0: there are none.
    """
    moved = 0
    passes.relax(1.0)
    for number in range(rounds):
        before, labels = passes.numbers().squares, passes.card.state.labels.clone()
        count = _relocate(passes, seed + 1 + number)
        if count:
            passes.renew_lists(lists)
            passes.one_pass()
        if not count or not passes.numbers().squares < before:
            passes.continue_from(labels)
            break
        moved += count
    passes.measure()
    return moved


def _relocate(passes: Passes, seed: int) -> int:
    """Dissolve some clusters and start as many elsewhere; returns how many."""
    card, state = passes.card, passes.card.state
    centres = passes.centres()
    own = passes.operations.squares_to_own(card.table, card.layout, state.labels, centres)
    tried = _drawn(own, min(max(REPAIR.least, int(REPAIR.share * card.layout.k)), REPAIR.most, card.layout.n), seed)
    gains = _gains(passes, own, tried)
    costs, partners = _merging(passes, centres.float())
    pairs = _pairs(*(values.cpu().numpy() for values in (gains, state.labels[tried], costs, partners)))
    if not pairs:
        return 0
    rows = tried[torch.tensor([at for at, _, _ in pairs], device=tried.device)]
    freed = torch.tensor([cluster for _, cluster, _ in pairs], dtype=torch.int32, device=tried.device)
    joined = torch.tensor([partner for _, _, partner in pairs], dtype=torch.int32, device=tried.device)
    now = torch.arange(card.layout.k, dtype=torch.int32, device=tried.device)
    now[freed.long()] = joined
    labels = now[state.labels.long()]
    for at, nearer in _nearer(passes, own, rows):  # not all rows of a cluster: its centre has the least sum of squares
        gained, which = nearer.max(1)
        labels[at] = torch.where(gained > 0.0, freed[which], labels[at])
    passes.continue_from(labels)
    return len(pairs)


def _drawn(squares: torch.Tensor, count: int, seed: int) -> torch.Tensor:
    """Some places, drawn by squared distance without replacement."""
    keys = -torch.log(shares_of(len(squares), seed, squares.device)) / squares.clamp(min=1e-300)
    return torch.sort(keys, stable=True).indices[:count]


def _nearer(passes: Passes, own: torch.Tensor, rows: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """|y − C|² − |y − x|² for each y and some rows x of its cluster, where that is above 0; a few rows y at a time."""
    card, prepared = passes.card, passes.operations.prepared_rows
    targets, length, labels = prepared(card.table, card.layout, rows), max(1, _COSTS // len(rows)), card.state.labels
    concerned = torch.zeros(card.layout.k, dtype=torch.bool, device=rows.device)
    concerned[labels[rows].long()] = True
    for at in concerned[labels.long()].nonzero()[:, 0].split(length):
        y = prepared(card.table, card.layout, at)
        norms = y.square().sum(1, keepdim=True) + targets.square().sum(1)
        gained = own[at, None].float() - (norms - 2.0 * (y @ targets.T)).clamp(min=0.0)
        clear = (labels[at, None] == labels[rows]) & (gained > _ROUNDING * norms)
        yield at, torch.where(clear, gained, 0.0)


def _gains(passes: Passes, own: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """What a centre at each of some rows would gain."""
    card, total = passes.card, torch.zeros(len(rows), dtype=torch.float64, device=rows.device)
    for at, nearer in _nearer(passes, own, rows):
        gained = nearer.double()
        total += (gained * card.table.weights[at, None] if card.layout.weighted else gained).sum(0)
    return total


def _merging(passes: Passes, centres: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """What it costs to merge each cluster with the one where that costs least, and which that is."""
    card, k = passes.card, passes.card.layout.k
    sizes = (card.state.sizes.double() / card.layout.fixed_weight).float()
    near = nearest_clusters(passes.operations, card, min(REPAIR.near, k - 1))[0].long()
    costs, partners = torch.empty_like(sizes), torch.empty_like(near[:, 0])
    for part in torch.arange(k, device=sizes.device).split(max(1, _COSTS // near.shape[1] // centres.shape[1])):
        others = near[part]
        cost = (centres[part, None] - centres[others]).square().sum(2)
        cost *= sizes[part, None] * sizes[others] / (sizes[part, None] + sizes[others])
        costs[part], best = cost.min(1)
        partners[part] = others.gather(1, best[:, None])[:, 0]
    return costs, partners


def _pairs(
    gains: np.ndarray, owners: np.ndarray, costs: np.ndarray, partners: np.ndarray
) -> list[tuple[int, int, int]]:
    """Rows where a centre is needed, each with a cluster that is dissolved for it and the one that takes its rows.

    No cluster takes part twice, so that gains and costs add up.
    """
    found: list[tuple[int, int, int]] = []
    used: set[int] = set()
    cheapest = iter(np.argsort(costs, kind="stable").tolist())
    for at in np.argsort(-gains, kind="stable").tolist():
        owner = int(owners[at])
        if owner in used:
            continue
        for cluster in cheapest:
            partner = int(partners[cluster])
            if not used & {cluster, partner} and owner not in (cluster, partner):
                break
        else:
            break
        if gains[at] <= REPAIR.margin * costs[cluster]:
            break
        found.append((at, cluster, partner))
        used |= {cluster, partner, owner}
    return found
