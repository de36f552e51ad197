"""Bisecting k-means: Algorithm 2 with Lloyd's k-means in each split."""

from __future__ import annotations

from ksums.baselines.base import BisectingBaseline


class BisectingKMeans(BisectingBaseline):
    """Bisecting k-means; each split starts from two random samples of the cluster."""

    rule, start, engine = "lloyd", "random-points", "lloyd"
