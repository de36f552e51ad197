"""Clusters of samples of which only distances are known, and what a move between them changes.

S_r(i) is the sum of the distances from sample i to the members of cluster r (each times its weight), P_r the sum over
the pairs of cluster r, n_r its size. Both objectives follow from these: Σ P_r / n_r, which is n · E_m for squared
Euclidean distances, and Σ P_r. A sample i that leaves a or joins b changes the first one by

    (S_a(i) − P_a / n_a) / (n_a − 1)        (S_b(i) − P_b / n_b) / (n_b + 1)

and the second one by S_a(i) and S_b(i). A move changes two rows of S, in n steps each.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from ksums.method.pairs.distances import Distances, add_to
from ksums.method.pairs.kernels import ROUNDING_OF_SUMS, add_between, exchange_samples, sum_new_rows, visit_samples
from ksums.method.pairs.reference import visit_plainly
from ksums.method.state.invariants import switched_on
from ksums.method.state.partition import Measures

_PASSES_OF_SPLIT = 10
"""Passes over a cluster that is tried as two: the search goes by what they gain, and passes over all rows follow."""

_SAMPLE_OF_SPLIT = 256
"""Members of a larger cluster that are tried as two for all of them: trying all would take most of the search's time,
and halves of a sample are settled by the passes that follow."""


class DistanceSums(NamedTuple):
    """Labels, and all that follows from them."""

    labels: np.ndarray  # (n,)    int32
    counts: np.ndarray  # (k,)    int64, number of samples
    sizes: np.ndarray  # (k,)    n_r
    pairs: np.ndarray  # (k,)    P_r
    sums: np.ndarray  # (k, n)  S_r(i)
    noise: np.ndarray  # (n,)    what may be rounding in the sums of a sample
    offsets: np.ndarray  # (k,)    joining a cluster costs (S − offset) · factor; for kernels, which set both
    factors: np.ndarray  # (k,)


class Limits(NamedTuple):
    """Sizes that clusters keep to."""

    low: np.ndarray  # (k,)
    high: np.ndarray  # (k,)


class DistancePartition:
    """Samples in k clusters; see ``Partition``."""

    def __init__(
        self,
        distances: Distances,
        labels: np.ndarray,
        k: int,
        objective: str,
        limits: Limits | None = None,
        sums: np.ndarray | None = None,  # (k, n)  S, if it is known
        engine: str = "exact",
    ) -> None:
        self.engine = engine
        self.distances, self.k, self.objective = distances, k, objective
        self.by_size = objective == "distortion"
        self.limits = Limits(np.zeros(k), np.full(k, np.inf)) if limits is None else limits
        self.is_limited = limits is not None
        n = len(distances.square)
        weights = distances.weights if len(distances.weights) else None
        counts = np.bincount(labels, minlength=k)
        sizes = np.bincount(labels, weights, k).astype(np.float64)
        own = np.empty((k, n)) if sums is None else sums
        self.state = DistanceSums(
            labels.astype(np.int32), counts, sizes, np.zeros(k), own, np.zeros(n), np.zeros(k), np.zeros(k)
        )
        self._relaxed, self._moved = False, 0
        if sums is None:
            self.renew()
        else:
            self._renew_pairs()
        self.state.noise[:] = ROUNDING_OF_SUMS * own.sum(axis=0)

    @property
    def labels(self) -> np.ndarray:
        return self.state.labels

    @property
    def sizes(self) -> np.ndarray:
        return self.state.sizes

    def renew(self) -> None:
        """Sums from the labels."""
        self.state.sums[:] = 0.0
        add_to(self.state.sums, self.distances, np.arange(len(self.labels)), self.labels)
        self._renew_pairs()
        self._moved = 0

    def _renew_pairs(self) -> None:
        own = self.own_sums()
        weights = self.distances.weights
        self.state.pairs[:] = np.bincount(self.labels, own * weights if len(weights) else own, self.k) / 2

    def own_sums(self) -> np.ndarray:
        """(n,) The sum of the distances from each sample to the members of its cluster."""
        return self.state.sums[self.labels, np.arange(len(self.labels))]

    def visit(self, order: np.ndarray, relaxation: float) -> int:
        """One pass; see ``Partition``. Under limits on sizes samples also change places.

        Every move adds rounding to the sums, in proportion to the largest distance that ever was in them. So they are
        made again before the exact passes, and in these after n moves, which take several times as long.
        """
        if relaxation == 1.0 and (self._relaxed or self._moved > len(self.labels)):
            self.renew()
        square, weights = self.distances
        if self.engine == "reference":
            own = weights if len(weights) else np.ones(len(square))
            moves = visit_plainly(square, own, order, relaxation, self.objective, self.labels, self.k)
            self.state.counts[:] = np.bincount(self.labels, minlength=self.k)
            self.state.sizes[:] = np.bincount(self.labels, own, self.k)
            self.renew()
            return moves
        moves = visit_samples(square, weights, order, relaxation, self.by_size, *self.limits, self.state)
        if self.is_limited and relaxation == 1.0:
            moves += exchange_samples(square, order, self.by_size, self.state)
        self._relaxed = relaxation != 1.0
        self._moved += moves
        if switched_on():
            self._check()
        return moves

    def _check(self) -> None:
        """Raise AssertionError where the sums are not those of the labels, or a limit is broken."""
        fresh = DistancePartition(self.distances, self.labels, self.k, self.objective).state
        scale = max(float(fresh.sums.max()), 1e-300)
        assert (fresh.counts > 0).all(), "a cluster is empty"
        assert (fresh.counts == self.state.counts).all(), "counts are not those of the labels"
        for name in ("sums", "pairs", "sizes"):
            now, right = getattr(self.state, name), getattr(fresh, name)
            assert np.abs(now - right).max() <= 1e-9 * max(scale, float(right.max())), f"{name} have drifted"
        if self.is_limited:
            assert (self.sizes >= self.limits.low).all(), "a cluster is too small"
            assert (self.sizes <= self.limits.high).all(), "a cluster is too large"

    def by_cluster(self) -> np.ndarray:
        """(k,) The part of each cluster in the objective, not divided by the number of samples."""
        return self.state.pairs / self.sizes if self.by_size else self.state.pairs

    def measures(self) -> Measures:
        """The objective, and both measures; see ``Partition``."""
        total, pairs = self.distances.total, self.state.pairs
        distortion, pairwise = float((pairs / self.sizes).sum() / total), float(pairs.sum() / total)
        return Measures(distortion if self.by_size else pairwise, distortion, pairwise)

    def merge_costs(self) -> np.ndarray:
        """(k, k) What merging two clusters costs; see ``Partition``."""
        between = np.zeros((self.k, self.k))
        add_between(self.distances.weights, self.labels, self.state.sums, between)
        pairs, sizes, own = self.state.pairs, self.sizes, self.by_cluster()
        merged, both = pairs[:, None] + pairs + between, sizes[:, None] + sizes
        costs = (merged / both if self.by_size else merged) - own[:, None] - own
        costs[both > self.limits.high[:, None]] = np.inf
        np.fill_diagonal(costs, np.inf)
        return costs

    def halves(self, cluster: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
        """The samples of one half of a cluster, from two seeds; see ``Partition``."""
        members, nothing = np.flatnonzero(self.labels == cluster), (np.zeros(0, np.int64), 0.0)
        if len(members) < 2:
            return nothing
        ids = members
        if len(members) > _SAMPLE_OF_SPLIT:
            ids = np.sort(rng.choice(members, _SAMPLE_OF_SPLIT, replace=False))
        distances = self.distances.take(ids)
        away = distances.square[rng.integers(len(ids))].astype(np.float64)
        if not away.sum() > 0:
            return nothing
        other = distances.square[rng.choice(len(ids), p=away / away.sum())]
        two = DistancePartition(distances, (other < away).astype(np.int32), 2, self.objective, engine=self.engine)
        everyone = np.arange(len(ids))
        for _ in range(_PASSES_OF_SPLIT):
            if not two.visit(everyone, 1.0):
                break
        whole = self.by_cluster()[cluster]
        if len(ids) == len(members):
            part, gain = members[two.labels == 1], whole - two.by_cluster().sum()
        else:
            rows, known = self.distances.part(members, ids), two.state
            costs = join_costs(rows, distances.weights, known.labels, known.pairs, known.sizes, self.objective)
            part = members[costs[:, 1] < costs[:, 0]]
            one = known.pairs.sum() + known.sums[0][two.labels == 1] @ two._weights_of(two.labels == 1)
            one = one / two.sizes.sum() if self.by_size else one
            gain = whole * (1.0 - two.by_cluster().sum() / one) if one > 0 else 0.0
        size = float(self._weights_of(part).sum())
        if min(size, self.sizes[cluster] - size) < self.limits.low[0] or not 0 < len(part) < len(members):
            return nothing
        return part, float(gain)

    def _weights_of(self, ids: np.ndarray) -> np.ndarray:
        """Weights of some samples, given by their numbers or by a mask."""
        ids = np.flatnonzero(ids) if ids.dtype == bool else ids
        return self.distances.weights[ids] if len(self.distances.weights) else np.ones(len(ids))

    def exchanged(self, a: int, b: int, split: int, part: np.ndarray) -> Self:
        """Another partition; see ``Partition``. Only the sums of ``part`` are new."""
        labels, sums = self.labels.copy(), self.state.sums.copy()
        labels[labels == b] = a
        labels[part] = b
        sums[a] += sums[b]
        sums[b] = 0.0
        add_to(sums, self.distances, part, np.full(len(part), b, np.int32))
        sums[split] -= sums[b]
        limits = self.limits if self.is_limited else None
        return type(self)(self.distances, labels, self.k, self.objective, limits, sums, self.engine)


def join_costs(
    rows: np.ndarray,  # (m, n)  distances from new samples to the members
    weights: np.ndarray,  # (n,), or (0,) if all are 1
    labels: np.ndarray,  # (n,)
    pairs: np.ndarray,  # (k,)  P_r
    sizes: np.ndarray,  # (k,)  n_r
    objective: str,
) -> np.ndarray:
    """(m, k) What new samples cost in each cluster.

    For Σ P_r / n_r this is (S_r − P_r / n_r) / n_r, the squared distance to the centroid where distances are squared
    Euclidean ones; for Σ P_r it is S_r. Under both, a sample of the data that no move improves costs least in its own
    cluster (for the first one if the distance is a metric, or the square of the Euclidean one).
    """
    sums = np.zeros((len(rows), len(sizes)))
    sum_new_rows(rows, weights, labels, sums)
    return (sums - pairs / sizes) / sizes if objective == "distortion" else sums
