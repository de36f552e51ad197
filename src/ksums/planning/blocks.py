"""Few clusters and many rows: how rows are divided into blocks, and which bounds a row has."""

from __future__ import annotations

import numpy as np

_BLOCK = 8192
"""Rows that propose moves on one state. More would let more rows follow the same wrong state; fewer would leave threads
without work (``benchmarks/common_case.py``)."""
_ROWS_PER_CLUSTER = 32
"""A block has at least this many rows for each cluster, so that the centroids it keeps take no more than 1/32 of the
rows' memory."""
PIECE = 1024
"""Rows that a thread takes at a time: some tens of microseconds of work."""
_LEAST_FOR_GROUPS = 24
"""Groups of clusters have bounds of their own if there are at least 24 clusters and 24 dimensions: below, comparing
with all clusters costs less than keeping the bounds."""
_CLUSTERS_IN_GROUP = 8
"""About eight clusters share a bound."""
_COLUMNS_PER_GROUP = 8
"""A row of d numbers has at most d/8 group bounds, so that they take no more than 1/8 of the rows' memory."""
PUSH = 0.5
"""Centroids are pushed by half of what the last pass moved them: fits of ``benchmarks/common_case.py`` take a third to
two thirds of the passes, and end lower. From 0.6 on they swing."""
FIRST_PUSHED = 4
"""From this pass on: the first passes move centroids far, and not always in the direction in which they go on."""


def block_length(k: int) -> int:
    """Rows of a block: whole pieces."""
    return max(_BLOCK, -(-_ROWS_PER_CLUSTER * k // PIECE) * PIECE)


def cluster_groups(k: int, d: int) -> np.ndarray:
    """First cluster of each group, and k. All groups but the last have an even number of clusters."""
    if k < _LEAST_FOR_GROUPS or d < _LEAST_FOR_GROUPS:
        return np.array([0, k])
    size = max(_CLUSTERS_IN_GROUP, -(-k // max(1, d // _COLUMNS_PER_GROUP)))
    size += size % 2
    return np.append(np.arange(0, max(k - size // 2, 1), size), k)


def bytes_of_bounds(n: int, d: int, k: int, itemsize: int) -> int:
    """Memory of the bounds of n rows, and of the labels they are for, about."""
    groups = len(cluster_groups(k, d)) - 1
    of_rows = 4 * n * (2 + (groups if groups > 1 else 0))
    return of_rows + -(-n // block_length(k)) * k * (d * itemsize + 24)
