"""Bisecting k-means++: Algorithm 2 with k-means++ in each split."""

from __future__ import annotations

from ksums.baselines.bisecting_kmeans import BisectingKMeans


class BisectingKMeansPlusPlus(BisectingKMeans):
    """Bisecting k-means; each split starts from greedy k-means++ seeds."""

    start = "k-means++"
