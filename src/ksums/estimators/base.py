"""What all estimators that fit labels to data share: the frame of ``fit``, the attributes, ``predict`` and the like."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.metrics.pairwise import cosine_distances, euclidean_distances
from sklearn.utils.validation import check_is_fitted

from ksums.checking import data as checking
from ksums.checking.constraints import Links, check_constraints, refuse_constraints, refuse_links
from ksums.checking.parameters import check_parameters
from ksums.compute.arrays import Matrix, arithmetic_of, blocks
from ksums.compute.compat import callback_context
from ksums.compute.machine import free_memory
from ksums.compute.tensors import as_numpy, is_on_card, load_torch
from ksums.compute.threads import computing
from ksums.estimators.attributes import measured_attributes
from ksums.estimators.callbacks import Listening, check_callbacks
from ksums.estimators.checkpoints import facts_of_rows, seeds_and_checkpoint
from ksums.estimators.constraints import centres_in, constraints_for, init_of_units
from ksums.estimators.interruption import FitInterrupted
from ksums.estimators.seeds import seeds_for
from ksums.io.sources import is_source
from ksums.method.data.centres import prepare_with_centres
from ksums.method.data.measures import ClusterMeasures, distinct_clusters, measure_clusters
from ksums.method.data.norms import unit_rows
from ksums.method.data.rows import Rows, prepare
from ksums.method.data.sums import sq_distances_to_own
from ksums.method.data.units import rows_of_units
from ksums.method.fitting.budget import Budget
from ksums.method.fitting.job import Job
from ksums.method.fitting.records import passes_of
from ksums.method.fitting.resuming import FitCheckpoint
from ksums.method.nearest.centres import nearest_centres
from ksums.method.state.constraints import Constraints
from ksums.models.files import save
from ksums.models.registry import register
from ksums.planning.plan import Plan, TreePlan
from ksums.planning.shape import Shape

_BLOCK = 4096
"""Rows that ``score`` reads at a time."""


class Prepared(NamedTuple):
    """Checked data with the plan of its fit."""

    X: Matrix
    weights: np.ndarray | None
    rows: Rows
    init: Any  # a name, labels or centres
    plan: Plan | TreePlan
    constraints: Constraints | None = None
    units: np.ndarray | None = None  # (n,)  the prepared row of each row of X, where rows move together


class CentreModel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """What a model with ``cluster_centers_`` can do."""

    def __init_subclass__(cls, in_files: bool = True, **more: Any) -> None:
        super().__init_subclass__(**more)
        if in_files:
            register(cls)

    def predict(self, X):
        """Index of the nearest centre (under cosine: of the centre of nearest direction) for each row.

        On the training rows this may differ from ``labels_`` for a few samples on a border.
        """
        if is_on_card(X):
            return self._on_card().predict(self, X)
        X = self._check_new(X)
        with computing(self.n_threads):
            return self._nearest(X, np.arange(X.shape[0]), self._centres())

    def _nearest(self, X: Matrix, ids: np.ndarray, centres: np.ndarray) -> np.ndarray:
        rows, placed = prepare_with_centres(X, centres, self.metric)
        return nearest_centres(rows, ids, placed)

    def transform(self, X):
        """Distances (n, k) to the centres: Euclidean, or one minus the cosine."""
        if is_on_card(X):
            return self._on_card().transform(self, X)
        return self._distances(self._check_new(X), self._centres())

    def _distances(self, X: Matrix, centres: np.ndarray) -> np.ndarray:
        rows, placed = prepare_with_centres(X, centres, self.metric)
        distances = np.empty((X.shape[0], len(centres)), arithmetic_of(X))
        of = cosine_distances if self.metric == "cosine" else euclidean_distances
        for ids in rows.blocks_of(rows.active):
            distances[ids] = of(rows.read(ids), placed.vectors.astype(rows.dtype))
        distances /= rows.scales[0]
        return distances

    def score(self, X, y=None, sample_weight=None):
        """Minus the sum of squared distances of the rows to their nearest centres: higher is better."""
        if is_on_card(X):
            return self._on_card().score(self, X, sample_weight)
        X = self._check_new(X)
        weights = checking.check_weights(self, sample_weight, X.shape[0])
        centres = self._centres()
        with computing(self.n_threads):
            labels = self._nearest(X, np.arange(X.shape[0]), centres)
        centres, total = centres.astype(np.float64), 0.0
        for part in blocks(X.shape[0], _BLOCK):
            block = unit_rows(X[part]) if self.metric == "cosine" else X[part].astype(np.float64)
            distances = sq_distances_to_own(block, centres, labels[part])
            total += float(distances.sum() if weights is None else distances @ weights[part])
        return -total

    def save(self, path):
        """Write the fitted model to a file; :func:`ksums.load` reads it.

        Arrays are stored in the safetensors format, everything else in its header as JSON: parameters (without
        callbacks and random generators), measures, the records of the passes, and a fingerprint of the data. The file
        is written completely or not at all.

        Parameters
        ----------
        path : str or Path
        """
        save(self, path)

    def _centres(self) -> np.ndarray:
        """The centres; those of a model that was fitted on a card are copied from there."""
        check_is_fitted(self)
        return as_numpy(self.cluster_centers_)

    @staticmethod
    def _on_card() -> Any:
        """What models do with rows on a card; torch is loaded by the first of them."""
        load_torch()
        from ksums.estimators import on_card

        return on_card

    def _check_new(self, X) -> Matrix:
        check_is_fitted(self)
        return checking.check_rows(self, X, reset=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class Clusterer(CallbackSupportMixin, CentreModel):
    """A model fitted to all of the data, pass by pass. A subclass has parameters, a plan and a method."""

    _method: ClassVar[Any]
    """Does what a plan says: ``fitting.fit.fit`` or ``trees.bisecting.grow``, as a static method."""

    def _plan(self, shape: Shape, init: Any) -> Plan | TreePlan:
        """The plan for data of this shape."""
        raise NotImplementedError

    def _check(self, X: Matrix, weights: np.ndarray | None) -> str | np.ndarray:
        """Refuse parameters that do not suit the data; returns the start, checked."""
        return getattr(self, "init", "random-labels")

    # ---------------------------------------------------------------------------------------- fitting
    @with_callbacks
    def fit(self, X, y=None, sample_weight=None, **constraints):
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like or CSR array of shape (n, d), or data in parts
            C-ordered NumPy arrays of float32 and float64 are used without a copy; uint8, int8, int16, uint16, float16
            and bool are converted to float32 a few rows at a time, also from a memory map. pandas and polars data
            frames, PyArrow tables and CPU tensors are accepted. ``KSums`` clusters arrays on a CUDA device there (see
            ``device``). It also takes what need not fit into memory: the name of a file, a folder or a pattern such as
            ``"vectors/*.parquet"``, a list of such names or of arrays, a function that yields arrays, or a source of
            :func:`ksums.io.open_source`.
        y : ignored
        sample_weight : array-like of shape (n,), default=None
            A row of weight w counts as w rows that move together; a row of weight 0 only gets a label.
        **constraints
            Refused: links and fixed labels are for :class:`~ksums.KSums`.

        Returns
        -------
        self
        """
        refuse_constraints(self, constraints)
        return self._fit(X, y, sample_weight, Links())

    def _fit(self, X: Any, y: Any, sample_weight: Any, links: Links) -> Any:
        """The frame of ``fit``."""
        if is_on_card(X) or getattr(self, "device", None) is not None:
            moved = self._fit_on_card(X, sample_weight, links)
            if moved is None:
                return self
            X = moved
        if is_source(X):
            refuse_links(self, links, "data in parts")
            return self._fit_source(X, sample_weight)
        started = time.perf_counter()
        check_parameters(self)
        protocol, functions = check_callbacks(type(self).__name__, self.callbacks)
        X, weights, rows, init, plan, constraints, units = self._prepare(X, sample_weight, links)
        wants_checkpoint = getattr(self, "checkpoint", None) is not None
        facts = facts_of_rows(X, weights, init, constraints, units) if wants_checkpoint else {}
        seeds, file = seeds_and_checkpoint(self, plan.runs, facts)

        def attributes_of(run: Any) -> dict[str, Any]:
            return self._attributes_of(X, weights, run, plan, units)

        context = callback_context(self, protocol, plan.runs if plan.runs > 1 else plan.most_records)
        data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        with (
            computing(self.n_threads),
            Listening(self, context, data, functions, attributes_of, plan) as listener,
        ):
            job = Job(
                rows,
                plan,
                listener,
                Budget.of(plan.seconds, plan.runs, started),
                init if isinstance(init, np.ndarray) else None,
                constraints,
                checkpoint=None if file is None else FitCheckpoint(file, plan.k),
            )
            run = self._method(job, seeds)
        self.__dict__.update(attributes_of(run))
        self._warn_of_the_end(run, distinct_clusters(X, self.labels_, self.metric, self.distortion_))
        return self

    def _fit_on_card(self, X: Any, sample_weight: Any, links: Links) -> Any:
        """Fit on a graphics card; returns rows that are to be clustered on the CPU instead, if there are any."""
        raise TypeError(
            f"{type(self).__name__}: X is on a CUDA device, where KSums fits and no other estimator does; pass X.cpu()."
        )

    def _fit_source(self, X: Any, sample_weight: Any) -> Any:
        raise TypeError(
            f"{type(self).__name__}: X must be an array; got {type(X).__name__}. Data in several files or arrays is "
            "for KSums; read a single file with ksums.io.read_rows."
        )

    def plan_for(self, X, sample_weight=None):
        """What ``fit`` would do with these rows, without fitting: the ``plan_`` of the model.

        Parameters
        ----------
        X : array-like or CSR array of shape (n, d)
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        Plan
            A frozen record. Printed, it is a few lines of text; its ``summary`` is one line.
        """
        asked = clone(self)  # nothing of the data is remembered
        check_parameters(asked)
        if is_on_card(X) or getattr(asked, "device", None) not in (None, "cpu"):
            return self._on_card().plan_for(asked, X, sample_weight)
        return asked._prepare(X, sample_weight, Links(), warn=False).plan

    def _prepare(self, X: Any, sample_weight: Any, links: Links, warn: bool = True) -> Prepared:
        """Check the data, and plan."""
        X = checking.check_rows(self, X, reset=True)
        n, k = X.shape[0], int(self.n_clusters)
        checking.check_enough_rows(self, n, n, k)
        weights = checking.check_weights(self, sample_weight, n)
        init = self._check(X, weights)
        with computing(self.n_threads) as threads:
            rows = prepare(X, self.metric, weights)
        checking.check_enough_rows(self, n, rows.n_active, k)
        if self.metric == "cosine":
            checking.check_directions(self, _zero_rows(rows))
        if warn:
            self._warn_of_zero_rows(rows)
        prepared = rows
        checked = check_constraints(self, X, weights, lambda: prepared.active, links)
        units = checked.units
        centres = centres_in(checked, rows, self.metric)
        if units is not None:
            if isinstance(init, np.ndarray):
                init = init_of_units(init, rows, units)
            rows = rows_of_units(rows, units)
        constraints = constraints_for(checked, rows, centres, self)
        shape = Shape(
            rows.n_active,
            rows.d,
            k,
            rows.dtype.name,
            rows.is_sparse,
            rows.weights is not None,
            () if constraints is None else constraints.kinds,
            free_memory(),
            threads,
        )
        plan = self._plan(shape, init)
        if units is not None and isinstance(plan, Plan):
            together = f"rows that must share a cluster move as one: {n:,} rows are {rows.n:,}"
            plan = replace(plan, notes=(*plan.notes, together))
        return Prepared(X, weights, rows, init, plan, constraints, units)

    def _seeds(self, count: int) -> list[int]:
        return seeds_for(self.random_state, count)

    def _attributes_of(
        self, X: Matrix, weights: np.ndarray | None, run: Any, plan: Plan | TreePlan, units: np.ndarray | None = None
    ) -> dict[str, Any]:
        """Fitted attributes, computed from the data and the labels."""
        k, labels = run.k, run.labels.copy() if units is None else run.labels[units]
        measures = measure_clusters(X, labels, k, self.metric, weights)
        found = measured_attributes(run, measures, plan, arithmetic_of(X), weighted=weights is not None)
        found |= self._more_attributes_of(run, measures, plan)
        if weights is not None and (idle := np.flatnonzero(weights == 0)).size:
            labels[idle] = self._nearest(X, idle, found["cluster_centers_"])
        return {"labels_": labels, **found}

    def _more_attributes_of(self, run: Any, measures: ClusterMeasures, plan: Any) -> dict[str, Any]:
        return {}

    # ---------------------------------------------------------------------------------------- warnings
    def _warn_of_zero_rows(self, rows: Rows) -> None:
        if self.metric == "cosine":
            checking.warn_of_zero_rows(_zero_rows(rows))

    def _warn_of_the_end(self, run: Any, distinct: int) -> None:
        """Say that a fit was interrupted, or that only this many clusters differ."""
        if run.interrupted:
            warnings.warn(self._interrupted(run), FitInterrupted, stacklevel=4)
        checking.warn_of_equal_clusters(distinct, run.k, stacklevel=4)

    def _interrupted(self, run: Any) -> str:
        passes = passes_of(run.records)
        return f"The fit was interrupted after {passes} passes; the model holds the best labels found so far."


def _zero_rows(rows: Rows) -> np.ndarray:
    """Rows without a direction."""
    return np.flatnonzero(rows.sq_norms == 0)
