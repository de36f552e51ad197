"""LVQ without classes, or competitive learning: the nearest vector moves towards each sample, at a falling rate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ksums.baselines.base import Baseline, assign_to_nearest
from ksums.method.data.centres import centres_of
from ksums.method.data.norms import sq_norms
from ksums.method.data.rows import Rows
from ksums.method.engines.protocol import Engine, register_engine
from ksums.method.state.limits import Limits
from ksums.method.state.state import ClusterState
from ksums.rules.kinds import Rule


class LVQEngine(Engine):
    """See ``protocol.Engine``: a pass learns from each sample in turn, then assigns all samples."""

    def __init__(
        self, rows: Rows, state: ClusterState, rule: Rule, limits: Limits, *, rate: float, passes: int
    ) -> None:
        from ksums.baselines.lvq_kernels import Codebook  # Numba is loaded by the first fit, not by the import

        super().__init__(rows, state, rule, limits)
        self.cosine, self.rate, self.passes, self.done = rule.kind.directions, rate, passes, 0
        centres, _ = centres_of(state.composites, state.sizes, self.cosine)
        centres = np.asfortranarray(centres) if rows.is_sparse else centres
        self.codebook = Codebook(centres, np.ones(len(centres)), sq_norms(centres))

    def visit(self, order: np.ndarray) -> Iterator[int]:
        """Yields 0 after each block of samples, and finally the number of samples that changed cluster."""
        from ksums.baselines.lvq_kernels import compete_dense, compete_sparse

        self.comparisons = len(order) * len(self.state.sizes)
        steps = len(order) * self.passes
        products, first = np.zeros(len(self.codebook.scales)), len(order) * self.done
        for ids in self.rows.blocks_of(order):
            rates = self.rate * (1 - (first + np.arange(len(ids))) / steps)
            block, squares = self.rows.read(ids, np.float64), self.rows.sq_norms[ids]
            arguments = (self.codebook, self.cosine, rates, squares, products)
            if self.rows.is_sparse:
                compete_sparse(*arguments, block.data, block.indices, block.indptr)
            else:
                compete_dense(*arguments, block)
            first += len(ids)
            yield 0
        self.done += 1
        centres = centres_of(self.codebook.composites, self.codebook.scales, self.cosine)
        yield assign_to_nearest(self.rows, self.state, centres)


register_engine("lvq", LVQEngine)


class LVQ(Baseline):
    """Competitive learning, starting from k random samples: the nearest codebook vector moves towards each sample.

    In step t of T = ``max_iter`` · n,

        c ← c + α_t (x − c),    α_t = ``rate`` · (1 − t/T),

    with a rate that falls linearly to zero, as is usual for LVQ. At the end of each pass all samples are assigned to
    their nearest vectors. Sample weights count in the measures only.

    Parameters
    ----------
    rate : float, default=0.1
        The rate of the first step.
    max_iter : int, default=30
        Number of passes. The fit ends early only if a pass changes no label.
    n_clusters, metric, n_init, n_threads, random_state, callbacks, verbose
        As in :class:`ksums.KSums`.
    """

    rule, start, engine = "nearest", "random-points", "lvq"

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

    def _options(self) -> dict[str, Any]:
        return {"rate": float(self.rate), "passes": int(self.max_iter)}
