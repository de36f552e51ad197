"""Facts about each cluster, computed from the model and its data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from ksums.checking.data import as_matrix
from ksums.compute.arrays import Matrix
from ksums.compute.tensors import as_numpy
from ksums.estimators.table import TableKSums
from ksums.method.data.norms import unit_rows
from ksums.method.data.sums import sq_distances_to_own
from ksums.models.centres import centres_of, means_of
from ksums.models.scaling import parts_of, scaled_rows
from ksums.plots import project_rows, sample_rows
from ksums.report.constraints import ConstraintFacts, constraint_facts
from ksums.tables.profiles import ClusterProfile

_BLOCK = 4096
"""Rows that are converted to float64 at a time, so that large data is not copied as a whole."""

_LISTED = 3
"""Nearest clusters, most central rows and most distant rows that are listed for a cluster: enough for an impression."""

MAX_WORDS = 6
"""Most terms or features that are listed as special: more would not fit into a cell of the table."""

_MAX_CLUSTERS = 500
"""Most clusters that are described, starting with the largest: nobody reads more, and the page stays small."""

MAX_POINTS = 6_000
"""Most points in the map: more would overlap and make the page slow."""

_MAX_MEAN_COLUMNS = 30
"""Most columns whose means are shown: a wider table could not be read."""

MIN_DEVIATIONS = 0.1
"""A feature is special if the cluster's mean is at least this many standard deviations from the mean of all rows."""

_TOLERANCE = 1e-3
"""Allowed relative difference of E_m, because the same rows may have been saved in another precision."""

_ROUNDING = 1e-9
"""Allowed difference of E_m as a share of the variance of all rows: clusters of equal rows have E_m = 0 up to that."""


@dataclass(frozen=True)
class ClusterFacts:
    """One cluster."""

    index: int
    size: float
    spread: float
    """Root of the mean squared distance of its rows to its centre, over the cells that they have; under cosine, of the
    rows scaled to unit length."""
    nearest: list[tuple[int, float]]
    """The nearest other clusters, with the distances between the centres."""
    central: list[int]
    """The rows closest to the centre."""
    distant: list[int]
    """The rows farthest from the centre."""
    words: list[tuple[str, float]]
    """What is special about the cluster. Sparse rows: frequent terms, with their weights in the centre. Dense rows:
    features far from the mean of all rows, in standard deviations. Tables: the same, and categories such as
    "town = Oslo", with the share in the cluster minus the share in all rows."""


@dataclass(frozen=True)
class Description:
    """Everything that the page shows."""

    n: int
    d: int
    features: list[str]
    """Names of the columns."""
    weighted: bool
    """Whether sizes are sums of weights instead of numbers of rows; a stream that forgets lowers weights, too."""
    without_direction: int
    """Number of rows of zeros, which have no direction under cosine; 0 under l2."""
    means: np.ndarray | None
    """(k, d) Mean of each column in each described cluster, in the units of the data; None for sparse rows, for many
    columns, under cosine, and for tables, which have profiles."""
    overall: np.ndarray | None
    """(d,) Mean of each column over all rows; None in the same cases."""
    clusters: list[ClusterFacts]
    left_out: int
    """Number of clusters that are not described, because there are too many."""
    points: np.ndarray
    """(m, 2) First two principal components of the rows in the map."""
    shares: np.ndarray
    """(2,) Shares of the variance of these two components."""
    point_rows: np.ndarray
    """(m,) Indices of the rows in the map."""
    point_labels: np.ndarray
    """(m,) Clusters of the rows in the map."""
    constraints: ConstraintFacts | None = None
    """The constraints of the model; None if it has none."""
    missing_cells: int = 0
    """Number of missing cells in the columns that are used."""
    empty_rows: int = 0
    """Number of rows without any value; they are not listed."""
    profiles: list[ClusterProfile] | None = None
    """Tables: the profile of each described cluster; None for other models."""
    overall_profile: ClusterProfile | None = None
    """Tables: the profile of all rows, as that of cluster −1."""
    columns: dict[str, str] = field(default_factory=dict)
    """Tables: what each column that is used was taken for: ``"number"``, ``"category"`` or ``"date"``."""
    left_out_columns: dict[str, str] = field(default_factory=dict)
    """The columns of the file that are left out, and why."""


class Measured(NamedTuple):
    """Rows of numbers as they are compared with their centres."""

    X: Matrix  # (n, d)  missing cells are filled
    own_means: np.ndarray  # (k, d)
    centres: np.ndarray  # (k, d)
    distances: np.ndarray  # (n,)  squared distance of each row to its cluster's centre
    ranks: np.ndarray  # (n,)  what makes a row central or distant; the distances, unless cells are missing
    listed: np.ndarray  # (n,)  whether a row has a direction and a value
    statistics: tuple[np.ndarray, np.ndarray]  # (d,), (d,)  mean and standard deviation of each column
    overall: np.ndarray  # (d,)  mean of each column, where rows count by their weights
    missing_cells: int = 0


