"""Bisecting k-means#: Algorithm 2 with k-means# in each split."""

from __future__ import annotations

from ksums.baselines.base import BisectingBaseline


class BisectingKMeansSharp(BisectingBaseline):
    """Bisecting k-means#; each split starts from random labels."""

    rule, start = "hartigan", "random-labels"
