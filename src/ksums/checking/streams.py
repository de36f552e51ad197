"""Checks of what is passed to a stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from ksums.checking.data import LARGEST


def check_one(estimator: Any, x: Any) -> Any:
    """A single sample (d,) as a table of one row; a row of a sparse matrix as it is."""
    if sparse.issparse(x):
        return x if x.ndim == 2 else x.reshape(1, -1)
    x = np.asarray(x)
    if x.ndim != 1:
        raise ValueError(
            f"{type(estimator).__name__}: learn_one takes one sample of shape (d,); got shape {x.shape}. "
            "Use partial_fit for several rows."
        )
    return x[None]


def is_plain_row(estimator: Any, row: Any) -> bool:
    """Whether a table of one row can be used as it is; if not, ``check_rows`` says why."""
    return (
        isinstance(row, np.ndarray)
        and row.dtype in (np.float64, np.float32)
        and row.shape[1] == estimator.n_features_in_
        and float(np.abs(row).max()) <= LARGEST[row.dtype]  # false for NaN
    )


def check_same_stream(estimator: Any, asked: Mapping[str, Any], begun: Mapping[str, Any]) -> None:
    """A stream continues with the parameters it began with."""
    for parameter, value in asked.items():
        if value != begun[parameter]:
            raise ValueError(
                f"{type(estimator).__name__}: {parameter} was changed to {value!r} in a stream that began with "
                f"{begun[parameter]!r}; set it back, or start again with fit."
            )


def check_forgotten(estimator: Any, n: int, k: int, labels: Any, ages: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """Labels and ages of rows to forget."""
    name = type(estimator).__name__
    own = np.asarray(labels)
    if own.shape != (n,) or own.dtype.kind not in "iu":
        raise ValueError(
            f"{name}: labels must hold one integer for each of the {n} rows, as partial_fit gave them; got shape "
            f"{own.shape} of dtype {own.dtype}."
        )
    if n and (own.min() < 0 or own.max() >= k):
        raise ValueError(f"{name}: labels must be 0 … {k - 1}; got {own.min()} … {own.max()}.")
    if (ages is None) != (estimator.half_life is None):
        raise ValueError(
            f"{name}: ages (how many samples came after each row) must be given with a half_life, and only then; "
            f"got ages={'None' if ages is None else '…'} with half_life={estimator.half_life!r}."
        )
    if ages is not None:
        ages = np.asarray(ages, dtype=np.float64)
        if ages.shape != (n,) or not (np.isfinite(ages) & (ages >= 0)).all():
            raise ValueError(f"{name}: ages must hold one number >= 0 for each of the {n} rows.")
    return own.astype(np.int32), ages


def check_any_opened(estimator: Any, opened: int) -> None:
    """Without an open cluster there is no nearest one."""
    if opened == 0:
        raise ValueError(
            f"{type(estimator).__name__}: no cluster is open, as every sample was forgotten or had no direction; "
            "learn some with partial_fit first."
        )


def check_enough_to_forget(estimator: Any, taken: np.ndarray, counts: np.ndarray) -> None:
    """A cluster cannot give back more samples than it has."""
    if len(short := np.flatnonzero(taken > counts)):
        r = int(short[0])
        raise ValueError(
            f"{type(estimator).__name__}: {taken[r]} rows are to be taken out of cluster {r}, which holds "
            f"{counts[r]} samples; forget only rows that were learnt, with the labels they got. Nothing was changed."
        )
