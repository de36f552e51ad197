"""The objectives that rules minimise, from the sums of the clusters.

With D_r the sum of a cluster's samples, n_r its size and Q_r the sum of its squared norms::

    distortion        E_m = Σ_r (Q_r − D_r·D_r/n_r) / Σ n_r      mean squared distance to the cluster's centroid
    pairwise          E_s = Σ_r (n_r Q_r − D_r·D_r) / Σ n_r      sum of squared distances within clusters, over n
    cosine_distance         1 − Σ_r |D_r| / Σ n_r                mean cosine distance to the cluster's centroid

The last one is for rows of unit length.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

OBJECTIVES = ("distortion", "pairwise", "cosine_distance")


class Sums(Protocol):
    """What rules and objectives read of a state: sums over the clusters."""

    @property
    def composites(self) -> np.ndarray:
        """(k, d) D_r = Σ w x."""

    @property
    def sizes(self) -> np.ndarray:
        """(k,) n_r = Σ w."""

    @property
    def counts(self) -> np.ndarray:
        """(k,) Number of samples."""

    @property
    def norm_sums(self) -> np.ndarray:
        """(k,) Q_r = Σ w x·x."""

    @property
    def sq_composites(self) -> np.ndarray:
        """(k,) D_r·D_r."""


def within_clusters(objective: str, sums: Sums) -> np.ndarray:
    """(k,) What each cluster adds to n times the objective."""
    if objective == "distortion":
        return sums.norm_sums - sums.sq_composites / sums.sizes
    if objective == "pairwise":
        return sums.sizes * sums.norm_sums - sums.sq_composites
    if objective == "cosine_distance":
        return sums.sizes - np.sqrt(sums.sq_composites)
    raise _unknown(objective)


def objective_value(objective: str, sums: Sums) -> float:
    """The objective of a state; 0 for a state without clusters."""
    if len(sums.sizes) == 0:
        return 0.0
    if objective == "cosine_distance":
        return float(1.0 - np.sqrt(sums.sq_composites).sum() / sums.sizes.sum())
    return float(max(within_clusters(objective, sums).sum(), 0.0) / sums.sizes.sum())


def within_from_squares(objective: str, sizes: Any, squares: Any) -> Any:
    """The same from the sums of squares Σ|x − C|² of the clusters, for those who have no running sums.

    For rows of unit length |D|² is n (n − squares).
    """
    if objective == "distortion":
        return squares
    if objective == "pairwise":
        return sizes * squares
    if objective == "cosine_distance":
        return sizes - np.sqrt(np.maximum(sizes * (sizes - squares), 0.0))
    raise _unknown(objective)


def _unknown(objective: str) -> ValueError:
    return ValueError(f"objective must be one of {', '.join(OBJECTIVES)}; got {objective!r}.")