def describe(model: Any, X: Matrix, features: Sequence[str] | None = None, random_state: int = 0) -> Description:
    """Describe the clusters of a model.

    Parameters
    ----------
    model : fitted model, or a pipeline of a StandardScaler and a model
    X : array-like or CSR array of shape (n, d); for a TableKSums, a pandas, polars or Arrow table, or an array
        The rows that the model, or the pipeline, was fitted to: for a pipeline, the rows before scaling.
    features : sequence of str, default=None
        Names of the columns. If None, the names that the model knows, or else the numbers of the columns. A TableKSums
        takes them from its table.
    random_state : int, default=0
        Seed of the sample of points in the map.

    Returns
    -------
    Description
    """
    from ksums.report.tables import describe_table, measure_with_gaps, rows_with_gaps  # they need what is defined here

    scaler, model = parts_of(model)
    check_is_fitted(model)
    if isinstance(model, TableKSums):
        if scaler is not None:
            raise TypeError("TableKSums scales its columns itself; fit it without a StandardScaler.")
        if features is not None:
            raise ValueError("features: the columns of a table have names already; rename them in the table.")
        return describe_table(model, X, random_state)
    if not hasattr(model, "composites_"):
        raise TypeError(f"a report is for models of rows and tables; got {type(model).__name__}, which has no centres.")
    with_gaps = hasattr(model, "cell_counts_")
    X = rows_with_gaps(X) if with_gaps else as_matrix("a report", X)
    labels, (n, d) = as_numpy(model.labels_), X.shape
    if len(labels) != n or model.n_features_in_ != d:
        raise ValueError(
            f"the model was fitted to {len(labels)} rows and {model.n_features_in_} columns; X has {n} rows and {d} "
            "columns."
        )
    X = scaled_rows(scaler, X)
    features = _column_names(features, scaler or model, getattr(model, "column_numbers_", range(d)))
    rows = measure_with_gaps(model, X, labels) if with_gaps else _measure(model, X, labels)
    counted = rows.listed if with_gaps else np.ones(n, bool)
    weighted = is_weighted(model, labels[counted]) and not (with_gaps and model.sizes_.dtype.kind == "i")
    if not weighted:
        check_same_data(model, rows.distances[counted], float(np.square(rows.statistics[1]).sum()))
    clusters = facts_by_cluster(
        model.sizes_,
        labels,
        rows.distances,
        rows.ranks,
        rows.listed,
        rows.centres,
        lambda r: _special(rows.own_means[r], *rows.statistics, features, sparse.issparse(X)),
    )
    chosen = sample_rows(n, MAX_POINTS, random_state)
    points, shares = project_rows(rows.X, chosen, model.metric, random_state)
    cluster_means, overall = None, None
    if model.metric == "l2" and not sparse.issparse(X) and d <= _MAX_MEAN_COLUMNS:
        all_means = np.vstack([rows.own_means[[cluster.index for cluster in clusters]], rows.overall])
        all_means = all_means if scaler is None else scaler.inverse_transform(all_means)
        cluster_means, overall = all_means[:-1], all_means[-1]
    return Description(
        n=n,
        d=d,
        features=features,
        weighted=weighted,
        without_direction=0 if with_gaps else int(n - rows.listed.sum()),
        means=cluster_means,
        overall=overall,
        clusters=clusters,
        left_out=len(rows.centres) - len(clusters),
        points=points,
        shares=shares,
        point_rows=chosen,
        point_labels=labels[chosen],
        constraints=constraint_facts(model, X, labels),
        missing_cells=rows.missing_cells,
        empty_rows=int(n - counted.sum()),
        left_out_columns=dict(getattr(model, "left_out_columns_", {})),
    )


def _measure(model: Any, X: Matrix, labels: np.ndarray) -> Measured:
    """Rows without missing cells."""
    centres = centres_of(model)
    distances, has_direction = _distances(X, centres, labels, model.metric)
    overall = as_numpy(model.composites_).sum(axis=0) / as_numpy(model.sizes_).sum()
    statistics = _column_statistics(X, model.metric)
    return Measured(X, means_of(model), centres, distances, distances, has_direction, statistics, overall)


def facts_by_cluster(
    sizes: np.ndarray,  # (k,)
    labels: np.ndarray,  # (n,)
    distances: np.ndarray,  # (n,)  squared distance of each row to its cluster's centre
    ranks: np.ndarray,  # (n,)  what makes a row central or distant
    listed: np.ndarray,  # (n,)  whether a row may be listed
    centres: np.ndarray,  # (k, d)
    special: Callable[[int], list[tuple[str, float]]],
) -> list[ClusterFacts]:
    """The facts about each cluster, by index; about the largest ones, if there are too many."""
    order = np.lexsort((ranks, labels))
    order = order[listed[order]]
    stops = np.searchsorted(labels[order], np.arange(len(centres)), side="right")
    starts = np.searchsorted(labels[order], np.arange(len(centres)), side="left")
    by_size = np.argsort(-np.asarray(sizes, np.float64), kind="stable")[:_MAX_CLUSTERS]
    nearest = _nearest(centres, by_size)
    clusters = []
    for r in sorted(by_size.tolist()):
        rows = order[starts[r] : stops[r]]
        spread = float(np.sqrt(distances[rows].mean())) if len(rows) else float("nan")
        central = rows[:_LISTED].tolist()
        distant = rows[::-1][: min(_LISTED, max(0, len(rows) - _LISTED))].tolist()
        clusters.append(ClusterFacts(r, float(sizes[r]), spread, nearest[r], central, distant, special(r)))
    return clusters


