"""The state of a clustering: composites D_r, sizes n_r, sums of squared norms Q_r, and the labels.

    E_m = Σ_r (Q_r − D_r·D_r / n_r) / Σ n_r          E_s = Σ_r (n_r Q_r − D_r·D_r) / Σ n_r

Centroids are never needed. Everything is float64 whatever the data is, so running sums do not drift.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.computing import in_order
from ksums.rows import Rows
from ksums.sums import add_by_cluster


class ClusterState(NamedTuple):
    """Sums over the clusters. Rows without pull (see ``rows.py``) have a label and count in none of them."""

    labels: np.ndarray  # (n,)    int32; −1: in no cluster yet
    composites: np.ndarray  # (k, d)  D_r = Σ w x
    sizes: np.ndarray  # (k,)    n_r = Σ w
    counts: np.ndarray  # (k,)    number of samples
    norm_sums: np.ndarray  # (k,)    Q_r = Σ w x·x
    sq_composites: np.ndarray  # (k,)    D_r·D_r


class Limits(NamedTuple):
    """Smallest and largest size allowed for each cluster, counting the rows that pull."""

    low: np.ndarray  # (k,)
    high: np.ndarray  # (k,)


def no_limits(k: int) -> Limits:
    """Limits that allow any size."""
    return Limits(np.zeros(k), np.full(k, np.inf))


def build(rows: Rows, labels: np.ndarray, k: int) -> ClusterState:
    """State of given labels."""
    labels = np.array(labels, dtype=np.int32)
    # Kept transposed for sparse rows: one row then adds to k contiguous numbers per term.
    composites = np.zeros((rows.d, k)).T if rows.is_sparse else np.zeros((k, rows.d))
    blocks = rows.blocks_of(rows.pulling)
    if rows.is_sparse:
        for ids in blocks:
            own, block = labels[ids], rows.read(ids, np.float64)
            terms = np.diff(block.indptr)
            places = block.indices * np.int64(k) + np.repeat(own, terms)
            np.add.at(composites.T.reshape(-1), places, block.data * np.repeat(rows.weights_of(ids), terms))
    else:
        for ids, block in in_order(lambda ids: (ids, rows.read(ids)), blocks):
            add_by_cluster(block, labels[ids], rows.weights_of(ids), composites)
    own, weights = labels[rows.pulling], rows.weights_of(rows.pulling)
    counts = np.bincount(own, minlength=k)
    sizes = np.bincount(own, weights, minlength=k)
    norm_sums = np.bincount(own, weights * rows.sq_norms[rows.pulling], minlength=k)
    state = ClusterState(labels, composites, sizes, counts, norm_sums, np.empty(k))
    renew_sq_composites(state)
    return state


def singletons(rows: Rows, ids: np.ndarray) -> ClusterState:
    """One cluster for each of these dense rows; the others are in none yet."""
    labels = np.full(rows.n, -1, np.int32)
    labels[ids] = np.arange(len(ids))
    weights = rows.weights_of(ids)
    composites = rows.read(ids).astype(np.float64) * weights[:, None]
    state = ClusterState(
        labels, composites, weights, np.ones(len(ids), np.int64), weights * rows.sq_norms[ids], np.empty(len(ids))
    )
    renew_sq_composites(state)
    return state


def renew_sq_composites(state: ClusterState) -> None:
    """D_r·D_r from the composites: after each pass, so that its running value does not drift."""
    np.einsum("rt,rt->r", state.composites, state.composites, out=state.sq_composites)


def reallocate(state: ClusterState, i: int, x: np.ndarray, weight: float, src: int, dst: int) -> None:
    """Move sample i from one cluster (or from none, −1) to another and bring both up to date."""
    state.labels[i] = dst
    for cluster, sign in ((src, -1), (dst, 1)) if src >= 0 else ((dst, 1),):
        state.composites[cluster] += sign * weight * x
        state.sizes[cluster] += sign * weight
        state.counts[cluster] += sign
        state.norm_sums[cluster] += sign * weight * (x @ x)
        state.sq_composites[cluster] = state.composites[cluster] @ state.composites[cluster]


def distortion(state: ClusterState) -> float:
    """E_m of the state."""
    within = state.norm_sums - state.sq_composites / state.sizes
    return float(max(within.sum(), 0.0) / state.sizes.sum()) if len(within) else 0.0


def pairwise(state: ClusterState) -> float:
    """E_s of the state."""
    within = state.sizes * state.norm_sums - state.sq_composites
    return float(max(within.sum(), 0.0) / state.sizes.sum()) if len(within) else 0.0


def angle(state: ClusterState) -> float:
    """Mean cosine distance to the own composite, for rows of unit length: 1 − Σ|D_r| / Σn_r."""
    return float(1.0 - np.sqrt(state.sq_composites).sum() / state.sizes.sum()) if len(state.sizes) else 0.0
