"""Clustering for programs that work with torch: many problems in one call."""

from __future__ import annotations

from typing import Any, NamedTuple

from ksums.checking.card import check_batch
from ksums.compute.tensors import load_torch
from ksums.estimators.seeds import seeds_for


class Batched(NamedTuple):
    """The result of :func:`batched`; all tensors are on the device of the rows."""

    labels: Any
    """(B, n) int64: the cluster of each row, 0 … k − 1 in each problem."""
    cluster_centers: Any
    """(B, k, d) means of the clusters, in the type of the rows; under cosine, of their rows at unit length."""
    sizes: Any
    """(B, k) int64: rows in each cluster; none is empty."""
    distortion: Any
    """(B,) float64: E_m of each problem."""


def batched(
    X: Any, n_clusters: int, *, metric: str = "l2", effort: str = "default", random_state: Any = None
) -> Batched:
    """Cluster the rows of many problems at the same time, each by itself, on a CUDA device.

    For problems too small to fill a card, such as the keys of each head of an attention layer. ``KSums`` finds better
    optima of a single problem: here all problems get the same number of passes, and no search. The labels of a problem
    depend on its rows and on the seed, not on the problems beside it.

    Parameters
    ----------
    X : tensor of shape (B, n, d) on a CUDA device
        float16, bfloat16, float32 or float64.
    n_clusters : int
        Clusters of each problem, k.
    metric : {"l2", "cosine"}, default="l2"
        Under cosine the rows of each problem count at unit length; a row of zeros belongs to any cluster.
    effort : {"low", "default", "high"}, default="default"
        About 8, 20 or 50 passes.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    Batched
        A named tuple ``(labels, cluster_centers, sizes, distortion)``.

    Examples
    --------
    >>> import torch                                                      # doctest: +SKIP
    >>> from ksums.torch import batched                                   # doctest: +SKIP
    >>> keys = torch.randn(32, 4096, 64, device="cuda", dtype=torch.bfloat16)  # doctest: +SKIP
    >>> batched(keys, 64, random_state=0).labels.shape                    # doctest: +SKIP
    torch.Size([32, 4096])
    """
    check_batch(X, n_clusters, metric, effort)
    load_torch()
    from ksums.estimators.on_card import cluster_problems

    (seed,) = seeds_for(random_state, 1)
    return Batched(*cluster_problems(X, int(n_clusters), metric == "cosine", effort, seed))
