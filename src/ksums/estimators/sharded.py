"""``KSums.fit`` for data in parts: files, folders, lists of arrays, functions that yield them."""

from __future__ import annotations

import hashlib
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ksums.checking import data as checking
from ksums.checking import sources
from ksums.checking.parameters import check_parameters
from ksums.compute.compat import callback_context
from ksums.compute.machine import free_memory
from ksums.compute.threads import computing
from ksums.estimators.callbacks import Listening, check_callbacks
from ksums.estimators.interruption import FitInterrupted
from ksums.io.sources import Source, open_source
from ksums.method.fitting.budget import Budget
from ksums.method.fitting.records import passes_of
from ksums.method.shards.blocks import places_of
from ksums.method.shards.checkpoint import Checkpoint, read_about
from ksums.method.shards.local import LocalBlocks, Reader
from ksums.method.shards.run import ShardJob, ShardRun
from ksums.planning.plan import ShardPlan
from ksums.planning.shape import Shape
from ksums.planning.shards import memory_for, plan_shards, rows_per_block

_SAME_LABELS = ("n_threads", "verbose", "callbacks", "max_memory", "checkpoint", "random_state")
"""Parameters that a fit may change when it goes on from a checkpoint."""


def fit_source(estimator: Any, data: Any, sample_weight: Any) -> Any:
    """Fit a ``KSums`` to data in parts."""
    started = time.perf_counter()
    check_parameters(estimator)
    sources.check_estimator(estimator)
    protocol, functions = check_callbacks(type(estimator).__name__, estimator.callbacks)
    source = open_source(data)
    k, n = int(estimator.n_clusters), source.n
    checking.check_enough_rows(estimator, n, n, k)
    weights = checking.check_weights(estimator, sample_weight, n)
    memory = sources.bytes_of(estimator.max_memory) if estimator.max_memory is not None else free_memory() / 2
    with computing(estimator.n_threads) as threads:
        shape = Shape(n, source.d, k, source.dtype.name, weighted=weights is not None, memory=memory, threads=threads)
        places = places_of([part.rows for part in source.parts], rows_per_block(source.d, source.dtype.name))
        needs = memory_for(shape, len(places))
        sources.check_memory(estimator, memory, needs.least)
        reader = Reader(source, places, weights, memory - needs.least)
        reader.check = lambda X, first: checking.check_block(type(estimator).__name__, X, first)
        folder = Path(tempfile.gettempdir()) if needs.labels_in_file else None
        blocks = LocalBlocks(reader, estimator.metric == "cosine", source.dtype, k, folder)
        checking.check_enough_rows(estimator, n, blocks.frame.n, k)
        parameters = estimator.get_params(deep=False)
        plan = plan_shards(parameters, shape, rows_per_block(source.d, source.dtype.name), len(places))
        seed, checkpoint = _seed_and_checkpoint(estimator, source, blocks, parameters)

        def attributes_of(run: ShardRun) -> dict[str, Any]:
            return _attributes_of(estimator, source, run, plan)

        context = callback_context(estimator, protocol, plan.most_records)
        given = {"X": data, "y": None, "metadata": {"sample_weight": sample_weight}}
        with Listening(estimator, context, given, functions, attributes_of, plan) as listener:
            run = ShardRun(ShardJob(blocks, plan, listener, Budget.of(plan.seconds, 1, started), seed, checkpoint)).go()
            found = attributes_of(run)
    estimator.__dict__.update(found)
    _warn(estimator, run, blocks, n)
    return estimator


def _seed_and_checkpoint(
    estimator: Any, source: Source, blocks: LocalBlocks, parameters: dict[str, Any]
) -> tuple[int, Checkpoint | None]:
    """The seed of the fit: without a random_state, that of the checkpoint if there is one."""
    (seed,) = estimator._seeds(1)
    if estimator.checkpoint is None:
        return seed, None
    path = Path(estimator.checkpoint)
    if estimator.random_state is None and path.exists():
        seed = int(read_about(path)["identity"].get("seed", seed))
    moments = hashlib.sha256()
    for one in blocks.moments:
        for value in one:
            moments.update(np.ascontiguousarray(value).tobytes())
    identity = {
        **{name: repr(value) for name, value in parameters.items() if name not in _SAME_LABELS},
        "seed": seed,
        "rows": [part.rows for part in source.parts],
        "columns": source.d,
        "dtype": source.dtype.name,
        "data": moments.hexdigest(),
    }
    return seed, Checkpoint(path, identity)


def _attributes_of(estimator: Any, source: Source, run: ShardRun, plan: ShardPlan) -> dict[str, Any]:
    """Fitted attributes, computed from the data and the labels."""
    blocks = run.blocks
    measures = blocks.measure(run.course.standing.sums)
    labels = run.labels if isinstance(run.labels, np.memmap) else run.labels.copy()
    found: dict[str, Any] = {
        "labels_": labels,
        "cluster_centers_": measures.centres.astype(source.dtype),
        "composites_": measures.composites,
        "sizes_": measures.sizes if blocks.weighted else measures.sizes.astype(np.int64),
        "distortion_": measures.distortion,
        "pairwise_": measures.pairwise,
        "inertia_": float(measures.squares.sum()),
        "objective_": measures.objective(plan.rule.objective),
        "n_iter_": passes_of(run.records),
        "converged_": run.converged,
        "history_": list(run.records),
        "plan_": plan,
        "n_features_in_": source.d,
        "_n_features_out": run.k,
    }
    if source.columns is not None:
        found["feature_names_in_"] = np.array(source.columns, object)
    return found


def _warn(estimator: Any, run: ShardRun, blocks: LocalBlocks, n: int) -> None:
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
    distinct = len(np.unique(estimator.cluster_centers_, axis=0))
    if distinct < run.k:
        warnings.warn(
            f"Number of distinct clusters ({distinct}) found smaller than n_clusters ({run.k}). Possibly due to "
            "duplicate rows: some clusters hold copies of the same row.",
            ConvergenceWarning,
            stacklevel=5,
        )
