"""k-means (Lloyd): all samples go to their nearest centre, then all centres become means."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ksums.baselines._base import Baseline, take_labels
from ksums.drivers import ANGLE, Driver
from ksums.engines import EngineMaker, nearest_centres
from ksums.rows import Rows
from ksums.seeding import centres_of
from ksums.state import ClusterState, Limits


class LloydEngine:
    """See ``engines.Engine``: the samples are decided on one state and all moved together, so order means nothing."""

    def __init__(self, rows: Rows, state: ClusterState, driver: Driver, limits: Limits, n_threads: int) -> None:
        self.rows, self.state, self.n_threads = rows, state, n_threads
        self.cosine = driver.kind == ANGLE

    def visit(self, order: np.ndarray) -> Iterator[int]:
        """An assignment and the means that follow from it; yields the number of samples that changed cluster."""
        centres = centres_of(self.state.composites, self.state.sizes, self.cosine)
        yield take_labels(
            self.rows, self.state, nearest_centres(self.rows, self.rows.pulling, *centres, self.n_threads)
        )


class KMeans(Baseline):
    """k-means from k random samples. Under cosine it is spherical k-means: nearest in direction.

    What scikit-learn's ``KMeans(init="random", n_init=1)`` does, with a record of every pass and with cosine. The
    first assignment, to the random samples, is the start and not counted as a pass.

    >>> from ksums.baselines import KMeans
    >>> KMeans(2, random_state=0).fit([[0.0], [1.0], [10.0], [11.0]]).inertia_
    1.0
    """

    rule, start = "lloyd", "random-points"

    def _engine(self) -> EngineMaker:
        return LloydEngine
