"""Rows added up by cluster, and their distances to their cluster's centre, compiled."""

from __future__ import annotations

import numpy as np

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


@kernel
def add_whole(
    block,  # IN     (b, d)  prepared rows
    squares,  # IN     (b,)    their squared norms
    own,  # IN     (b,)    their clusters
    weights,  # IN     (b,)    negative: taken away
    units,  # IN     (3,)    of entries, of weights and of squares
    composites,  # INOUT  (k, d)  int64
    sizes,  # INOUT  (k,)    int64
    norm_sums,  # INOUT  (k,)    int64
):
    """The same in whole numbers of units: each term is rounded before it is added, so the order does not matter."""
    for i in range(block.shape[0]):
        r, weight = own[i], weights[i]
        for t in range(block.shape[1]):
            composites[r, t] += np.int64(np.rint(weight * np.float64(block[i, t]) * units[0]))
        sizes[r] += np.int64(np.rint(weight * units[1]))
        norm_sums[r] += np.int64(np.rint(weight * squares[i] * units[2]))
