"""``TableKSums``: tables with words, yes/no, dates and gaps."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from ksums.checking import tables as checking
from ksums.checking.data import check_enough_rows, check_weights, warn_of_equal_clusters
from ksums.compute.arrays import blocks
from ksums.compute.compat import set_callbacks_of
from ksums.compute.threads import computing
from ksums.estimators.flat import KSums
from ksums.estimators.partitions import attributes_of_run, fit_by_moves
from ksums.method.fitting.records import PassRecord
from ksums.models.files import save
from ksums.models.registry import register
from ksums.planning.partitions import plan_table
from ksums.planning.plan import PartitionPlan, Plan
from ksums.planning.shape import Shape
from ksums.tables.columns import DATE, LEFT_OUT, NUMBER, Columns, Role, is_table, names_of, roles_of
from ksums.tables.encoding import Encoding, encode, learn_encoding
from ksums.tables.profiles import ClusterProfile, profiles_of

_SHARED = (
    "objective",
    "effort",
    "n_init",
    "max_iter",
    "time_budget",
    "engine",
    "n_threads",
    "random_state",
    "callbacks",
    "verbose",
)
"""Parameters that ``KSums`` has, too."""

_BLOCK = 1 << 16
"""Rows whose distances to all clusters are held at a time."""


class TableKSums(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Clustering of tables as they are: numbers, categories, dates, and cells that are missing.

    The type of a column says what it is: numbers are scaled, words and yes/no are categories, dates are numbers of
    days. A missing cell has no opinion: it counts in no sum, and a row is compared by the cells it has. Rows move one
    at a time to the cluster that suits them best, as in :class:`~ksums.KSums`.

    The squared distance of two rows is the sum over the columns in which both have a value: the squared difference of
    scaled numbers, and 2 for two different categories. That is what two values of a column of variance 1 differ by on
    average. ``objective="distortion"`` minimises the distances to the centres (for categories: shares), which is
    Σ_r n_r·Gini for a column of categories; ``"pairwise"`` those between all pairs of rows in a cluster.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters k.

    numeric, categorical, ignore : list of str, default=None
        Columns to be taken as numbers, as categories, or to be left out, whatever their type is. Columns that look
        like identifiers, constants or free text are left out unless they are listed; ``columns_`` says which and why.

    scale : {"std", "range"} or None, default="std"
        How numbers are scaled: to standard deviation 1; by the range of their column, where different categories count
        like the two ends of it; or not at all.

    column_weights : dict, default=None
        Weights of columns by name: a column of weight 2 counts twice in squared distances.

    objective : {"distortion", "pairwise"}, default="distortion"
        What is minimised: see above.

    unknown : {"ignore", "error"}, default="ignore"
        What ``predict`` does with categories that the fit did not see: they count as missing, or are refused.

    effort : {"low", "default", "high"} or float, default="default"
        How much annealing and search is done; a number is a time in seconds.

    n_init : int, default=1
        Least number of runs from different starts; the one with the lowest objective is kept. Small tables are started
        up to four times in any case: ``plan_`` says how often.

    max_iter : int, default=300
        Most passes over the data in a run.

    time_budget : float, default=None
        Seconds after which the fit stops and keeps the best found.

    engine : {"auto", "exact", "reference"}, default="auto"
        ``"reference"`` is the same in plain NumPy, slow, for checking.

    n_threads : int, default=None
        Most threads to use. Labels do not depend on it.

    random_state : int, RandomState, Generator or None, default=None
        An int makes the result repeatable.

    callbacks : list, default=None
        As in :class:`~ksums.KSums`.

    verbose : int, default=0
        1: the plan and a progress bar. 2: a line for each pass.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each row. A row without any value gets the label of the largest cluster.
    cluster_profiles_ : list of ClusterProfile
        For each cluster: size, means in the units of the data, the most frequent categories with their shares, shares
        of missing cells. Print one to read it.
    columns_ : dict
        What each column was taken for: ``"number"``, ``"category"``, ``"date"``, or ``"left out: …"`` with the reason.
    cluster_means_ : ndarray of shape (k, a)
        Means of the columns of numbers in their own units, dates in days since 1970; NaN if a cluster has no value.
    category_shares_ : ndarray of shape (k, c)
        Shares of the categories of all columns, one column after the other.
    gap_shares_ : ndarray of shape (k, a + b)
        Shares of missing cells, first of the columns of numbers.
    sizes_ : ndarray of shape (k,)
        Number of rows, or sum of weights.
    inertia_, distortion_, pairwise_ : float
        Sum of squared distances of the observed cells to their cluster's means, and that divided by the number of rows;
        the sum over pairs of observed cells in a cluster, divided by the number of rows.
    objective_ : float
        What was minimised. In columns with gaps centres are pulled a little towards the mean of the column, as if half
        a row more had that value; the distortion with these centres and their pull is minimised.
    n_iter_, converged_, history_, plan_
        As in :class:`~ksums.KSums`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> from ksums import TableKSums
    >>> people = pd.DataFrame({
    ...     "age": [23, 25, None, 61, 64, 59],
    ...     "town": ["Rome", "Rome", "Rome", "Oslo", None, "Oslo"],
    ...     "member": [True, True, True, False, False, None],
    ... })
    >>> model = TableKSums(2, random_state=0).fit(people)
    >>> model.columns_
    {'age': 'number', 'town': 'category', 'member': 'category'}
    >>> print(model.cluster_profiles_[model.labels_[3]])
    cluster ...: 3 rows (50%)
      age: 61.33
      town: Oslo 100%
      member: False 100%
      town: 33% missing
      member: 33% missing
    """

    def __init__(
        self,
        n_clusters=8,
        *,
        numeric=None,
        categorical=None,
        ignore=None,
        scale="std",
        column_weights=None,
        objective="distortion",
        unknown="ignore",
        effort="default",
        n_init=1,
        max_iter=300,
        time_budget=None,
        engine="auto",
        n_threads=None,
        random_state=None,
        callbacks=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.numeric = numeric
        self.categorical = categorical
        self.ignore = ignore
        self.scale = scale
        self.column_weights = column_weights
        self.objective = objective
        self.unknown = unknown
        self.effort = effort
        self.n_init = n_init
        self.max_iter = max_iter
        self.time_budget = time_budget
        self.engine = engine
        self.n_threads = n_threads
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    # ---------------------------------------------------------------------------------------- fitting
    @with_callbacks
    def fit(self, X, y=None, sample_weight=None):
        """Cluster the rows of a table.

        Parameters
        ----------
        X : pandas, polars or Arrow table, or array-like of shape (n, d)
            None, NaN, NaT and null are missing cells.
        y : ignored
        sample_weight : array-like of shape (n,), default=None
            A row of weight w counts as w rows that move together (centres in columns with gaps are pulled as by half
            a row of mean weight); a row of weight 0 only gets a label.

        Returns
        -------
        self
        """
        from ksums.method.cells.sums import distinct_clusters  # Numba is loaded by the first fit, not by the import
        from ksums.method.fitting.tables import fit_cells

        started = time.perf_counter()
        ready = self._prepare(X, sample_weight)
        checking.warn_of_empty_rows(ready.empty)
        rows, roles, plan = ready.rows, ready.roles, self._plan(ready)
        engine = "reference" if self.engine == "reference" else "exact"

        def attributes_of(run: Any) -> dict[str, Any]:
            return self._attributes_of(run, ready)

        if _is_plain(rows):
            self._fit_plain(rows, roles, attributes_of)
        else:
            run = fit_by_moves(
                self,
                {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}},
                plan,
                started,
                lambda listener, budget, seeds: fit_cells(rows, plan, listener, budget, seeds, engine),
                attributes_of,
            )
            warn_of_equal_clusters(distinct_clusters(rows, run.labels, run.k), run.k, stacklevel=4)
        self._roles_table = np.array([[role.name, role.kind, role.reason] for role in roles], object)
        return self

    def _prepare(self, X: Any, sample_weight: Any) -> _Prepared:
        """Check a table, and learn its columns from the rows that count and have a value."""
        checking.check_table_parameters(self)
        name, k = type(self).__name__, int(self.n_clusters)
        columns = self._columns(X, reset=True)
        check_enough_rows(self, columns.n, columns.n, k)
        weights = check_weights(self, sample_weight, columns.n)
        column_weights = checking.check_column_weights(name, self.column_weights, columns.names)
        active = np.arange(columns.n) if weights is None else np.flatnonzero(weights > 0)
        counting = columns if len(active) == columns.n else columns.take(active)
        roles = self._roles(counting)

        def learnt(rows: Columns) -> tuple[Encoding, Any]:
            return learn_encoding(rows, roles, self.scale, column_weights, None if weights is None else weights[active])

        encoding, cells = learnt(counting)
        empty = active[_empty_rows(cells)]
        if len(empty):
            active = np.setdiff1d(active, empty, assume_unique=True)
            check_enough_rows(self, columns.n, len(active), k)
            encoding, cells = learnt(columns.take(active))
        check_enough_rows(self, columns.n, len(active), k)
        return _Prepared(columns, roles, encoding, cells, active, empty)

    def _fit_plain(self, rows: Any, roles: list[Role], attributes_of: Callable[[Any], dict[str, Any]]) -> None:
        """A table of nothing but numbers is clustered as ``KSums`` does it."""
        inner = self._inner()
        inner.fit(rows.numbers, sample_weight=rows.weights if len(rows.weights) else None)
        plan = replace(inner.plan_, notes=(*inner.plan_.notes, *_notes(roles)))
        run = _Ended(inner.labels_, len(inner.sizes_), inner.history_, inner.converged_, plan)
        self.__dict__.update(attributes_of(run))

    def _inner(self) -> KSums:
        """A ``KSums`` with the same parameters."""
        shared = {name: getattr(self, name) for name in _SHARED}
        shared["callbacks"] = [*(self.callbacks or []), *set_callbacks_of(self)] or None
        return KSums(int(self.n_clusters), **shared)

    def _columns(self, X: Any, *, reset: bool) -> Columns:
        """The columns of a table. New rows need the columns that are used, in any order."""
        name = type(self).__name__
        if is_table(X) and (reset or hasattr(self, "feature_names_in_")):
            checking.check_no_duplicates(name, names_of(X))
            columns = Columns(X)
            checking.check_not_empty(name, columns.n, len(columns.names))
            if reset:
                self.feature_names_in_ = np.array(columns.names, object)
                self.n_features_in_ = len(columns.names)
            else:
                checking.check_has_columns(name, columns.names, self._encoding.names)
            return columns
        if isinstance(X, (list, tuple)):
            X = np.array(X, dtype=object)  # otherwise NumPy would turn numbers beside words into words
        X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)
        return Columns(X, None if reset else getattr(self, "feature_names_in_", None))

    def _roles(self, columns: Columns) -> list[Role]:
        """What each column is taken for."""
        name = type(self).__name__
        given = {
            parameter: checking.check_names(name, parameter, getattr(self, parameter), columns.names)
            for parameter in ("numeric", "categorical", "ignore")
        }
        checking.check_one_role(name, **given)
        roles = roles_of(columns, **given)
        left_out = {role.name: role.reason for role in roles if role.kind == LEFT_OUT}
        checking.check_any_column(name, columns.n, len(roles) - len(left_out), left_out)
        for role in roles:
            if role.kind in (NUMBER, DATE):
                checking.check_numbers(name, role.name, columns)
        return roles

    def _plan(self, ready: _Prepared) -> PartitionPlan:
        cells = ready.rows
        width = cells.numbers.shape[1] + cells.codes.shape[1]
        shape = Shape(cells.n, width, int(self.n_clusters), weighted=len(cells.weights) > 0)
        plan = plan_table(self.get_params(deep=False), shape, numbers=not cells.codes.shape[1])
        return replace(plan, notes=(*plan.notes, *_notes(ready.roles)))

    def _attributes_of(self, run: Any, ready: _Prepared) -> dict[str, Any]:
        """Fitted attributes, computed from the cells and the labels."""
        from ksums.method.cells.cells import unpulled
        from ksums.method.cells.partition import CellPartition
        from ksums.method.cells.sums import centres_of
        from ksums.method.fitting.tables import nearest_clusters

        rows, encoding, n = ready.rows, ready.encoding, ready.columns.n
        found = CellPartition(rows, run.labels, run.k, self.objective)
        measures, sizes = found.measures(), found.sizes
        plain = CellPartition(unpulled(rows), run.labels, run.k, self.objective)
        a = len(encoding.numeric)
        means = np.divide(
            plain.sums.composites,
            plain.sums.observed[:a],
            out=np.full(plain.sums.composites.shape, np.nan),
            where=plain.sums.observed[:a] > 0,
        )
        with_pull = found if self.objective == "distortion" else CellPartition(rows, run.labels, run.k, "distortion")
        pulled = centres_of(rows, with_pull.sums)
        labels = np.full(n, -1, np.int32)
        labels[ready.active] = run.labels
        if len(idle := np.flatnonzero(labels < 0)):
            cells, _, _ = encode(encoding, ready.columns.take(idle))
            labels[idle] = nearest_clusters(cells, pulled)
            labels[idle[_empty_rows(cells)]] = sizes.argmax()
        return {
            "labels_": labels,
            "sizes_": sizes if len(rows.weights) else sizes.astype(np.int64),
            "cluster_means_": (means / encoding.scales[:, None] + encoding.shifts[:, None]).T,
            "category_shares_": centres_of(unpulled(rows), plain.sums).shares.T,
            "gap_shares_": 1.0 - (plain.sums.observed / sizes).T,
            "inertia_": measures.distortion * float(sizes.sum()),
            "distortion_": measures.distortion,
            "pairwise_": measures.pairwise,
            "objective_": measures.objective,
            "_centres": np.ascontiguousarray(pulled.numbers),
            "_shares": np.ascontiguousarray(pulled.shares),
            "_encoding": encoding,
            "_n_features_out": run.k,
            **attributes_of_run(run),
        }

    @property
    def columns_(self) -> dict[str, str]:
        """What each column was taken for."""
        check_is_fitted(self)
        return {name: f"{kind}: {reason}" if reason else kind for name, kind, reason in self._roles_table}

    @property
    def cluster_profiles_(self) -> list[ClusterProfile]:
        """What each cluster looks like."""
        check_is_fitted(self)
        return profiles_of(
            self._encoding, self.sizes_, self.cluster_means_, self.category_shares_, np.clip(self.gap_shares_, 0, 1)
        )

    # ---------------------------------------------------------------------------------------- using
    def predict(self, X):
        """The nearest cluster of each row, by the cells that it has.

        A row without any value gets the largest cluster. On the training rows this may differ from ``labels_`` for a
        few rows on a border.
        """
        cells = self._cells(X)
        labels = np.empty(cells.n, np.int32)
        for part in blocks(cells.n, _BLOCK):
            labels[part] = self._sq_distances(cells.take(np.arange(part.start, part.stop))).argmin(axis=1)
        labels[_empty_rows(cells)] = np.argmax(self.sizes_)
        return labels

    def transform(self, X):
        """Distances (n, k) of the rows to the clusters, over the cells that they have."""
        return np.sqrt(self._sq_distances(self._cells(X)))

    def score(self, X, y=None, sample_weight=None):
        """Minus the sum of squared distances of the rows to their nearest clusters: higher is better."""
        cells = self._cells(X)
        weights = check_weights(self, sample_weight, cells.n)
        least = self._sq_distances(cells).min(axis=1)
        return -float(least.sum() if weights is None else least @ weights)

    def _cells(self, X: Any) -> Any:
        check_is_fitted(self)
        columns = self._columns(X, reset=False)
        for column in self._encoding.numeric:
            checking.check_numbers(type(self).__name__, column, columns, fitted=True)
        cells, unknown, strange = encode(self._encoding, columns)
        if self.unknown == "error":
            checking.check_unknown(type(self).__name__, unknown)
        checking.warn_of_strange(strange, unknown)
        return cells

    def _sq_distances(self, cells: Any) -> np.ndarray:
        from ksums.method.cells.cells import centres_from
        from ksums.method.cells.starts import distances

        centres = centres_from(self._centres, self._shares, self._encoding.offsets)
        with computing(self.n_threads):
            return np.maximum(distances(cells, centres), 0.0)

    def plan_for(self, X, sample_weight=None):
        """What ``fit`` would do with this table, without fitting: the ``plan_`` of the model."""
        asked = clone(self)
        ready = asked._prepare(X, sample_weight)
        if not _is_plain(ready.rows):
            return asked._plan(ready)
        weights = ready.rows.weights
        plan = asked._inner().plan_for(ready.rows.numbers, weights if len(weights) else None)
        return replace(plan, notes=(*plan.notes, *_notes(ready.roles)))

    def save(self, path):
        """Write the fitted model to a file; :func:`ksums.load` reads it."""
        save(self, path)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


class _Prepared(NamedTuple):
    """A checked table, and what was learnt of it."""

    columns: Columns
    roles: list[Role]
    encoding: Encoding
    rows: Any  # Cells of the active rows
    active: np.ndarray  # rows that count and have a value
    empty: np.ndarray  # rows that count and have none


class _Ended(NamedTuple):
    """A run of ``KSums`` that has ended."""

    labels: np.ndarray
    k: int
    records: list[PassRecord]
    converged: bool
    plan: Plan


def _notes(roles: list[Role]) -> list[str]:
    """Which columns are left out, and why."""
    return [f"column {role.name!r} is left out: {role.reason}" for role in roles if role.kind == LEFT_OUT]


def _is_plain(cells: Any) -> bool:
    """Whether there are neither categories nor gaps."""
    return not cells.codes.shape[1] and not np.isnan(cells.numbers).any()


def _empty_rows(cells: Any) -> np.ndarray:
    """(n,) Whether a row has no value at all."""
    return np.isnan(cells.numbers).all(axis=1) & (cells.codes < 0).all(axis=1)


register(TableKSums)
