"""``KSums.fit`` for data in parts: in files, folders, lists of arrays, or on the workers of a cluster."""

from __future__ import annotations

import tempfile
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from ksums.checking import data as checking
from ksums.checking import sources
from ksums.checking.parameters import check_parameters
from ksums.compute.arrays import blocks
from ksums.compute.compat import callback_context
from ksums.compute.machine import free_memory
from ksums.compute.threads import computing
from ksums.estimators.attributes import measured_attributes
from ksums.estimators.callbacks import Listening, check_callbacks
from ksums.estimators.checkpoints import seeds_and_checkpoint
from ksums.estimators.interruption import FitInterrupted
from ksums.io.sources import Source, open_source
from ksums.method.data.measures import distinct_rows
from ksums.method.fitting.budget import Budget
from ksums.method.fitting.records import passes_of
from ksums.method.shards.blocks import Blocks, places_of
from ksums.method.shards.local import LocalBlocks, Reader
from ksums.method.shards.run import ShardJob, ShardRun
from ksums.planning.plan import ShardPlan
from ksums.planning.shape import Shape
from ksums.planning.shards import memory_for, plan_shards, rows_per_block


class ShardedData(ABC):
    """Data in parts, wherever they are."""

    n: int
    d: int
    dtype: np.dtype[Any]
    lengths: list[int]  # rows of each part
    columns: list[str] | None
    weighted: bool
    memory: float = np.inf

    @abstractmethod
    def blocks(self, estimator: Any) -> Blocks:
        """The blocks of the parts, their values checked."""

    @abstractmethod
    def labels(self, found: Any) -> Any:
        """The attribute ``labels_``, from the labels of the blocks."""


class _InThisProcess(ShardedData):
    """Files, arrays and functions, read by this process."""

    def __init__(self, estimator: Any, data: Any, sample_weight: Any) -> None:
        self.source: Source = open_source(data)
        self.n, self.d, self.dtype, self.columns = self.source.n, self.source.d, self.source.dtype, self.source.columns
        self.lengths = [part.rows for part in self.source.parts]
        self.weights = checking.check_weights(estimator, sample_weight, self.n)
        self.weighted = self.weights is not None
        given = estimator.max_memory
        self.memory = free_memory() / 2 if given is None else sources.bytes_of(given)

    def blocks(self, estimator: Any) -> LocalBlocks:
        k, name = int(estimator.n_clusters), type(estimator).__name__
        places = places_of(self.lengths, rows_per_block(self.d, self.dtype.name))
        needs = memory_for(Shape(self.n, self.d, k, self.dtype.name, memory=self.memory), len(places))
        sources.check_memory(estimator, self.memory, needs.least)
        reader = Reader(self.source, places, self.weights, needs.rows)
        reader.check = lambda X, first: checking.check_block(name, X, first)
        folder = Path(tempfile.gettempdir()) if needs.labels_in_file else None
        return LocalBlocks(
            reader,
            estimator.metric == "cosine",
            self.dtype,
            k,
            folder=folder,
            room=needs.bounds,
            with_digest=estimator.checkpoint is not None,
        )

    def labels(self, found: np.ndarray) -> np.ndarray:
        return found


def fit_source(estimator: Any, data: Any, sample_weight: Any) -> Any:
    """Fit a ``KSums`` to files, arrays, or what a function yields."""
    check_parameters(estimator)
    return fit_blocks(estimator, _InThisProcess(estimator, data, sample_weight))


