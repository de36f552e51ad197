"""The state of a clustering: labels, composites D_r, sizes n_r and sums of squared norms Q_r.

Centroids are never needed. Everything is float64 whatever the data is, so running sums do not drift.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ksums.compute.threads import in_order
from ksums.method.data.norms import sq_norms
from ksums.method.data.rows import Rows
from ksums.method.data.sums import add_by_cluster


class ClusterState(NamedTuple):
    """Sums over the clusters. Rows that are not active (see ``data/rows.py``) have a label and count in none."""

    labels: np.ndarray  # (n,)    int32; −1: in no cluster yet
    composites: np.ndarray  # (k, d)  D_r = Σ w x
    sizes: np.ndarray  # (k,)    n_r = Σ w
    counts: np.ndarray  # (k,)    number of samples
    norm_sums: np.ndarray  # (k,)    Q_r = Σ w x·x
    sq_composites: np.ndarray  # (k,)    D_r·D_r

    def of_clusters(self, chosen: np.ndarray | slice) -> ClusterState:
        """The sums of some of the clusters; the labels stay as they are."""
        return ClusterState(self.labels, *(sums[chosen] for sums in self[1:]))


def build_state(rows: Rows, labels: np.ndarray, k: int) -> ClusterState:
    """The state of given labels."""
    labels = np.array(labels, dtype=np.int32)
    composites, dtype = empty_composites(k, rows.d, rows.is_sparse), np.float64 if rows.is_sparse else None
    blocks = rows.blocks_of(rows.active)
    read: Any = map if rows.is_sparse else in_order  # reading sparse rows holds the interpreter: threads do not help
    for ids, block in read(lambda ids: (ids, rows.read(ids, dtype)), blocks):
        add_by_cluster(block, labels[ids], rows.weights_of(ids), composites)
    own, weights = labels[rows.active], rows.weights_of(rows.active)
    counts = np.bincount(own, minlength=k)
    sizes = np.bincount(own, weights, minlength=k)
    state = ClusterState(labels, composites, sizes, counts, _norm_sums(rows, labels, k), np.empty(k))
    renew_sq_composites(state)
    return state


def _norm_sums(rows: Rows, labels: np.ndarray, k: int) -> np.ndarray:
    own = labels[rows.active]
    norm_sums = np.bincount(own, rows.weights_of(rows.active) * rows.sq_norms[rows.active], minlength=k)
    return norm_sums if rows.inner is None else norm_sums + np.bincount(own, rows.inner[rows.active], minlength=k)


def renew_sums(rows: Rows, state: ClusterState) -> None:
    """What a pass lets drift: D_r·D_r, and Q_r where rows stand for several."""
    renew_sq_composites(state)
    if rows.inner is not None:
        state.norm_sums[:] = _norm_sums(rows, state.labels, len(state.sizes))


def empty_composites(k: int, d: int, is_sparse: bool) -> np.ndarray:
    """(k, d) Zeros; contiguous along k for sparse rows, so that each term of a row adds to k contiguous numbers."""
    return np.zeros((d, k)).T if is_sparse else np.zeros((k, d))


def singleton_state(rows: Rows, ids: np.ndarray) -> ClusterState:
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
    sq_norms(state.composites, out=state.sq_composites)


def reallocate(state: ClusterState, i: int, x: np.ndarray, weight: float, src: int, dst: int) -> None:
    """Move sample i from one cluster (or from none, −1) to another and update both."""
    state.labels[i] = dst
    for cluster, sign in ((src, -1), (dst, 1)) if src >= 0 else ((dst, 1),):
        state.composites[cluster] += sign * weight * x
        state.sizes[cluster] += sign * weight
        state.counts[cluster] += sign
        state.norm_sums[cluster] += sign * weight * (x @ x)
        state.sq_composites[cluster] = state.composites[cluster] @ state.composites[cluster]
