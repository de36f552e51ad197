"""Rows added up by cluster, and their distances to their cluster's centre, compiled: for many clusters."""

from __future__ import annotations

from ksums.compute.jit import kernel


@kernel
def add_rows(
    block,  # IN     (b, d)  of any type
    own,  # IN     (b,)    their clusters
    weights,  # IN     (b,)
    composites,  # INOUT  (k, d)  float64
):
    """D_r += Σ w x."""
    for i in range(block.shape[0]):
        r, weight = own[i], weights[i]
        for t in range(block.shape[1]):
            composites[r, t] += weight * block[i, t]


@kernel
def sq_distances_to(
    block,  # IN   (b, d)  of any type
    own,  # IN   (b,)    their clusters
    centres,  # IN   (k, d)  float64
    distances,  # OUT  (b,)
):
    """|x − C_r|² in float64."""
    for i in range(block.shape[0]):
        r, total = own[i], 0.0
        for t in range(block.shape[1]):
            difference = block[i, t] - centres[r, t]
            total += difference * difference
        distances[i] = total
