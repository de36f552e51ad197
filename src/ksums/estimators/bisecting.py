"""``BisectingKSums``: Algorithm 2 of the paper as a scikit-learn estimator, with its whole tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ksums.checking import options
from ksums.compute.arrays import Matrix
from ksums.compute.threads import computing
from ksums.estimators.base import Clusterer
from ksums.method.data.centres import Centres, prepare_with_centres
from ksums.method.data.measures import ClusterMeasures
from ksums.method.nearest.centres import nearest_centres
from ksums.method.trees.bisecting import TreeRun, grow
from ksums.method.trees.tree import sums_of_nodes, tree_of
from ksums.planning.plan import EnginePlan, Stop, TreePlan
from ksums.planning.shape import Shape
from ksums.planning.trees import plan_split
from ksums.rules.kinds import Rule, rule_for


class Bisecting(Clusterer):
    """What all bisecting methods share. A subclass has parameters and says how a cluster is split."""

    _method = staticmethod(grow)

    def _rule(self) -> Rule:
        """The rule of each split."""
        raise NotImplementedError

    def _engine(self) -> EnginePlan:
        """The engine of each split."""
        return EnginePlan("exact")

    def _refinement(self) -> int:
        """Flat passes after the last split."""
        return 0

    # ---------------------------------------------------------------------------------------- fitting
    def _plan(self, shape: Shape, init: str) -> TreePlan:
        split = plan_split(shape, self._rule(), init, self._engine(), Stop(int(self.max_iter), float(self.tol)))
        return TreePlan(shape, split, self.strategy, int(self.n_init), self._refinement())

    def _more_attributes_of(self, run: TreeRun, measures: ClusterMeasures, plan: TreePlan) -> dict[str, Any]:
        return {"tree_": tree_of(run.splits, measures, plan.rule.objective)}

    def _interrupted(self, run: TreeRun) -> str:
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
            ``"nearest"``: the cluster of the nearest of all centres. ``"tree"``: from the root down, at each split the
            nearer of two, which takes about log k comparisons and follows the way the tree was grown.
        """
        options.check_option(self, "by", by, ("nearest", "tree"))
        return super().predict(X) if by == "nearest" else self._down_the_tree(self._check_new(X))

    def _down_the_tree(self, X: Matrix) -> np.ndarray:
        splits = self.tree_.splits
        sizes, composites = sums_of_nodes(splits, self.sizes_), sums_of_nodes(splits, self.composites_)
        labels, node_labels, children = np.empty(X.shape[0], np.int32), self.tree_.labels, self.tree_.children
        rows, centres = prepare_with_centres(X, composites / sizes[:, None], self.metric)
        waiting = [(0, np.arange(X.shape[0]))]
        with computing(self.n_threads):
            while waiting:
                node, ids = waiting.pop()
                if children[node, 0] < 0:
                    labels[ids] = node_labels[node]
                elif len(ids):
                    pair = children[node]
                    side = nearest_centres(rows, ids, Centres(centres.vectors[pair], centres.squares[pair]))
                    waiting += [(int(pair[0]), ids[side == 0]), (int(pair[1]), ids[side == 1])]
        return labels

    def cut(self, n_clusters):
        """Labels of the training rows with fewer clusters: those after the first ``n_clusters`` − 1 splits.

        Without ``refine`` they are the labels of a fit with that ``n_clusters`` and the same ``random_state`` (except
        for rows of weight 0, which belong to the nearest of all clusters).
        """
        check_is_fitted(self)
        options.check_cut(self, n_clusters, self.tree_.n_clusters)
        return self.tree_.relabelling(int(n_clusters)).astype(np.int32)[self.labels_]

    def linkage(self):
        """The tree as a linkage matrix (k − 1, 4) for ``scipy.cluster.hierarchy.dendrogram``; a leaf is a cluster.

        The height of a merge is what the merged cluster adds to the objective (``tree_.within``): by default its sum of
        squared distances to the mean. Rows are sorted by height; the last column counts clusters.
        """
        check_is_fitted(self)
        return self.tree_.linkage()


class BisectingKSums(Bisecting):
    """Bisecting k-sums: one cluster after the other is split in two by k-sums, until there are k (Algorithm 2).

    The cost grows with n log k, where that of :class:`KSums` grows with n k, and the tree shows how the clusters are
    related: it can be cut at any smaller k. The clusters are usually not as good as those of :class:`KSums`, because no
    sample ever leaves the half it was put into; ``refine`` mends that.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k.

    objective, metric, rule, init, n_threads, random_state, callbacks, verbose
        As in :class:`KSums`; ``rule`` and ``init`` apply to each split. There is no annealing: ``rule="auto"`` is
        ``"hartigan"``, and ``"paper"`` for cosine and for pairs. ``init`` is a name; with ``"auto"`` a large cluster is
        first split by a sample of 10,000 rows.

    strategy : {"loosest", "largest"}, default="loosest"
        Which cluster is split next: the one that adds most to the objective (its sum of squared distances to the
        centre, or for ``objective="pairwise"`` of all pairs), or the largest, as in the paper. A cluster that holds
        copies of one row comes last.

    n_init : int, default=1
        Number of tries for each split; the one with the lowest objective is kept.

    max_iter, tol : int, default=100; float, default=1e-5
        The passes of a split end after ``max_iter`` of them, or when the objective falls by no more than ``tol``,
        relatively.

    refine : int, default=0
        Most passes of flat k-sums over all clusters after the last split. Their cost grows with n k.

    Attributes
    ----------
    labels_, cluster_centers_, composites_, sizes_, inertia_, distortion_, pairwise_, objective_
        As in :class:`KSums`.
    tree_ : BisectingTree
        ``splits``, ``parents``, ``children``, ``sizes``, ``within`` (what each node adds to the objective) and
        ``objectives`` (after each split).
    plan_ : TreePlan
        What the fit did. Print it; ``plan_for(X)`` gives it without fitting.
    history_ : list of PassRecord
        One record for each split, then one for each pass of the refinement.
    n_iter_ : int
        Number of records.
    converged_ : bool
        Whether the fit ran to its end, neither interrupted nor stopped by a callback.

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

    def _rule(self) -> Rule:
        return rule_for(self.objective, self.metric, self.rule)

    def _refinement(self) -> int:
        return int(self.refine)

    def _check(self, X: Matrix, weights: np.ndarray | None) -> str:
        return options.check_init_by_name(self)
