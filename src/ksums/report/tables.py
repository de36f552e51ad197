"""Facts about the clusters of a table, and of rows with missing cells."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_array

from ksums.compute.arrays import blocks
from ksums.method.cells.cells import GAP, CellCentres, Cells, centres_from, sums_by_column
from ksums.plots import project_rows, sample_rows
from ksums.report.describe import (
    MAX_POINTS,
    MAX_WORDS,
    MIN_DEVIATIONS,
    Description,
    Measured,
    check_same_data,
    facts_by_cluster,
    is_weighted,
)
from ksums.tables.columns import LEFT_OUT
from ksums.tables.profiles import profiles_of

_BLOCK = 1 << 14
"""Rows whose squared differences are held at a time."""

_MAX_MAP_CATEGORIES = 500
"""Most categories that the map considers, starting with the most frequent: rare ones hardly change it."""

_MAX_CATEGORY = 40
"""Longer categories are cut to this many characters where they are special."""


class _Distances(NamedTuple):
    """How far rows are from their clusters' means."""

    squares: np.ndarray  # (n,)  squared distance over the cells that a row has
    ranks: np.ndarray  # (n,)  the same; a missing cell counts as the mean of its column, so that it decides nothing
    has_value: np.ndarray  # (n,)  whether a row has any value
    missing: int


# ------------------------------------------------------------------------------------------ tables
def describe_table(model: Any, X: Any, random_state: int) -> Description:
    """Describe the clusters of a fitted ``TableKSums``; X is the table that it was fitted to."""
    cells, labels, encoding = _cells(model, X), model.labels_, model._encoding
    if cells.n != len(labels):
        raise ValueError(f"the model was fitted to {len(labels)} rows; X has {cells.n} rows.")
    taken = {name: kind.partition(": ") for name, kind in model.columns_.items()}
    columns = {name: kind for name, (kind, _, _) in taken.items() if kind != LEFT_OUT}
    means = (model.cluster_means_ - encoding.shifts) * encoding.scales
    plain = centres_from(means.T, model.category_shares_.T, cells.offsets)
    found = _distances(
        lambda part: _squares(cells.take(np.arange(part.start, part.stop)), labels[part], plain), cells.n, len(columns)
    )
    deviations = _statistics(cells.numbers)[1]
    weighted = model.sizes_.dtype.kind == "f" and is_weighted(model, labels[found.has_value])
    if not weighted:
        impurities = 1.0 - sums_by_column(np.square(cells.shares), cells.offsets)
        variance = float(np.square(deviations).sum() + cells.column_weights @ impurities)
        check_same_data(model, found.squares[found.has_value], variance)
    scaled = means / np.where(deviations > 0, deviations, 1.0)
    clusters = facts_by_cluster(
        model.sizes_,
        labels,
        found.squares,
        found.ranks,
        found.has_value,
        np.hstack([model._centres.T, model._shares.T * _roots(cells)]),
        lambda r: _special(encoding, scaled[r], model.category_shares_[r]),
    )
    profiles = model.cluster_profiles_
    chosen = sample_rows(cells.n, MAX_POINTS, random_state)
    points, shares = _map(cells, chosen, random_state)
    return Description(
        n=cells.n,
        d=len(columns),
        features=list(columns),
        weighted=weighted,
        without_direction=0,
        means=None,
        overall=None,
        clusters=clusters,
        left_out=len(profiles) - len(clusters),
        points=points,
        shares=shares,
        point_rows=chosen,
        point_labels=labels[chosen],
        missing_cells=found.missing,
        empty_rows=int(cells.n - found.has_value.sum()),
        profiles=[profiles[cluster.index] for cluster in clusters],
        overall_profile=_overall_profile(model),
        columns=columns,
        left_out_columns={name: reason for name, (kind, _, reason) in taken.items() if kind == LEFT_OUT},
    )


def _cells(model: Any, X: Any) -> Cells:
    """The cells of the table. A model that was fitted to a table with names accepts an array, and the other way."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X (does not have valid|has) feature names")
        return model._cells(X)


def _squares(cells: Cells, labels: np.ndarray, centres: CellCentres) -> np.ndarray:
    """(m, a + b) Squared distance of each cell to its cluster's mean; NaN for gaps."""
    numbers = np.square(cells.numbers - centres.numbers.T[labels])
    own = centres.shares[cells.codes, labels[:, None]]  # at gaps any share, which is not used
    codes = cells.column_weights * np.maximum(1.0 - 2.0 * own + centres.sq_shares.T[labels], 0.0)
    return np.hstack([numbers, np.where(cells.codes == GAP, np.nan, codes)])


def _roots(cells: Cells) -> np.ndarray:
    """(c,) What shares of categories are multiplied by, so that their distances are Euclidean."""
    return np.repeat(np.sqrt(cells.column_weights), np.diff(cells.offsets))


