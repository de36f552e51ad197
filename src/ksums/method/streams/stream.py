"""Sequential k-sums: samples come one by one, join the cluster that suits them best, and are not visited again.

The first k distinct samples open the clusters. Every later x goes where it costs least if it joined (for I_m that is
|n x − D|² / (n + 1)²), and D += x, n += 1. Nothing else is kept, so a sample can be taken out again.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse

from ksums.compute.arrays import Matrix, as_dense
from ksums.method.data.rows import Rows, prepare, sq_norms_of
from ksums.method.engines.protocol import make_engine
from ksums.method.state.limits import no_limits
from ksums.method.state.state import (
    ClusterState,
    build_state,
    empty_composites,
    reallocate,
    renew_sq_composites,
)
from ksums.method.streams.ageing import Ageing
from ksums.rules.kinds import Rule

_NUMBERS = 1 << 22
"""Numbers that are read at a time."""
_LOST = 1e-12
"""If less than this share of a cluster's weight is left after samples were taken out, it is rounding."""


class Stream:
    """The clusters of a stream and what it needs to continue. Everything is computed in float64.

    Labels do not depend on how the stream is cut: the engine decides one sample after another, and what is done every
    now and then is done after a fixed number of samples.
    """

    def __init__(self, identity: dict[str, Any], rule: Rule, d: int, is_sparse: bool) -> None:
        self.identity, self.rule = identity, rule
        self.metric, self.ageing = identity["metric"], Ageing(identity["half_life"])
        k = identity["n_clusters"]
        none, zeros, composites = np.empty(0, np.int32), np.zeros(k), empty_composites(k, d, is_sparse)
        self.state = ClusterState(none, composites, zeros, np.zeros(k, np.int64), zeros.copy(), zeros.copy())
        self.is_sparse, self.seen = is_sparse, 0
        self.shift: np.ndarray | None = None  # for l2: the first sample, later the mean; squares far from 0 lose digits
        self.openers: dict[str, int] = {}  # fingerprint of the sample that opened each cluster

    # ---------------------------------------------------------------------------------------- learning
    def learn(self, X: Matrix, weights: np.ndarray | None, order: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Labels of the rows, taken in their order or in a given one, and the rows without a direction (cosine).

        If it is interrupted, nothing of it was learnt.
        """
        before = (self._copy(), self.shift, dict(self.openers), self.seen)
        try:
            return self._learn(X, weights, np.arange(X.shape[0]) if order is None else order)
        except BaseException:
            self.state, self.shift, self.openers, self.seen = before
            raise

    def _copy(self) -> ClusterState:
        return ClusterState(*(np.copy(sums, order="K") for sums in self.state))

    def _learn(self, X: Matrix, weights: np.ndarray | None, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.shift is None and self.metric == "l2" and not self.is_sparse:
            self.shift = np.asarray(X[order[0]], np.float64).copy()
        period = self.ageing.period
        step = max(1, _NUMBERS // X.shape[1]) if not self.is_sparse else period
        labels, directed, done = np.zeros(len(order), np.int32), np.ones(len(order), bool), 0
        while done < len(order):
            if self.seen and self.seen % period == 0:
                self._renew()
            ids = order[done : done + min(step, period - self.seen % period)]
            rows = self._rows(X, weights, ids, self.ageing.weights_of_next(self.seen, len(ids)))
            labels[ids] = self._join(rows)
            directed[ids] = self.metric == "l2" or rows.sq_norms > 0
            self.seen += len(ids)
            done += len(ids)
        return labels, np.flatnonzero(~directed)

    def _join(self, rows: Rows) -> np.ndarray:
        """Labels of some rows, which are learnt."""
        state = self.state._replace(labels=np.full(rows.n, -1, np.int32))
        waiting = rows.active[self._open(rows, state) :]
        if len(waiting):
            engine = make_engine("exact", rows, state, self.rule, no_limits(len(state.sizes)))
            for _ in engine.visit(waiting):
                pass
        if (state.labels[rows.active] < 0).any():
            raise ValueError("a row joins no cluster: its squares leave the range of float64; divide X by a constant.")
        return np.maximum(state.labels, 0)  # rows that are not active get the label 0

    def _open(self, rows: Rows, state: ClusterState) -> int:
        """Let samples open the empty clusters; copies of one that did so join it. Returns how many that took.

        Under cosine a copy is a row of the same direction, whose last digits may differ.
        """
        if state.counts.all():
            return 0
        done, weights = 0, rows.weights_of(rows.active)
        for ids in rows.blocks_of(rows.active):
            block, raw = as_dense(rows.read(ids, np.float64)), as_dense(rows.X[ids]).astype(np.float64)
            for i, x, as_given in zip(ids, block, raw, strict=True):
                fingerprint = _fingerprint(x.round(12) if self.metric == "cosine" else as_given)
                cluster = self.openers.get(fingerprint)
                if cluster is None:
                    cluster = int(np.flatnonzero(state.counts == 0)[0])
                    self.openers[fingerprint] = cluster
                reallocate(state, i, x, float(weights[done]), -1, cluster)
                done += 1
                if state.counts.all():
                    return done
        return done

    # --------------------------------------------------------------------------------------- forgetting
    def sums_of(
        self, X: Matrix, labels: np.ndarray, weights: np.ndarray | None, ages: np.ndarray | None
    ) -> ClusterState:
        """What rows with these labels added to the sums; ``ages`` says how many samples came after each of them."""
        aged = self.ageing.weights_of_past(self.seen, ages)
        return build_state(self._rows(X, weights, np.arange(X.shape[0]), aged), labels, len(self.state.sizes))

    def take_out(self, sums: ClusterState) -> None:
        """Forget samples by their sums. A cluster that becomes empty is open to the next new sample.

        So is one whose other members weigh nothing in comparison: after dozens of half-lives rounding has lost them.
        """
        state, before = self._copy(), self.state.sizes
        state.composites[...] -= sums.composites
        state.counts[...] -= sums.counts
        np.maximum(state.sizes - sums.sizes, 0.0, out=state.sizes)
        np.maximum(state.norm_sums - sums.norm_sums, 0.0, out=state.norm_sums)
        state.counts[state.sizes <= _LOST * before] = 0
        for r in np.flatnonzero(state.counts == 0):  # rounding must not leave anything behind
            state.composites[r], state.sizes[r], state.norm_sums[r] = 0.0, 0.0, 0.0
        renew_sq_composites(state)
        openers = {fingerprint: r for fingerprint, r in self.openers.items() if state.counts[r] > 0}
        self.state, self.openers = state, openers

    # ------------------------------------------------------------------------------------ rows and time
    @property
    def present(self) -> float:
        """The weight of the sample that came last."""
        return self.ageing.present_weight(self.seen)

    def _rows(self, X: Matrix, weights: np.ndarray | None, ids: np.ndarray, aged: np.ndarray | None) -> Rows:
        """Some rows as this stream reads them, numbered from 0."""
        part = X[ids]
        if sparse.issparse(part) and not self.is_sparse:
            part = part.toarray()
        elif self.is_sparse and not sparse.issparse(part):
            part = sparse.csr_array(part.astype(np.float64))
        # There are weights even if all are 1: the rounding of a cost must not depend on the other rows of the chunk.
        own = np.ones(len(ids)) if weights is None else weights[ids]
        own = own if aged is None else own * aged
        if self.metric == "cosine":
            return replace(prepare(part, "cosine", own), dtype=np.dtype(np.float64))
        everything = np.arange(len(ids))
        rows = Rows(part, np.dtype(np.float64), self.shift, np.ones(1), own, known_active=np.flatnonzero(own > 0))
        return replace(rows, known_sq_norms=sq_norms_of(rows, everything))

    def _renew(self) -> None:
        """Let the weights grow from 1 again, make the present mean the shift, and recompute D·D."""
        composites, sizes, norm_sums = self.state.composites, self.state.sizes, self.state.norm_sums
        fade = self.ageing.fading(sizes)
        if fade is not None:
            composites *= fade[:, None]
            sizes *= fade
            norm_sums *= fade
        if self.shift is not None and sizes.sum() > 0:
            step = composites.sum(axis=0) / sizes.sum()
            norm_sums += sizes * (step @ step) - 2 * (composites @ step)
            np.maximum(norm_sums, 0.0, out=norm_sums)
            composites -= sizes[:, None] * step
            self.shift = self.shift + step
        renew_sq_composites(self.state)


def _fingerprint(x: np.ndarray) -> str:
    """The same for equal rows only."""
    return blake2b((x + 0.0).tobytes(), digest_size=16).hexdigest()  # + 0.0 turns −0 into 0
