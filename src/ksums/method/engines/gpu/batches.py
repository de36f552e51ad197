"""Many problems of one size at a time: their rows follow one another on a card, and so do their clusters.

Each problem is centred and scaled by itself, and random orders and draws are the same for all, so the labels of a
problem do not depend on the problems beside it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from ksums.method.engines.gpu.card import FAR, REACH, layout_for
from ksums.method.engines.gpu.operations import Operations
from ksums.method.engines.gpu.passes import Options, Passes
from ksums.method.engines.gpu.rows import Rows, safe_exponent, scrambled, shares_of
from ksums.planning.batches import BatchPlan
from ksums.planning.gpu import SETTLING_ROUNDS, products_are_split
from ksums.rules.kinds import LENGTH, SQUARES


class Batch(NamedTuple):
    """Prepared problems."""

    rows: torch.Tensor  # (B, n, d)  float32, around their mean, or of unit length
    means: torch.Tensor  # (B, d)  float64
    units: torch.Tensor  # (B,)  float64  what rows were multiplied by
    lengths: bool


class Clustered(NamedTuple):
    """What was found for each problem."""

    labels: torch.Tensor  # (B, n)  int32
    centres: torch.Tensor  # (B, k, d)  float64
    sizes: torch.Tensor  # (B, k)  int64
    distortion: torch.Tensor  # (B,)  float64  mean squared distance to the centre


def prepare_batch(X: torch.Tensor, cosine: bool) -> Batch:
    """Rows of each problem around their mean, scaled to 2^REACH by a power of two; under cosine of unit length."""
    exact = torch.float64 if X.dtype == torch.float64 else torch.float32
    if cosine:
        lengths = torch.linalg.vector_norm(X, dim=2, keepdim=True, dtype=torch.float64).to(exact)
        means = torch.zeros(len(X), X.shape[2], dtype=torch.float64, device=X.device)
        rows = (X.to(exact) / lengths.clamp(min=4 * torch.finfo(exact).tiny)).float()
        return Batch(rows.contiguous(), means, torch.ones(len(X), dtype=torch.float64, device=X.device), True)
    means = X.mean(1, dtype=torch.float64).to(exact)
    largest = torch.maximum(X.amax(1) - means, means - X.amin(1)).amax(1).double()
    exponents = (REACH - torch.frexp(largest)[1]).clamp(-safe_exponent(exact), safe_exponent(exact))
    units = torch.where(largest > 0, torch.exp2(exponents.double()), 1.0)
    rows = torch.sub(X, means[:, None]).mul_(units.to(exact)[:, None, None])
    return Batch(rows.float().contiguous(), means.double(), units, False)


def cluster_batch(
    operations: Operations, batch: Batch, k: int, plan: BatchPlan, seed: int, graphs: bool = False
) -> Clustered:
    """All of the plan for each problem; its best labels count.

    Problems whose clusters are small beside their data get products from two numbers each, in passes of their own.
    """
    passes = _start(operations, batch, k, plan, seed, split=False, graphs=graphs)
    problems, n, d = batch.rows.shape
    squares = passes.card.table.squares.view(problems, n)
    variances = 1.0 if batch.lengths else squares.mean(1, dtype=torch.float64)
    need = products_are_split(_objectives(passes) / n, variances, d)
    if not bool(need.any()):
        return _finish(passes, batch, plan)
    del passes
    found = new_clustered(problems, n, k, d, batch.rows.device)
    for split in (False, True):
        chosen = (need if split else ~need).nonzero()[:, 0]
        if len(chosen):
            part = Batch(batch.rows[chosen], batch.means[chosen], batch.units[chosen], batch.lengths)
            some = _finish(_start(operations, part, k, plan, seed, split=split, graphs=graphs), part, plan)
            for whole, values in zip(found, some, strict=True):
                whole[chosen] = values
    return found


def new_clustered(problems: int, n: int, k: int, d: int, device: torch.device) -> Clustered:
    """Room for what is found."""
    return Clustered(
        labels=torch.zeros(problems, n, dtype=torch.int32, device=device),
        centres=torch.zeros(problems, k, d, dtype=torch.float64, device=device),
        sizes=torch.zeros(problems, k, dtype=torch.int64, device=device),
        distortion=torch.zeros(problems, dtype=torch.float64, device=device),
    )


def _start(
    operations: Operations, batch: Batch, k: int, plan: BatchPlan, seed: int, *, split: bool, graphs: bool
) -> Passes:
    """Passes from seeds, which are drawn in rounds: each row by its squared distance to the seeds before."""
    problems, n, d = batch.rows.shape
    device = batch.rows.device
    X = batch.rows.reshape(problems * n, d)
    ones = torch.ones(len(X), device=device) if batch.lengths else None
    rows = Rows(X, device, None, None, torch.zeros(d, device=device), ones, largest=0.0, squares=0.0)
    layout = layout_for(
        n,
        d,
        k,
        kind=LENGTH if batch.lengths else SQUARES,
        directed=batch.lengths,
        sigma=1.0,
        split=split,
        weighted=False,
    )
    layout = layout._replace(n=problems * n, problems=problems)
    begins = torch.arange(problems, device=device)[:, None] * n
    order = (scrambled(operations, n, seed, device) + begins).flatten()
    passes = Passes(operations, rows, layout, order, Options(plan.blocks, plan.pushed, graphs=graphs))
    chosen, tried = torch.arange(0, device=device).expand(problems, 0), min(n, plan.tried)
    shares = shares_of(operations, plan.rounds * tried, seed, device).view(plan.rounds, tried)
    for number in range(plan.rounds):
        count = k * (number + 1) // plan.rounds - chosen.shape[1]
        if number == 0:
            drawn = torch.arange(count, device=device).expand(problems, count)  # the first of a random order
        else:
            costs = _costs_of(passes, chosen + begins, (begins + torch.arange(tried, device=device)).flatten())
            keys = -torch.log(shares[number]) / costs.view(problems, tried).clamp(min=1e-30)
            drawn = torch.topk(keys.scatter(1, chosen, torch.inf), count, dim=1, largest=False).indices
        chosen = torch.cat([chosen, drawn], 1)
    passes.start_from(operations.prepared_rows(passes.card.table, layout, (chosen + begins).flatten()))
    return passes


def _costs_of(passes: Passes, seeds: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """What the rows at some places of each problem, first of the first one, pay to join the nearest of its seeds.

    There are fewer seeds than clusters so far.
    """
    card, (problems, count) = passes.card, seeds.shape
    vectors = torch.zeros(problems, card.layout.k, card.layout.d, device=seeds.device)
    found = passes.operations.prepared_rows(card.table, card.layout, seeds.flatten())
    vectors[:, :count] = found.view(problems, count, -1)
    passes.operations.set_centres(card, vectors.view(-1, card.layout.d))
    if not card.layout.lengths:  # under cosine, vectors of zeros are at distance 1 of all rows
        card.clusters.base.view(problems, -1)[:, count:] = FAR
    passes.label_by_centres(places)
    costs = card.candidates.gains[places]
    return costs - 1.0 if card.layout.lengths else costs


def _objectives(passes: Passes) -> torch.Tensor:
    """(problems,) What passes minimise, times the rows of a problem: sums of squares, or of cosine distances."""
    numbers: Any = passes.numbers_of_problems()
    return passes.share - numbers.lengths if passes.card.layout.lengths else numbers.squares.clone()


def _finish(passes: Passes, batch: Batch, plan: BatchPlan) -> Clustered:
    """All passes, then moves that are made apart from the best labels of each problem."""
    state, problems = passes.card.state, passes.card.layout.problems
    labels, best = state.labels.clone(), _objectives(passes)
    for relaxation in (*plan.relaxations, *[1.0] * plan.passes):
        passes.relax(relaxation)
        passes.one_pass()
        now = _objectives(passes)
        better = (now < best).repeat_interleave(passes.share, output_size=len(labels))
        labels = torch.where(better, state.labels, labels)
        best = torch.minimum(now, best)
    passes.continue_from(labels)
    passes.relax(1.0)
    for _ in range(plan.settling):
        passes.settling_pass(SETTLING_ROUNDS)
    k, d = passes.card.layout.k, passes.card.layout.d
    found = new_clustered(problems, passes.share, k, d, labels.device)
    first = torch.arange(problems, device=labels.device).repeat_interleave(passes.share) * k
    found.labels.view(-1)[passes.card.table.places] = (state.labels - first).int()
    centres = passes.centres()
    found.centres.copy_(centres.view(problems, k, d) / batch.units[:, None, None] + batch.means[:, None])
    found.sizes.copy_(state.counts.view(problems, k))
    squares = passes.operations.squares_to_own(passes.card.table, passes.card.layout, state.labels, centres)
    found.distortion.copy_(squares.view(problems, -1).mean(1))
    found.distortion.div_(batch.units).div_(batch.units)
    return found
