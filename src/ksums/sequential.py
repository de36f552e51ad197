"""Sequential k-sums: samples come one by one, join the cluster that suits them best, and are not looked at again.

The first k distinct samples open the clusters. Every later x goes where it costs least supposing it has joined
(for I_m that is |n x − D|² / (n + 1)²), and D += x, n += 1. Nothing else is kept, so a sample can be taken out again.

With a half-life h the past counts less and less: a sample that came a samples ago has the weight 2^(−a/h). All costs
depend on ratios of weights only, so instead of shrinking the past the new samples are given growing weights.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from ksums import state as states
from ksums.drivers import Driver
from ksums.engines import exact_engine
from ksums.rows import Rows, prepare, sq_norms_of
from ksums.state import ClusterState, no_limits
from ksums.typing import Matrix

_PERIOD = 1 << 16  # samples after which running sums are renewed, wherever the stream is cut into chunks
_HALF_LIVES = 64  # or so many half-lives, if that is less: growing weights must not overflow
_NUMBERS = 1 << 22  # read at a time
_LOST = 1e-12  # of a cluster's weight: what is left after taking more than the rest out is rounding
_FADED = 1e-30  # a cluster that got nothing for very long keeps its place with this weight


class Stream:
    """The clusters of a stream and what it takes to go on. Everything is computed in float64.

    Labels do not depend on how the stream is cut: the engine decides one sample after the other, and what is done
    now and then is done after a fixed number of samples.
    """

    def __init__(self, identity: dict[str, Any], driver: Driver, d: int, is_sparse: bool) -> None:
        self.identity, self.driver = identity, driver
        self.metric, self.half_life = identity["metric"], identity["half_life"]
        k, half_life = identity["n_clusters"], self.half_life
        composites = np.zeros((d, k)).T if is_sparse else np.zeros((k, d))
        none, zeros = np.empty(0, np.int32), np.zeros(k)
        self.state = ClusterState(none, composites, zeros, np.zeros(k, np.int64), zeros.copy(), zeros.copy())
        self.is_sparse, self.seen = is_sparse, 0
        self.shift: np.ndarray | None = None  # for l2: the first sample, later the mean; squares far from 0 lose digits
        self.openers: dict[str, int] = {}  # fingerprint of the sample that opened each cluster
        self.period = _PERIOD if half_life is None else int(np.clip(_HALF_LIVES * half_life, 1, _PERIOD))

    # ---------------------------------------------------------------------------------------- learning
    def learn(
        self, X: Matrix, weights: np.ndarray | None, n_threads: int, order: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Labels of the rows, taken in their order or in a given one; and which rows have no direction (cosine).

        If it is broken off, nothing of it was learnt.
        """
        before = (self._copy(), self.shift, dict(self.openers), self.seen)
        try:
            return self._learn(X, weights, n_threads, np.arange(X.shape[0]) if order is None else order)
        except BaseException:
            self.state, self.shift, self.openers, self.seen = before
            raise

    def _copy(self) -> ClusterState:
        return ClusterState(*(np.copy(sums, order="K") for sums in self.state))

    def _learn(
        self, X: Matrix, weights: np.ndarray | None, n_threads: int, order: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        if self.shift is None and self.metric == "l2" and not self.is_sparse:
            self.shift = np.asarray(X[order[0]], np.float64).copy()
        step = max(1, _NUMBERS // X.shape[1]) if not self.is_sparse else self.period
        labels, directed, done = np.zeros(len(order), np.int32), np.ones(len(order), bool), 0
        while done < len(order):
            if self.seen and self.seen % self.period == 0:
                self._renew()
            ids = order[done : done + min(step, self.period - self.seen % self.period)]
            rows = self._rows(X, weights, ids, self._age_weights(len(ids)))
            labels[ids] = self._join(rows, n_threads)
            directed[ids] = self.metric == "l2" or rows.sq_norms > 0
            self.seen += len(ids)
            done += len(ids)
        return labels, np.flatnonzero(~directed)

    def _join(self, rows: Rows, n_threads: int) -> np.ndarray:
        """Labels of some rows, which are learnt."""
        state = self.state._replace(labels=np.full(rows.n, -1, np.int32))
        waiting = rows.pulling[self._open(rows, state) :]
        if len(waiting):
            engine = exact_engine(rows, state, self.driver, no_limits(len(state.sizes)), n_threads)
            for _ in engine.visit(waiting):
                pass
        if (state.labels[rows.pulling] < 0).any():
            raise ValueError("a row joins no cluster: its squares leave the range of float64; divide X by a constant.")
        return np.maximum(state.labels, 0)  # rows without pull get the label 0

    def _open(self, rows: Rows, state: ClusterState) -> int:
        """Let samples open the clusters that are empty; copies of one that did so join it. How many that took.

        Under cosine a copy is a row of the same direction, whose last digits may differ.
        """
        if state.counts.all():
            return 0
        done, weights = 0, rows.weights_of(rows.pulling)
        for ids in rows.blocks_of(rows.pulling):
            block, raw = _dense(rows.read(ids, np.float64)), _dense(rows.X[ids]).astype(np.float64)
            for i, x, as_given in zip(ids, block, raw, strict=True):
                fingerprint = _fingerprint(x.round(12) if self.metric == "cosine" else as_given)
                cluster = self.openers.get(fingerprint)
                if cluster is None:
                    cluster = int(np.flatnonzero(state.counts == 0)[0])
                    self.openers[fingerprint] = cluster
                states.reallocate(state, i, x, float(weights[done]), -1, cluster)
                done += 1
                if state.counts.all():
                    return done
        return done

    # --------------------------------------------------------------------------------------- forgetting
    def sums_of(
        self, X: Matrix, labels: np.ndarray, weights: np.ndarray | None, ages: np.ndarray | None
    ) -> ClusterState:
        """What rows with these labels have added to the sums. ``ages``: how many samples came after each of them."""
        aged = None if ages is None else np.exp2((self._since_renewal() - 1 - ages) / self.half_life)
        return states.build(self._rows(X, weights, np.arange(X.shape[0]), aged), labels, len(self.state.sizes))

    def take_out(self, sums: ClusterState) -> None:
        """Forget samples by their sums. A cluster that gets empty is open to the next new sample.

        So is one whose other members weigh nothing beside those: after dozens of half-lives rounding has lost them.
        """
        state, before = self._copy(), self.state.sizes
        state.composites[...] -= sums.composites
        state.counts[...] -= sums.counts
        np.maximum(state.sizes - sums.sizes, 0.0, out=state.sizes)
        np.maximum(state.norm_sums - sums.norm_sums, 0.0, out=state.norm_sums)
        state.counts[state.sizes <= _LOST * before] = 0
        for r in np.flatnonzero(state.counts == 0):  # nothing of it may be left over by rounding
            state.composites[r], state.sizes[r], state.norm_sums[r] = 0.0, 0.0, 0.0
        states.renew_sq_composites(state)
        openers = {fingerprint: r for fingerprint, r in self.openers.items() if state.counts[r] > 0}
        self.state, self.openers = state, openers

    # ------------------------------------------------------------------------------------ rows and time
    def _rows(self, X: Matrix, weights: np.ndarray | None, ids: np.ndarray, aged: np.ndarray | None) -> Rows:
        """Some rows as this stream reads them, numbered from 0."""
        part = X[ids]
        if sparse.issparse(part) and not self.is_sparse:
            part = part.toarray()
        elif self.is_sparse and not sparse.issparse(part):
            part = sparse.csr_array(part.astype(np.float64))
        # Weights also where all are 1: how a cost is rounded must not depend on the other rows of the chunk.
        own = np.ones(len(ids)) if weights is None else weights[ids]
        own = own if aged is None else own * aged
        if self.metric == "cosine":
            return replace(prepare(part, "cosine", own), dtype=np.dtype(np.float64))
        everything = np.arange(len(ids))
        rows = Rows(part, np.dtype(np.float64), self.shift, np.ones(1), own, np.empty(0), np.flatnonzero(own > 0))
        return replace(rows, sq_norms=sq_norms_of(rows, everything))

    def _since_renewal(self) -> int:
        """Samples since the weights began to grow from 1."""
        return 0 if self.seen == 0 else (self.seen - 1) % self.period + 1

    def _age_weights(self, count: int) -> np.ndarray | None:
        if self.half_life is None:
            return None
        return np.exp2((self.seen % self.period + np.arange(count)) / self.half_life)

    @property
    def present(self) -> float:
        """The weight of the sample that came last."""
        return 1.0 if self.half_life is None else float(np.exp2((self._since_renewal() - 1) / self.half_life))

    def _renew(self) -> None:
        """Let the weights grow from 1 again, the shift be the present mean, and D·D be that of D."""
        if self.half_life is not None:
            fade = np.full(len(self.state.sizes), np.exp2(-self.period / self.half_life))
            alive = self.state.sizes > 0
            fade[alive] = np.maximum(fade[alive], _FADED / self.state.sizes[alive])
            self.state.composites[...] *= fade[:, None]
            self.state.sizes[...] *= fade
            self.state.norm_sums[...] *= fade
        composites, sizes = self.state.composites, self.state.sizes
        if self.shift is not None and sizes.sum() > 0:
            step = composites.sum(axis=0) / sizes.sum()
            self.state.norm_sums[...] += sizes * (step @ step) - 2 * (composites @ step)
            np.maximum(self.state.norm_sums, 0.0, out=self.state.norm_sums)
            composites -= sizes[:, None] * step
            self.shift = self.shift + step
        states.renew_sq_composites(self.state)


def _dense(block: Matrix) -> np.ndarray:
    return block.toarray() if sparse.issparse(block) else block


def _fingerprint(x: np.ndarray) -> str:
    """The same for equal rows only."""
    return blake2b((x + 0.0).tobytes(), digest_size=16).hexdigest()  # + 0.0: no −0
