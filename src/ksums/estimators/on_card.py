"""``KSums`` with rows on a graphics card: fit there, and what a model does with such rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from ksums.checking import card as checking
from ksums.checking import data as host
from ksums.checking.parameters import parameters_of
from ksums.compute.compat import callback_context
from ksums.compute.tensors import as_numpy, as_tensor, host_tensor, is_on_card, kind_of, pinned
from ksums.compute.threads import computing
from ksums.estimators.attributes import measured_attributes
from ksums.estimators.callbacks import Listening, check_callbacks
from ksums.method.data.measures import distinct_rows
from ksums.method.engines.gpu.batches import cluster_batch, prepare_batch
from ksums.method.engines.gpu.card import least_weight
from ksums.method.engines.gpu.measures import measure_on_card
from ksums.method.engines.gpu.operations import Operations
from ksums.method.engines.gpu.rows import Rows, read_rows
from ksums.method.fitting.budget import Budget
from ksums.method.fitting.card import CardJob, CardRun, fit_on_card
from ksums.method.nearest.card import distances_on_card, nearest_on_card
from ksums.planning.batches import plan_batch
from ksums.planning.flat import flat_rule, schedule_of
from ksums.planning.gpu import plan_card
from ksums.planning.plan import CardPlan
from ksums.planning.shape import Shape

_TENSORS = ("labels_", "cluster_centers_", "composites_", "sizes_")
"""Attributes that come back as the kind of array that X is."""
_READ = ("float16", "float32", "float64", "uint8", "int8", "int16")
"""Types of NumPy arrays that a card reads as they are."""


class Placed(NamedTuple):
    """Rows, and where they are during a fit."""

    X: torch.Tensor  # on the card, or in memory of the host
    device: torch.device
    chunk: int  # rows that are in low precision at a time; 0: all
    give_back: Callable[[torch.Tensor], Any]  # makes results of tensors
    read_only: bool = False  # whether the memory of X may not be written to


def fit(estimator: Any, X: Any, sample_weight: Any) -> None:
    """Fit a ``KSums`` to rows on a card, or to rows that it copies to the card ``device``."""
    placed = _on_device(estimator, X)
    with torch.cuda.device(placed.device), pinned(placed.X, placed.read_only):
        fit_tensor(estimator, placed, sample_weight, _kernels(), graphs=True)


def plan_for(estimator: Any, X: Any, sample_weight: Any) -> CardPlan:
    """What ``fit`` would do."""
    placed = _on_device(estimator, X)
    with torch.cuda.device(placed.device), pinned(placed.X, placed.read_only):
        return plan_tensor(estimator, placed, sample_weight, _kernels())


def fit_tensor(estimator: Any, placed: Placed, sample_weight: Any, operations: Operations, graphs: bool) -> None:
    """Fit to a tensor on any device, with these operations."""
    started = time.perf_counter()
    rows, weights = _read(estimator, placed, sample_weight, operations)
    cosine, k = rows.lengths is not None, int(estimator.n_clusters)
    zero = _rows_of_zeros(rows, weights) if cosine else np.empty(0, np.int64)
    host.warn_of_zero_rows(zero)
    plan = _plan(estimator, rows, weights is not None)
    protocol, functions = check_callbacks(type(estimator).__name__, estimator.callbacks)

    def attributes_of(run: CardRun) -> dict[str, Any]:
        return _attributes_of(run, plan, weights, placed.give_back)

    context = callback_context(estimator, protocol, plan.runs if plan.runs > 1 else plan.most_records)
    data = {"X": placed.X, "y": None, "metadata": {"sample_weight": sample_weight}}
    with (
        nullcontext() if plan.sample is None else computing(estimator.n_threads),  # only a sample needs threads
        Listening(estimator, context, data, functions, attributes_of, plan) as listener,
    ):
        budget = Budget.of(plan.seconds, plan.runs, started)
        job = CardJob(rows, plan, operations, listener, budget, _centres(estimator, rows, k), graphs, placed.chunk)
        run = fit_on_card(job, estimator._seeds(plan.runs))
    estimator.__dict__.update(attributes_of(run))
    estimator._warn_of_the_end(run, distinct_rows(as_numpy(estimator.cluster_centers_)))


def plan_tensor(estimator: Any, placed: Placed, sample_weight: Any, operations: Operations) -> CardPlan:
    """The plan for a tensor on any device."""
    rows, weights = _read(estimator, placed, sample_weight, operations)
    return _plan(estimator, rows, weights is not None)


def predict(model: Any, X: Any) -> Any:
    """Index of the nearest centre for each row, as the kind of array that X is."""
    return kind_of(X)(nearest_on_card(*_ready(model, X), model.metric == "cosine")[0])


def transform(model: Any, X: Any) -> Any:
    """Distances to the centres, as the kind of array that X is."""
    return kind_of(X)(distances_on_card(*_ready(model, X), model.metric == "cosine"))


def score(model: Any, X: Any, sample_weight: Any) -> float:
    """Minus the sum of squared distances of the rows to their nearest centres."""
    rows, centres = _ready(model, X)
    given = None if sample_weight is None else as_numpy(sample_weight)
    weights = host.check_weights(model, given, len(rows))
    squares = nearest_on_card(rows, centres, model.metric == "cosine")[1]
    return -float(squares.sum() if weights is None else squares @ torch.from_numpy(weights).to(squares.device))


def cluster_problems(X: torch.Tensor, k: int, cosine: bool, effort: str, seed: int) -> tuple[torch.Tensor, ...]:
    """Labels, centres, sizes and distortion of each problem of a tensor on a card."""
    with torch.cuda.device(X.device):
        return cluster_with(_kernels(), X, k, cosine, effort, seed, graphs=True)


def cluster_with(
    operations: Operations, X: torch.Tensor, k: int, cosine: bool, effort: str, seed: int, graphs: bool = False
) -> tuple[torch.Tensor, ...]:
    """The same on any device, with these operations."""
    X = X.detach()
    checking.check_values_of_batch(X)
    found = cluster_batch(operations, prepare_batch(X, cosine), k, plan_batch(X.shape[1], k, effort), seed, graphs)
    return found.labels.long(), found.centres.to(X.dtype), found.sizes, found.distortion


# ------------------------------------------------------------------------------------------ parts
def _on_device(estimator: Any, X: Any) -> Placed:
    """Rows for a card, copied there if need be; refuses what is not offered there."""
    checking.check_offered(estimator)
    if is_on_card(X):
        give_back, rows = kind_of(X), as_tensor(X)
        checking.check_tensor(estimator, rows)
        rows = rows if rows.stride(1) == 1 else rows.contiguous()
        room = checking.check_room(estimator, rows, rows.device, resident=True)
        estimator.__dict__.pop("feature_names_in_", None)
        estimator.n_features_in_ = rows.shape[1]
        return Placed(rows, rows.device, room.chunk, give_back)
    device = checking.check_card(estimator, estimator.device)
    checking.check_host_array(estimator, X)
    X = host.check_rows(estimator, X, reset=True)
    rows = host_tensor(X if X.dtype.name in _READ else X.astype(np.float32))
    room = checking.check_room(estimator, rows, device, resident=False)
    placed = rows.to(device) if room.copied else rows
    return Placed(placed, device, room.chunk, _as_host_array, read_only=not X.flags.writeable)


def _read(estimator: Any, placed: Placed, sample_weight: Any, operations: Operations) -> tuple[Rows, np.ndarray | None]:
    """What is known of rows, and weights; all of it checked."""
    X, device, n, k = placed.X, placed.device, len(placed.X), int(estimator.n_clusters)
    host.check_enough_rows(estimator, n, n, k)
    weights = host.check_weights(estimator, None if sample_weight is None else as_numpy(sample_weight), n)
    on_device = None if weights is None else torch.from_numpy(weights).to(device)
    rows = read_rows(X, on_device, estimator.metric == "cosine", operations, device)
    host.check_enough_rows(estimator, n, rows.n, k)
    checking.check_values(estimator, X, rows.largest, all_active=rows.active is None)
    checking.check_light_rows(estimator, weights, least_weight(rows.n))
    return rows, weights


def _kernels() -> Operations:
    try:
        from ksums.method.engines.gpu.launch import Kernels
    except ImportError as error:
        raise ImportError("Fits on a graphics card require triton: pip install 'ksums[gpu]'.") from error
    return Kernels()


def _as_host_array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.cpu().numpy()


def _ready(model: Any, X: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows and centres as tensors on the device of the rows."""
    check_is_fitted(model)
    rows = as_tensor(X)
    checking.check_tensor(model, rows)
    if rows.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {rows.shape[1]} features, but {type(model).__name__} is expecting {model.n_features_in_} features "
            "as input."
        )
    centres = model.cluster_centers_
    known = as_tensor(centres) if is_on_card(centres) else torch.from_numpy(np.asarray(centres))
    return rows, known.to(rows.device)


