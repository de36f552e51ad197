"""Bisecting k-means: Algorithm 2 with Lloyd's k-means in each split."""

from __future__ import annotations

from ksums.baselines._base import BisectingBaseline
from ksums.baselines.kmeans import LloydEngine
from ksums.engines import EngineMaker


class BisectingKMeans(BisectingBaseline):
    """Bisecting k-means, each split from two random samples of the cluster."""

    rule, start = "lloyd", "random-points"

    def _engine(self) -> EngineMaker:
        return LloydEngine