def fit_blocks(estimator: Any, data: ShardedData) -> Any:
    """Fit a ``KSums`` to data in parts."""
    started = time.perf_counter()
    check_parameters(estimator)
    sources.check_estimator(estimator)
    protocol, functions = check_callbacks(type(estimator).__name__, estimator.callbacks)
    k = int(estimator.n_clusters)
    checking.check_enough_rows(estimator, data.n, data.n, k)
    with computing(estimator.n_threads) as threads:
        blocks = data.blocks(estimator)
        checking.check_enough_rows(estimator, data.n, blocks.frame.n, k)
        shape = Shape(
            blocks.frame.n, data.d, k, data.dtype.name, weighted=data.weighted, memory=data.memory, threads=threads
        )
        parameters, length = estimator.get_params(deep=False), rows_per_block(data.d, data.dtype.name)
        plan = plan_shards(parameters, shape, length, blocks.count)
        facts = {
            "rows": data.lengths,
            "columns": data.d,
            "dtype": data.dtype.name,
            "init": estimator.init,
            "data": sha256("".join(one.digest for one in blocks.moments).encode()).hexdigest(),
        }
        (seed,), checkpoint = seeds_and_checkpoint(estimator, 1, facts)

        def attributes_of(run: ShardRun) -> dict[str, Any]:
            found = _attributes_of(data, run, plan)
            return {**found, "labels_": found["labels_"].copy()}  # the fit still changes its own

        context = callback_context(estimator, protocol, plan.most_records)
        given: dict[str, Any] = {"X": data, "y": None, "metadata": {}}
        with (
            closing(blocks),
            Listening(estimator, context, given, functions, attributes_of, plan) as listener,
        ):
            run = ShardRun(ShardJob(blocks, plan, listener, Budget.of(plan.seconds, 1, started), seed, checkpoint)).go()
            found = _attributes_of(data, run, plan)
    estimator.__dict__.update(found)
    _warn(estimator, run, blocks, data.n)
    return estimator


def predicted_parts(model: Any, source: Source, search: str = "exact") -> Iterator[np.ndarray]:
    """What ``model.predict`` says of each part, which is read in blocks."""
    how = {} if search == "exact" else {"search": search}
    if source.d != model.n_features_in_:
        raise ValueError(f"{source.parts[0].name} has {source.d} columns; the model needs {model.n_features_in_}.")
    known = getattr(model, "feature_names_in_", None)
    if known is not None and source.columns is not None and source.columns != known.tolist():
        raise ValueError(f"{source.parts[0].name} has other columns than the model, or in another order.")
    length = rows_per_block(source.d, "float64")
    for part in source.parts:
        with warnings.catch_warnings():  # arrays have no names; those of the files were compared above
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            found = [model.predict(part.read(rows), **how) for rows in blocks(part.rows, length)]
        yield np.concatenate([np.empty(0, np.int32), *found]).astype(np.int32, copy=False)


def predict_source(model: Any, data: Any, search: str = "exact") -> np.ndarray:
    """The nearest centres of rows in parts."""
    known = getattr(model, "feature_names_in_", None)
    source = open_source(data, if_named=None if known is None else known.tolist())
    return np.concatenate(list(predicted_parts(model, source, search)))


def _attributes_of(data: ShardedData, run: ShardRun, plan: ShardPlan) -> dict[str, Any]:
    """Fitted attributes, computed from the data and the labels."""
    measures = run.blocks.measure(run.rounds.standing.sums)
    found = measured_attributes(run, measures, plan, data.dtype, weighted=data.weighted)
    found |= {"labels_": data.labels(run.labels), "n_features_in_": data.d}
    if data.columns is not None:
        found["feature_names_in_"] = np.array(data.columns, object)
    return found


def _warn(estimator: Any, run: ShardRun, blocks: Blocks, n: int) -> None:
    if run.interrupted:
        passes = passes_of(run.records)
        warnings.warn(
            f"The fit was interrupted after {passes} rounds; the model holds the labels of the last of them.",
            FitInterrupted,
            stacklevel=5,
        )
    if estimator.metric == "cosine" and not blocks.weighted and blocks.frame.n < n:
        warnings.warn(
            f"{n - blocks.frame.n} rows are all zeros and have no direction: under metric='cosine' they get a label "
            "but do not influence any cluster.",
            UserWarning,
            stacklevel=5,
        )
    distinct = distinct_rows(estimator.cluster_centers_)
    checking.warn_of_equal_clusters(distinct, run.k, stacklevel=5)
