"""``KSums``: Algorithm 1 of the paper as a scikit-learn estimator."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ksums import validation
from ksums.annealing import Annealed
from ksums.computing import computing
from ksums.drivers import FAMILY, Driver, driver_for
from ksums.effort import planned, planned_lists
from ksums.engines import ENGINES, walk_to_nearest
from ksums.estimators._base import Clusterer, Task
from ksums.fitting import fit, most_records
from ksums.plan import Plan, Run
from ksums.rows import Rows, rows_and_centres
from ksums.size_limits import limits_for
from ksums.typing import Matrix

_STARTS = 4  # with much effort, where there is no search
_COPIED_BYTES = 256 << 20  # of the search, if it was not asked for: a copy of the rows,
_BYTES_BESIDE = 48  # and, for each of them, weight, labels, lists and log
_TOL = 1e-5  # for rules that may go on for ever
_TOL_WITH_LISTS = 2e-4  # later passes bring less than longer lists would,
_TOL_IN_HASTE = 2e-3  # at the lowest effort
_MANY_CLUSTERS = 2000  # from which on lists of the nearest are used,
_SOME_CLUSTERS = 500  # or, from here on, where a pass over all clusters takes
_LONG_PASSES = 1e10  # so many multiplications: with search and annealing, half a minute and more


class KSums(Clusterer):
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

    rule : {"auto", "annealed", "paper", "released", "hartigan", "online"}, float or Annealed, default="auto"
        When a sample moves. ``"annealed"``, which is ``"auto"``: when the objective falls; but in the first passes
        also where it rises a little, and less and less so (see :class:`~ksums.Annealed`, which also sets the
        schedule). So it ends in better optima, and at the end no single move could improve it. What it brings down
        under cosine is the mean cosine distance to the own centroid.

        The others are single rules from the first pass to the last, for ``objective="distortion"``. ``"hartigan"``:
        when E_m falls. ``"paper"``: when the sample gets closer to the centroid it would join, itself counted in;
        under cosine, closer in direction. ``"released"``: the same, its own centroid measured without it, as in the
        authors' code; this moves more, often ends lower and need not settle. ``"online"``: when another centroid is
        closer. A float p is a relaxation: 1 is ``"hartigan"``, 2 is ``"released"``. Under cosine all but ``"paper"``
        and ``"annealed"`` are those of l2 on the unit rows. For ``objective="pairwise"`` there are ``"paper"``, when
        E_s falls, ``"annealed"``, and floats.

    init : {"auto", "random-labels", "k-means++", "random-points", "two-level"} or array, default="auto"
        The start. ``"random-labels"`` is the paper's. ``"k-means++"`` seeds from all rows. ``"two-level"``, for dense
        rows and many clusters: √k coarse clusters of a sample, then clusters inside each of them. ``"auto"`` takes
        ``"two-level"`` with the engine ``"neighbors"``, else k-means++ on a sample (5000 rows, or 10 per cluster if
        that is more) up to k = 1000, and random points above. An array is labels of shape (n,) or centres of shape
        (k, d).

    refine : {"auto", "merge-split"} or None, default="auto"
        ``"merge-split"`` looks for better optima: one cluster is split, another one dissolved, the rows around both
        are moved, and all is undone unless E_m is lower then (or, early on and by chance, a little higher). It holds a
        copy of the rows. For
        ``objective="distortion"`` with l2 (or cosine and ``rule="hartigan"``), dense rows, and the rules
        ``"annealed"`` and ``"hartigan"``; elsewhere it is not offered. ``"auto"``: wherever it is offered, the rule
        is annealed, the engine looks at all clusters, and the copy takes no more than 256 MB.

    effort : {"low", "default", "high"} or float, default="default"
        How much annealing and search there is; with the engine ``"neighbors"``, how much annealing and how long the
        lists. Where there is no search (under cosine, for sparse rows, for ``"pairwise"``), ``"high"`` makes four runs
        at least, up to k = 500. Levels are amounts of work, so that a fit is the same each time. A number is a time in
        seconds, which the search, or longer lists, make use of (without either the fit may end before): then the
        result depends on the machine.

    n_init : int, default=1
        Number of runs from different starts; the one with the lowest objective is kept. See ``effort``.

    max_iter : int, default=300
        Most passes over the data in a run. Annealing takes no more than two fifths of them, unless told how many.

    tol : float, default=None
        A run ends when the objective has fallen by no more than this, relatively, in the last pass (in the last
        three for rules that may also go up). 0: only when no sample moves. None: 2e-4 with the engine
        ``"neighbors"`` (2e-3 for the lowest effort), else 0 for ``"annealed"`` and 1e-5 for the other rules.

    time_budget : float, default=None
        Seconds after which the fit stops, in the middle of a pass if need be, with the best found. The start is
        always made: it is not cut short, but for ``"two-level"``, which then takes fewer passes. Results then depend
        on the machine.

    size_min, size_max : float, default=None
        Hard limits on the size of each cluster: number of samples, or sum of weights. Where a limit keeps a sample
        from moving, it may change places with another.

    engine : {"auto", "exact", "neighbors", "reference"}, default="auto"
        ``"exact"`` is Algorithm 1, compiled. ``"neighbors"`` is for hundreds of clusters and more, dense rows: a
        sample looks only at the clusters nearest to its own, so that a pass takes n·L steps instead of n·k, with L the
        length of the lists. ``"auto"`` takes it from k = 2000 on, and from k = 500 on where n·k·d is 10 billion or
        more, for the annealed rule on dense rows, unless a merge–split search is asked for: there it ends
        somewhat higher than search and annealing over all clusters, much sooner. It holds a copy
        of the rows up to 1 GB; above, they are read some clusters at a time. A start other than ``"two-level"`` or
        labels takes n·k steps.
        ``"reference"`` is Algorithm 1 in plain NumPy, slow, for checking.

    n_neighbors : int, default=None
        Length L of the lists of nearest clusters, the own one counted (rounded up to a multiple of 8); with ``"auto"``,
        the engine then is ``"neighbors"``. None: 64, 128 or 512 for the levels of ``effort``; where ``effort`` is a
        time and the rule annealed, as long as pays.

    polish : {"pass", "assign"} or None, default=None
        With the engine ``"neighbors"``, a last look at all clusters, n·k steps, unless the time is up: ``"pass"`` is
        one pass of the exact engine; ``"assign"``, which is faster, gives each sample its nearest centre, if that is
        better in all. Where ``"auto"`` takes the exact engine there is nothing left to look at.

    n_threads : int, default=None
        Most threads to use; None: all cores this process may use (``NUMBA_NUM_THREADS``). Labels do not depend on it.

    random_state : int, RandomState, Generator or None, default=None
        Makes the result repeatable.

    callbacks : list, default=None
        Each is a function called with the :class:`~ksums.PassRecord` of each pass, which may return True to stop
        the run, or follows scikit-learn's callback protocol. ``set_callbacks`` works too.

    verbose : int, default=0
        1: a progress bar on a terminal or in a notebook, elsewhere a plain line every second. 2: a line for each pass.

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
        Sum of squared distances to the own centre: ``distortion_`` times the number of samples (or sum of weights).
    distortion_, pairwise_ : float
        E_m and E_s, computed in float64 from the data and ``labels_``.
    objective_ : float
        What was brought down: one of the two, or the mean cosine distance to the own centroid (see ``rule``).
    n_iter_ : int
        Passes of the run that was kept, without the search.
    converged_ : bool
        Whether that run ended by itself: no moves, or no more progress than tol.
    history_ : list of PassRecord
        One record for each pass of that run, and up to ten for the merge–split search, with its trials and gains.
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
        refine="auto",
        effort="default",
        n_init=1,
        max_iter=300,
        tol=None,
        time_budget=None,
        size_min=None,
        size_max=None,
        engine="auto",
        n_neighbors=None,
        polish=None,
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
        self.engine = engine
        self.n_neighbors = n_neighbors
        self.polish = polish
        self.n_threads = n_threads
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def predict(self, X, *, search="exact"):
        """Index of the nearest centre (under cosine: of the centre of nearest direction) for each row.

        On the training rows this may differ from ``labels_`` for a few samples on a border.

        Parameters
        ----------
        X : array-like or CSR array of shape (n, d)
        search : {"exact", "graph"}, default="exact"
            ``"exact"`` compares each row with all k centres. ``"graph"``, for dense rows, finds its way from centre to
            neighbouring centre. The graph is made for each call, so this is for many rows and tens of thousands of
            centres; some rows in a hundred get a centre that is not quite the nearest.
        """
        if search == "exact":
            return super().predict(X)
        X = self._check_new(X)
        validation.check_search(self, X, search)
        with computing(self.n_threads) as n_threads:
            return walk_to_nearest(*rows_and_centres(X, self.cluster_centers_, self.metric), n_threads)

    def _check(self, X: Matrix, weights: np.ndarray | None) -> str | np.ndarray:
        total = float(X.shape[0] if weights is None else weights.sum())
        validation.check_sizes(self, total, weights, int(self.n_clusters))
        validation.check_dense(self, X)
        return validation.check_init(self, X, int(self.n_clusters))

    def _annealed(self) -> Annealed | None:
        """The schedule behind ``rule``, if it has one."""
        if isinstance(self.rule, Annealed):
            return self.rule
        return Annealed() if self.rule in ("auto", "annealed") else None

    def _driver(self) -> Driver:
        return driver_for(self.objective, self.metric, "annealed" if self._annealed() else self.rule)

    def _searches(self) -> bool:
        """Whether there are merge–split trials, as far as the parameters say."""
        if self.refine == "auto":
            return self._annealed() is not None and self._driver().kind == FAMILY
        return self.refine == "merge-split"

    def _may_copy(self, rows: Rows) -> bool:
        """Whether the search may have its copy of the rows."""
        size = len(rows.pulling) * (rows.d * rows.dtype.itemsize + _BYTES_BESIDE)
        return not rows.is_sparse and (self.refine == "merge-split" or size <= _COPIED_BYTES)

    def _runs(self, X: Matrix) -> int:
        """Where no search can mend a bad start, much effort is several starts."""
        search = self._searches() and not sparse.issparse(X)
        lists = self.engine == "neighbors" or self.n_neighbors is not None or int(self.n_clusters) >= _SOME_CLUSTERS
        if self.effort != "high" or self._annealed() is None or search or lists or not isinstance(self.init, str):
            return int(self.n_init)
        return max(int(self.n_init), _STARTS)

    def _records(self) -> int:
        return most_records(int(self.max_iter), self._searches(), self.polish is not None)

    def _uses_lists(self, rows: Rows) -> bool:
        """Whether samples look at the nearest clusters only."""
        if self.engine != "auto":
            return self.engine == "neighbors"
        k, size = int(self.n_clusters), len(rows.pulling) * rows.d
        if self.n_neighbors is not None:
            return True
        many = k >= _MANY_CLUSTERS or (k >= _SOME_CLUSTERS and k * size >= _LONG_PASSES)
        return many and self._annealed() is not None and self.refine != "merge-split" and not rows.is_sparse

    def _run(self, rows: Rows, task: Task) -> Run:
        k, annealed, lists = int(self.n_clusters), self._annealed(), self._uses_lists(rows)
        search = not lists and self._searches() and self._may_copy(rows)
        if lists:
            effort = planned_lists(self.effort, self.n_neighbors)
        else:
            effort = planned(self.effort, len(rows.pulling), rows.d, k, search)
        seconds = min(effort.seconds, np.inf if self.time_budget is None else float(self.time_budget))
        plan = Plan(
            k=k,
            driver=self._driver(),
            metric=self.metric,
            init="two-level" if lists and isinstance(task.init, str) and task.init == "auto" else task.init,
            make_engine=ENGINES["neighbors" if lists else self.engine],
            max_iter=int(self.max_iter),
            tol=self._tol(lists),
            limits=limits_for(self.size_min, self.size_max, rows, k),
            deadline=task.started + seconds,
            n_threads=task.n_threads,
            annealed=annealed,
            search=search,
            effort=effort._replace(seconds=seconds / len(task.seeds)),
            polish=self.polish,
        )
        return fit(rows, plan, task.seeds, task.listener)

    def _tol(self, lists: bool) -> float:
        if self.tol is not None:
            return float(self.tol)
        if lists:
            return _TOL_IN_HASTE if self.effort == "low" else _TOL_WITH_LISTS
        return 0.0 if self._annealed() else _TOL
