"""Rows added up by cluster: what the running state and the measures both begin with."""

from __future__ import annotations

import numpy as np
from scipy import sparse

_FEW = 16  # clusters up to which a product with zeros and ones is faster than making a sparse matrix of them
_MANY = 256  # clusters from which on compiled loops are worth to be loaded


def add_by_cluster(
    block: np.ndarray,  # IN     (b, d)  dense rows
    own: np.ndarray,  # IN     (b,)    their clusters
    weights: np.ndarray,  # IN     (b,)
    composites: np.ndarray,  # INOUT  (k, d)
) -> None:
    """D_r += Σ w x, in float64."""
    b, k = len(own), len(composites)
    if k >= _MANY:
        from ksums._sum_kernels import add_rows

        add_rows(_known(block), own, weights, composites)
        return
    block = block.astype(np.float64, copy=False)
    if k <= _FEW:
        composites += (own == np.arange(k)[:, None]) * weights @ block
    else:
        composites += sparse.csr_array((weights, own, np.arange(b + 1)), shape=(b, k)).T @ block


def members_by_cluster(ids: np.ndarray, own: np.ndarray, k: int) -> list[np.ndarray]:
    """The samples of each of k clusters, in the order in which they are given; ``own`` are their clusters."""
    order = np.argsort(own, kind="stable")
    return np.split(ids[order], np.cumsum(np.bincount(own, minlength=k))[:-1])


def dense_sq_distances(block: np.ndarray, centres: np.ndarray, own: np.ndarray) -> np.ndarray:
    """|x_i − C_own(i)|² for each dense row, in float64."""
    if len(centres) >= _MANY:
        from ksums._sum_kernels import sq_distances_to

        distances = np.empty(len(own))
        sq_distances_to(_known(block), own, centres, distances)
        return distances
    difference = block.astype(np.float64, copy=False) - centres[own]
    return np.einsum("it,it->i", difference, difference)


def _known(block: np.ndarray) -> np.ndarray:
    """Of a type that compiled loops know."""
    return block.astype(np.float32) if block.dtype == np.float16 else block
