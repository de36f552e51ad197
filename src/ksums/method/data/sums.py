"""Rows added up by cluster, and rows grouped by cluster."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ksums.compute.arrays import Matrix

_MANY_ROWS = 1 << 13
"""Blocks of fewer rows are wide, or the data is small: nothing is gained, and Numba need not be loaded for a plan."""


def add_by_cluster(
    block: Matrix,  # IN     (b, d)  rows
    own: np.ndarray,  # IN     (b,)    their clusters
    weights: np.ndarray,  # IN     (b,)
    composites: np.ndarray,  # INOUT  (k, d)  contiguous along k or along d
) -> None:
    """D_r += Σ w x, in float64."""
    if sparse.issparse(block):
        _add_sparse(block, own, weights, composites)
        return
    from ksums.method.data.sum_kernels import add_rows  # Numba is loaded by the first fit, not by the import

    add_rows(_widened(block), own, weights, composites)


def column_sums(block: np.ndarray) -> np.ndarray:
    """Σ x in float64, row after row: as NumPy adds up, which takes four times as long for narrow rows."""
    in_this_order = block.shape[1] > 1 and block.flags.c_contiguous  # NumPy adds others up in another order
    if len(block) < _MANY_ROWS or not in_this_order:
        return block.sum(axis=0, dtype=np.float64)
    sums = np.zeros((1, block.shape[1]))
    add_by_cluster(block, np.zeros(len(block), np.int32), np.ones(len(block)), sums)
    return sums[0]


def _add_sparse(block: sparse.csr_array, own: np.ndarray, weights: np.ndarray, composites: np.ndarray) -> None:
    terms = np.diff(block.indptr)
    clusters, (k, d) = np.repeat(own, terms), composites.shape
    if composites.flags.c_contiguous:
        flat, positions = composites.reshape(-1), clusters * np.int64(d) + block.indices
    else:
        flat, positions = composites.T.reshape(-1), block.indices * np.int64(k) + clusters
    np.add.at(flat, positions, block.data * np.repeat(weights, terms))


def sq_distances_to_own(block: Matrix, centres: np.ndarray, own: np.ndarray) -> np.ndarray:
    """|x_i − C_own(i)|² for each row, in float64."""
    if sparse.issparse(block):  # |x|² − 2 x·C + |C|², so that nothing of size n × d is made
        block = block.astype(np.float64)
        squares = np.asarray(block.multiply(block).sum(axis=1)).ravel()
        rows = np.repeat(np.arange(len(own)), np.diff(block.indptr))
        products = np.bincount(rows, block.data * centres[own[rows], block.indices], minlength=len(own))
        return np.maximum(squares - 2 * products + np.einsum("rt,rt->r", centres, centres)[own], 0.0)
    from ksums.method.data.sum_kernels import sq_distances_to

    distances = np.empty(len(own))
    sq_distances_to(_widened(block), own, centres, distances)
    return distances


def sort_by_cluster(own: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Where each cluster starts (k + 1,), and the positions of the samples, cluster after cluster, each in order."""
    one_hot = sparse.csc_array((np.ones(len(own), np.int8), own, np.arange(len(own) + 1)), shape=(k, len(own)))
    grouped = one_hot.tocsr()  # a counting sort, compiled in SciPy
    return grouped.indptr.astype(np.int64), grouped.indices.astype(np.int64)


def members_by_cluster(ids: np.ndarray, own: np.ndarray, k: int) -> list[np.ndarray]:
    """The samples of each of k clusters, in the order in which they are given; ``own`` are their clusters."""
    starts, order = sort_by_cluster(own, k)
    return np.split(ids[order], starts[1:-1])


def _widened(block: np.ndarray) -> np.ndarray:
    """float16 as float32, which compiled loops know."""
    return block.astype(np.float32) if block.dtype == np.float16 else block
