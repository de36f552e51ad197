"""Mini-Batch k-means: scikit-learn's, with a record of every pass and with cosine."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ksums.baselines._base import Baseline, take_labels
from ksums.drivers import ANGLE, Driver
from ksums.engines import EngineMaker, nearest_centres
from ksums.rows import Rows
from ksums.seeding import centres_of
from ksums.state import ClusterState, Limits


class MiniBatchEngine:
    """See ``engines.Engine``: a pass is one run through all samples, batch by batch, then an assignment of all."""

    def __init__(
        self, batch_size: int, rows: Rows, state: ClusterState, driver: Driver, limits: Limits, n_threads: int
    ) -> None:
        from sklearn.cluster import MiniBatchKMeans

        self.rows, self.state, self.n_threads = rows, state, n_threads
        self.cosine, k = driver.kind == ANGLE, len(state.sizes)
        self.batch_size = max(batch_size, k)  # scikit-learn wants at least one sample for each centre
        centres, _ = centres_of(state.composites, state.sizes, self.cosine)
        # No reassignment of small clusters: it is scikit-learn's own addition, and random.
        self.model: Any = MiniBatchKMeans(
            k, init=centres.astype(rows.dtype), n_init=1, reassignment_ratio=0, compute_labels=False, random_state=0
        )

    def visit(self, order: np.ndarray) -> Iterator[int]:
        """Yields the number of samples that changed cluster."""
        for first in range(0, len(order), self.batch_size):
            batch = order[first : first + self.batch_size]
            self.model.partial_fit(self.rows.read(batch), sample_weight=self.rows.weights_of(batch))
        centres = centres_of(
            self.model.cluster_centers_.astype(np.float64), np.ones(len(self.state.sizes)), self.cosine
        )
        labels = nearest_centres(self.rows, self.rows.pulling, *centres, self.n_threads)
        yield take_labels(self.rows, self.state, labels)


class MiniBatch(Baseline):
    """Mini-Batch k-means from k random samples: centres follow the means of small batches.

    The work is done by ``partial_fit`` of scikit-learn's ``MiniBatchKMeans``. Under cosine it sees unit rows. After
    each run through the data all samples are assigned to their nearest centre: that is a pass and leaves a record.

    Parameters
    ----------
    batch_size : int, default=1024
        Samples in a batch; at least ``n_clusters`` are taken.
    n_clusters, metric, n_init, max_iter, tol, n_threads, random_state, callbacks, verbose
        As in :class:`ksums.KSums`.
    """

    rule, start = "nearest", "random-points"

    def __init__(
        self,
        n_clusters=8,
        *,
        metric="l2",
        batch_size=1024,
        n_init=1,
        max_iter=100,
        tol=1e-5,
        n_threads=None,
        random_state=None,
        callbacks=None,
        verbose=0,
    ):
        super().__init__(
            n_clusters,
            metric=metric,
            n_init=n_init,
            max_iter=max_iter,
            tol=tol,
            n_threads=n_threads,
            random_state=random_state,
            callbacks=callbacks,
            verbose=verbose,
        )
        self.batch_size = batch_size

    def _engine(self) -> EngineMaker:
        return partial(MiniBatchEngine, int(self.batch_size))
