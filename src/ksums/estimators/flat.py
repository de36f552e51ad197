"""``KSums``: Algorithm 1 of the paper as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from ksums.checking import options
from ksums.checking.constraints import Links, refuse_links
from ksums.checking.data import check_weights
from ksums.checking.parameters import check_parameters, parameters_of
from ksums.checking.sizes import check_assign
from ksums.checking.tables import check_metric_with_gaps
from ksums.compute.arrays import Matrix, arithmetic_of, as_dense
from ksums.compute.tensors import as_numpy, is_on_card
from ksums.compute.threads import computing
from ksums.estimators.base import Clusterer
from ksums.estimators.constraints import assigned, attributes_with_centres
from ksums.estimators.following import follow_fitted, following
from ksums.io.sources import is_source
from ksums.method.data.centres import prepare_with_distances
from ksums.method.fitting.fit import fit
from ksums.planning.flat import plan_flat
from ksums.planning.plan import Plan
from ksums.planning.shape import Shape


class KSums(Clusterer):
    """k-sums clustering: one sample at a time moves to the cluster that suits it best.

    A one-line replacement for :class:`sklearn.cluster.KMeans`. k-means assigns all samples and then updates all
    centroids; k-sums updates the two clusters concerned (their sums D_r and sizes n_r) after every single move, and so
    reaches better optima. See Zhao et al., *k-sums: another side of k-means*.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k. No cluster is ever empty.

    objective : {"distortion", "pairwise"}, default="distortion"
        What to minimise. ``"distortion"`` is E_m (the paper's I_m): the mean squared distance of a sample to its
        cluster's centroid, which is the objective of k-means. ``"pairwise"`` is E_s (I_s): the sum of squared distances
        of all pairs within clusters, which favours clusters of equal size.

    metric : {"l2", "cosine"}, default="l2"
        ``"cosine"`` compares directions: rows are scaled to unit length as they are read. Rows of zeros have no
        direction; they get the label 0, as from ``predict``, and do not influence any cluster.

    rule : {"auto", "annealed", "paper", "released", "hartigan", "online"}, float or Annealed, default="auto"
        When a sample moves. ``"annealed"``, which is ``"auto"``: when the objective falls; in the first passes also
        when it rises a little, and less and less so (see :class:`~ksums.Annealed`, which also sets the schedule). This
        reaches better optima, and at the end no single move can improve the result. Under cosine it minimises the mean
        cosine distance to the cluster's centroid.

        The other rules stay the same from the first pass to the last and are for ``objective="distortion"``.
        ``"hartigan"``: when E_m falls. ``"paper"``: when the sample gets closer to the centroid it would join, itself
        included; under cosine, closer in direction. ``"released"``: the same with its own centroid measured without it,
        as in the authors' code; this moves more, often ends lower and need not settle. ``"online"``: when another
        centroid is closer. A float p is a relaxation: 1 is ``"hartigan"``, 2 is ``"released"``. Under cosine all but
        ``"paper"`` and ``"annealed"`` are those of l2 on the unit rows. ``objective="pairwise"`` has ``"paper"`` (when
        E_s falls), ``"annealed"``, and floats.

    init : {"auto", "random-labels", "k-means++", "random-points", "two-level"} or array, default="auto"
        The start. ``"random-labels"`` is the paper's. ``"k-means++"`` seeds from all rows. ``"two-level"``, for dense
        rows and many clusters: √k coarse clusters of a sample, then clusters inside each of them. ``"auto"`` is
        ``"two-level"`` with the engine ``"neighbors"``; otherwise it is k-means++ on a sample (5000 rows, or 10 per
        cluster if that is more) for k up to 1000, and random points above. An array holds labels of shape (n,) or
        centres of shape (k, d).

    refine : {"auto", "merge-split"} or None, default="auto"
        ``"merge-split"`` searches for better optima: one cluster is split, another one dissolved, the rows around both
        are moved, and everything is undone unless E_m is lower then (or, early on and by chance, a little higher). It
        holds a copy of the rows. It is offered for ``objective="distortion"`` with l2 (or cosine and
        ``rule="hartigan"``), dense rows, and the rules ``"annealed"`` and ``"hartigan"``. ``"auto"``: wherever it is
        offered, the rule is annealed, the engine compares with all clusters, and the copy takes no more than 256 MB.

    effort : {"low", "default", "high"} or float, default="default"
        How much annealing and search there is; with the engine ``"blocks"``, how many samples are searched; with
        ``"neighbors"``, how much annealing and how long the lists are. Where there is no search (under cosine, for
        sparse rows, for ``"pairwise"``), ``"high"`` makes at least four runs for k below 500. Levels are amounts of
        work, so a fit is the same each time. A number is a time in seconds, which the search, or longer lists, make use
        of (without either the fit may end before): then the result depends on the machine.

    n_init : int, default=1
        Number of runs from different starts; the one with the lowest objective is kept. See ``effort``.

    max_iter : int, default=300
        Most passes over the data in a run. Annealing takes at most two fifths of them, unless its schedule says more.

    tol : float, default=None
        A run ends when the objective has fallen by no more than this, relatively, in the last pass (in the last three
        for rules that may also raise it). 0: only when no sample moves. None: 2e-4 with the engine ``"neighbors"``
        (2e-3 at low effort); 1e-6 with ``"blocks"`` and k ≥ 64; otherwise 0 for ``"annealed"`` and 1e-5 for the other
        rules.

    time_budget : float, default=None
        Seconds after which the fit stops, in the middle of a pass if need be, and keeps the best found. The start is
        always made: it is not cut short, except for ``"two-level"``, which then makes fewer passes. The result depends
        on the machine.

    size_min, size_max : float or array-like of shape (k,), default=None
        Hard limits on the size of each cluster: number of samples, or sum of weights; one for all clusters or one for
        each. ``size_max="balanced"``: ⌊n/k⌋ or ⌈n/k⌉ rows each. The fit is first made without limits; then
        rows are assigned to its centres at the least possible cost within the limits, and improved by moves, exchanges
        and cycles of rows that change places. With weights the assignment is approximate, and for very tight limits
        none may be found. ``fit`` takes further constraints: links between rows, and rows whose cluster is known.

    fixed_centers : array-like of shape (m, d), default=None
        Centres of the clusters 0 … m − 1, which do not move; the other clusters are found around them. For
        ``objective="distortion"``. ``cluster_centers_`` holds them as they are, and ``inertia_`` and ``distortion_``
        measure distances to them.

    engine : {"auto", "exact", "blocks", "neighbors", "reference"}, default="auto"
        ``"exact"`` is Algorithm 1, compiled. ``"blocks"``, for few clusters and many dense rows (l2, E_m, annealed):
        annealing and search on samples, then exact passes over all rows in storage order, which skip the rows that
        cannot gain. ``"auto"`` uses it for n ≥ 50,000 and k ≤ 512 (at low and default effort, with up to three columns
        and more than 8 clusters, for n ≥ 5,000 and n ≥ 50 k) if ``refine`` and ``init`` are not given otherwise
        (``init`` may be a name). ``"neighbors"``, for dense rows and hundreds of clusters or more: a sample is compared
        only with the clusters nearest to its own, so a pass takes n·L steps instead of n·k, where L is the length of
        the lists. ``"auto"`` uses it for k ≥ 2000, and for k ≥ 500 if n·k·d is at least 10 billion, with the annealed
        rule on dense rows, unless a merge–split search is asked for; it ends somewhat higher than search and annealing
        over all clusters, and much sooner. It holds a copy of the rows up to 1 GB; above, they are read some clusters
        at a time. A start other than ``"two-level"`` or labels takes n·k steps. ``"reference"`` is Algorithm 1 in plain
        NumPy, slow, for checking.

    n_neighbors : int, default=None
        Length L of the lists of nearest clusters, including the cluster itself (rounded up to a multiple of 8); with
        ``"auto"`` the engine then is ``"neighbors"``. None: 64, 128 or 512 for the levels of ``effort``; if ``effort``
        is a time and the rule annealed, as long as pays.

    polish : {"pass", "assign"} or None, default=None
        With the engine ``"neighbors"``, a last check of all clusters, n·k steps, unless the time is up: ``"pass"`` is
        one pass of the exact engine; ``"assign"``, which is faster, gives each sample its nearest centre if that lowers
        the objective. The exact engine does not need it.

    max_memory : int or str, default=None
        For data in parts (see ``fit``): bytes that a fit may use, or a size such as ``"2GB"``. Blocks of rows that do
        not fit are read again in each round. None: half of what is free. On a graphics card: bytes that a fit may use
        there; None: what is free. Labels do not depend on it.

    checkpoint : str or Path, default=None
        A file in which the fit is kept while it is under way: it is replaced after a pass (or, for data in parts, a
        round), as often as that takes no more than a twentieth of the time. The same call resumes a fit that was
        interrupted or killed, and ends with the same labels; other data or parameters are refused. A merge–split
        search, or the search of samples, that was under way begins again.

    device : {"cpu", "cuda", "cuda:N"}, default=None
        Where the fit runs. None: where X is: tensors of torch and arrays of CuPy and JAX on a CUDA device are clustered
        there, and labels and centres come back as the same kind of array. ``"cuda"`` copies other arrays there and
        gives NumPy arrays back; rows that do not fit there are read from the memory of the host in each pass. A card
        offers both objectives and metrics, annealing, merge–split (E_m), weights, and ``init`` as centres or
        ``"random-points"``; what it does not offer is refused. Requires ``pip install 'ksums[gpu]'``.

    missing : {"error", "ignore"}, default="error"
        What to do with NaN in X. ``"ignore"``, for ``metric="l2"``: a missing cell has no opinion. Centres are the
        means of the cells that are there, pulled a little towards the mean of the column, and rows are compared by the
        cells they have, also by ``predict``. ``inertia_`` and ``distortion_`` then are sums over observed cells, and
        ``cell_counts_`` (k, d) says how many there are. Small data with NaN is started up to four times, whatever
        ``n_init`` is. If there is no NaN, the parameter changes nothing.

    n_threads : int, default=None
        Most threads to use; None: all cores this process may use (``NUMBA_NUM_THREADS``). Labels do not depend on it.

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
        Cluster of each sample, from reallocation. ``predict`` uses the nearest centre and may differ for a few samples
        on a border.
    cluster_centers_ : ndarray of shape (k, d)
        Means of the clusters; under cosine, means of the unit rows.
    composites_ : ndarray of shape (k, d)
        Sums D_r of the clusters, in float64.
    sizes_ : ndarray of shape (k,)
        Number of samples n_r, or sum of weights.
    inertia_ : float
        Sum of squared distances of the samples to their cluster's centre: ``distortion_`` times the number of samples
        (or sum of weights).
    distortion_, pairwise_ : float
        E_m and E_s, computed in float64 from the data and ``labels_``.
    objective_ : float
        What was minimised: one of the two, or the mean cosine distance to the cluster's centroid (see ``rule``).
    n_iter_ : int
        Passes of the run that was kept, without the search.
    converged_ : bool
        Whether that run ended by itself: no moves, or no more progress than ``tol``.
    history_ : list of PassRecord
        One record for each pass of that run, and up to ten for the merge–split search, with its trials and gains.
    plan_ : Plan
        What the fit did, and why: start, annealing, search, passes, stop rule. Print it; ``plan_for(X)`` gives it
        without fitting.
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
    >>> model.plan_
    Plan for 6 × 2 rows (float64), 2 clusters
      start      k-means++ seeds
      annealing  2 passes, relaxation from 6 down to 1
      search     merge–split, up to 1.6 million comparisons of a row with a cluster
      passes     exact over all rows until nothing moves; at most 300 in all
    """

    _method = staticmethod(fit)

    def __init__(
        self,
        n_clusters=8,
        *,
        objective="distortion",
        metric="l2",
        rule="auto",
        init="auto",
        refine="auto",
        effort="default",
        n_init=1,
        max_iter=300,
        tol=None,
        time_budget=None,
        size_min=None,
        size_max=None,
        fixed_centers=None,
        engine="auto",
        n_neighbors=None,
        polish=None,
        max_memory=None,
        checkpoint=None,
        device=None,
        missing="error",
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
        self.refine = refine
        self.effort = effort
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.time_budget = time_budget
        self.size_min = size_min
        self.size_max = size_max
        self.fixed_centers = fixed_centers
        self.engine = engine
        self.n_neighbors = n_neighbors
        self.polish = polish
        self.max_memory = max_memory
        self.checkpoint = checkpoint
        self.device = device
        self.missing = missing
        self.n_threads = n_threads
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    @with_callbacks
    def fit(self, X, y=None, sample_weight=None, *, must_link=None, cannot_link=None, fixed_labels=None):
        """Cluster the rows of X.

        Parameters
        ----------
        X : array-like or CSR array of shape (n, d), or data in parts
            C-ordered NumPy arrays of float32 and float64 are used without a copy; uint8, int8, int16, uint16, float16
            and bool are converted to float32 a few rows at a time, also from a memory map. pandas and polars data
            frames, PyArrow tables and CPU tensors are accepted. Arrays on a CUDA device are clustered there (see
            ``device``). What need not fit into memory is taken, too: the name of a file, a folder or a pattern such as
            ``"vectors/*.parquet"``, a list of such names or of arrays, a function that yields arrays, or a source of
            :func:`ksums.io.open_source`.
        y : ignored
        sample_weight : array-like of shape (n,), default=None
            A row of weight w counts as w rows that move together; a row of weight 0 only gets a label.
        must_link : array-like of shape (p, 2) or (n,), default=None
            Rows that must share a cluster: pairs of row numbers, or a group for each row (−1, None, NaN and empty
            strings: no group). Linked rows move as one. Such a fit works on a copy of the rows.
        cannot_link : array-like of shape (p, 2), default=None
            Pairs of rows that must not share a cluster. Links that no clustering can meet are refused.
        fixed_labels : array-like of shape (n,), default=None
            The cluster 0 … k − 1 in which a row stays, or −1 for rows that may move.

        Returns
        -------
        self
        """
        links = Links(must_link, cannot_link, fixed_labels)
        if self._ignores_gaps_of(X):
            from ksums.estimators.gaps import fit_with_gaps  # Numba is loaded by the first fit, not by the import

            fit_with_gaps(self, X, y, sample_weight, any(link is not None for link in links))
        else:
            self.__dict__.pop("cell_counts_", None)
            self._fit(X, y, sample_weight, links)
        follow_fitted(self, X)
        return self

    def _ignores_gaps_of(self, X: Any) -> bool:
        """Whether X has missing cells, and the user wants them ignored."""
        if self.missing != "ignore":
            return False
        from ksums.estimators.gaps import has_gaps

        return has_gaps(X)

    @following
    def assign(self, X, *, size_min=None, size_max=None):
        """Assign rows to the centres of this model under limits on the sizes of the groups they form.

        The sum of squared distances (under cosine: of cosine distances) to the centres is the least possible one.
        ``predict`` gives each row its nearest centre, whatever the sizes are.

        Parameters
        ----------
        X : array-like or CSR array of shape (n, d)
        size_min, size_max : float or array-like of shape (k,), default=None
            Limits for the rows of this call, one for all clusters or one for each. ``size_max="balanced"`` divides the
            rows evenly. None: no limit on that side; clusters may stay empty.

        Returns
        -------
        labels : ndarray of shape (n,)
        """
        if self._ignores_gaps_of(X):
            raise ValueError(
                f"{type(self).__name__}: assign is not offered for rows with missing cells; fill them in (for example "
                "with sklearn.impute.SimpleImputer), or use predict."
            )
        X = self._check_new(as_numpy(X) if is_on_card(X) else X)
        low, high = check_assign(self, X.shape[0], size_min, size_max)
        with computing(self.n_threads):
            return assigned(X, self._centres(), self.metric, low, high)

    @following
    def predict(self, X, *, search="exact"):
        """Index of the nearest centre (under cosine: of the centre of nearest direction) for each row.

        On the training rows this may differ from ``labels_`` for a few samples on a border.

        Parameters
        ----------
        X : array-like or CSR array of shape (n, d), or data in parts as in ``fit``
        search : {"exact", "graph"}, default="exact"
            ``"exact"`` compares each row with all k centres. ``"graph"``, for dense rows, walks from centre to
            neighbouring centre. The graph is made for each call, so this is for many rows and tens of thousands of
            centres; a few rows in a hundred get a centre that is not quite the nearest.
        """
        if is_source(X):
            from ksums.estimators.sharded import predict_source

            return predict_source(self, X, search)
        if self._ignores_gaps_of(X):
            from ksums.estimators.gaps import predict_with_gaps, rows_with_gaps

            check_is_fitted(self)
            check_metric_with_gaps(self)
            options.check_option(self, "search", search, ("exact", "graph"))
            return predict_with_gaps(self, rows_with_gaps(self, X, reset=False))
        if search == "exact":
            return super().predict(X)
        X = self._check_new(X)
        options.check_search(self, X, search)
        from ksums.method.search.graph import walk_to_nearest  # Numba is loaded by the first fit, not by the import

        with computing(self.n_threads):
            return walk_to_nearest(*prepare_with_distances(X, self._centres(), self.metric))

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
        if not self._ignores_gaps_of(X):
            return super().plan_for(X, sample_weight)
        from ksums.estimators.gaps import prepare_with_gaps

        return prepare_with_gaps(clone(self), X, sample_weight, constrained=False, warn=False).plan

    @following
    def transform(self, X):
        """Distances (n, k) to the centres: Euclidean, or one minus the cosine; over the cells that rows have."""
        return np.sqrt(self._with_gaps(X)) if self._ignores_gaps_of(X) else super().transform(X)

    def score(self, X, y=None, sample_weight=None):
        """Minus the sum of squared distances of the rows to their nearest centres: higher is better."""
        if not self._ignores_gaps_of(X):
            return super().score(X, y, sample_weight)
        least = self._with_gaps(X).min(axis=1)
        weights = check_weights(self, sample_weight, len(least))
        return -float(least.sum() if weights is None else least @ weights)

    def _with_gaps(self, X: Any) -> np.ndarray:
        """(n, k) Squared distances of rows with gaps."""
        from ksums.estimators.gaps import rows_with_gaps, sq_distances_with_gaps

        check_is_fitted(self)
        check_metric_with_gaps(self)
        return sq_distances_with_gaps(self, rows_with_gaps(self, X, reset=False))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "ignore"
        return tags

    def _fit_on_card(self, X, sample_weight, links):
        check_parameters(self)
        if self.device == "cpu" or is_source(X):
            return as_numpy(X) if is_on_card(X) else X
        refuse_links(self, links, "a graphics card")
        self._on_card().fit(self, X, sample_weight)
        return None

    def _fit_source(self, X, sample_weight):
        from ksums.estimators.sharded import fit_source

        return fit_source(self, X, sample_weight)

    def _check(self, X: Matrix, weights: np.ndarray | None) -> str | np.ndarray:
        options.check_one_array(self)
        options.check_dense(self, X)
        return options.check_init(self, X, int(self.n_clusters))

    def _more_attributes_of(self, run, measures, plan):
        if self.fixed_centers is None:
            return {}
        given = np.asarray(as_dense(self.fixed_centers))
        dtype = arithmetic_of(given) if given.dtype.kind == "f" else np.dtype(np.float64)
        return attributes_with_centres(given, measures, plan.rule.objective, self.metric, dtype)

    def _plan(self, shape: Shape, init: str | np.ndarray) -> Plan:
        return plan_flat({**parameters_of(self), "init": init}, shape)
