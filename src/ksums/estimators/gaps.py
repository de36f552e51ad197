"""``KSums`` with ``missing="ignore"``: rows with missing cells, which have no opinion."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from ksums.checking import data, tables
from ksums.checking.options import check_init
from ksums.checking.parameters import check_parameters
from ksums.compute.arrays import blocks
from ksums.compute.tensors import is_on_card
from ksums.compute.threads import computing
from ksums.estimators.partitions import attributes_of_run, fit_by_moves
from ksums.io.sources import is_source
from ksums.method.cells.cells import Cells, cells_of, centres_from
from ksums.method.cells.sums import distinct_clusters
from ksums.method.fitting.tables import fit_cells, nearest_clusters
from ksums.planning.partitions import plan_table
from ksums.planning.plan import PartitionPlan
from ksums.planning.shape import Shape
from ksums.tables.columns import Columns, is_gap, is_table

_BLOCK = 1 << 16
"""Rows whose distances to all centres are held at a time."""


def has_gaps(X: Any) -> bool:
    """Whether X is an array or a table in memory with missing cells."""
    if X is None or is_on_card(X) or sparse.issparse(X) or is_source(X):
        return False
    try:
        values = _values(X)
    except (TypeError, ValueError):
        return False  # the usual checks say what is wrong
    if values.dtype.kind != "f" or values.ndim != 2:
        return False
    return any(bool(np.isnan(values[part]).any()) for part in blocks(len(values), _BLOCK))


def rows_with_gaps(model: Any, X: Any, *, reset: bool) -> np.ndarray:
    """Rows of floats, checked, with NaN for gaps; names of columns are remembered, or compared."""
    if is_table(X):
        validate_data(model, X, reset=reset, skip_check_array=True)
        X = np.ascontiguousarray(_values(X))
        data.check_values_with_gaps(type(model).__name__, X)
        return X
    return data.check_rows(model, X, reset=reset, gaps=True)


def _values(X: Any) -> np.ndarray:
    """Numbers of an array or a table; null and NA are NaN."""
    if is_table(X):
        columns = Columns(X)
        if any(columns.dtype_of(name) not in ("number", "bool") for name in columns.names):
            raise ValueError("a column does not hold numbers")
        values = np.column_stack([columns.numbers(name) for name in columns.names])
        return values.astype(np.float32) if _is_float32(X) else values
    values = np.asarray(X)
    if values.dtype.kind == "O":
        values = np.array([np.nan if is_gap(cell) else cell for cell in values.ravel()], float).reshape(values.shape)
    return values


def _is_float32(table: Any) -> bool:
    """Whether all columns are float32, and stay so."""
    return {str(dtype).lower() for dtype in getattr(table, "dtypes", ())} == {"float32"}


class Prepared(NamedTuple):
    """Checked rows with gaps, and the plan of their fit."""

    X: np.ndarray  # (n, d)
    cells: Cells  # of the active rows
    shift: np.ndarray  # (d,)
    active: np.ndarray  # rows that count
    labels: np.ndarray | None  # first labels of the active rows, if the user gave them
    plan: PartitionPlan


def fit_with_gaps(model: Any, X: Any, y: Any, sample_weight: Any, constrained: bool) -> None:
    """Fit a ``KSums`` to rows with gaps."""
    started = time.perf_counter()
    ready = prepare_with_gaps(model, X, sample_weight, constrained)
    engine = "reference" if model.engine == "reference" else "exact"
    run = fit_by_moves(
        model,
        {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}},
        ready.plan,
        started,
        lambda listener, budget, seeds: fit_cells(
            ready.cells, ready.plan, listener, budget, seeds, engine, ready.labels
        ),
        lambda run: _attributes_of(run, ready),
    )
    data.warn_of_equal_clusters(distinct_clusters(ready.cells, run.labels, run.k), run.k, stacklevel=4)


def prepare_with_gaps(model: Any, X: Any, sample_weight: Any, constrained: bool, warn: bool = True) -> Prepared:
    """Check the rows, and plan."""
    check_parameters(model)
    tables.check_with_gaps(model, constrained)
    X = rows_with_gaps(model, X, reset=True)
    n, k = X.shape[0], int(model.n_clusters)
    data.check_enough_rows(model, n, n, k)
    weights = data.check_weights(model, sample_weight, n)
    init = check_init(model, X, k)
    empty = np.isnan(X).all(axis=1)
    active = np.flatnonzero(~empty if weights is None else ~empty & (weights > 0))
    tables.check_columns_have_values(type(model).__name__, X[active], getattr(model, "feature_names_in_", None))
    data.check_enough_rows(model, n, len(active), k)
    if warn:
        tables.warn_of_empty_rows(np.flatnonzero(empty))
    own_weights = None if weights is None else weights[active]
    shift = _means(X[active], own_weights)
    labels = init[active] if isinstance(init, np.ndarray) else None
    shape = Shape(len(active), X.shape[1], k, weighted=weights is not None)
    plan = plan_table(model.get_params(deep=False), shape, labels is not None, numbers=True)
    return Prepared(X, _numbers_only(X[active] - shift, own_weights), shift, active, labels, plan)


def predict_with_gaps(model: Any, X: np.ndarray) -> np.ndarray:
    """The nearest centre of each row by the cells that it has."""
    with computing(model.n_threads):
        labels = nearest_clusters(*_to_centres(model, X))
    labels[np.isnan(X).all(axis=1)] = np.argmax(model.sizes_)
    return labels


def sq_distances_with_gaps(model: Any, X: np.ndarray) -> np.ndarray:
    """(n, k) Sums over the cells that rows have of the squared distances to the centres."""
    from ksums.method.cells.starts import distances

    with computing(model.n_threads):
        return distances(*_to_centres(model, X))


def _to_centres(model: Any, X: np.ndarray) -> tuple[Cells, Any]:
    """Rows and centres, shifted alike, so that digits are kept."""
    centres = np.asarray(model.cluster_centers_, np.float64)
    shift = centres.mean(axis=0)
    cells = _numbers_only(X - shift, None)
    return cells, centres_from((centres - shift).T, np.zeros((0, len(centres))), cells.offsets)


def _numbers_only(X: np.ndarray, weights: np.ndarray | None) -> Cells:
    return cells_of(X, np.empty((len(X), 0), np.int64), np.zeros(0, np.int64), weights)


def _means(X: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """(d,) Mean of the observed cells of each column; in two steps, so that numbers far from 0 keep their digits."""
    seen = ~np.isnan(X)
    w = seen * (np.ones(len(X)) if weights is None else weights)[:, None]
    rough = np.nanmean(X.astype(np.float64), axis=0)
    mass = np.maximum(w.sum(axis=0), 1e-300)
    return rough + (w * np.where(seen, X - rough, 0.0)).sum(axis=0) / mass


def _attributes_of(run: Any, ready: Prepared) -> dict[str, Any]:
    """Fitted attributes, computed from the cells and the labels."""
    from ksums.method.cells.cells import unpulled
    from ksums.method.cells.partition import CellPartition
    from ksums.method.cells.sums import centres_of

    X, cells, shift, active = ready[:4]
    found = CellPartition(cells, run.labels, run.k, run.plan.objective)
    plain = CellPartition(unpulled(cells), run.labels, run.k, run.plan.objective)
    measures, sizes = found.measures(), found.sizes
    pulled = CellPartition(cells, run.labels, run.k, "distortion")
    centres = centres_of(cells, pulled.sums)
    labels = np.full(len(X), -1, np.int32)
    labels[active] = run.labels
    if len(idle := np.flatnonzero(labels < 0)):
        labels[idle] = nearest_clusters(_numbers_only(X[idle] - shift, None), centres)
        labels[idle[np.isnan(X[idle]).all(axis=1)]] = sizes.argmax()
    counts = plain.sums.observed.T
    dtype = X.dtype if X.dtype == np.float32 else np.dtype(np.float64)
    return {
        "labels_": labels,
        "cluster_centers_": (centres.numbers.T + shift).astype(dtype),
        "composites_": plain.sums.composites.T + counts * shift,
        "cell_counts_": counts,
        "sizes_": sizes if len(cells.weights) else sizes.astype(np.int64),
        "distortion_": measures.distortion,
        "pairwise_": measures.pairwise,
        "inertia_": measures.distortion * float(sizes.sum()),
        "objective_": measures.objective,
        "_n_features_out": run.k,
        **attributes_of_run(run),
    }
