"""Constraints between the estimators and the method: into the space of prepared rows, and back into attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ksums.checking.constraints import CheckedConstraints
from ksums.compute.arrays import Matrix
from ksums.method.constrained.transport import cheapest_assignment
from ksums.method.data.centres import centres_for_rows, prepare_with_distances
from ksums.method.data.measures import ClusterMeasures
from ksums.method.data.norms import unit_vectors
from ksums.method.data.rows import Rows
from ksums.method.state.constraints import Constraints
from ksums.method.state.limits import Limits


def centres_in(checked: CheckedConstraints, rows: Rows, metric: str) -> np.ndarray | None:
    """Centres that do not move, in the space of prepared rows."""
    if checked.centres is None:
        return None
    return centres_for_rows(checked.centres, rows, metric).vectors.astype(np.float64)


def init_of_units(init: np.ndarray, rows: Rows, units: np.ndarray) -> np.ndarray:
    """The start for rows that move together: the label of the first of them; centres without the shift of the rows."""
    if init.ndim == 1:
        return init[np.unique(units, return_index=True)[1]]
    return init if rows.shift is None else init - rows.shift


def constraints_for(
    checked: CheckedConstraints, rows: Rows, centres: np.ndarray | None, estimator: Any
) -> Constraints | None:
    """What labels of prepared rows must keep to; None: nothing. Rows that move together are one row by now."""
    limits = None if checked.low is None or checked.high is None else Limits(checked.low, checked.high)
    groups = None
    if rows.inner is not None and estimator.objective == "pairwise":
        groups = rows.inner > 0
    found = Constraints(limits, checked.fixed, checked.conflicts, centres, groups)
    return found if found.kinds else None


def attributes_with_centres(
    given: np.ndarray, measures: ClusterMeasures, objective: str, metric: str, dtype: np.dtype[Any]
) -> dict[str, Any]:
    """Centres and measures of a model whose first centres were given: samples are compared with these, not means."""
    m, centres = len(given), given.astype(np.float64)
    compared = unit_vectors(centres) if metric == "cosine" else centres
    means, sizes = measures.centres, measures.sizes
    squares = measures.squares.copy()
    squares[:m] += sizes[:m] * np.square(means[:m] - compared).sum(axis=1)
    distortion = float(squares.sum() / sizes.sum())
    value = distortion
    if objective == "cosine_distance":
        lengths = np.linalg.norm(measures.composites, axis=1)
        lengths[:m] = np.einsum("rt,rt->r", measures.composites[:m], compared)
        value = float(1.0 - lengths.sum() / sizes.sum())
    return {
        "cluster_centers_": np.concatenate([centres, means[m:]]).astype(dtype),
        "distortion_": distortion,
        "inertia_": float(squares.sum()),
        "objective_": value,
    }


def assigned(X: Matrix, centres: np.ndarray, metric: str, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The cheapest labels for given centres with ``low`` ≤ sizes ≤ ``high``."""
    rows, placed = prepare_with_distances(X, centres, metric)
    vectors = placed.vectors.astype(np.float64)

    def costs_of(ids: np.ndarray) -> np.ndarray:
        return placed.squares - 2.0 * np.asarray(rows.read(ids, np.float64) @ vectors.T)

    return cheapest_assignment(np.arange(rows.n), costs_of, low, high).labels
