"""``PairwiseKSums``: clusters of anything between which there is a distance."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from ksums.checking import data as checking
from ksums.checking import distances as checking_distances
from ksums.checking.options import check_option
from ksums.checking.sizes import check_sizes
from ksums.compute.arrays import blocks
from ksums.compute.machine import free_memory
from ksums.compute.threads import computing, threads
from ksums.estimators.callbacks import check_callbacks
from ksums.estimators.partitions import attributes_of_run, fit_by_moves
from ksums.method.fitting.partitions import PartitionJob, fit_partition
from ksums.models.files import save
from ksums.models.registry import register
from ksums.planning.partitions import plan_distances
from ksums.planning.plan import PartitionPlan
from ksums.planning.shape import Shape
from ksums.tables.columns import is_table

_BLOCK = 1024
"""Rows whose distances ``predict`` computes at a time."""

_PAIRS_IN_BOTH_ORDERS = 64
"""Pairs of samples for which a function is asked whether their order matters; with fewer samples, one for each."""


class _Prepared(NamedTuple):
    """Checked distances of the samples that count, with the plan of their fit."""

    square: np.ndarray  # (n, n)  of all samples
    weights: np.ndarray | None  # (n,)
    active: np.ndarray  # numbers of the samples that count
    distances: Any  # method.pairs.distances.Distances of these
    limits: Any  # method.pairs.partition.Limits or None
    plan: PartitionPlan


class PairwiseKSums(CallbackSupportMixin, ClusterMixin, BaseEstimator):
    """k-sums clustering by distances alone: of rows, strings, sets, series, or of a matrix of distances.

    One sample at a time moves to the cluster where that lowers the objective most, as in :class:`~ksums.KSums`, but
    nothing is averaged: for each sample the sum of its distances to the members of each cluster is kept. So any
    distance will do. The matrix of distances takes 4 n² bytes (1.6 GB for 20,000 samples), and a move n steps.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k. No cluster is ever empty.

    metric : str or callable, default="euclidean"
        ``"precomputed"``: X is a square matrix of distances, a condensed vector as of
        :func:`scipy.spatial.distance.pdist`, or a memory map of a square matrix. A name: any metric of
        :mod:`scipy.spatial.distance` and of :func:`sklearn.metrics.pairwise_distances`; with ``"sqeuclidean"`` the
        objective ``"distortion"`` is that of k-means. A function of two samples: it is called once for each pair, and
        must be symmetric and not negative.

    metric_params : dict, default=None
        Further arguments of the metric.

    objective : {"distortion", "pairwise"}, default="distortion"
        What to minimise. ``"distortion"``: the sum over the clusters of (sum of the distances of all pairs) / size,
        divided by n; for squared Euclidean distances this is E_m (the paper's I_m). ``"pairwise"``: the sum of the
        distances of all pairs within clusters, divided by n (E_s, I_s); it favours clusters of equal size.

    effort : {"low", "default", "high"} or float, default="default"
        How much annealing and merge–split search there is; a number is a time limit in seconds, until which the search
        goes on (two clusters leave nothing to search).

    n_init : int, default=1
        Least number of runs from different starts, of which the best is kept. Two clusters are started up to eight
        times in any case: ``plan_`` says how often.

    max_iter : int, default=300
        Most passes of a run, without the search.

    time_budget : float, default=None
        Seconds after which the fit ends with the best labels found so far. The distances are always computed.

    size_min, size_max : float, default=None
        Limits on the number of samples in a cluster; ``size_max="balanced"`` divides them evenly. Samples then change
        places, too, which takes n² steps for each pass. Not together with ``sample_weight``.

    polish : {"medoids"} or None, default=None
        ``"medoids"`` minimises another objective at the end, from the clusters that were found: the mean distance of
        the samples to the nearest medoid. Medoids are swapped with other samples until no swap helps, and each sample
        gets its nearest one. For results that are measured by medoids; the distances within clusters become larger.

    predict_by : {"members", "medoids"}, default=None
        How ``predict`` finds a cluster: by the distances to all samples of the data, or only to the k medoids, which
        is faster. None: by medoids after ``polish="medoids"``, otherwise by members.

    engine : {"auto", "exact", "reference"}, default="auto"
        ``"reference"`` is the same in plain NumPy, slow, for checking; without limits on sizes.

    n_jobs : int, default=None
        Processes in which a function as ``metric`` is called; −1: as many as there are cores. None: one.

    n_threads : int, default=None
        Most threads to use for everything else; None: all cores this process may use (``NUMBA_NUM_THREADS``). Labels
        do not depend on it.

    random_state : int, RandomState, Generator or None, default=None
        An int makes the result repeatable.

    callbacks : list, default=None
        Each is a function called with the :class:`~ksums.PassRecord` of each pass, which may return True to stop the
        run, or follows scikit-learn's callback protocol. ``set_callbacks`` works too.

    verbose : int, default=0
        1: the plan, then a progress bar on a terminal or in a notebook, elsewhere a plain line every second. 2: a line
        for each pass.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each sample.
    medoid_indices_ : ndarray of shape (k,)
        Of each cluster, the sample with the least sum of distances to the others.
    sizes_ : ndarray of shape (k,)
        Number of samples n_r, or sum of weights.
    distortion_, pairwise_ : float
        Both objectives, computed in float64 from the distances and ``labels_``.
    objective_ : float
        What was minimised: one of the two. With ``polish="medoids"`` the mean distance to the nearest medoid.
    n_iter_ : int
        Passes of the run that was kept, without the search.
    converged_ : bool
        Whether that run ended because nothing moved.
    history_ : list of PassRecord
        One record for each pass of that run, and one for the merge–split search.
    plan_ : PartitionPlan
        What the fit did. Print it; ``plan_for(X)`` gives it without fitting.
    n_features_in_, feature_names_in_
        As in scikit-learn; not set for samples that are not rows of an array.

    Examples
    --------
    >>> from ksums import PairwiseKSums
    >>> words = ["anna", "hanna", "ana", "robert", "roberto", "rupert"]
    >>> def unlike(a, b):
    ...     return len(set(a) ^ set(b))
    >>> model = PairwiseKSums(n_clusters=2, metric=unlike, random_state=0).fit(words)
    >>> sorted(words[i] for i in model.medoid_indices_)
    ['anna', 'robert']
    >>> bool(model.predict(["johanna"])[0] == model.labels_[0])
    True
    """

    def __init__(
        self,
        n_clusters=8,
        *,
        metric="euclidean",
        metric_params=None,
        objective="distortion",
        effort="default",
        n_init=1,
        max_iter=300,
        time_budget=None,
        size_min=None,
        size_max=None,
        polish=None,
        predict_by=None,
        engine="auto",
        n_jobs=None,
        n_threads=None,
        random_state=None,
        callbacks=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.metric_params = metric_params
        self.objective = objective
        self.effort = effort
        self.n_init = n_init
        self.max_iter = max_iter
        self.time_budget = time_budget
        self.size_min = size_min
        self.size_max = size_max
        self.polish = polish
        self.predict_by = predict_by
        self.engine = engine
        self.n_jobs = n_jobs
        self.n_threads = n_threads
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    # ---------------------------------------------------------------------------------------- fitting
    @with_callbacks
    def fit(self, X, y=None, sample_weight=None):
        """Cluster samples by their distances.

        Parameters
        ----------
        X : array-like or CSR array of shape (n, d), sequence of n samples, or distances
            With a function as ``metric`` a sequence of anything: strings, sets, arrays of different lengths; it gets
            two of them (of an array: two rows). With ``metric="precomputed"`` distances of shape (n, n) or
            (n (n − 1) / 2,); matrices of float32 and float64, also memory maps, are used without a copy.
        y : ignored
        sample_weight : array-like of shape (n,), default=None
            A sample of weight w counts as w samples that move together; one of weight 0 only gets a label.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        checking_distances.check_distance_parameters(self)
        check_callbacks(type(self).__name__, self.callbacks)  # before distances are computed, which may take long
        with computing(self.n_threads):
            prepared = self._prepare(X, sample_weight)
        plan = prepared.plan
        from ksums.method.pairs.starts import start  # Numba is loaded by the first fit, not by the import

        def first(rng: np.random.Generator) -> Any:
            return start(prepared.distances, plan.k, plan.objective, prepared.limits, rng, self._engine())

        fit_by_moves(
            self,
            {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}},
            plan,
            started,
            lambda listener, budget, seeds: fit_partition(PartitionJob(first, plan, listener, budget), seeds),
            lambda run: self._attributes_of(prepared, run),
        )
        self._warn_of_duplicates(prepared.square)
        return self

    def plan_for(self, X, sample_weight=None):
        """What ``fit`` would do with these samples, without fitting or computing distances.

        Parameters
        ----------
        X : as in ``fit``
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        PartitionPlan
            A frozen record. Printed, it is a few lines of text; its ``summary`` is one line.
        """
        checking_distances.check_distance_parameters(self)
        n, dtype = X.shape[0] if hasattr(X, "shape") else len(X), np.dtype(np.float32)
        if self.metric == "precomputed" and np.ndim(X) == 1:
            n = round((1 + np.sqrt(1 + 8 * n)) / 2)
        if self.metric == "precomputed":
            dtype = np.asarray(X).dtype
        weights = checking.check_weights(self, sample_weight, n)
        checking.check_enough_rows(self, n, n, int(self.n_clusters))
        return self._plan(n, dtype, n if weights is None else int((weights > 0).sum()), weights is not None)

    def _engine(self) -> str:
        return "exact" if self.engine == "auto" else self.engine

    def _plan(self, n: int, dtype: np.dtype[Any], active: int, weighted: bool) -> PartitionPlan:
        limited = self.size_min is not None or self.size_max is not None
        shape = Shape(
            active,
            n,
            int(self.n_clusters),
            dtype.name,
            weighted=weighted,
            constraints=("limits on sizes",) if limited else (),
            memory=free_memory(),
            threads=threads(),
        )
        size = n * n * dtype.itemsize / 1e6
        notes = [
            f"the distances between {n:,} samples take {f'{size / 1e3:.1f} GB' if size >= 1e3 else f'{size:.2g} MB'}"
        ]
        if self.polish is not None:
            notes.append("then medoids are swapped with other samples until no swap helps")
        return plan_distances(self.get_params(deep=False), shape, tuple(notes))

    def _prepare(self, X: Any, sample_weight: Any) -> _Prepared:
        """Check the samples, compute their distances, and plan."""
        from ksums.method.pairs.distances import Distances, without_weights
        from ksums.method.pairs.partition import Limits

        square = self._square(X)
        n, k = len(square), int(self.n_clusters)
        weights = checking.check_weights(self, sample_weight, n)
        active = np.arange(n) if weights is None else np.flatnonzero(weights > 0)
        checking.check_enough_rows(self, n, len(active), k)
        checking_distances.check_unweighted_limits(self, weights)
        low, high = check_sizes(self, np.ones(n), weighted=False)
        distances = without_weights(square) if weights is None else Distances(square, weights)
        if len(active) < n:
            checking_distances.check_memory(self, len(active), square.itemsize, free_memory())
            distances = distances.take(active)
        limits = None if low is None or high is None else Limits(low, high)
        plan = self._plan(n, square.dtype, len(active), weights is not None)
        return _Prepared(square, weights, active, distances, limits, plan)

    def _square(self, X: Any) -> np.ndarray:
        """(n, n) The distances between all samples, checked. What ``predict`` needs of the samples is kept."""
        from ksums.method.pairs.distances import faults_of, first_where
        from ksums.method.pairs.metrics import all_pairs, metric_for, mirrored

        free = free_memory()
        for name in ("_fit_X", "_metric", "n_features_in_", "feature_names_in_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if self.metric == "precomputed":
            square = checking_distances.as_square(self, X, free)
            self.n_features_in_ = len(square)
        else:
            samples = self._samples(X, reset=True)
            n = samples.shape[0] if hasattr(samples, "shape") else len(samples)
            checking.check_enough_rows(self, n, n, int(self.n_clusters))
            checking_distances.check_memory(self, n, np.dtype(np.float32).itemsize, free)
            self._fit_X, self._metric = samples, metric_for(self.metric, self.metric_params, samples)
            checking_distances.check_options_of_metric(self, self._metric, samples)
            self._check_order(samples, n)
            square = all_pairs(self._metric, samples, self.n_jobs)
        if checking_distances.check_faults(
            self, square, faults_of(square, checking_distances.SYMMETRIC), first_where
        ):  # rounding: every move is exact only if both halves are the same
            checking_distances.check_memory(self, len(square), square.itemsize, free)
            given = square
            square = mirrored(len(given), given.dtype, lambda part: given[part, part.start :].clip(0))
        return square

    def _check_order(self, samples: Any, n: int) -> None:
        """Some pairs of samples in both orders, since a function is called with one order only."""
        if callable(self.metric):
            for i, j in np.random.default_rng(0).integers(n, size=(min(n, _PAIRS_IN_BOTH_ORDERS), 2)):
                pair = [self._metric.between(samples[a : a + 1], samples[b : b + 1])[0, 0] for a, b in ((i, j), (j, i))]
                checking_distances.check_symmetric_callable(self, pair[0], pair[1], i, j)

    def _samples(self, X: Any, *, reset: bool) -> Any:
        """Rows as a checked array, or for a function as ``metric`` any samples as a list."""
        if callable(self.metric):
            if is_table(X):
                validate_data(self, X, reset=reset, skip_check_array=True)  # the names of the columns
                return nw.from_native(X, eager_only=True).to_numpy()
            if getattr(X, "ndim", 0) != 2:
                return list(X)
            return validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)
        if self.metric == "nan_euclidean":
            return validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
        rows = checking.check_rows(self, X, reset=reset)
        checking_distances.check_metric_of_rows(self, rows)
        return rows

    def _attributes_of(self, prepared: _Prepared, run: Any) -> dict[str, Any]:
        """Fitted attributes, computed from the distances and the labels."""
        from ksums.method.pairs.medoids import improved_medoids, medoids_of
        from ksums.method.pairs.partition import DistancePartition, join_costs

        k, distances = run.k, prepared.distances
        with computing(self.n_threads):
            partition = DistancePartition(distances, run.labels, k, self.objective)
        medoids, labels = medoids_of(partition), partition.labels
        measures, of_medoids = partition.measures(), None
        if self.polish is not None:
            medoids, labels = improved_medoids(distances, medoids)
            partition = DistancePartition(distances, labels, k, self.objective)
            measures = partition.measures()
            to_own = distances.square[medoids[labels], np.arange(len(labels))].astype(np.float64)
            of_medoids = float(np.average(to_own, weights=distances.weights if len(distances.weights) else None))
        weights = np.zeros(0) if prepared.weights is None else prepared.weights
        everyone = np.zeros(len(prepared.square), np.int32)
        everyone[prepared.active] = labels
        idle = np.setdiff1d(np.arange(len(everyone)), prepared.active, assume_unique=True)
        if len(idle):
            state, rows = partition.state, prepared.square[idle]
            costs = (
                join_costs(rows, weights, everyone, state.pairs, state.sizes, self.objective)
                if self.polish is None
                else rows[:, prepared.active[medoids]]
            )
            everyone[idle] = costs.argmin(axis=1)
        return {
            "labels_": everyone,
            "medoid_indices_": prepared.active[medoids],
            "sizes_": partition.sizes if len(weights) else partition.state.counts,
            "distortion_": measures.distortion,
            "pairwise_": measures.pairwise,
            "objective_": measures.objective if of_medoids is None else of_medoids,
            **attributes_of_run(run),
            "_fit_weights": weights,
            "_fit_pairs": partition.state.pairs,
        }

    def _warn_of_duplicates(self, square: np.ndarray) -> None:
        """Say that only some clusters differ: two of them do not if all of their samples lie at the same place."""
        same, points = square[np.ix_(self.medoid_indices_, self.medoid_indices_)] == 0, self._fit_pairs == 0
        distinct = int((~np.tril(same & points & points[:, None], -1).any(axis=1)).sum())
        checking.warn_of_equal_clusters(distinct, self.n_clusters, stacklevel=4)

    # ---------------------------------------------------------------------------------------- predicting
    def predict(self, X, *, by=None):
        """Cluster of each new sample.

        By members it is the cluster that the sample would join at the least cost: for the objective ``"distortion"``
        the one with the least (S − P / m) / m, where S is the sum of its distances to the m members and P the sum over
        the pairs of members (for squared Euclidean distances, the nearest centroid); for ``"pairwise"`` the one with
        the least S. For samples of the data this is their label, if the fit converged and the distance is a metric.

        Parameters
        ----------
        X : array-like or CSR array of shape (m, d), or sequence of m samples
            With ``metric="precomputed"`` the distances (m, n) to the n samples of the data.
        by : {"members", "medoids"}, default=None
            ``"medoids"``: the nearest medoid. None: as ``predict_by`` of the model says.

        Returns
        -------
        labels : ndarray of shape (m,)
        """
        check_is_fitted(self)
        by = by or self.predict_by or ("members" if self.polish is None else "medoids")
        check_option(self, "by", by, ("members", "medoids"))
        from ksums.method.pairs.partition import join_costs

        if self.metric == "precomputed":
            X = checking_distances.check_new_distances(self, X, len(self.labels_))
        else:
            X = self._samples(X, reset=False)
        m = X.shape[0] if hasattr(X, "shape") else len(X)
        labels = np.empty(m, np.int32)
        with computing(self.n_threads):
            for part in blocks(m, _BLOCK):
                if by == "medoids":
                    labels[part] = self._distances(X[part], self.medoid_indices_).argmin(axis=1)
                    continue
                rows = self._distances(X[part], None)
                costs = join_costs(
                    rows, self._fit_weights, self.labels_, self._fit_pairs, self.sizes_.astype(float), self.objective
                )
                labels[part] = costs.argmin(axis=1)
        return labels

    def _distances(self, new: Any, to: np.ndarray | None) -> np.ndarray:
        """Distances from new samples to some samples of the data, or to all."""
        if self.metric == "precomputed":
            return new if to is None else new[:, to]
        if to is None:
            known = self._fit_X
        else:
            known = [self._fit_X[i] for i in to] if isinstance(self._fit_X, list) else self._fit_X[to]
        if not hasattr(self, "_metric"):  # the model comes from a file
            from ksums.method.pairs.metrics import metric_for

            self._metric = metric_for(self.metric, self.metric_params, self._fit_X)
        return self._metric.between(new, known)

    def save(self, path):
        """Write the fitted model to a file; :func:`ksums.load` reads it. A function as ``metric`` is refused.

        The file holds the rows of the fit, if there are any, because ``predict`` needs them.
        """
        save(self, path)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.sparse = self.metric in ("cityblock", "cosine", "euclidean", "l1", "l2", "manhattan")
        return tags


register(PairwiseKSums)
