"""``KSums``: Algorithm 1 of the paper as a scikit-learn estimator."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.callback import CallbackContext, CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import cosine_distances, euclidean_distances
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ksums import validation
from ksums.computing import computing
from ksums.drivers import driver_for
from ksums.engines import nearest_centres
from ksums.estimators._listening import Listening, check_callbacks
from ksums.fitting import Plan, Run, fit
from ksums.metrics import cluster_sums, distinct_clusters, sq_distances, unit_rows
from ksums.rows import Rows, prepare, prepare_for
from ksums.seeding import limits_for
from ksums.typing import Matrix, arithmetic_of

_ROWS_AT_A_TIME = 4096


class KSums(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """k-sums clustering: one sample at a time moves to the cluster that suits it best.

    Takes the place of :class:`sklearn.cluster.KMeans`. Where k-means assigns all samples and then updates all
    centroids, k-sums updates the two clusters concerned (their sums D_r and sizes n_r) at every single move,
    and thereby ends in better optima. See Zhao et al., *k-sums: another side of k-means*.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k. No cluster is ever empty.

    objective : {"distortion", "pairwise"}, default="distortion"
        What to bring down. ``"distortion"`` is E_m (the paper's I_m): the mean squared distance to the own
        centroid, k-means' own objective. ``"pairwise"`` is E_s (I_s): the sum of squared distances of all pairs
        within clusters, which favours clusters of equal size.

    metric : {"l2", "cosine"}, default="l2"
        ``"cosine"`` looks at directions only: rows are scaled to unit length as they are read. Rows of zeros
        have none; they get the label 0, as from ``predict``, and pull no cluster.

    rule : {"auto", "paper", "released", "hartigan", "online"} or float, default="auto"
        When a sample moves, for ``objective="distortion"``. ``"hartigan"``: when E_m falls. ``"paper"``: when
        the sample gets closer to the centroid it would join, itself counted in. ``"released"``: the same, its
        own centroid measured without it, as in the authors' code; this moves more, often ends lower and need not
        settle. ``"online"``: when another centroid is closer. A float p is a relaxation: 1 is ``"hartigan"``,
        2 is ``"released"``. ``"auto"`` is ``"hartigan"`` for l2 and ``"paper"`` for cosine, where ``"paper"``
        compares directions and every other rule is that of l2 on the unit rows.

    init : {"auto", "random-labels", "k-means++", "random-points"} or array, default="auto"
        The start. ``"random-labels"`` is the paper's. ``"k-means++"`` seeds from all rows. ``"auto"`` takes
        k-means++ on a sample (5000 rows, or 10 per cluster if that is more) up to k = 1000, and random points
        above. An array is labels of shape (n,) or centres of shape (k, d).

    n_init : int, default=1
        Number of runs from different starts; the one with the lowest objective is kept.

    max_iter : int, default=100
        Most passes over the data in a run.

    tol : float, default=1e-5
        A run ends when the objective has fallen by no more than this, relatively, in the last pass (in the last
        three for rules that may also go up). 0: only when no sample moves.

    time_budget : float, default=None
        Seconds after which the fit stops, in the middle of a pass if need be, with the best found. The start is
        always made: it is not cut short. Results then depend on the machine.

    size_min, size_max : float, default=None
        Hard limits on the size of each cluster: number of samples, or sum of weights. Where a limit keeps a sample
        from moving, it may change places with another.

    engine : {"auto", "exact", "reference"}, default="auto"
        ``"exact"`` is Algorithm 1, compiled. ``"reference"`` is Algorithm 1 in plain NumPy, slow, for checking.

    n_threads : int, default=None
        Most threads to use; None: all cores this process may use (``NUMBA_NUM_THREADS``). Labels do not depend on it.

    random_state : int, RandomState, Generator or None, default=None
        Makes the result repeatable.

    callbacks : list, default=None
        Each is a function called with the :class:`~ksums.PassRecord` of each pass, which may return True to stop
        the run, or follows scikit-learn's callback protocol. ``set_callbacks`` works too.

    verbose : int, default=0
        1: a progress bar on a terminal or in a notebook, plain lines elsewhere. 2: plain lines.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each sample, from reallocation. ``predict`` goes by the nearest centre and may differ for a
        few samples on a border.
    cluster_centers_ : ndarray of shape (k, d)
        Means of the clusters; under cosine, means of the unit rows.
    composites_ : ndarray of shape (k, d)
        Sums D_r of the clusters, in float64.
    sizes_ : ndarray of shape (k,)
        Number of samples n_r, or sum of weights.
    inertia_ : float
        Sum of squared distances to the own centre: distortion_ times the number of samples (or sum of weights).
    distortion_, pairwise_ : float
        E_m and E_s, computed in float64 from the data and labels_.
    n_iter_ : int
        Passes of the run that was kept.
    converged_ : bool
        Whether that run ended by itself: no moves, or no more progress than tol.
    history_ : list of PassRecord
        One record for each pass of that run.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from ksums import KSums
    >>> X = np.array([[1.0, 2.0], [1.0, 4.0], [1.0, 0.0], [10.0, 2.0], [10.0, 4.0], [10.0, 0.0]])
    >>> model = KSums(n_clusters=2, random_state=0).fit(X)
    >>> model.inertia_
    16.0
    >>> sorted(model.cluster_centers_.tolist())
    [[1.0, 2.0], [10.0, 2.0]]
    >>> bool(model.predict([[0.0, 0.0]])[0] == model.labels_[0])
    True
    """

    def __init__(
        self,
        n_clusters=8,
        *,
        objective="distortion",
        metric="l2",
        rule="auto",
        init="auto",
        n_init=1,
        max_iter=100,
        tol=1e-5,
        time_budget=None,
        size_min=None,
        size_max=None,
        engine="auto",
        n_threads=None,
        random_state=None,
        callbacks=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.objective = objective
        self.metric = metric
        self.rule = rule
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.time_budget = time_budget
        self.size_min = size_min
        self.size_max = size_max
        self.engine = engine
        self.n_threads = n_threads
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

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
        validation.check_parameters(self)
        protocol, functions = check_callbacks(type(self).__name__, self.callbacks)
        X = validation.check_rows(self, X, reset=True)
        n, k = X.shape[0], int(self.n_clusters)
        validation.check_enough_rows(self, n, n, k)
        weights = validation.check_weights(self, sample_weight, n)
        init = validation.check_init(self, X, k)
        validation.check_sizes(self, float(n if weights is None else weights.sum()), weights, k)
        rows = prepare(X, self.metric, weights)
        validation.check_enough_rows(self, n, len(rows.pulling), k)
        self._look_at_rows_without_direction(rows)

        def attributes_of(run: Run) -> dict[str, Any]:
            return self._attributes_of(X, weights, run)

        context = self._context(protocol)
        data = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        with (
            computing(self.n_threads) as n_threads,
            Listening(self, context, data, functions, attributes_of) as listener,
        ):
            plan = Plan(
                k=k,
                driver=driver_for(self.objective, self.metric, self.rule),
                metric=self.metric,
                init=init,
                engine="exact" if self.engine == "auto" else self.engine,
                max_iter=int(self.max_iter),
                tol=float(self.tol),
                limits=limits_for(self.size_min, self.size_max, rows, k),
                deadline=np.inf if self.time_budget is None else started + self.time_budget,
                n_threads=n_threads,
            )
            run = fit(rows, plan, self._seeds(), listener)
        self.__dict__.update(attributes_of(run))
        self._warn_of_the_end(run, X)
        return self

    def _seeds(self) -> list[int]:
        if isinstance(self.random_state, np.random.Generator):
            return self.random_state.integers(2**31, size=self.n_init).tolist()
        return check_random_state(self.random_state).randint(2**31 - 1, size=self.n_init).tolist()

    def _context(self, protocol: list[Any]) -> CallbackContext:
        """The root task, with the callbacks of the parameter beside those of ``set_callbacks``."""
        before = self.__dict__.get("_skl_callbacks")
        if protocol:
            self._skl_callbacks = [*(before or []), *protocol]
        try:
            return self._init_callback_context(max_subtasks=int(self.n_init) if self.n_init > 1 else int(self.max_iter))
        finally:
            if before is not None:
                self._skl_callbacks = before
            else:
                self.__dict__.pop("_skl_callbacks", None)

    def _attributes_of(self, X: Matrix, weights: np.ndarray | None, run: Run) -> dict[str, Any]:
        """Fitted attributes, computed anew from the data and the labels."""
        k, labels = int(self.n_clusters), run.labels.copy()
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
            "n_iter_": len(run.records),
            "converged_": run.converged,
            "history_": list(run.records),
            "_n_features_out": k,
        }

    # ---------------------------------------------------------------------------------------- warnings
    def _look_at_rows_without_direction(self, rows: Rows) -> None:
        if self.metric != "cosine":
            return
        empty = np.flatnonzero(rows.sq_norms == 0)
        validation.check_directions(self, empty)
        if len(empty):
            first = ", ".join(map(str, empty[:5])) + (", …" if len(empty) > 5 else "")
            warnings.warn(
                f"{len(empty)} rows of X are all zeros and have no direction (rows {first}): under metric='cosine' "
                "they get a label but pull no cluster.",
                UserWarning,
                stacklevel=4,
            )

    def _warn_of_the_end(self, run: Run, X: Matrix) -> None:
        if run.interrupted:
            warnings.warn(
                f"The fit was interrupted in pass {len(run.records)}; the model holds the best labels found so far.",
                ConvergenceWarning,
                stacklevel=4,
            )
        distinct = distinct_clusters(X, self.labels_, self.metric, self.distortion_)
        if distinct < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({distinct}) found smaller than n_clusters ({self.n_clusters}). "
                "Possibly due to duplicate points in X: some clusters hold copies of the same row.",
                ConvergenceWarning,
                stacklevel=4,
            )

    # ----------------------------------------------------------------------------------- after fitting
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
        X = self._check_new(X)
        rows, centres, _ = prepare_for(X, self.cluster_centers_, self.metric)
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

    def _check_new(self, X) -> Matrix:
        check_is_fitted(self)
        return validation.check_rows(self, X, reset=False)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
