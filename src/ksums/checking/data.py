"""Raw data becomes checked arrays here, once."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, validate_data

from ksums.compute.arrays import Matrix, blocks
from ksums.compute.tensors import for_numpy, is_on_card

logger = logging.getLogger("ksums")

NARROW = tuple(np.dtype(t) for t in ("float16", "uint8", "int8", "uint16", "int16", "bool"))
"""Types that are kept as they are and converted a few rows at a time."""

LARGEST = {np.dtype(np.float64): 1e140, np.dtype(np.float32): 1e37}
"""Larger values leave the range of their type when they are squared and summed up, or subtracted from each other."""

_WEIGHTS = 1e-12, 1e12
"""Squares of weights are added up, and far smaller ones would be lost among far larger ones."""


def _as_array(X: Any) -> Any:
    """Anything with ``__array__`` is left to scikit-learn; what only has DLPack is read here, without a copy."""
    if is_on_card(X):
        raise TypeError(
            f"X is a {type(X).__module__}.{type(X).__name__} on a CUDA device, where only KSums fits and predicts; "
            "move it to the CPU first."
        )
    X = for_numpy(X)
    if hasattr(X, "__array__") or sparse.issparse(X) or not hasattr(X, "__dlpack__"):
        return X
    try:
        return np.from_dlpack(X)
    except (BufferError, RuntimeError, ValueError) as error:
        raise TypeError(
            f"X is a {type(X).__module__}.{type(X).__name__} that NumPy cannot read ({error}); "
            "move it to the CPU first."
        ) from error


def check_rows(estimator: Any, X: Any, *, reset: bool, gaps: bool = False) -> Matrix:
    """X as a C-contiguous array or CSR array of numbers, copied only if its layout or type requires it.

    ``gaps``: NaN is allowed, and means a missing cell.
    """
    X = _as_array(X)
    name = type(estimator).__name__
    dtype = getattr(X, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind == "c":
        raise ValueError(f"Complex data not supported by {name}: X has dtype {dtype}; pass X.real or X.view(float).")
    if sparse.issparse(X) and X.format != "csr":
        logger.info("%s: converting X from sparse %s to CSR.", name, X.format)
    narrow = isinstance(dtype, np.dtype) and dtype in NARROW and not sparse.issparse(X)
    with config_context(array_api_dispatch=False):  # tensors on the CPU are read as NumPy arrays
        X = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=None if narrow else [np.float64, np.float32],
            order="C",
            ensure_all_finite=False,
        )
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    _check_values(name, X, gaps=gaps)
    return X


def as_matrix(name: str, X: Any) -> Matrix:
    """X, of any kind that a fit accepts, as an array or CSR array, for functions that only read it."""
    X = _as_array(X)
    narrow = isinstance(dtype := getattr(X, "dtype", None), np.dtype) and dtype in NARROW and not sparse.issparse(X)
    kinds = None if narrow else [np.float64, np.float32]
    with config_context(array_api_dispatch=False):
        X = check_array(X, accept_sparse="csr", dtype=kinds, ensure_all_finite=False)
    X = sparse.csr_array(X) if sparse.issparse(X) else X
    _check_values(name, X)
    return X


def check_values_with_gaps(name: str, X: np.ndarray) -> None:
    """Rows of floats in which NaN is a missing cell."""
    _check_values(name, X, gaps=True)


def check_block(name: str, X: np.ndarray, first: int) -> None:
    """The rows of a block, the first of which has this number among all rows."""
    _check_values(name, X, first)


def _check_values(name: str, X: Matrix, first: int = 0, gaps: bool = False) -> None:
    """Finite (but for gaps, where they are allowed), and small enough to square."""
    values = X.data if sparse.issparse(X) else X
    if values.dtype.kind != "f":
        return
    for part in blocks(len(values), max(1, (1 << 20) // max(1, values[:1].size))):
        block = values[part]
        finite = np.isfinite(block) | np.isnan(block) if gaps else np.isfinite(block)
        if not finite.all():
            at = np.argwhere(~finite)[0]
            what = "NaN" if np.isnan(block[tuple(at)]) else "infinity"
            at[0] += part.start
            if sparse.issparse(X):
                row, column = int(np.searchsorted(X.indptr, at[0], "right")) - 1, int(X.indices[at[0]])
            else:
                row, column = int(at[0]), int(at[1])
            raise ValueError(
                f"Input X contains {what}, first in row {first + row}, column {column}, which {name} does not accept; "
                "drop such rows or fill them in (for example with sklearn.impute.SimpleImputer)"
                f"{_or_ignore(name, what)}."
            )
        allowed = LARGEST.get(values.dtype, np.inf)
        largest = float(np.nanmax(np.abs(block), initial=0.0))
        if largest > allowed:
            raise ValueError(
                f"Input X holds values up to {largest:.3g}, whose squares leave the range of "
                f"float64; {name} accepts {values.dtype} up to {allowed:g}: divide X by a constant."
            )


def _or_ignore(name: str, what: str) -> str:
    """The estimator that can do without filling in."""
    dense = ", or use missing='ignore', which is for dense rows and tables in memory"
    return dense if name == "KSums" and what == "NaN" else ""


def warn_of_equal_clusters(distinct: int, k: int, stacklevel: int) -> None:
    """Say that only some clusters differ, in the words of scikit-learn."""
    if distinct < k:
        warnings.warn(
            f"Number of distinct clusters ({distinct}) found smaller than n_clusters ({k}). Possibly due to duplicate "
            "points in X: some clusters hold copies of the same row.",
            ConvergenceWarning,
            stacklevel=stacklevel + 1,
        )


def check_weights(estimator: Any, sample_weight: Any, n: int) -> np.ndarray | None:
    """Weights as float64, or None if all of them are 1."""
    if sample_weight is None:
        return None
    name = type(estimator).__name__
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.ndim != 1:
        raise ValueError(f"{name}: sample_weight must be a scalar or of shape ({n},); got shape {weights.shape}.")
    if len(weights) != n:
        raise ValueError(
            f"{name}: sample_weight must have one weight for each of the {n} rows of X; got {len(weights)} weights."
        )
    bad = np.flatnonzero(~np.isfinite(weights) | (weights < 0))
    if len(bad):
        raise ValueError(
            f"{name}: sample_weight must be finite and >= 0; got {weights[bad[0]]} in row {bad[0]}. "
            "Give a row weight 0 to leave it out."
        )
    if not weights.any():
        raise ValueError(f"{name}: all sample weights are zero; at least n_clusters of them must be above zero.")
    positive = weights[weights > 0]
    if positive.min() < _WEIGHTS[0] or positive.max() > _WEIGHTS[1]:
        raise ValueError(
            f"{name}: sample weights other than 0 must lie between {_WEIGHTS[0]:g} and {_WEIGHTS[1]:g}; got "
            f"{positive.min():g} … {positive.max():g}. Multiply them by a constant: only their ratios matter."
        )
    return None if (weights == 1).all() else weights


def check_enough_rows(estimator: Any, n: int, active: int, k: int) -> None:
    """k clusters need k rows that count."""
    name = type(estimator).__name__
    if n < k:
        raise ValueError(f"n_samples={n} should be >= n_clusters={k}; {name} needs more rows or fewer clusters.")
    if active < k:
        raise ValueError(
            f"{name}: only {active} of {n} rows have a weight above zero (and under metric='cosine' are not all "
            f"zeros), fewer than n_clusters={k}; drop the others, or ask for fewer clusters."
        )


def check_directions(estimator: Any, empty: np.ndarray) -> None:
    """Rows of zeros belong to no cluster under cosine, so sizes cannot be limited with them."""
    limits = (getattr(estimator, name, None) for name in ("size_min", "size_max"))
    if len(empty) and any(limit is not None for limit in limits):
        raise ValueError(
            f"{type(estimator).__name__}: {len(empty)} rows of X are all zeros (first row {empty[0]}) and belong to no "
            "cluster under metric='cosine', so size_min and size_max cannot be met with them; drop these rows."
        )


def warn_of_zero_rows(empty: np.ndarray) -> None:
    """One warning that names the rows."""
    if len(empty) == 0:
        return
    first = ", ".join(map(str, empty[:5])) + (", …" if len(empty) > 5 else "")
    warnings.warn(
        f"{len(empty)} rows of X are all zeros and have no direction (rows {first}): under metric='cosine' "
        "they get a label but do not influence any cluster.",
        UserWarning,
        stacklevel=5,
    )
