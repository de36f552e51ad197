"""Rows added up by cluster: what the running state and the measures both begin with."""

from __future__ import annotations

import numpy as np
from scipy import sparse

_FEW = 16  # clusters up to which a product with zeros and ones is faster than making a sparse matrix of them


def add_by_cluster(
    block: np.ndarray,  # IN     (b, d)  dense rows
    own: np.ndarray,  # IN     (b,)    their clusters
    weights: np.ndarray,  # IN     (b,)
    composites: np.ndarray,  # INOUT  (k, d)
) -> None:
    """D_r += Σ w x. Clusters without a row in the block are not touched where there are many: k may exceed b by far."""
    b, k = len(own), len(composites)
    if k <= _FEW:
        composites += (own == np.arange(k)[:, None]) * weights @ block
    elif k <= b // 2:
        composites += sparse.csr_array((weights, own, np.arange(b + 1)), shape=(b, k)).T @ block
    else:
        names, places = np.unique(own, return_inverse=True)
        composites[names] += sparse.csr_array((weights, places, np.arange(b + 1)), shape=(b, len(names))).T @ block
