"""The L nearest clusters of each cluster, also for a hundred thousand of them.

Nearest are those that the cluster's own centre would join at the least cost; a quarter of each list is for clusters
that have this one among their nearest. Up to some thousand clusters all are compared with all. Above, centres are first
put into about √k groups, and each looks only into the groups nearest to its own: k·m comparisons instead of k², with m
candidates each.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ksums.drivers import ANGLE, COSINE, LENGTH, PAIRWISE
from ksums.engines import _vectors
from ksums.engines._list_kernels import CHUNK, Groups, ListSpace, add_ways_back, nearest_lists
from ksums.engines._neighbour_kernels import Neighbours, list_length
from ksums.engines._threads import share, thread_pool
from ksums.engines.nearest import nearest_of
from ksums.state import ClusterState

_CANDIDATES = 9000  # for each cluster: up to that many all are compared with all; fewer cost more than they save
_ROOM = 4  # candidates kept, for each place in a list, before the best of them are chosen
_WAYS_BACK = 0.25  # of each list is kept for clusters that have this one among their nearest
_ROUNDS = 2  # of Lloyd's, that make the groups


class NeighbourLists:
    """Makes the lists of a state, and makes them anew; groups are kept from one time to the next."""

    def __init__(self, dtype: np.dtype, n_threads: int) -> None:
        self.dtype, self.n_threads, self.comparisons = dtype, n_threads, 0
        self.group_of = np.zeros(0, np.int64)  # the group of each cluster
        self._seeds: np.ndarray | None = None

    def make(self, state: ClusterState, kind: int, length: int) -> Neighbours:
        """Lists of so many clusters each, the cluster itself first; ``comparisons`` counts what that took."""
        k, threads, dtype = len(state.sizes), self.n_threads, self.dtype
        length = list_length(length, k)
        centres, coefficients = _scores(state, kind, dtype)
        sq_centres = np.einsum("rt,rt->r", centres, centres)
        width = _vectors.panel_width(dtype)
        groups = self._groups(centres, length, width)
        space = ListSpace(
            np.empty((threads, centres.shape[1], width), dtype),
            np.empty((threads, CHUNK, width), dtype),
            np.empty((threads, CHUNK // 8, width), dtype),
            np.empty((threads, CHUNK), np.int64),
            np.empty((threads, 3, CHUNK), dtype),
            np.empty((threads, width), dtype),
            np.empty((threads, width), dtype),
            np.empty((threads, 2, width), dtype),
            np.empty((threads, width), np.int32),
            np.empty((threads, width, _ROOM * length), dtype),
            np.empty((threads, width, _ROOM * length), np.int32),
            np.empty((threads, 2), np.int64),
            np.zeros(threads, np.int64),
        )
        neighbours = Neighbours(np.empty((k, length), np.int32), np.empty(k, np.int32))
        nearest = length if length >= k else length - round(_WAYS_BACK * length)
        nothing = groups._replace(panel_group=groups.panel_group[:0])  # compiles, if need be, before there are threads
        share(None, 1, nearest_lists, centres, sq_centres, coefficients, nothing, space, nearest, neighbours)
        with thread_pool(threads, 2.0 * k * min(k, _CANDIDATES) * centres.shape[1]) as pool:
            share(pool, threads, nearest_lists, centres, sq_centres, coefficients, groups, space, nearest, neighbours)
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
            labels = nearest_of(centres, seeds, self.n_threads)
            used, labels = np.unique(labels, return_inverse=True)
            members = np.bincount(labels)
            chosen = sparse.csr_array((np.ones(k, centres.dtype), labels, np.arange(k + 1)), shape=(k, len(used)))
            seeds = (chosen.T @ centres) / members[:, None].astype(centres.dtype)
        self._seeds = seeds
        self.group_of = labels
        near, reach = _near_groups(seeds, members, max(_CANDIDATES, 4 * length))
        order = np.argsort(labels, kind="stable")
        starts = np.concatenate([[0], np.cumsum(members)])
        panels = [(g, at) for g in range(len(near)) for at in range(starts[g], starts[g + 1], width)]
        panel_group, panel_start = np.array(panels, np.int64).T.copy()
        return Groups(np.concatenate([order, np.zeros(width, np.int64)]), starts, near, reach, panel_group, panel_start)


def _scores(state: ClusterState, kind: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Centres, and coefficients of a·|C|² − b·(C·C_r) + c: what it would cost C to join cluster r."""
    sizes = np.sqrt(state.sq_composites) if kind in (ANGLE, COSINE, LENGTH) else state.sizes
    centres = (state.composites / np.where(sizes > 0, sizes, 1.0)[:, None]).astype(dtype)
    ones = np.ones(len(sizes))
    if kind == PAIRWISE:
        coefficients = state.sizes, 2 * state.sizes, state.norm_sums
    elif kind in (ANGLE, COSINE, LENGTH):
        coefficients = 0 * ones, ones, ones
    else:
        coefficients = ones, 2 * ones, state.sq_composites / state.sizes**2
    return centres, np.array(coefficients, dtype)


def _near_groups(seeds: np.ndarray, members: np.ndarray, candidates: int) -> tuple[np.ndarray, np.ndarray]:
    """For each group the groups by distance, itself first, and how many of them it takes to have so many candidates."""
    squares = np.einsum("gt,gt->g", seeds, seeds)
    distances = squares[:, None] + squares - 2 * (seeds @ seeds.T)
    np.fill_diagonal(distances, -np.inf)
    near = np.argsort(distances, axis=1, kind="stable")
    enough = np.cumsum(members[near], axis=1) >= min(candidates, members.sum())
    return near, enough.argmax(axis=1) + 1
