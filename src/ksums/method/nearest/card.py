"""The nearest centres of rows on a card, in the arithmetic of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

_COSTS = 1 << 26
"""Costs of rows with centres that are computed at a time."""


def nearest_on_card(X: torch.Tensor, centres: torch.Tensor, cosine: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The nearest centre of each row, and its squared distance (under cosine, of unit rows)."""
    labels = torch.empty(len(X), dtype=torch.int32, device=X.device)
    squares = torch.empty(len(X), dtype=torch.float64, device=X.device)
    for part, rows, vectors in _parts(X, centres, cosine):
        costs = vectors.square().sum(1) - 2.0 * (rows @ vectors.T) if not cosine else -(rows @ _unit(vectors).T)
        nearest = costs.argmin(1)
        labels[part] = nearest.int()
        squares[part] = (rows.double() - vectors[nearest].double()).square().sum(1)
    return labels, squares


def distances_on_card(X: torch.Tensor, centres: torch.Tensor, cosine: bool) -> torch.Tensor:
    """(n, k) Euclidean distances, or one minus the cosine."""
    found = torch.empty(len(X), len(centres), dtype=_arithmetic(X), device=X.device)
    for part, rows, vectors in _parts(X, centres, cosine):
        found[part] = 1.0 - rows @ _unit(vectors).T if cosine else torch.cdist(rows, vectors)
    return found


def _parts(X: torch.Tensor, centres: torch.Tensor, cosine: bool) -> Iterator[tuple[slice, Any, Any]]:
    """Rows a few at a time, with the centres: around the mean centre, or of unit length."""
    kind, length = _arithmetic(X), max(1, _COSTS // len(centres))
    centres = centres.to(X.device, kind)
    middle = torch.zeros_like(centres[0]) if cosine else centres.mean(0)
    for first in range(0, len(X), length):
        part = slice(first, min(first + length, len(X)))
        rows = X[part].to(kind)
        yield part, _unit(rows) if cosine else rows - middle, centres - middle


def _unit(rows: torch.Tensor) -> torch.Tensor:
    lengths = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    return rows / torch.where(lengths > 0, lengths, 1.0)


def _arithmetic(X: torch.Tensor) -> torch.dtype:
    return torch.float64 if X.dtype == torch.float64 else torch.float32
