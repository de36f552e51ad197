"""Mini-Batch k-means: that of scikit-learn, with cosine and a record of every pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ksums.baselines.base import Baseline, assign_to_nearest
from ksums.compute.arrays import blocks
from ksums.method.data.centres import centres_of
from ksums.method.data.rows import Rows
from ksums.method.engines.protocol import Engine, register_engine
from ksums.method.state.limits import Limits
from ksums.method.state.state import ClusterState
from ksums.rules.kinds import Rule


class MiniBatchEngine(Engine):
    """See ``protocol.Engine``: a pass learns from each batch in turn, then assigns all samples."""

    def __init__(self, rows: Rows, state: ClusterState, rule: Rule, limits: Limits, *, batch_size: int) -> None:
        from sklearn.cluster import MiniBatchKMeans

        super().__init__(rows, state, rule, limits)
        self.cosine, k = rule.kind.directions, len(state.sizes)
        self.batch_size = max(batch_size, k)  # scikit-learn requires at least one sample per centre
        centres, _ = centres_of(state.composites, state.sizes, self.cosine)
        # Small clusters are not reassigned: that is an addition of scikit-learn, and random.
        self.model: Any = MiniBatchKMeans(
            k, init=centres.astype(rows.dtype), n_init=1, reassignment_ratio=0, compute_labels=False, random_state=0
        )

    def visit(self, order: np.ndarray) -> Iterator[int]:
        """Yields the number of samples that changed cluster."""
        k = len(self.state.sizes)
        self.comparisons = len(order) * k
        for part in blocks(len(order), self.batch_size):
            batch = order[part]
            self.model.partial_fit(self.rows.read(batch), sample_weight=self.rows.weights_of(batch))
        centres = centres_of(self.model.cluster_centers_.astype(np.float64), np.ones(k), self.cosine)
        yield assign_to_nearest(self.rows, self.state, centres)


register_engine("mini-batch", MiniBatchEngine)


class MiniBatch(Baseline):
    """Mini-Batch k-means, starting from k random samples: centres follow the means of small batches.

    ``partial_fit`` of scikit-learn's ``MiniBatchKMeans`` does the work; under cosine it gets rows of unit length. At
    the end of each pass all samples are assigned to their nearest centres.

    Parameters
    ----------
    batch_size : int, default=1024
        Samples in a batch; if it is less than ``n_clusters``, ``n_clusters`` is used.
    n_clusters, metric, n_init, max_iter, tol, n_threads, random_state, callbacks, verbose
        As in :class:`ksums.KSums`.
    """

    rule, start, engine = "nearest", "random-points", "mini-batch"

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

    def _options(self) -> dict[str, Any]:
        return {"batch_size": int(self.batch_size)}
