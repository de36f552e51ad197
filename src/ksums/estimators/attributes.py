"""The fitted attributes that all models measure in the same way."""

from __future__ import annotations

from typing import Any

import numpy as np

from ksums.method.data.measures import ClusterMeasures
from ksums.method.fitting.records import passes_of


def measured_attributes(
    run: Any, measures: ClusterMeasures, plan: Any, dtype: np.dtype[Any], *, weighted: bool
) -> dict[str, Any]:
    """Everything but ``labels_``; ``run`` has ``records``, ``converged`` and ``k``."""
    return {
        "cluster_centers_": measures.centres.astype(dtype),
        "composites_": measures.composites,
        "sizes_": measures.sizes if weighted else measures.sizes.astype(np.int64),
        "distortion_": measures.distortion,
        "pairwise_": measures.pairwise,
        "inertia_": float(measures.squares.sum()),
        "objective_": measures.objective(plan.rule.objective),
        "n_iter_": passes_of(run.records),
        "converged_": run.converged,
        "history_": list(run.records),
        "plan_": plan,
        "_n_features_out": run.k,
    }
