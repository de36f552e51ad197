"""Centres that are not those of a state: given ones, and seeds."""

from __future__ import annotations

import torch

from ksums.method.engines.gpu.card import Card, Clusters, Layout


def set_centres(card: Card, vectors: torch.Tensor) -> None:
    """Vectors that rows are compared with at the start: costs are squared distances, or 2 − cos."""
    clusters = card.clusters
    write_low(card.layout, clusters, vectors)
    clusters.join.fill_(0.0 if card.layout.lengths else 1.0)
    clusters.base.copy_(clusters.low_squares)


def write_low(layout: Layout, clusters: Clusters, vectors: torch.Tensor) -> torch.Tensor:
    """Centres in low precision, times −2; returns what they are as float32."""
    both = vectors.half().float()
    clusters.low[0, :, : layout.d] = (both * -2.0).half()
    if layout.split:
        rest = (vectors - both).half().float()
        clusters.low[1, :, : layout.d] = (rest * -2.0).half()
        both = both + rest
    clusters.low_squares.copy_(both.square().sum(1))
    return both
