"""Rows made ready for a card: mean, scales, a random order."""

from __future__ import annotations

from typing import NamedTuple

import torch

from ksums.method.engines.gpu.card import Layout, Table
from ksums.method.engines.gpu.operations import Operations

_MIX = -7046029254386353131, -4658895280553007687, -7723592293110705685
"""Odd numbers that scramble the bits of another number when it is multiplied by them."""


class Rows(NamedTuple):
    """What is known of the rows before there are clusters."""

    X: torch.Tensor  # (N, d)
    active: torch.Tensor | None  # (n,)  rows with a weight and a direction; None: all
    weights: torch.Tensor | None  # (n,)  float32, of mean 1, of the active rows
    mean: torch.Tensor  # (d,)
    lengths: torch.Tensor | None  # (n,)  of the active rows, under cosine
    largest: float  # entry around the mean
    mean_weight: float = 1.0

    @property
    def n(self) -> int:
        return len(self.X) if self.active is None else len(self.active)


def read_rows(X: torch.Tensor, weights: torch.Tensor | None, cosine: bool, operations: Operations) -> Rows:
    """Read finite rows once."""
    exact = torch.float64 if X.dtype == torch.float64 else torch.float32
    active = None if weights is None else weights > 0
    lengths = None
    if cosine:
        lengths = torch.linalg.vector_norm(X, dim=1, dtype=exact)
        directed = lengths > 4 * torch.finfo(exact).tiny
        active = directed if active is None else active & directed
    if active is not None:
        active = None if bool(active.all()) else active.nonzero()[:, 0]
    mean_weight = 1.0
    if weights is not None:
        own = weights if active is None else weights[active]
        mean_weight = float(own.mean())
        weights = (own / mean_weight).float()
    if lengths is not None and active is not None:
        lengths = lengths[active]
    total, least, most = operations.moments(X)
    mean = torch.zeros_like(total) if cosine else total / len(X)
    largest = float(torch.maximum(most - mean, mean - least).max())
    return Rows(X, active, weights, mean.to(exact), lengths, largest, mean_weight)


def new_table(rows: Rows, layout: Layout, seed: int) -> Table:
    """The rows in random order; what low precision needs is still to be filled in."""
    device, n = rows.X.device, layout.n
    order = scrambled(n, seed, device)
    one = torch.ones(1, device=device)
    return Table(
        X=rows.X,
        places=order if rows.active is None else rows.active[order],
        mean=rows.mean,
        scales=one * layout.sigma if rows.lengths is None else (1.0 / rows.lengths[order]).float(),
        weights=one if rows.weights is None else rows.weights[order],
        low=torch.empty(0 if layout.split else n, layout.aligned, dtype=torch.float16, device=device),
        low_squares=torch.empty(n, device=device),
        squares=torch.empty(n, device=device),
    )


def scrambled(n: int, seed: int, device: torch.device) -> torch.Tensor:
    """The numbers 0 … n−1 in an order that depends on the seed only, not on the device or the version of torch."""
    keys = torch.arange(n, device=device) + (seed << 32)
    for factor in _MIX:
        keys = (keys ^ ((keys >> 31) & 0x1FFFFFFFF)) * factor
    return torch.sort(keys, stable=True).indices
