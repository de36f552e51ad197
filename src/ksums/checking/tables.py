"""Checks of tables: names of columns, values, and what fits with gaps are offered."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from ksums.checking.data import LARGEST
from ksums.checking.options import check_option
from ksums.checking.parameters import check_parameters

_WITH_GAPS = {
    "metric": ("l2",),
    "rule": ("auto", "annealed"),
    "refine": ("auto",),
    "engine": ("auto", "exact", "reference"),
    "n_neighbors": (None,),
    "polish": (None,),
    "size_min": (None,),
    "size_max": (None,),
    "fixed_centers": (None,),
    "checkpoint": (None,),
    "max_memory": (None,),
    "tol": (None,),
    "device": (None, "cpu"),
}
"""What ``KSums`` offers for rows with gaps."""


_ENGINES = ("auto", "exact", "reference")
"""Engines for tables with words or gaps."""


def check_table_parameters(estimator: Any) -> None:
    """Refuse parameters of ``TableKSums`` that have no meaning."""
    check_parameters(estimator)
    check_option(estimator, "engine", estimator.engine, _ENGINES)


def check_with_gaps(estimator: Any, constrained: bool) -> None:
    """Refuse what is not offered for rows with gaps."""
    name = type(estimator).__name__
    for parameter, allowed in _WITH_GAPS.items():
        value = getattr(estimator, parameter)
        if not any(value is one or (isinstance(value, str) and value == one) for one in allowed):
            words = " or ".join(repr(one) for one in allowed)
            raise ValueError(
                f"{name}: {parameter}={value!r} is not offered for rows with missing cells; use {words}, or fill the "
                "cells in (for example with sklearn.impute.SimpleImputer)."
            )
    if constrained:
        raise ValueError(
            f"{name}: must_link, cannot_link and fixed_labels are not offered for rows with missing cells; fill the "
            "cells in first (for example with sklearn.impute.SimpleImputer)."
        )
    init = estimator.init
    if (isinstance(init, str) and init not in ("auto", "k-means++")) or (
        not isinstance(init, str) and np.ndim(init) != 1
    ):
        raise ValueError(
            f"{name}: init must be 'auto', 'k-means++' or labels (n,) for rows with missing cells; got "
            f"{init if isinstance(init, str) else 'an array of shape ' + str(np.shape(init))}."
        )


def check_columns_have_values(name: str, X: np.ndarray, names: Sequence[str] | None) -> None:
    """Refuse columns without a single value."""
    empty = np.flatnonzero(np.isnan(X).all(axis=0))
    if len(empty):
        first = empty[0] if names is None else repr(str(names[empty[0]]))
        raise ValueError(f"{name}: column {first} of X has no value at all; drop it.")


def warn_of_empty_rows(rows: np.ndarray) -> None:
    """One warning that names the rows."""
    if len(rows) == 0:
        return
    first = ", ".join(map(str, rows[:5])) + (", …" if len(rows) > 5 else "")
    what = f"1 row has no value at all (row {first})"
    if len(rows) > 1:
        what = f"{len(rows)} rows have no value at all (rows {first})"
    warnings.warn(
        f"{what}: such rows get the label of the largest cluster, but do not influence any cluster.",
        UserWarning,
        stacklevel=4,
    )


def check_names(name: str, parameter: str, wanted: Any, known: Sequence[str]) -> list[str]:
    """Names of columns that a parameter lists; refuses unknown ones."""
    if wanted is None:
        return []
    if isinstance(wanted, str) or not isinstance(wanted, Iterable):
        raise ValueError(f"{name}: {parameter} must be a list of columns, or None; got {wanted!r}. Use [{wanted!r}].")
    found = [str(column) for column in wanted]
    for column in found:
        if column not in known:
            near = get_close_matches(column, list(known), 1, 0.5)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"{name}: {parameter}: the table has no column {column!r}.{hint} It has {_listed(known)}.")
    return found


def check_column_weights(name: str, weights: Any, known: Sequence[str]) -> dict[str, float]:
    """Weights of columns by name."""
    if weights is None:
        return {}
    if not isinstance(weights, Mapping):
        raise ValueError(
            f"{name}: column_weights must be a dictionary of names and weights, or None; got {type(weights).__name__}."
        )
    check_names(name, "column_weights", list(weights), known)
    for column, weight in weights.items():
        if not isinstance(weight, (int, float, np.integer, np.floating)) or not 0 < float(weight) < np.inf:
            raise ValueError(
                f"{name}: column_weights[{column!r}] must be a number > 0; got {weight!r}. List the column in ignore "
                "to leave it out."
            )
    return {str(column): float(weight) for column, weight in weights.items()}


def check_one_role(name: str, numeric: Iterable[str], categorical: Iterable[str], ignore: Iterable[str]) -> None:
    """Refuse columns that are listed twice."""
    given = {"numeric": set(numeric), "categorical": set(categorical), "ignore": set(ignore)}
    for a, b in (("numeric", "categorical"), ("numeric", "ignore"), ("categorical", "ignore")):
        if both := sorted(given[a] & given[b]):
            raise ValueError(f"{name}: column {both[0]!r} is in both {a} and {b}; keep one of them.")


def check_no_duplicates(name: str, columns: Sequence[str]) -> None:
    """Refuse tables in which two columns have the same name."""
    if len(set(columns)) < len(columns):
        repeated = next(column for column in columns if list(columns).count(column) > 1)
        raise ValueError(f"{name}: two columns are called {repeated!r}; rename one of them.")


def check_numbers(name: str, column: str, columns: Any, fitted: bool = False) -> None:
    """Refuse columns without a number, infinite numbers, and numbers whose squares leave the range of float64.

    Words among numbers are missing cells, which is said. ``fitted``: the columns are those of new rows.
    """
    values = columns.numbers(column)
    words, first = columns.words_among_numbers(column)
    if words and np.isnan(values).all():
        way_out = "Pass numbers, as in the fit" if fitted else "List it in categorical"
        raise ValueError(f"{name}: column {column!r} must hold numbers; got words such as {first!r}. {way_out}.")
    if words:
        cells = "1 cell is not a number" if words == 1 else f"{words} cells are not numbers"
        warnings.warn(f"column {column!r}: {cells} (first {first!r}); counted as missing.", UserWarning, stacklevel=5)
    bad = np.flatnonzero(np.isinf(values) | (np.abs(values) > LARGEST[np.dtype(np.float64)]))
    if len(bad):
        raise ValueError(
            f"{name}: column {column!r} holds {values[bad[0]]:g} in row {bad[0]}, which is infinite or too large to "
            "square; replace it by a missing value or by a smaller number."
        )


def check_has_columns(name: str, columns: Sequence[str], needed: Sequence[str]) -> None:
    """Refuse a table that lacks a column of the fit."""
    missing = [column for column in needed if column not in columns]
    if missing:
        raise ValueError(
            f"{name}: the table has no column {missing[0]!r}; the model was fitted to {_listed(needed)}. A column of "
            "missing values will do."
        )


def check_not_empty(name: str, n: int, d: int) -> None:
    """Refuse tables without rows or columns, in the words of scikit-learn."""
    if not d:
        raise ValueError(f"{name}: 0 feature(s) (shape=({n}, 0)) while a minimum of 1 is required.")
    if not n:
        raise ValueError(f"{name}: Found array with 0 sample(s) (shape=(0, {d})) while a minimum of 1 is required.")


def check_any_column(name: str, n: int, used: int, reasons: Mapping[str, str]) -> None:
    """Refuse a table without a column that can be used."""
    if not used:
        listed = "; ".join(f"{column!r}: {reason}" for column, reason in list(reasons.items())[:5])
        raise ValueError(
            f"{name}: no column of the table (n_samples={n}) can be used ({listed}). Name columns in numeric= or "
            "categorical= to use them nevertheless."
        )


def check_unknown(name: str, unknown: Mapping[str, list[str]]) -> None:
    """Refuse categories that the fit did not see."""
    for column, words in unknown.items():
        raise ValueError(
            f"{name}: column {column!r} has categories that the fit did not see: {_listed(words)}. With "
            "unknown='ignore' they count as missing."
        )


def warn_of_strange(columns: Sequence[str], unknown: Mapping[str, list[str]]) -> None:
    """Warn of columns without a single category of the fit: their type may have changed."""
    for column in columns:
        warnings.warn(
            f"column {column!r} has no category that the fit saw, only others such as {_listed(unknown[column], 3)}: "
            "all of its cells count as missing.",
            UserWarning,
            stacklevel=4,
        )


def check_metric_with_gaps(estimator: Any) -> None:
    """Rows with gaps are compared by l2 alone."""
    if estimator.metric != "l2":
        raise ValueError(
            f"{type(estimator).__name__}: metric={estimator.metric!r} is not offered for rows with missing cells; fill "
            "the cells in (for example with sklearn.impute.SimpleImputer)."
        )


def _listed(words: Sequence[str], most: int = 8) -> str:
    return ", ".join(map(repr, words[:most])) + (f" and {len(words) - most} more" if len(words) > most else "")