def is_weighted(model: Any, labels: np.ndarray) -> bool:
    """Whether the sizes are not the numbers of these rows."""
    return not np.array_equal(np.bincount(labels, minlength=len(model.sizes_)), np.asarray(model.sizes_, np.float64))


def _column_names(given: Sequence[str] | None, first_step: Any, numbers: Sequence[int]) -> list[str]:
    """The given names, or those that the model or its scaler knows, or the numbers of the columns."""
    if given is None:
        given = getattr(first_step, "feature_names_in_", [f"column {t}" for t in numbers])
    if len(given) != len(numbers):
        raise ValueError(f"features must name all {len(numbers)} columns; got {len(given)} names.")
    return [str(name) for name in given]


def check_same_data(model: Any, distances: np.ndarray, variance: float) -> None:
    """Refuse other rows of the same shape, and the same rows in another order: with them E_m differs.

    ``variance`` of all rows: differences that are far smaller come from rounding.
    """
    found, expected = float(distances.sum()) / max(1, len(distances)), float(model.distortion_)
    if abs(found - expected) > _TOLERANCE * max(found, expected) + _ROUNDING * variance:
        raise ValueError(
            "these are not the rows that the model was fitted to: their mean squared distance to the centres is "
            f"{found:.6g} instead of {expected:.6g}. Pass the same rows in the same order, scaled as for the fit."
        )


def _blocks(X: Matrix, metric: str) -> Iterator[tuple[slice, Matrix]]:
    """Blocks of rows in float64; under cosine, scaled to unit length."""
    for first in range(0, X.shape[0], _BLOCK):
        part = slice(first, first + _BLOCK)
        yield part, unit_rows(X[part]) if metric == "cosine" else X[part].astype(np.float64)


def _distances(X: Matrix, centres: np.ndarray, labels: np.ndarray, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Squared distance (n,) of each row to its cluster's centre, and whether each row has a direction (n,)."""
    found, has_direction = np.empty(len(labels)), np.ones(len(labels), bool)
    for part, rows in _blocks(X, metric):
        found[part] = sq_distances_to_own(rows, centres, labels[part])
        if metric == "cosine":
            has_direction[part] = np.asarray(abs(rows).sum(axis=1)).ravel() > 0
    return found, has_direction


def _nearest(centres: np.ndarray, chosen: np.ndarray) -> dict[int, list[tuple[int, float]]]:
    """The nearest other clusters of each chosen cluster, with their distances; none for empty clusters."""
    filled = np.flatnonzero(np.isfinite(centres).all(axis=1))
    finder = NearestNeighbors(n_neighbors=min(_LISTED + 1, len(filled))).fit(centres[filled])
    found: dict[int, list[tuple[int, float]]] = {int(r): [] for r in chosen}
    queries = [int(r) for r in chosen if np.isfinite(centres[r]).all()]
    if len(filled) < 2 or not queries:
        return found
    distances, ids = finder.kneighbors(centres[queries])
    for r, neighbours, lengths in zip(queries, filled[ids], distances, strict=True):
        found[r] = [(int(v), float(x)) for v, x in zip(neighbours, lengths, strict=True) if v != r][:_LISTED]
    return found


def _column_statistics(X: Matrix, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each column."""
    shift, sums, squares = np.zeros((3, X.shape[1]))
    for part, rows in _blocks(X, metric):
        if sparse.issparse(rows):
            sums += np.asarray(rows.sum(axis=0)).ravel()
            squares += np.asarray(rows.multiply(rows).sum(axis=0)).ravel()
            continue
        if part.start == 0:  # the squares of numbers far from 0 would lose digits
            shift = rows.mean(axis=0)
        sums += (rows - shift).sum(axis=0)
        squares += np.square(rows - shift).sum(axis=0)
    means = sums / X.shape[0]
    return means + shift, np.sqrt(np.maximum(squares / X.shape[0] - means**2, 0.0))


def _special(
    own_mean: np.ndarray, means: np.ndarray, deviations: np.ndarray, features: Sequence[str], is_sparse: bool
) -> list[tuple[str, float]]:
    """What is special about a cluster: see ``ClusterFacts.words``."""
    difference = own_mean - means
    if is_sparse:
        best = np.argsort(-difference, kind="stable")[:MAX_WORDS]
        return [(str(features[t]), float(own_mean[t])) for t in best if difference[t] > 0]
    scaled = np.divide(difference, deviations, out=np.zeros_like(difference), where=deviations > 0)
    best = np.argsort(-np.abs(scaled), kind="stable")[:MAX_WORDS]
    return [(str(features[t]), float(scaled[t])) for t in best if abs(scaled[t]) >= MIN_DEVIATIONS]
