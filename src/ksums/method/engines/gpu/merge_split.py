"""Merge–split on a card, many clusters at a time: some are dissolved, as many others are split in two.

Every cluster is split in two, all at the same time, which tells what a split gains; and for every cluster it is known
what merging it with one of its nearest costs. Pairs of a split and a merger that gain are made, passes follow, and all
of it is undone if the objective is not lower. With a margin above 1, this only finds groups and outliers that the start
missed; with one below 1, also better optima, because rows of a dissolved cluster join several others, which costs less
than merging it with one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch

from ksums.method.engines.gpu.card import Card, Layout, Lists, new_clusters, new_state
from ksums.method.engines.gpu.lists import ends_of, nearest_clusters
from ksums.method.engines.gpu.passes import Passes
from ksums.method.engines.gpu.rows import shares_of
from ksums.planning.gpu import SETTLING_ROUNDS
from ksums.planning.plan import MergeSplitPlan
from ksums.planning.tiles import tiles_for

_NUMBERS = 1 << 21
"""Numbers of pairs of centres that are compared at a time."""
_CLEARLY_MORE = 2.0
"""Times the gain of the usual seeds of a split."""


def merge_split(passes: Passes, plan: MergeSplitPlan, seed: int, lists: int = 0) -> Iterator[tuple[int, int]]:
    """The rounds of the plan. Yields after each how many clusters were split, and how many stayed so: all or none.

    ``lists``: the length of the lists of the passes, which are made again in each round; 0: there are none.
    """
    failures, most = 0, passes.card.layout.k
    for number in range(plan.rounds):
        before, labels = passes.objective(), passes.card.state.labels.clone()
        count = _exchange(passes, plan, seed + 1 + number, most)
        if not count:
            return
        passes.renew_lists(lists)
        passes.relax(1.0)
        for _ in range(plan.passes):
            passes.one_pass()
        for _ in range(plan.settling):
            passes.settling_pass(SETTLING_ROUNDS)
        gain = before - passes.objective()
        if not gain > 0.0:
            passes.continue_from(labels)
            passes.measure()
        yield count, count if gain > 0.0 else 0
        if not gain > plan.tol * before:
            failures, most = failures + 1, count // 4
            if failures > plan.failures or not most:
                return


def _exchange(passes: Passes, plan: MergeSplitPlan, seed: int, most: int) -> int:
    """Dissolve some clusters and split as many; returns how many. Passes have still to follow."""
    card, labels = passes.card, passes.card.state.labels.long()
    halves, gains = _halves(passes, plan.steps, seed)
    costs, partners = _merging(passes, min(plan.near, card.layout.k - 1))
    pairs = _pairs(gains.cpu().numpy(), costs.cpu().numpy(), partners.cpu().numpy(), plan.margin, most)
    if not pairs:
        return 0
    split, dissolved, partner = (torch.tensor(column, device=labels.device) for column in zip(*pairs, strict=True))
    now = torch.arange(card.layout.k, device=labels.device)
    now[dissolved] = partner
    freed = torch.full_like(now, -1)
    freed[split] = dissolved
    leaves = (halves % 2 == 1) & (freed[labels] >= 0)
    passes.continue_from(torch.where(leaves, freed[labels], now[labels]).int())
    return len(pairs)


def _halves(passes: Passes, steps: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(n,) Every cluster r in two halves 2r and 2r + 1, and (k,) what that gains.

    The seeds are a row, drawn by its squared distance to the centre, and its mirror image; or, if the first k-means
    step gains clearly more, the row farthest out and the centre. Between a few rows far out and their mirror image, the
    others would part in the middle.
    """
    card, layout = passes.card, passes.card.layout
    table, device, labels = card.table, card.state.labels.device, card.state.labels.long()
    of_halves = layout._replace(k=2 * layout.k, tiles=tiles_for(layout.padded, 2 * layout.k, layout.split))
    over = Card(of_halves, table, new_state(of_halves, device), new_clusters(of_halves, device), card.candidates)
    centres, groups = passes.centres(), ends_of(card.state.counts)
    own = passes.operations.squares_to_own(table, layout, card.state.labels, centres)
    drawn_by = own * table.weights if layout.weighted else own
    draws = -torch.log(shares_of(passes.operations, layout.n, seed, device))
    by_draw = torch.sort(draws / drawn_by.clamp(min=1e-300), stable=True)
    order = by_draw.indices[torch.sort(labels[by_draw.indices], stable=True).indices]
    numbers = torch.arange(of_halves.k + 1, dtype=torch.int32, device=device)
    lists = Lists(numbers[:-1], numbers[::2].long())

    def step(vectors: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """One k-means step from two vectors (k, 2, d) for each cluster: means of the halves, and what they gain."""
        passes.operations.set_centres(over, vectors.view(of_halves.k, layout.d))
        passes.propose_from_lists(over, order, groups, lists, 0, layout.k, start=True)
        passes.operations.add_by_cluster(table, of_halves, over.state)
        sums = _sums(over)
        means = (sums.composites / sums.sizes.clamp(min=1e-30)[:, None]).view(vectors.shape)
        there = (over.state.counts > 0).view(-1, 2)
        gains = _lost(layout, sums.at(numbers[:-1:2].long()), sums.at(numbers[1::2].long()))
        return torch.where(there[:, :, None], means.float(), vectors), torch.where(there.all(1), gains, 0.0)

    drawn, farthest = (
        passes.operations.prepared_rows(table, layout, places)
        for places in (order[groups[:-1].long()], _farthest(labels, own, layout.k))
    )
    vectors, gains = step(torch.stack([2.0 * centres.float() - drawn, drawn], 1))
    others, gains_of_others = step(torch.stack([centres.float(), farthest], 1))
    vectors = torch.where((gains_of_others > _CLEARLY_MORE * gains)[:, None, None], others, vectors)
    for _ in range(1, steps):
        vectors, gains = step(vectors)
    return over.state.labels, gains


def _farthest(labels: torch.Tensor, squares: torch.Tensor, k: int) -> torch.Tensor:
    """(k,) The place of the row with the largest of these squares in each cluster."""
    places = torch.arange(len(labels), device=labels.device)
    most = squares.new_zeros(k).scatter_reduce_(0, labels, squares, "amax")
    places = torch.where(squares == most[labels], places, len(labels))
    return places.new_full((k,), len(labels)).scatter_reduce_(0, labels, places, "amin")


def _merging(passes: Passes, near: int) -> tuple[torch.Tensor, torch.Tensor]:
    """What it costs to merge each cluster with the one of its nearest where that costs least, and which that is."""
    card = passes.card
    sums = _sums(card)
    numbers = nearest_clusters(passes.operations, card, near)[0].long()
    costs, partners = torch.empty_like(sums.sizes), torch.empty_like(numbers[:, 0])
    for part in torch.arange(len(costs), device=costs.device).split(max(1, _NUMBERS // near // card.layout.d)):
        cost = _lost(card.layout, sums.at(part[:, None]), sums.at(numbers[part]))
        costs[part], best = cost.min(1)
        partners[part] = numbers[part].gather(1, best[:, None])[:, 0]
    return costs, partners


class _Sums(NamedTuple):
    """Sums over clusters in float64."""

    composites: torch.Tensor  # (…, d)
    sizes: torch.Tensor  # (…)
    norm_sums: torch.Tensor  # (…)

    def at(self, clusters: torch.Tensor) -> _Sums:
        return _Sums(*(values[clusters] for values in self))


def _sums(card: Card) -> _Sums:
    layout, state = card.layout, card.state
    return _Sums(
        state.composites.double() / layout.fixed,
        state.sizes.double() / layout.fixed_weight,
        state.norm_sums.double() / layout.fixed_square,
    )


def _lost(layout: Layout, one: _Sums, other: _Sums) -> torch.Tensor:
    """By how much n times the objective rises if two clusters become one.

    With sums D, n, Q and E, m, R: E_m n·m/(n + m)·|D/n − E/m|², E_s n·R + m·Q − 2 D·E, cosine |D| + |E| − |D + E|.
    """
    D, n, Q = one
    E, m, R = other
    if layout.lengths:
        D_length, E_length, together = (torch.linalg.vector_norm(sums, dim=-1) for sums in (D, E, D + E))
        return D_length + E_length - together
    if layout.pairs:
        return n * R + m * Q - 2.0 * (D * E).sum(-1)
    apart = D / n.clamp(min=1e-30)[..., None] - E / m.clamp(min=1e-30)[..., None]
    return n * m / (n + m).clamp(min=1e-30) * apart.square().sum(-1)


def _pairs(
    gains: np.ndarray, costs: np.ndarray, partners: np.ndarray, margin: float, most: int
) -> list[tuple[int, int, int]]:
    """Clusters to split, each with a cluster that is dissolved for it and the one that takes its rows.

    No cluster takes part twice, so that gains and costs add up.
    """
    found: list[tuple[int, int, int]] = []
    used: set[int] = set()
    cheapest = iter(np.argsort(costs, kind="stable").tolist())
    for split in np.argsort(-gains, kind="stable").tolist():
        if split in used:
            continue
        for cluster in cheapest:
            partner = int(partners[cluster])
            if not used & {cluster, partner} and split not in (cluster, partner):
                break
        else:
            break
        if len(found) == most or gains[split] <= margin * costs[cluster]:
            break
        found.append((split, cluster, partner))
        used |= {cluster, partner, split}
    return found
