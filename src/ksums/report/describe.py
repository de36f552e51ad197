"""What a reader wants to know of each cluster, from the data and the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from ksums.metrics import sq_distances, unit_rows
from ksums.plots import plane, some_rows
from ksums.saving import as_seen, parts_of
from ksums.typing import Matrix
from ksums.validation import as_matrix

_ROWS_AT_A_TIME = 4096
_NEAREST = 3  # clusters, and rows at the centre and at the edge, that are named
_WORDS = 6  # terms or features
_MOST_CLUSTERS = 500  # that are described, the largest ones
_MOST_POINTS = 6_000  # in the map
_MOST_MEANS = 30  # columns whose means are shown
_WORTH_A_WORD = 0.1  # standard deviations between the mean of a cluster and that of all
_SAME = 1e-3  # relative difference of E_m, for the same rows may have been written in another precision


@dataclass(frozen=True)
class ClusterFacts:
    """One cluster."""

    index: int
    size: float
    spread: float
    """Root of the mean squared distance of its rows to the centre; under cosine of the rows of unit length."""
    nearest: list[tuple[int, float]]
    """Other clusters with the distances between the centres."""
    central: list[int]
    distant: list[int]
    """Rows, those nearest to the centre and those furthest from it."""
    words: list[tuple[str, float]]
    """What is special: terms that are frequent here (sparse rows), or features far from the mean of all, in standard
    deviations."""


@dataclass(frozen=True)
class Description:
    """All that is on the page."""

    n: int
    d: int
    features: list[str]
    """Names of the columns."""
    weighted: bool
    """Whether sizes are sums of weights, or of samples that count less and less, instead of numbers of rows."""
    without_direction: int
    """Rows of zeros, which under cosine belong nowhere."""
    means: np.ndarray | None
    """(k, d) Means of the columns in each described cluster, before they were scaled; not of sparse rows, many columns,
    or under cosine."""
    overall: np.ndarray | None
    """(d,) The same for all clusters together."""
    clusters: list[ClusterFacts]
    left_out: int
    """Clusters that are not described, for there are too many."""
    points: np.ndarray
    """(m, 2) Coordinates of some rows in the plane of the map, their first two principal components."""
    shares: np.ndarray
    """(2,) What these two have of the variance."""
    point_rows: np.ndarray
    """(m,) Which rows these are."""
    point_labels: np.ndarray
    """(m,) Their clusters."""


def describe(model: Any, X: Matrix, features: Sequence[str] | None = None, random_state: int = 0) -> Description:
    """Look at the clusters of a model.

    Parameters
    ----------
    model : fitted model, or a pipeline of a StandardScaler and one
    X : array-like or CSR array of shape (n, d)
        The rows it was fitted to; those that a pipeline was fitted to, not scaled.
    features : sequence of str, default=None
        Names of the columns: terms, or features. Those that the model knows, if None; else their numbers.
    random_state : int, default=0
        For the choice of the points in the map.
    """
    scaler, model = parts_of(model)
    check_is_fitted(model)
    X = as_matrix("a report", X)
    labels, (n, d) = np.asarray(model.labels_), X.shape
    if len(labels) != n or model.n_features_in_ != d:
        raise ValueError(
            f"the model is of {len(labels)} rows of {model.n_features_in_} columns; the data has {n} rows of {d}."
        )
    X = as_seen(scaler, X)
    if features is None:
        numbers = getattr(model, "column_numbers_", range(d))
        features = getattr(scaler or model, "feature_names_in_", [f"column {t}" for t in numbers])
    features = [str(name) for name in features]
    if len(features) != d:
        raise ValueError(f"there are {d} columns, but {len(features)} names of them.")
    sizes = np.asarray(model.sizes_, np.float64)[:, None]
    centres = np.divide(model.composites_, sizes, out=np.full(model.composites_.shape, np.nan), where=sizes > 0)
    distances, has_direction = _distances(X, centres, labels, model.metric)
    weighted = not np.array_equal(np.bincount(labels, minlength=len(sizes)), sizes.ravel())
    if not weighted:
        _check_that_it_is_the_data(model, distances)
    order = np.lexsort((distances, labels))
    order = order[has_direction[order]]
    stops = np.searchsorted(labels[order], np.arange(len(centres)), side="right")
    starts = np.searchsorted(labels[order], np.arange(len(centres)), side="left")
    by_size = np.argsort(-np.asarray(model.sizes_, np.float64), kind="stable")[:_MOST_CLUSTERS]
    nearest = _nearest(centres, by_size)
    means, deviations = _columns(X, model.metric)
    clusters = []
    for r in sorted(by_size.tolist()):
        rows = order[starts[r] : stops[r]]
        spread = float(np.sqrt(distances[rows].mean())) if len(rows) else float("nan")
        clusters.append(
            ClusterFacts(
                r,
                float(model.sizes_[r]),
                spread,
                nearest[r],
                rows[:_NEAREST].tolist(),
                rows[::-1][: min(_NEAREST, max(0, len(rows) - _NEAREST))].tolist(),
                _words(centres[r], means, deviations, features, sparse.issparse(X)),
            )
        )
    chosen = some_rows(n, _MOST_POINTS, random_state)
    points, shares = plane(X, chosen, model.metric, random_state)
    shown, overall = None, None
    if model.metric == "l2" and not sparse.issparse(X) and d <= _MOST_MEANS:
        both = np.vstack([centres[np.sort(by_size)], np.asarray(model.composites_).sum(axis=0) / sizes.sum()])
        both = both if scaler is None else scaler.inverse_transform(both)
        shown, overall = both[:-1], both[-1]
    return Description(
        n=n,
        d=d,
        features=features,
        weighted=weighted,
        without_direction=int(n - has_direction.sum()),
        means=shown,
        overall=overall,
        clusters=clusters,
        left_out=len(centres) - len(by_size),
        points=points,
        shares=shares,
        point_rows=chosen,
        point_labels=labels[chosen],
    )


def _check_that_it_is_the_data(model: Any, distances: np.ndarray) -> None:
    """Refuse other rows of the same shape, or the same in another order: E_m of these labels would be another."""
    found, expected = float(distances.mean()), float(model.distortion_)
    if abs(found - expected) > _SAME * max(found, expected):
        raise ValueError(
            f"these are not the rows that the model was fitted to: their mean squared distance to the centres is "
            f"{found:.6g}, that of the model {expected:.6g}. Other data, another order, or not scaled as they were?"
        )


def _blocks(X: Matrix, metric: str) -> Iterator[tuple[slice, Matrix]]:
    """Some rows at a time, in float64; under cosine of unit length."""
    for first in range(0, X.shape[0], _ROWS_AT_A_TIME):
        part = slice(first, first + _ROWS_AT_A_TIME)
        yield part, unit_rows(X[part]) if metric == "cosine" else X[part].astype(np.float64)


def _distances(X: Matrix, centres: np.ndarray, labels: np.ndarray, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """(n,) Squared distance of each row to the centre of its cluster, and (n,) whether it has a direction."""
    found, has_direction = np.empty(len(labels)), np.ones(len(labels), bool)
    for part, rows in _blocks(X, metric):
        found[part] = sq_distances(rows, centres, labels[part])
        if metric == "cosine":
            has_direction[part] = np.asarray(abs(rows).sum(axis=1)).ravel() > 0
    return found, has_direction


def _nearest(centres: np.ndarray, wanted: np.ndarray) -> dict[int, list[tuple[int, float]]]:
    known = np.flatnonzero(np.isfinite(centres).all(axis=1))
    finder = NearestNeighbors(n_neighbors=min(_NEAREST + 1, len(known))).fit(centres[known])
    found: dict[int, list[tuple[int, float]]] = {int(r): [] for r in wanted}
    asked = [int(r) for r in wanted if np.isfinite(centres[r]).all()]
    if len(known) < 2 or not asked:
        return found
    distances, ids = finder.kneighbors(centres[asked])
    for r, near, far in zip(asked, known[ids], distances, strict=True):
        found[r] = [(int(v), float(x)) for v, x in zip(near, far, strict=True) if v != r][:_NEAREST]
    return found


def _columns(X: Matrix, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each column."""
    shift, sums, squares = np.zeros((3, X.shape[1]))
    for part, rows in _blocks(X, metric):
        if sparse.issparse(rows):
            sums += np.asarray(rows.sum(axis=0)).ravel()
            squares += np.asarray(rows.multiply(rows).sum(axis=0)).ravel()
            continue
        if part.start == 0:  # squares of numbers far from 0 lose digits
            shift = rows.mean(axis=0)
        sums += (rows - shift).sum(axis=0)
        squares += np.square(rows - shift).sum(axis=0)
    means = sums / X.shape[0]
    return means + shift, np.sqrt(np.maximum(squares / X.shape[0] - means**2, 0.0))


def _words(
    centre: np.ndarray, means: np.ndarray, deviations: np.ndarray, features: Sequence[str], is_sparse: bool
) -> list[tuple[str, float]]:
    """What is special about a cluster."""
    away = centre - means
    if is_sparse:
        best = np.argsort(-away, kind="stable")[:_WORDS]
        return [(str(features[t]), float(centre[t])) for t in best if away[t] > 0]
    scaled = np.divide(away, deviations, out=np.zeros_like(away), where=deviations > 0)
    best = np.argsort(-np.abs(scaled), kind="stable")[:_WORDS]
    return [(str(features[t]), float(scaled[t])) for t in best if abs(scaled[t]) >= _WORTH_A_WORD]
