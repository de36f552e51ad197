"""LVQ without classes: competitive learning, in which the winner moves towards each sample at a falling rate."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ksums.baselines._base import Baseline, take_labels
from ksums.drivers import ANGLE, Driver
from ksums.engines import EngineMaker, nearest_centres
from ksums.rows import Rows
from ksums.seeding import centres_of
from ksums.state import ClusterState, Limits


class LVQEngine:
    """See ``engines.Engine``: a pass is one run through all samples, one by one, then an assignment of all."""

    def __init__(
        self,
        rate: float,
        passes: int,
        rows: Rows,
        state: ClusterState,
        driver: Driver,
        limits: Limits,
        n_threads: int,
    ) -> None:
        from ksums.baselines._lvq_kernels import Codebook  # Numba is loaded by the first fit, not by the import

        self.rows, self.state, self.n_threads = rows, state, n_threads
        self.cosine, self.rate, self.passes, self.done = driver.kind == ANGLE, rate, passes, 0
        centres, _ = centres_of(state.composites, state.sizes, self.cosine)
        centres = np.asfortranarray(centres) if rows.is_sparse else centres
        self.codebook = Codebook(centres, np.ones(len(centres)), np.einsum("rt,rt->r", centres, centres))

    def visit(self, order: np.ndarray) -> Iterator[int]:
        """Yields 0 moves now and then, and at last the number of samples that changed cluster."""
        from ksums.baselines._lvq_kernels import compete_dense, compete_sparse

        steps = len(order) * self.passes
        products, first = np.zeros(len(self.codebook.scales)), len(order) * self.done
        for ids in self.rows.blocks_of(order):
            rates = self.rate * (1 - (first + np.arange(len(ids))) / steps)
            block, sq_norms = self.rows.read(ids, np.float64), self.rows.sq_norms[ids]
            steps_to_take = (self.codebook, self.cosine, rates, sq_norms, products)
            if self.rows.is_sparse:
                compete_sparse(*steps_to_take, block.data, block.indices, block.indptr)
            else:
                compete_dense(*steps_to_take, block)
            first += len(ids)
            yield 0
        self.done += 1
        centres = centres_of(self.codebook.composites, self.codebook.scales, self.cosine)
        labels = nearest_centres(self.rows, self.rows.pulling, *centres, self.n_threads)
        yield take_labels(self.rows, self.state, labels)


class LVQ(Baseline):
    """Competitive learning from k random samples: the nearest codebook vector moves towards each sample.

    In step t of T = ``max_iter`` · n,

        c ← c + α_t (x − c),    α_t = ``rate`` · (1 − t/T),

    a rate that falls in a straight line to zero, as usual for LVQ. After each run through the data all samples are
    assigned to their nearest vector: that is a pass and leaves a record. Sample weights count in the measures only.

    Parameters
    ----------
    rate : float, default=0.1
        The rate at the start.
    max_iter : int, default=30
        Number of passes: all are made, unless one changes no label.
    n_clusters, metric, n_init, n_threads, random_state, callbacks, verbose
        As in :class:`ksums.KSums`.
    """

    rule, start = "nearest", "random-points"

    def __init__(
        self,
        n_clusters=8,
        *,
        metric="l2",
        rate=0.1,
        n_init=1,
        max_iter=30,
        n_threads=None,
        random_state=None,
        callbacks=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.rate = rate
        self.n_init = n_init
        self.max_iter = max_iter
        self.n_threads = n_threads
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def _engine(self) -> EngineMaker:
        return partial(LVQEngine, float(self.rate), int(self.max_iter))
