"""k-means# (boost k-means): a sample moves if that raises Σ D·D/n."""

from __future__ import annotations

from ksums.baselines.base import Baseline


class KMeansSharp(Baseline):
    """k-means#, starting from random labels.

    It maximises Σ D_r·D_r / n_r. In ``Σ x·x = Σ D_r·D_r/n_r + Σ|x − C_r|²`` the left side is constant, so each move
    gains exactly what the sum of squares loses, and the moves are those of :class:`Hartigan`::

        |D + x|²/(n + 1) − |D|²/n  =  x·x − n/(n + 1) |x − C|²
    """

    rule, start = "hartigan", "random-labels"
