"""The nearest of very many centres by a walk through the graph of their neighbours: nearly always the right one.

A row begins with the group of centres whose mean is nearest to it (there are about √k groups) and is compared with the
hundreds of centres around that mean. From the best of them it goes to the nearest centre in the list of the present
one, and so on until none is nearer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ksums.drivers import FAMILY, Driver
from ksums.engines._neighbour_kernels import Neighbours
from ksums.engines.nearest import nearest_centres
from ksums.engines.neighbour_lists import NeighbourLists
from ksums.engines.neighbours import NeighbourEngine
from ksums.rows import Rows
from ksums.state import ClusterState, no_limits

_AROUND = 512  # centres compared at first,
_LENGTH = 128  # and in each further step
_AT_A_TIME = 1 << 28  # bytes of rows: of these a copy is made

_NEAREST = Driver("distortion", FAMILY, 0.0, 0.0)


def walk_to_nearest(
    rows: Rows, ids: np.ndarray, centres: np.ndarray, sq_centres: np.ndarray, n_threads: int
) -> np.ndarray:
    """For each of the rows a centre of less ``sq_centres − 2 x·C`` than all its neighbours."""
    k = len(centres)
    centres = centres.astype(np.float64)
    squares = np.einsum("rt,rt->r", centres, centres)  # under cosine all are 1, so the order is the same
    labels = np.zeros(rows.n, np.int32)
    state = ClusterState(labels, centres, np.ones(k), np.full(k, 2), squares, squares)
    finder = NeighbourLists(rows.dtype, n_threads)
    lists = finder.make(state, FAMILY, _LENGTH)
    means, middle = _groups(centres, finder.group_of)
    around = _around(centres, squares, middle)
    labels[ids] = middle[nearest_centres(rows, ids, means, np.einsum("gt,gt->g", means, means), n_threads)]
    here = replace(rows, sq_norms=np.zeros(rows.n))
    length = max(1, _AT_A_TIME // (rows.d * rows.dtype.itemsize))
    for first in range(0, len(ids), length):
        walking, near = ids[first : first + length], around
        while len(walking):
            engine = NeighbourEngine(replace(here, pulling=walking), state, _NEAREST, no_limits(k), n_threads)
            walking, near = engine.step(near), lists
    return labels[ids]


def _groups(centres: np.ndarray, group_of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean of each group of centres, and the centre nearest to it."""
    order = np.argsort(group_of, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(group_of))[:-1])
    means = np.array([centres[part].mean(axis=0) for part in parts])
    distances = [np.square(centres[part] - mean).sum(axis=1) for part, mean in zip(parts, means, strict=True)]
    middle = [part[near.argmin()] for part, near in zip(parts, distances, strict=True)]
    return means, np.array(middle, np.int32)


def _around(centres: np.ndarray, squares: np.ndarray, middle: np.ndarray) -> Neighbours:
    """Long lists for those few centres, the others have none."""
    k = len(centres)
    length = -(-min(_AROUND, k) // 8) * 8
    near = Neighbours(np.zeros((k, length), np.int32), np.ones(k, np.int32))
    distances = squares - 2 * centres[middle] @ centres.T
    distances[np.arange(len(middle)), middle] = -np.inf  # each is the first in its own list
    chosen = np.argsort(distances, axis=1, kind="stable")[:, : min(length, k)]
    near.lists[middle, : chosen.shape[1]] = chosen
    near.filled[middle] = chosen.shape[1]
    return near
