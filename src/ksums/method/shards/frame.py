"""How the rows of all blocks are prepared, so that they can be compared: one scan of the data decides it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ksums.method.data import norms
from ksums.method.data.rows import Rows, power_of_two_near, prepare
from ksums.method.shards.sums import Units

_LEAST_UNITS = 1024.0
"""The lightest weight is at least this many units, so that sizes keep three digits."""


class Moments(NamedTuple):
    """What the scan finds in a block."""

    n: int  # active rows
    heaviest: float
    sums: np.ndarray  # (d,)
    least: np.ndarray  # (d,)
    most: np.ndarray  # (d,)
    lightest: float = np.inf
    digest: str = ""  # of the values, if asked for


class Frame(NamedTuple):
    """What turns the rows of a block into prepared rows (see ``data/rows.py``)."""

    dtype: np.dtype[Any]
    cosine: bool
    shift: np.ndarray | None
    scale: float
    n: int  # active rows of all blocks
    heaviest: float
    units: Units
    weighted: bool

    def rows(self, X: np.ndarray, weights: np.ndarray | None) -> Rows:
        """The rows of a block, prepared like those of all others."""
        weights = weights if self.weighted else None
        if self.cosine:
            return prepare(X, "cosine", weights)
        active = None if weights is None or (weights > 0).all() else np.flatnonzero(weights > 0)
        return Rows(X, self.dtype, self.shift, np.array([self.scale]), weights, known_active=active)


def active_of(X: np.ndarray, weights: np.ndarray | None, cosine: bool, dtype: np.dtype[Any]) -> np.ndarray:
    """Which rows of a block count (n,): those with weight and, under cosine, with a direction."""
    active = np.ones(len(X), bool) if weights is None else weights > 0
    if cosine:
        active &= norms.lengths(X.astype(np.float64)) > 4 * float(np.finfo(dtype).tiny)
    return active


def moments_of(
    X: np.ndarray, weights: np.ndarray | None, cosine: bool, dtype: np.dtype[Any], with_digest: bool
) -> Moments:
    """The moments of a block."""
    digest = ""
    if with_digest:
        found = hashlib.sha256(np.ascontiguousarray(X).data)
        found.update(b"" if weights is None else np.ascontiguousarray(weights).data)
        digest = found.hexdigest()
    active = active_of(X, weights, cosine, dtype)
    own = np.ones(len(X)) if weights is None else weights
    kept = X if active.all() else X[active]
    if not len(kept):
        nothing = np.zeros(X.shape[1])
        return Moments(0, 0.0, nothing, nothing + np.inf, nothing - np.inf, digest=digest)
    least, most = norms.column_range(kept.astype(dtype, copy=False))
    sums, own = kept.sum(axis=0, dtype=np.float64), own[active]
    heaviest, lightest = float(own.max()), float(own.min())
    return Moments(len(kept), heaviest, sums, least, most, lightest, digest)


def frame_of(moments: Sequence[Moments], cosine: bool, dtype: np.dtype[Any]) -> Frame:
    """The frame for blocks with these moments, added up in the order of the blocks."""
    n, heaviest = sum(one.n for one in moments), max(one.heaviest for one in moments)
    lightest = min(one.lightest for one in moments)
    weighted = not heaviest == lightest == 1.0
    if cosine:
        units = Units.for_rows(n, heaviest, heaviest, heaviest)
        _check_weights(lightest, heaviest, units)
        return Frame(dtype, True, None, 1.0, n, heaviest, units, weighted)
    mean = (np.sum([one.sums for one in moments], axis=0) / n).astype(dtype)
    least, most = np.min([one.least for one in moments], axis=0), np.max([one.most for one in moments], axis=0)
    reach = np.maximum(most - mean, mean - least).astype(np.float64)
    scale = power_of_two_near(float(reach.max(initial=0.0)), dtype)
    reach *= scale
    entry, square = float(reach.max(initial=0.0)), float(reach @ reach)
    units = Units.for_rows(n, heaviest * max(entry, 1e-300), heaviest, heaviest * max(square, 1e-300))
    _check_weights(lightest, heaviest, units)
    return Frame(dtype, False, mean, scale, n, heaviest, units, weighted)


def _check_weights(lightest: float, heaviest: float, units: Units) -> None:
    """Refuse weights that would vanish when they are rounded to whole numbers."""
    if lightest * units.weight < _LEAST_UNITS:
        raise ValueError(
            f"sample_weight: weights from {lightest:g} to {heaviest:g} are too far apart for data in parts; the "
            f"heaviest may be at most {heaviest * units.weight / _LEAST_UNITS:.3g} times the lightest. Give a row "
            "weight 0 to leave it out."
        )
