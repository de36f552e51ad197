"""Raw input becomes checked arrays here, once; every message about bad input is written here.

A message names the parameter, what was got, what is allowed, and the way out.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from ksums.parameters import INIT_NAMES, is_int, one_of
from ksums.typing import Matrix, arithmetic_of

logger = logging.getLogger("ksums")

NARROW = tuple(np.dtype(t) for t in ("float16", "uint8", "int8", "uint16", "int16", "bool"))
"""Kept as they are and converted a few rows at a time."""

_LARGEST = {np.dtype(np.float64): 1e140, np.dtype(np.float32): 1e37}
"""Larger values, squared and summed up, or subtracted from each other, leave the range of their type."""

_WEIGHTS = 1e-12, 1e12  # squares of weights are added up: far smaller beside far larger ones would be lost


def check_dense(estimator: Any, X: Matrix) -> None:
    """Refuse what sparse rows do not have, where it was asked for by name."""
    if not sparse.issparse(X):
        return
    name = type(estimator).__name__
    for parameter, value in (("engine", "neighbors"), ("init", "two-level")):
        if isinstance(getattr(estimator, parameter), str) and getattr(estimator, parameter) == value:
            raise ValueError(
                f"{name}: {parameter}={value!r} is not offered for sparse X; leave {parameter}='auto', reduce the "
                "dimensions first (for example with sklearn.decomposition.TruncatedSVD), or pass X.toarray() if that "
                "fits into memory."
            )
    if estimator.n_neighbors is not None:
        raise ValueError(f"{name}: n_neighbors is not offered for sparse X; leave n_neighbors=None.")
    if estimator.refine == "merge-split":
        raise ValueError(
            f"{name}: refine='merge-split' is not offered for sparse X; leave refine='auto', raise "
            "effort or n_init, or pass X.toarray() if that fits into memory."
        )


def _as_array(X: Any) -> Any:
    """Anything with ``__array__`` is left to scikit-learn; what only speaks DLPack is taken here, uncopied."""
    if hasattr(X, "__array__") or sparse.issparse(X) or not hasattr(X, "__dlpack__"):
        return X
    try:
        return np.from_dlpack(X)
    except (BufferError, RuntimeError, ValueError) as error:
        raise TypeError(
            f"X is a {type(X).__module__}.{type(X).__name__} that NumPy cannot read ({error}); "
            "move it to the CPU first."
        ) from error


def check_rows(estimator: Any, X: Any, *, reset: bool) -> Matrix:
    """X as a C-contiguous array or CSR array of numbers, copied only where its layout or type asks for it."""
    X = _as_array(X)
    name = type(estimator).__name__
    dtype = getattr(X, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind == "c":
        raise ValueError(f"Complex data not supported by {name}: X has dtype {dtype}; pass X.real or X.view(float).")
    if sparse.issparse(X) and X.format != "csr":
        logger.info("%s: X is converted from sparse %s to CSR.", name, X.format)
    narrow = isinstance(dtype, np.dtype) and dtype in NARROW and not sparse.issparse(X)
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
    _check_values(name, X)
    return X


def as_matrix(name: str, X: Any) -> Matrix:
    """X, of any kind that a fit accepts, as an array or CSR array, for those who only look at it."""
    X = _as_array(X)
    narrow = isinstance(dtype := getattr(X, "dtype", None), np.dtype) and dtype in NARROW and not sparse.issparse(X)
    X = check_array(X, accept_sparse="csr", dtype=None if narrow else [np.float64, np.float32], ensure_all_finite=False)
    X = sparse.csr_array(X) if sparse.issparse(X) else X
    _check_values(name, X)
    return X


def _check_values(name: str, X: Matrix) -> None:
    """Finite, and small enough to square."""
    values = X.data if sparse.issparse(X) else X
    if values.dtype.kind != "f":
        return
    step = max(1, (1 << 20) // max(1, values[:1].size))
    for first in range(0, len(values), step):
        block = values[first : first + step]
        finite = np.isfinite(block)
        if not finite.all():
            at = np.argwhere(~finite)[0]
            what = "NaN" if np.isnan(block[tuple(at)]) else "infinity"
            at[0] += first
            if sparse.issparse(X):
                row, column = int(np.searchsorted(X.indptr, at[0], "right")) - 1, int(X.indices[at[0]])
            else:
                row, column = int(at[0]), int(at[1])
            raise ValueError(
                f"Input X contains {what}, first in row {row}, column {column}, and {name} does not accept it; "
                "drop such rows or fill them in (for example with sklearn.impute.SimpleImputer)."
            )
        allowed = _LARGEST.get(values.dtype, np.inf)
        if block.size and float(np.abs(block).max()) > allowed:
            raise ValueError(
                f"Input X holds values up to {float(np.abs(block).max()):.3g}, whose squares leave the range of "
                f"float64; {name} accepts {values.dtype} up to {allowed:g}: divide X by a constant."
            )


def check_weights(estimator: Any, sample_weight: Any, n: int) -> np.ndarray | None:
    """Weights as float64, or None where they are all the same as having none."""
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


def check_enough_rows(estimator: Any, n: int, pulling: int, k: int) -> None:
    """k clusters need k rows that count."""
    name = type(estimator).__name__
    if n < k:
        raise ValueError(f"n_samples={n} should be >= n_clusters={k}; {name} needs more rows or fewer clusters.")
    if pulling < k:
        raise ValueError(
            f"{name}: only {pulling} of {n} rows have a weight above zero (and under metric='cosine' are not all "
            f"zeros), which is less than n_clusters={k}; drop the others, or ask for fewer clusters."
        )


def check_sizes(estimator: Any, total: float, weights: np.ndarray | None, k: int) -> None:
    """Limits that k clusters of ``total`` weight can meet."""
    name, low, high = type(estimator).__name__, estimator.size_min, estimator.size_max
    what = "samples" if weights is None else "sum of weights"
    reachable_low, reachable_high = low or 0.0, np.inf if high is None else high
    if weights is None:
        reachable_low, reachable_high = np.ceil(reachable_low), np.floor(reachable_high)
    if reachable_high * k < total:
        raise ValueError(
            f"{name}: size_max={high} times n_clusters={k} is less than the {total:g} {what} to place; "
            f"take size_max >= {int(np.ceil(total / k))} or more clusters."
        )
    if reachable_low * k > total:
        raise ValueError(
            f"{name}: size_min={low} times n_clusters={k} is more than the {total:g} {what} there are; "
            f"take size_min <= {int(total // k)} or fewer clusters."
        )
    if weights is not None and weights.max() > reachable_high:
        raise ValueError(
            f"{name}: a sample of weight {weights.max():g} fits into no cluster of size_max={high}; raise size_max."
        )


def check_directions(estimator: Any, empty: np.ndarray) -> None:
    """Rows of zeros under cosine belong nowhere in particular: not where sizes are limited."""
    limits = (getattr(estimator, name, None) for name in ("size_min", "size_max"))
    if len(empty) and any(limit is not None for limit in limits):
        raise ValueError(
            f"{type(estimator).__name__}: {len(empty)} rows of X are all zeros (first row {empty[0]}) and belong to no "
            "cluster under metric='cosine', so size_min and size_max cannot be kept with them; drop these rows."
        )


def warn_of_rows_without_direction(empty: np.ndarray) -> None:
    """One warning with the row numbers."""
    if len(empty) == 0:
        return
    first = ", ".join(map(str, empty[:5])) + (", …" if len(empty) > 5 else "")
    warnings.warn(
        f"{len(empty)} rows of X are all zeros and have no direction (rows {first}): under metric='cosine' "
        "they get a label but pull no cluster.",
        UserWarning,
        stacklevel=5,
    )


def check_init(estimator: Any, X: Matrix, k: int) -> str | np.ndarray:
    """The ``init`` parameter: a name, labels (n,) as int32, or centres (k, d) as float64."""
    init, name, (n, d) = estimator.init, type(estimator).__name__, X.shape
    if isinstance(init, str):
        return init
    array = np.asarray(init.toarray() if sparse.issparse(init) else init)
    if array.ndim == 1 and array.shape == (n,):
        if array.dtype.kind not in "iu":
            raise ValueError(f"{name}: init as labels must hold integers 0 … {k - 1}; got dtype {array.dtype}.")
        if array.min() < 0 or array.max() >= k:
            raise ValueError(
                f"{name}: init as labels must hold integers 0 … {k - 1}; got {array.min()} … {array.max()}."
            )
        return array.astype(np.int32)
    if array.ndim == 2 and array.shape == (k, d):
        try:
            centres = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name}: init as centres must hold numbers; got dtype {array.dtype}.") from error
        if not np.isfinite(centres).all():
            raise ValueError(f"{name}: init as centres must be finite; it holds NaN or infinity.")
        allowed = _LARGEST[arithmetic_of(X)]
        if (largest := np.abs(centres).max()) > allowed:
            raise ValueError(f"{name}: init as centres must hold values up to {allowed:g}, like X; got {largest:.3g}.")
        return centres
    raise ValueError(
        f"{name}: init as an array must be labels of shape ({n},) or centres of shape ({k}, {d}); "
        f"got shape {array.shape}."
    )


def check_init_by_name(estimator: Any) -> str:
    """The ``init`` parameter where it is about each split, so that given labels or centres make no sense."""
    if isinstance(estimator.init, str):
        return estimator.init
    raise ValueError(
        f"{type(estimator).__name__}: init must be one of {', '.join(map(repr, INIT_NAMES))}; got an array, which can "
        "start a flat fit (KSums), not the splits of a tree."
    )


def check_option(estimator: Any, parameter: str, value: Any, options: tuple[str, ...]) -> None:
    """An argument of a method, one of a few words."""
    constraint = one_of(*options)
    if not constraint.holds(value):
        raise ValueError(f"{type(estimator).__name__}: {parameter} must be {constraint.allowed}; got {value!r}.")


def check_search(estimator: Any, X: Matrix, search: Any) -> None:
    """How the nearest centres are looked for."""
    check_option(estimator, "search", search, ("exact", "graph"))
    if search == "graph" and sparse.issparse(X):
        raise ValueError(
            f"{type(estimator).__name__}: search='graph' is not offered for sparse X; take search='exact'."
        )


def check_cut(estimator: Any, n_clusters: Any, most: int) -> None:
    """A number of clusters at which a tree can be cut."""
    if not is_int(n_clusters) or not 1 <= n_clusters <= most:
        raise ValueError(
            f"{type(estimator).__name__}: the tree can be cut at 1 … {most} clusters; got n_clusters={n_clusters!r}. "
            "For more clusters fit a larger tree."
        )


def check_one(estimator: Any, x: Any) -> Any:
    """A single sample (d,) as a table of one row; a row of a sparse matrix as it is."""
    if sparse.issparse(x):
        return x if x.ndim == 2 else x.reshape(1, -1)
    x = np.asarray(x)
    if x.ndim != 1:
        raise ValueError(
            f"{type(estimator).__name__}: learn_one takes one sample of shape (d,); got shape {x.shape}. "
            "For several rows there is partial_fit."
        )
    return x[None]


def is_plain_row(estimator: Any, row: Any) -> bool:
    """Whether a table of one row can be used as it is, without a closer look; if not, ``check_rows`` says why."""
    return (
        isinstance(row, np.ndarray)
        and row.dtype in (np.float64, np.float32)
        and row.shape[1] == estimator.n_features_in_
        and float(np.abs(row).max()) <= _LARGEST[row.dtype]  # false for NaN
    )


def check_same_stream(estimator: Any, asked: Mapping[str, Any], begun: Mapping[str, Any]) -> None:
    """Parameters of a stream that goes on are those it began with."""
    for parameter, value in asked.items():
        if value != begun[parameter]:
            raise ValueError(
                f"{type(estimator).__name__}: {parameter}={value!r} in mid-stream, which began with "
                f"{begun[parameter]!r}; set it back, or begin anew with fit."
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
    """There must be a cluster to be near to."""
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


def check_cosine_only(estimator: Any) -> None:
    """A method that is about directions."""
    if estimator.metric != "cosine":
        raise ValueError(
            f"{type(estimator).__name__}: metric must be 'cosine', as the method compares directions; got "
            f"{estimator.metric!r}. For l2 take KMeansSharp or Hartigan."
        )
