"""What all estimators that fit labels to data share: the frame of ``fit``, the attributes, ``predict`` and the like."""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.callback import CallbackContext, CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import cosine_distances, euclidean_distances
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ksums import saving, validation
from ksums.computing import computing
from ksums.drivers import Driver
from ksums.engines import nearest_centres
from ksums.estimators._listening import Listening, check_callbacks
from ksums.history import passes_of
from ksums.interruption import FitInterrupted
from ksums.metrics import ClusterSums, cluster_sums, distinct_clusters, sq_distances, unit_rows
from ksums.parameters import check_parameters
from ksums.plan import Listener, Run
from ksums.rows import Rows, prepare, prepare_for
from ksums.typing import Matrix, arithmetic_of

_ROWS_AT_A_TIME = 4096


class Task(NamedTuple):
    """What a run needs besides the data and the estimator's parameters."""

    started: float  # by time.perf_counter()
    init: Any  # what ``_check`` made of the parameter
    seeds: list[int]  # one for each run
    n_threads: int
    listener: Listener


class Centred(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """What can be asked of a model that has ``cluster_centers_``."""

    def predict(self, X):
        """Index of the nearest centre (under cosine: of the centre of nearest direction) for each row.

        On the training rows this may differ from ``labels_`` for a few samples on a border.
        """
        X = self._check_new(X)
        with computing(self.n_threads) as n_threads:
            return self._nearest(X, np.arange(X.shape[0]), self.cluster_centers_, n_threads)

    def _nearest(self, X: Matrix, ids: np.ndarray, centres: np.ndarray, n_threads: int) -> np.ndarray:
        rows, centres, sq_centres = prepare_for(X, centres, self.metric)
        return nearest_centres(rows, ids, centres, sq_centres, n_threads)

    def transform(self, X):
        """Distances (n, k) to the centres: Euclidean, or one minus the cosine."""
        return self._distances(self._check_new(X), self.cluster_centers_)

    def _distances(self, X: Matrix, centres: np.ndarray) -> np.ndarray:
        rows, centres, _ = prepare_for(X, centres, self.metric)
        distances = np.empty((X.shape[0], len(centres)), arithmetic_of(X))
        of = cosine_distances if self.metric == "cosine" else euclidean_distances
        for ids in rows.blocks_of(rows.pulling):
            distances[ids] = of(rows.read(ids), centres.astype(rows.dtype))
        distances /= rows.scales[0]
        return distances

    def score(self, X, y=None, sample_weight=None):
        """Minus the sum of squared distances of the rows to their nearest centres: higher is better."""
        X = self._check_new(X)
        weights = validation.check_weights(self, sample_weight, X.shape[0])
        with computing(self.n_threads) as n_threads:
            labels = self._nearest(X, np.arange(X.shape[0]), self.cluster_centers_, n_threads)
        centres, total = self.cluster_centers_.astype(np.float64), 0.0
        for first in range(0, X.shape[0], _ROWS_AT_A_TIME):
            part = slice(first, first + _ROWS_AT_A_TIME)
            block = unit_rows(X[part]) if self.metric == "cosine" else X[part].astype(np.float64)
            distances = sq_distances(block, centres, labels[part])
            total += float(distances.sum() if weights is None else distances @ weights[part])
        return -total

    def save(self, path):
        """Write the fitted model to a file, whole or not at all; :func:`ksums.load` reads it.

        Arrays are in the safetensors format, all else in its header as JSON: parameters (callbacks, and random
        generators that are objects, are left out), measures, the records of the passes, a fingerprint of the data.

        Parameters
        ----------
        path : str or Path
        """
        check_is_fitted(self)
        saving.write(path, self)

    def _check_new(self, X) -> Matrix:
        check_is_fitted(self)
        return validation.check_rows(self, X, reset=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class Clusterer(CallbackSupportMixin, Centred):
    """A model fitted to all of the data, pass by pass. A subclass has parameters, a driver and ``_run``."""

    def _driver(self) -> Driver:
        """The driven function behind the parameters."""
        raise NotImplementedError

    def _run(self, rows: Rows, task: Task) -> Run:
        raise NotImplementedError

    def _check(self, X: Matrix, weights: np.ndarray | None) -> str | np.ndarray:
        """Refuse parameters that do not suit the data; gives the start, as checked."""
        return getattr(self, "init", "random-labels")

    def _runs(self, X: Matrix) -> int:
        """Number of runs of which the best is kept."""
        return int(self.n_init)

    def _records(self) -> int:
        """The most records that a run can leave."""
        return int(self.max_iter)

    # ---------------------------------------------------------------------------------------- fitting
    @with_callbacks
    def fit(self, X, y=None, sample_weight=None):
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like or CSR array of shape (n, d)
            NumPy arrays of float32 and float64 in C order are used as they are; uint8, int8, int16, uint16,
            float16 and bool are converted to float32 a few rows at a time, also from a memory map. Data frames of
            pandas and polars, PyArrow tables and CPU tensors are accepted.
        y : ignored
        sample_weight : array-like of shape (n,), default=None
            A row of weight w counts as w rows that move together; a row of weight 0 only gets a label.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        check_parameters(self)
        protocol, functions = check_callbacks(type(self).__name__, self.callbacks)
        X = validation.check_rows(self, X, reset=True)
        n, k = X.shape[0], int(self.n_clusters)
        validation.check_enough_rows(self, n, n, k)
        weights = validation.check_weights(self, sample_weight, n)
        init = self._check(X, weights)
        with computing(self.n_threads):
            rows = prepare(X, self.metric, weights)
        validation.check_enough_rows(self, n, len(rows.pulling), k)
        self._look_at_rows_without_direction(rows)

        def attributes_of(run: Run) -> dict[str, Any]:
            return self._attributes_of(X, weights, run)

        runs, records = self._runs(X), self._records()
        context = self._context(protocol, runs if runs > 1 else records)
        data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        with (
            computing(self.n_threads) as n_threads,
            Listening(self, context, data, functions, attributes_of, runs, records) as listener,
        ):
            run = self._run(rows, Task(started, init, self._seeds(runs), n_threads, listener))
        self.__dict__.update(attributes_of(run))
        self._warn_of_the_end(run, X)
        return self

    def _seeds(self, count: int) -> list[int]:
        if isinstance(self.random_state, np.random.Generator):
            return self.random_state.integers(2**31, size=count).tolist()
        return check_random_state(self.random_state).randint(2**31 - 1, size=count).tolist()

    def _context(self, protocol: list[Any], subtasks: int) -> CallbackContext:
        """The root task, with the callbacks of the parameter beside those of ``set_callbacks``."""
        before = self.__dict__.get("_skl_callbacks")
        if protocol:
            self._skl_callbacks = [*(before or []), *protocol]
        try:
            return self._init_callback_context(max_subtasks=subtasks)
        finally:
            if before is not None:
                self._skl_callbacks = before
            else:
                self.__dict__.pop("_skl_callbacks", None)

    def _attributes_of(self, X: Matrix, weights: np.ndarray | None, run: Run) -> dict[str, Any]:
        """Fitted attributes, computed anew from the data and the labels."""
        k, labels = run.k, run.labels.copy()
        sums = cluster_sums(X, labels, k, self.metric, weights)
        centres = sums.centres.astype(arithmetic_of(X))
        if weights is not None and (idle := np.flatnonzero(weights == 0)).size:
            labels[idle] = self._nearest(X, idle, centres, 1)
        return {
            "labels_": labels,
            "cluster_centers_": centres,
            "composites_": sums.composites,
            "sizes_": sums.sizes if weights is not None else sums.sizes.astype(np.int64),
            "distortion_": sums.distortion,
            "pairwise_": sums.pairwise,
            "inertia_": float(sums.within.sum()),
            "objective_": sums.objective(self._driver().objective),
            "n_iter_": passes_of(run.records),
            "converged_": run.converged,
            "history_": list(run.records),
            "_n_features_out": k,
            **self._more_attributes_of(run, sums),
        }

    def _more_attributes_of(self, run: Run, sums: ClusterSums) -> dict[str, Any]:
        return {}

    # ---------------------------------------------------------------------------------------- warnings
    def _look_at_rows_without_direction(self, rows: Rows) -> None:
        if self.metric != "cosine":
            return
        empty = np.flatnonzero(rows.sq_norms == 0)
        validation.check_directions(self, empty)
        validation.warn_of_rows_without_direction(empty)

    def _warn_of_the_end(self, run: Run, X: Matrix) -> None:
        if run.interrupted:
            warnings.warn(self._interrupted(run), FitInterrupted, stacklevel=4)
        distinct = distinct_clusters(X, self.labels_, self.metric, self.distortion_)
        if distinct < run.k:
            warnings.warn(
                f"Number of distinct clusters ({distinct}) found smaller than n_clusters ({self.n_clusters}). "
                "Possibly due to duplicate points in X: some clusters hold copies of the same row.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _interrupted(self, run: Run) -> str:
        passes = passes_of(run.records)
        return f"The fit was interrupted after {passes} passes; the model holds the best labels found so far."
