"""Rows made ready for a card: mean, scales, a random order."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch

from ksums.method.engines.gpu.card import REACH, Layout, Table
from ksums.method.engines.gpu.operations import Operations
from ksums.planning.room import SLOTS

MIX = -7046029254386353131, -4658895280553007687, -7723592293110705685
"""Odd numbers that scramble the bits of another number when it is multiplied by them."""

_NUMBERS = 1 << 24
"""Numbers that are converted to float64 at a time."""
_EXPONENT, _EXPONENT_OF_WIDE = 120, 1000
"""Exponents that are safe in float32 and in float64."""


_ROUNDING = 1e-10
"""The share of a sum of squares by which it may be wrong."""


class Rows(NamedTuple):
    """What is known of the rows before there are clusters."""

    X: torch.Tensor  # (N, d)  on the card, or in pinned memory of the host
    device: torch.device  # of everything else
    active: torch.Tensor | None  # (n,)  rows with a weight and a direction; None: all
    weights: torch.Tensor | None  # (n,)  float32, of mean 1, of the active rows
    mean: torch.Tensor  # (d,)
    lengths: torch.Tensor | None  # (n,)  of the active rows, under cosine
    largest: float  # entry around the mean
    squares: float  # at least Σ w|x|² of the rows around their mean, or of unit length; 0: not known
    sigma: float = 1.0  # what rows are multiplied by: a power of two
    mean_weight: float = 1.0

    @property
    def n(self) -> int:
        return len(self.X) if self.active is None else len(self.active)


def read_rows(
    X: torch.Tensor,
    weights: torch.Tensor | None,
    cosine: bool,
    operations: Operations,
    device: torch.device | None = None,
) -> Rows:
    """Read finite rows once. ``device``: the card, if X is in memory of the host."""
    device = X.device if device is None else device
    exact = torch.float64 if X.dtype == torch.float64 else torch.float32
    active = None if weights is None else weights > 0
    lengths = None
    if cosine:
        lengths = _lengths(X, device).to(exact)
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
    total, powers, least, negative = operations.moments(X, active, device).cpu().numpy()  # d numbers each
    n = len(X) if active is None else len(active)
    mean = np.zeros_like(total) if cosine else total / n
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is refused by who asked
        squares = float(n) if cosine else float((np.maximum(powers - n * mean * mean, 0.0) + _ROUNDING * powers).sum())
        largest = float(np.maximum(-negative - mean, mean - least).max())
    if weights is not None and not cosine:
        squares *= float(weights.max())
    sigma = 1.0 if cosine else _scale(largest, exact)
    known = torch.from_numpy(mean).to(exact).to(device)
    return Rows(X, device, active, weights, known, lengths, largest, squares, sigma, mean_weight)


def new_table(rows: Rows, layout: Layout, order: torch.Tensor, chunk: int) -> Table:
    """The rows order[:n]; what low precision needs is still to be filled in. ``chunk``: see ``streaming.py``."""
    device, n = order.device, layout.n
    order = order[:n]
    lowered = 0 if layout.split else SLOTS * chunk or n
    return Table(
        X=rows.X,
        places=order if rows.active is None else rows.active[order],
        mean=rows.mean,
        scales=rows.mean.new_full((1,), layout.sigma) if rows.lengths is None else 1.0 / rows.lengths[order],
        weights=torch.ones(1, device=device) if rows.weights is None else rows.weights[order],
        low=torch.empty(lowered, layout.aligned, dtype=torch.float16, device=device),
        low_squares=torch.empty(n, device=device),
        squares=torch.empty(n, dtype=torch.float64, device=device),
    )


def _lengths(X: torch.Tensor, device: torch.device) -> torch.Tensor:
    """|x| of each row in float64, some rows at a time, computed on ``device``: rows of the host get the same."""
    parts = X.split(max(1, _NUMBERS // X.shape[1]))
    return torch.cat([torch.linalg.vector_norm(part.to(device).double(), dim=1) for part in parts])


def _scale(largest: float, exact: torch.dtype) -> float:
    """A power of two that brings entries to 2^REACH, as far as the arithmetic knows it."""
    if not 0.0 < largest < math.inf:
        return 1.0
    limit = safe_exponent(exact)
    return 2.0 ** max(-limit, min(limit, REACH - math.frexp(largest)[1]))


def safe_exponent(exact: torch.dtype) -> int:
    """Powers of two up to this one are safe in this arithmetic."""
    return _EXPONENT_OF_WIDE if exact == torch.float64 else _EXPONENT


def scrambled(operations: Operations, n: int, seed: int, device: torch.device) -> torch.Tensor:
    """The numbers 0 … n−1 in an order that depends on the seed only, not on the device or the version of torch."""
    return torch.sort(operations.scrambled_keys(n, seed, device), stable=True).indices


def shares_of(operations: Operations, n: int, seed: int, device: torch.device) -> torch.Tensor:
    """n numbers between 0 and 1 that look random, above 0."""
    return (((operations.scrambled_keys(n, seed, device) >> 11) & ((1 << 52) - 1)).double() / 2.0**52).clamp(min=1e-18)


def scrambled_keys(n: int, seed: int, device: torch.device) -> torch.Tensor:
    """n whole numbers that look random."""
    keys = torch.arange(n, device=device) + (seed << 32)
    for factor in MIX:
        keys = (keys ^ ((keys >> 31) & 0x1FFFFFFFF)) * factor
    return keys
