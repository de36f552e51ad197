"""Objectives where some centres do not move: squares, or cosines, to these centres instead of to the mean."""

from __future__ import annotations

import numpy as np

from ksums.method.state.state import ClusterState
from ksums.rules.objectives import objective_value, within_clusters


def objective_with(centres: np.ndarray | None, objective: str, sums: ClusterState) -> float:
    """The objective of a state whose first clusters have these centres."""
    if centres is None or objective == "pairwise":
        return objective_value(objective, sums)
    m = len(centres)
    within = within_clusters(objective, sums)
    products = np.einsum("rt,rt->r", sums.composites[:m], centres)
    if objective == "cosine_distance":
        within[:m] = sums.sizes[:m] - products
    else:
        squares = np.einsum("rt,rt->r", centres, centres)
        within[:m] = sums.norm_sums[:m] - 2.0 * products + sums.sizes[:m] * squares
    return float(within.sum() / sums.sizes.sum())
