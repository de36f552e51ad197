"""Measures of labels on a card, in float64, from the data and the labels alone."""

from __future__ import annotations

import torch

from ksums.method.data.measures import ClusterMeasures
from ksums.method.engines.gpu.card import Layout, Table, new_state
from ksums.method.engines.gpu.operations import Operations
from ksums.method.engines.gpu.rows import Rows


def measure_on_card(
    operations: Operations, rows: Rows, layout: Layout, table: Table, labels: torch.Tensor
) -> ClusterMeasures:
    """Sizes, composites and sums of squares of labels of the places of a table, whose rows in low precision are not
    needed. They are the same in every run."""
    state = new_state(layout, labels.device)
    state.labels.copy_(labels)
    operations.add_by_cluster(table, layout, state, wide=True)
    sizes = state.sizes.double() / layout.fixed_weight
    composites = state.composites.double() / layout.fixed
    squares = operations.squares_to_own(table, layout, labels, composites / sizes[:, None])
    if layout.weighted:
        squares *= table.weights
    order = torch.sort(labels, stable=True).indices
    of_clusters = torch.segment_reduce(squares[order], "sum", lengths=state.counts.long())
    composites = composites / layout.sigma + sizes[:, None] * rows.mean.double()
    mass = rows.mean_weight
    found = mass * sizes, mass * composites, mass * of_clusters / layout.sigma / layout.sigma
    return ClusterMeasures(*(values.cpu().numpy() for values in found))
