"""Checks of parameters against the data, and of arguments of methods."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ksums.checking.data import LARGEST
from ksums.checking.parameters import is_int, one_of
from ksums.compute.arrays import Matrix, arithmetic_of
from ksums.planning.effort import is_timed
from ksums.planning.starts import INIT_NAMES


def check_dense(estimator: Any, X: Matrix) -> None:
    """Refuse what is not offered for sparse rows, if it was asked for by name."""
    if not sparse.issparse(X):
        return
    name = type(estimator).__name__
    for parameter, value in (("engine", "neighbors"), ("engine", "blocks"), ("init", "two-level")):
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


def check_one_array(estimator: Any) -> None:
    """Refuse what makes no sense for a fit of a single array."""
    name = type(estimator).__name__
    if estimator.max_memory is not None:
        raise ValueError(
            f"{name}: max_memory is for data in parts; pass fit([X]) to cut an array into blocks, or leave "
            "max_memory=None."
        )
    if estimator.checkpoint is not None and (is_timed(estimator.effort) or estimator.time_budget is not None):
        raise ValueError(
            f"{name}: checkpoint requires work that does not depend on the clock; use a level of effort ('low', "
            "'default', 'high') and time_budget=None."
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
        allowed = LARGEST[arithmetic_of(X)]
        if (largest := np.abs(centres).max()) > allowed:
            raise ValueError(f"{name}: init as centres must hold values up to {allowed:g}, like X; got {largest:.3g}.")
        return centres
    raise ValueError(
        f"{name}: init as an array must be labels of shape ({n},) or centres of shape ({k}, {d}); "
        f"got shape {array.shape}."
    )


def check_init_by_name(estimator: Any) -> str:
    """The ``init`` parameter of a tree: it applies to each split, so given labels or centres make no sense."""
    if isinstance(estimator.init, str):
        return estimator.init
    raise ValueError(
        f"{type(estimator).__name__}: init must be one of {', '.join(map(repr, INIT_NAMES))}; got an array, which can "
        "start a flat fit (KSums), but not the splits of a tree."
    )


def check_option(estimator: Any, parameter: str, value: Any, options: tuple[str, ...]) -> None:
    """An argument of a method that is one of a few words."""
    constraint = one_of(*options)
    if not constraint.holds(value):
        raise ValueError(f"{type(estimator).__name__}: {parameter} must be {constraint.allowed}; got {value!r}.")


def check_search(estimator: Any, X: Matrix, search: Any) -> None:
    """How the nearest centres are found."""
    check_option(estimator, "search", search, ("exact", "graph"))
    if search == "graph" and sparse.issparse(X):
        raise ValueError(f"{type(estimator).__name__}: search='graph' is not offered for sparse X; use search='exact'.")


def check_cut(estimator: Any, n_clusters: Any, most: int) -> None:
    """The number of clusters at which a tree is cut."""
    if not is_int(n_clusters) or not 1 <= n_clusters <= most:
        raise ValueError(
            f"{type(estimator).__name__}: the tree can be cut at 1 … {most} clusters; got n_clusters={n_clusters!r}. "
            "For more clusters fit a larger tree."
        )


def check_cosine_only(estimator: Any) -> None:
    """A method that compares directions."""
    if estimator.metric != "cosine":
        raise ValueError(
            f"{type(estimator).__name__}: metric must be 'cosine', as the method compares directions; got "
            f"{estimator.metric!r}. For l2 use KMeansSharp or Hartigan."
        )
