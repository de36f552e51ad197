"""``BisectingKSums``: Algorithm 2 of the paper as a scikit-learn estimator, with its whole tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ksums import validation
from ksums.bisecting import BisectingRun, grow
from ksums.computing import computing
from ksums.drivers import Driver, driver_for
from ksums.engines import ENGINES, EngineMaker, nearest_centres
from ksums.estimators._base import Clusterer, Task
from ksums.metrics import ClusterSums
from ksums.plan import Plan
from ksums.rows import Rows, prepare_for
from ksums.tree import sums_of_nodes, tree_of
from ksums.typing import Matrix


class Bisecting(Clusterer):
    """What all bisecting methods share. A subclass has parameters, and says how a cluster is split."""

    def _engine(self) -> EngineMaker:
        return ENGINES["exact"]

    def _refinement(self) -> int:
        """Flat passes after the last split."""
        return 0

    # ---------------------------------------------------------------------------------------- fitting
    def _runs(self, X: Matrix) -> int:
        return 1  # n_init is the number of tries for each split

    def _records(self) -> int:
        return max(1, int(self.n_clusters) - 1) + self._refinement()

    def _run(self, rows: Rows, task: Task) -> BisectingRun:  # type: ignore[override]
        plan = Plan(
            k=2,
            driver=self._driver(),
            metric=self.metric,
            init=task.init,
            make_engine=self._engine(),
            max_iter=int(self.max_iter),
            tol=float(self.tol),
            n_threads=task.n_threads,
        )
        return grow(
            rows,
            plan,
            int(self.n_clusters),
            self.strategy,
            int(self.n_init),
            task.seeds[0],
            task.listener,
            self._refinement(),
        )

    def _more_attributes_of(self, run: BisectingRun, sums: ClusterSums) -> dict[str, Any]:  # type: ignore[override]
        return {"tree_": tree_of(run.splits, sums, self._driver().objective)}

    def _interrupted(self, run: BisectingRun) -> str:  # type: ignore[override]
        return (
            f"The fit was interrupted after {len(run.splits)} splits; the model holds {run.k} of {self.n_clusters} "
            "clusters."
        )

    # ----------------------------------------------------------------------------------- after fitting
    def predict(self, X, by="nearest"):
        """A cluster for each row.

        Parameters
        ----------
        X : array-like or CSR array of shape (n, d)
        by : {"nearest", "tree"}, default="nearest"
            ``"nearest"``: that of the nearest centre of all. ``"tree"``: from the root down, at each split the
            nearer of two, which takes about log k comparisons and agrees with how the tree was grown.
        """
        validation.check_option(self, "by", by, ("nearest", "tree"))
        return super().predict(X) if by == "nearest" else self._down_the_tree(self._check_new(X))

    def _down_the_tree(self, X: Matrix) -> np.ndarray:
        splits = self.tree_.splits
        sizes, composites = sums_of_nodes(splits, self.sizes_), sums_of_nodes(splits, self.composites_)
        labels, node_labels, children = np.empty(X.shape[0], np.int32), self.tree_.labels, self.tree_.children
        rows, centres, sq_centres = prepare_for(X, composites / sizes[:, None], self.metric)
        waiting = [(0, np.arange(X.shape[0]))]
        with computing(self.n_threads) as n_threads:
            while waiting:
                node, ids = waiting.pop()
                if children[node, 0] < 0:
                    labels[ids] = node_labels[node]
                elif len(ids):
                    pair = children[node]
                    side = nearest_centres(rows, ids, centres[pair], sq_centres[pair], n_threads)
                    waiting += [(int(pair[0]), ids[side == 0]), (int(pair[1]), ids[side == 1])]
        return labels

    def cut(self, n_clusters):
        """Labels of the training rows with fewer clusters: those after the first ``n_clusters`` − 1 splits.

        Without ``refine`` they are the labels of a fit with that ``n_clusters`` and the same ``random_state`` (but for
        rows of weight 0, which belong to the nearest of all clusters).
        """
        check_is_fitted(self)
        validation.check_cut(self, n_clusters, self.tree_.n_clusters)
        return self.tree_.relabelling(int(n_clusters)).astype(np.int32)[self.labels_]

    def linkage(self):
        """The tree as a linkage matrix (k − 1, 4) for ``scipy.cluster.hierarchy.dendrogram``; a leaf is a cluster.

        A merge is drawn as high as the merged cluster's share of the objective (``tree_.within``): by default its sum
        of squared distances to the mean. Rows are in the order of these heights; the last column counts clusters.
        """
        check_is_fitted(self)
        return self.tree_.linkage()


class BisectingKSums(Bisecting):
    """Bisecting k-sums: one cluster after the other is split in two by k-sums, until there are k (Algorithm 2).

    The cost grows as n log k where that of :class:`KSums` grows as n k, and the tree tells how the clusters hang
    together: it can be cut at any smaller k. The clusters are usually less good than those of :class:`KSums`, as no
    sample ever leaves the half it was put into; ``refine`` mends that.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k.

    objective, metric, rule, init, n_threads, random_state, callbacks, verbose
        As in :class:`KSums`; ``rule`` and ``init`` are those of each split. There is no annealing: ``rule="auto"`` is
        ``"hartigan"``, and ``"paper"`` for cosine and for pairs. ``init`` is a name; ``"auto"`` splits a sample of a
        large cluster first (10,000 rows) and starts from that.

    strategy : {"loosest", "largest"}, default="loosest"
        Which cluster is split next: the one with the largest share of the objective (sum of squared distances to the
        centre, or for ``objective="pairwise"`` of all pairs), or the largest, as in the paper. A cluster that holds
        copies of one row comes last.

    n_init : int, default=1
        Number of tries for each split; the one with the lowest objective is kept.

    max_iter, tol : int, default=100; float, default=1e-5
        When the passes of a split end: after so many, or when the objective falls by no more than ``tol``, relatively.

    refine : int, default=0
        Most passes of flat k-sums over all clusters after the last split. Their cost grows as n k.

    Attributes
    ----------
    labels_, cluster_centers_, composites_, sizes_, inertia_, distortion_, pairwise_, objective_
        As in :class:`KSums`.
    tree_ : BisectingTree
        ``splits``, ``parents``, ``children``, ``sizes``, ``within`` (each node's share of the objective) and
        ``objectives`` (after each split).
    history_ : list of PassRecord
        One record for each split, then one for each pass of the refinement.
    n_iter_ : int
        Number of records.
    converged_ : bool
        Whether the fit ran to its end: it was neither interrupted nor stopped by a callback before.

    Examples
    --------
    >>> import numpy as np
    >>> from ksums import BisectingKSums
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0], [50.0], [51.0]])
    >>> model = BisectingKSums(n_clusters=3, random_state=0).fit(X)
    >>> model.inertia_
    1.5
    >>> model.tree_.objectives.round(2).tolist()
    [466.92, 16.92, 0.25]
    >>> two = model.cut(2)
    >>> bool((two[:4] == two[0]).all() and two[4] == two[5] != two[0])
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
        strategy="loosest",
        n_init=1,
        max_iter=100,
        tol=1e-5,
        refine=0,
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
        self.strategy = strategy
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.refine = refine
        self.n_threads = n_threads
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def _driver(self) -> Driver:
        return driver_for(self.objective, self.metric, self.rule)

    def _refinement(self) -> int:
        return int(self.refine)

    def _check(self, X: Matrix, weights: np.ndarray | None) -> str:
        return validation.check_init_by_name(self)
