"""The L nearest clusters of each cluster, also for a hundred thousand of them.

Nearest are the clusters that the cluster's centre would join at the least cost. A quarter of each list is for *ways
back*: clusters that have this one among their nearest. Up to some thousand clusters all are compared with all. Above,
centres are first put into about √k groups, and each is compared only with those in the groups nearest to its own: k·m
comparisons instead of k², with m candidates each.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ksums.compute.sharing import ALONE, team
from ksums.compute.threads import threads
from ksums.compute.vectors import panel_width
from ksums.method.data.norms import sq_norms
from ksums.method.data.sums import sort_by_cluster
from ksums.method.nearest.centres import nearest_points
from ksums.method.nearest.list_kernels import (
    CHUNK,
    Groups,
    ListSpace,
    Neighbours,
    add_ways_back,
    list_length,
    nearest_lists,
)
from ksums.method.state.state import ClusterState
from ksums.rules.kinds import Rule
from ksums.rules.plain import plain_form

_CANDIDATES = 9000
"""Up to this many clusters all are compared with all, and above each has this many candidates: with fewer, the passes
lose more than the lists save (``benchmarks/large_k.py``)."""
_ROOM = 4
"""For each entry of a list, this many candidates are kept before the best of them are chosen."""
_WAYS_BACK = 0.25
"""The share of each list that is kept for ways back: without it GloVe at k = 10,000 ends 0.74 % higher."""
_ROUNDS = 2
"""Lloyd iterations that make the groups."""


class NeighbourLists:
    """Makes the lists of a state, as often as asked; groups are kept from one time to the next."""

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype, self.comparisons = dtype, 0
        self.group_of = np.zeros(0, np.int64)  # the group of each cluster
        self._seeds: np.ndarray | None = None

    def memory(self) -> dict[str, np.ndarray]:
        """The groups, which later lists depend on."""
        return {} if self._seeds is None else {"groups": self.group_of, "seeds": self._seeds}

    def remember(self, memory: dict[str, np.ndarray]) -> None:
        """Go on with these groups."""
        if "seeds" in memory:
            self.group_of, self._seeds = memory["groups"], memory["seeds"]

    def make(self, state: ClusterState, rule: Rule, length: int) -> Neighbours:
        """Lists of ``length`` clusters each, the cluster itself first; ``comparisons`` counts the work."""
        k, dtype, count = len(state.sizes), self.dtype, threads()
        length = list_length(length, k)
        centres, coefficients = _scores(state, rule, dtype)
        squares = sq_norms(centres)
        width = panel_width(dtype)
        groups = self._groups(centres, length, width)
        space = ListSpace(
            np.empty((count, centres.shape[1], width), dtype),
            np.empty((count, CHUNK, width), dtype),
            np.empty((count, CHUNK // 8, width), dtype),
            np.empty((count, CHUNK), np.int64),
            np.empty((count, 3, CHUNK), dtype),
            np.empty((count, width), dtype),
            np.empty((count, width), dtype),
            np.empty((count, 2, width), dtype),
            np.empty((count, width), np.int32),
            np.empty((count, width, _ROOM * length), dtype),
            np.empty((count, width, _ROOM * length), np.int32),
            np.empty((count, 2), np.int64),
            np.zeros(count, np.int64),
        )
        neighbours = Neighbours(np.empty((k, length), np.int32), np.empty(k, np.int32))
        nearest = length if length >= k else length - round(_WAYS_BACK * length)
        nothing = groups._replace(panel_group=groups.panel_group[:0])  # compiles, if need be, before there are threads
        ALONE.run(nearest_lists, centres, squares, coefficients, nothing, space, nearest, neighbours)
        with team(2.0 * k * min(k, _CANDIDATES) * centres.shape[1]) as workers:
            workers.run(nearest_lists, centres, squares, coefficients, groups, space, nearest, neighbours)
        add_ways_back(neighbours.filled.copy(), neighbours)
        self.comparisons = int(space.comparisons.sum())
        return neighbours

    def _groups(self, centres: np.ndarray, length: int, width: int) -> Groups:
        k = len(centres)
        rounds = 1 if self._seeds is not None else _ROUNDS
        seeds = self._seeds
        if seeds is None:
            seeds = centres[np.random.default_rng(k).choice(k, round(k**0.5), replace=False)]
        for _ in range(rounds):
            labels = nearest_points(centres, seeds)
            used, labels = np.unique(labels, return_inverse=True)
            members = np.bincount(labels)
            chosen = sparse.csr_array((np.ones(k, centres.dtype), labels, np.arange(k + 1)), shape=(k, len(used)))
            seeds = (chosen.T @ centres) / members[:, None].astype(centres.dtype)
        self._seeds = seeds
        self.group_of = labels
        near, reach = _near_groups(seeds, members, max(_CANDIDATES, 4 * length))
        starts, order = sort_by_cluster(labels, len(used))
        panels = [(g, at) for g in range(len(near)) for at in range(starts[g], starts[g + 1], width)]
        panel_group, panel_start = np.array(panels, np.int64).T.copy()
        return Groups(np.concatenate([order, np.zeros(width, np.int64)]), starts, near, reach, panel_group, panel_start)


def _scores(state: ClusterState, rule: Rule, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Centres, and coefficients (3, k) of what it would cost one of them to join cluster r."""
    sizes = np.sqrt(state.sq_composites) if rule.kind.directions else state.sizes
    centres = (state.composites / np.where(sizes > 0, sizes, 1.0)[:, None]).astype(dtype)
    return centres, np.array(plain_form(rule).coefficients(state), dtype)


def _near_groups(seeds: np.ndarray, members: np.ndarray, candidates: int) -> tuple[np.ndarray, np.ndarray]:
    """For each group the groups sorted by distance, itself first, and how many of them hold enough candidates."""
    squares = sq_norms(seeds)
    distances = squares[:, None] + squares - 2 * (seeds @ seeds.T)
    np.fill_diagonal(distances, -np.inf)
    near = np.argsort(distances, axis=1, kind="stable")
    enough = np.cumsum(members[near], axis=1) >= min(candidates, members.sum())
    return near, enough.argmax(axis=1) + 1