def _plan(estimator: Any, rows: Rows, weighted: bool) -> CardPlan:
    parameters, d, k = parameters_of(estimator), rows.X.shape[1], int(estimator.n_clusters)
    annealed = schedule_of(parameters["rule"])
    assert annealed is not None
    dtype = "float64" if rows.X.dtype == torch.float64 else "float32"
    plan = plan_card(parameters, flat_rule(parameters), annealed, Shape(rows.n, d, k, dtype, weighted=weighted))
    checking.check_search(estimator, plan)
    return plan


def _centres(estimator: Any, rows: Rows, k: int) -> torch.Tensor | None:
    """Centres that the user gave, around the mean of the rows, or of unit length."""
    if isinstance(estimator.init, str):
        return None
    given = checking.check_centres(estimator, as_numpy(estimator.init), k, rows.X.shape[1])
    centres = torch.from_numpy(given).to(rows.device) - rows.mean.double()
    if rows.lengths is None:
        return centres
    return centres / torch.linalg.vector_norm(centres, dim=1, keepdim=True).clamp(min=1e-30)


def _rows_of_zeros(rows: Rows, weights: np.ndarray | None) -> np.ndarray:
    """Rows that are not active although they have a weight."""
    if rows.active is None:
        return np.empty(0, np.int64)
    idle = np.ones(len(rows.X), np.bool_)
    idle[rows.active.cpu().numpy()] = False
    return np.flatnonzero(idle if weights is None else idle & (weights > 0))


def _attributes_of(
    run: CardRun, plan: CardPlan, weights: np.ndarray | None, give_back: Callable[[torch.Tensor], Any]
) -> dict[str, Any]:
    """Fitted attributes, computed from the data and the labels."""
    rows = run.job.rows
    measures = measure_on_card(run.job.operations, rows, run.layout, run.table, run.labels_of_places)
    found = measured_attributes(run, measures, plan, np.dtype(plan.shape.dtype), weighted=weights is not None)
    labels, device = run.labels, rows.device
    if weights is not None and (idle := np.flatnonzero(weights == 0)).size:
        at = torch.from_numpy(idle)
        centres = torch.from_numpy(found["cluster_centers_"]).to(device)
        idle_rows = rows.X[at.to(rows.X.device)].to(device)
        labels[at.to(device)] = nearest_on_card(idle_rows, centres, rows.lengths is not None)[0]
    tensors = {name: torch.from_numpy(found[name]).to(device) for name in _TENSORS[1:]} | {"labels_": labels}
    return {**found, **{name: give_back(tensor) for name, tensor in tensors.items()}}
