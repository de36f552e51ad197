"""What constraints did to a clustering: limits on the sizes, and rows that are not with their nearest centre."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ksums.compute.arrays import Matrix
from ksums.models.centres import given_centres
from ksums.planning.constraints import APART, CENTRES, SIZES, STAY, TOGETHER


@dataclass(frozen=True)
class ConstraintFacts:
    """The constraints of a model."""

    words: list[str]
    """A sentence for each kind of constraint."""
    low: np.ndarray
    """(k,) Least size of each cluster; 0: no limit."""
    high: np.ndarray
    """(k,) Largest size of each cluster; infinite: no limit."""
    rows: np.ndarray
    """(k,) Rows of each cluster, whatever their weights."""
    displaced: np.ndarray
    """(k,) Those of them whose nearest centre is that of another cluster."""

    @property
    def limits_differ(self) -> bool:
        """Whether clusters have different limits."""
        return not _same_for_all(self.low, self.high)


def constraint_facts(model: Any, X: Matrix, labels: np.ndarray) -> ConstraintFacts | None:
    """The constraints of a model and the rows that they displaced; None if it has no constraints."""
    kinds, k = _kinds(model), len(model.sizes_)
    if not kinds:
        return None
    low, high = _limits(model, len(labels)) if SIZES in kinds else (np.zeros(k), np.full(k, np.inf))
    words = {
        SIZES: _sizes_in_words(low, high, isinstance(getattr(model, "size_max", None), str)),
        APART: "Some pairs of rows must not share a cluster.",
        TOGETHER: "Some rows must share a cluster.",
        STAY: "Some rows must stay in given clusters.",
        CENTRES: _centres_in_words(given_centres(model)),
    }
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # plain arrays have none
        displaced = labels[model.predict(X) != labels]
    return ConstraintFacts(
        [words.get(kind, f"{kind.capitalize()}.") for kind in kinds],
        low,
        high,
        np.bincount(labels, minlength=k),
        np.bincount(displaced, minlength=k),
    )


def limits_in_words(low: float, high: float) -> str:
    """The limits on a size."""
    if low == high:
        return f"exactly {low:,.6g}"
    if low > 0 and np.isfinite(high):
        return f"{low:,.6g} to {high:,.6g}"
    if low > 0:
        return f"at least {low:,.6g}"
    return f"at most {high:,.6g}" if np.isfinite(high) else "any"


def _kinds(model: Any) -> tuple[str, ...]:
    """The kinds of constraints, as plans name them. In files of older versions only the parameters tell."""
    plan = getattr(getattr(model, "plan_", None), "constrained", None)
    if plan is not None:
        return plan.kinds
    limited = any(getattr(model, name, None) is not None for name in ("size_min", "size_max"))
    return (SIZES,) if limited else ()


def _limits(model: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Limits (k,) as the fit applied them. Those of balanced weights depend on the heaviest row and are not known."""
    k, least, most = len(model.sizes_), model.size_min, model.size_max
    weighted = np.asarray(model.sizes_).dtype.kind == "f"
    if isinstance(most, str):
        least, most = (None, None) if weighted else (n // k, -(-n // k))
    low = np.broadcast_to(np.asarray(0.0 if least is None else least, np.float64), k)
    high = np.broadcast_to(np.asarray(np.inf if most is None else most, np.float64), k)
    return (low, high) if weighted else (np.ceil(low), np.floor(high))


def _same_for_all(low: np.ndarray, high: np.ndarray) -> bool:
    return bool((low == low[0]).all() and (high == high[0]).all())


def _sizes_in_words(low: np.ndarray, high: np.ndarray, balanced: bool) -> str:
    if not _same_for_all(low, high):
        return "Clusters have different limits on their sizes, which the table lists."
    if low[0] == 0 and np.isinf(high[0]):
        close = "Sizes must be as close to their mean as the heaviest row allows."
        return close if balanced else "The limits allow any size."
    return f"The size of each cluster must be {limits_in_words(low[0], high[0])}."


def _centres_in_words(m: int) -> str:
    if m == 1:
        return "The centre of cluster 0 was given and does not move."
    return f"The centres of clusters 0 to {m - 1} were given and do not move."
