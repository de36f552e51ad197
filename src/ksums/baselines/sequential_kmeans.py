"""Sequential k-means (MacQueen, Eqn. 3 of the paper): the nearest centre moves towards each new sample."""

from __future__ import annotations

from ksums.estimators.sequential import Sequential
from ksums.rules.kinds import Rule, rule_for


class SequentialKMeans(Sequential):
    """Sequential k-means: C_r += (x − C_r) / (n_r + 1) for the nearest C_r, where n_r does not count x.

    ``partial_fit``, ``learn_one``, ``forget`` and the rest are as in :class:`ksums.SequentialKSums`.
    """

    def __init__(self, n_clusters=8, *, metric="l2", shuffle=False, n_threads=None, random_state=None):
        self.n_clusters = n_clusters
        self.metric = metric
        self.shuffle = shuffle
        self.n_threads = n_threads
        self.random_state = random_state

    def _rule(self) -> Rule:
        return rule_for("distortion", self.metric, "nearest")
