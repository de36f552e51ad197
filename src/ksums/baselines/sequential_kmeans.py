"""Sequential k-means (MacQueen, Eqn. 3 of the paper): the nearest centre moves towards each sample that comes."""

from __future__ import annotations

from ksums.drivers import Driver, driver_for
from ksums.estimators.sequential import Sequential


class SequentialKMeans(Sequential):
    """Sequential k-means: C_r += (x − C_r) / (n_r + 1) for the nearest C_r, which x is not counted in.

    Everything else is as in :class:`ksums.SequentialKSums`: ``partial_fit``, ``learn_one``, ``forget``.
    """

    def __init__(self, n_clusters=8, *, metric="l2", shuffle=False, n_threads=None, random_state=None):
        self.n_clusters = n_clusters
        self.metric = metric
        self.shuffle = shuffle
        self.n_threads = n_threads
        self.random_state = random_state

    def _driver(self) -> Driver:
        return driver_for("distortion", self.metric, "nearest")