def _special(encoding: Any, scaled: np.ndarray, shares: np.ndarray) -> list[tuple[str, float]]:
    """What is special about a cluster; of each column of categories, the one whose share differs most.

    A column of categories counts by the distance between the shares, which is comparable with standard deviations.
    """
    candidates = [(abs(value), str(name), float(value)) for name, value in zip(encoding.numeric, scaled, strict=True)]
    for name, (first, last) in zip(encoding.categorical, pairwise(encoding.offsets), strict=True):
        differences = shares[first:last] - encoding.shares[first:last]
        if not shares[first:last].any():  # the cluster has no value in this column
            continue
        rounded = np.abs(differences).round(9)
        at = max(range(last - first), key=lambda c: (rounded[c], differences[c]))  # of yes and no, the more frequent
        size = float(np.linalg.norm(differences))
        candidates.append((size, f"{name} = {encoding.words[first + at][:_MAX_CATEGORY]}", float(differences[at])))
    best = sorted((one for one in candidates if one[0] >= MIN_DEVIATIONS), key=lambda one: -one[0])
    return [(word, value) for _, word, value in best[:MAX_WORDS]]


def _overall_profile(model: Any) -> Any:
    """The profile of all rows."""
    encoding, sizes = model._encoding, np.asarray(model.sizes_, np.float64)
    gaps = np.clip(sizes @ model.gap_shares_ / sizes.sum(), 0, 1)
    total = np.array([model.sizes_.sum()])
    (found,) = profiles_of(encoding, total, encoding.shifts[None], encoding.shares[None], gaps[None])
    return replace(found, cluster=-1)


def _map(cells: Cells, chosen: np.ndarray, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    """First two principal components of the chosen rows; gaps are the means of their columns, or the shares."""
    kept = np.sort(np.argsort(-cells.shares, kind="stable")[:_MAX_MAP_CATEGORIES])
    columns = np.repeat(np.arange(cells.codes.shape[1]), np.diff(cells.offsets))
    codes = cells.codes[chosen][:, columns[kept]]
    shares = np.where(codes == GAP, cells.shares[kept], codes == kept) * _roots(cells)[kept]
    rows = np.hstack([np.nan_to_num(cells.numbers[chosen]), shares])
    points, explained = project_rows(rows, np.arange(len(chosen)), "l2", random_state)
    variances = cells.column_weights[columns] * cells.shares * (1.0 - cells.shares)
    variances *= (cells.codes[chosen] != GAP).mean(axis=0)[columns]
    variances[kept] = 0.0
    total = float(rows.var(axis=0).sum())
    return points, explained * total / max(total + float(variances.sum()), 1e-300)


# ------------------------------------------------------------------------------------------ rows of numbers with gaps
def rows_with_gaps(X: Any) -> np.ndarray:
    """X as an array of numbers, in which NaN is a gap."""
    return check_array(X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")


def measure_with_gaps(model: Any, X: np.ndarray, labels: np.ndarray) -> Measured:
    """Rows of a ``KSums`` that ignores missing cells; they are filled with the centre of the row's cluster."""
    counts, composites = model.cell_counts_, model.composites_
    own_means = np.divide(composites, counts, out=np.full(counts.shape, np.nan), where=counts > 0)
    centres = np.where(np.isnan(own_means), model.cluster_centers_, own_means)  # E_m is that of plain means
    found = _distances(lambda part: np.square(X[part] - centres[labels[part]]), *X.shape)
    filled = X.astype(np.float64)
    rows, columns = np.nonzero(np.isnan(X))
    filled[rows, columns] = centres[labels[rows], columns]
    return Measured(
        filled,
        own_means,
        centres,
        found.squares,
        found.ranks,
        found.has_value,
        _statistics(X),
        composites.sum(axis=0) / counts.sum(axis=0),
        found.missing,
    )


def _statistics(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the values of each column."""
    counts = np.maximum((~np.isnan(X)).sum(axis=0), 1)
    means = np.nansum(X, axis=0, dtype=np.float64) / counts
    return means, np.sqrt(np.nansum(np.square(X - means), axis=0) / counts)


def _distances(squares_of: Callable[[slice], np.ndarray], n: int, d: int) -> _Distances:
    """Distances from the squared differences (m, d) of blocks of rows, in which NaN is a gap."""
    squares, totals, gaps = np.empty(n), np.zeros(d), np.empty((n, d), bool)
    for part in blocks(n, _BLOCK):
        block = squares_of(part)
        gaps[part] = np.isnan(block)
        block[gaps[part]] = 0.0
        squares[part] = block.sum(axis=1)
        totals += block.sum(axis=0)
    means = totals / np.maximum(n - gaps.sum(axis=0), 1)
    ranks = squares.copy()
    for part in blocks(n, _BLOCK):
        ranks[part] += gaps[part] @ means
    return _Distances(squares, ranks, np.logical_not(gaps.all(axis=1)), int(gaps.sum()))
