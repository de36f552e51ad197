"""The nearest of very many centres by a walk through the graph of their neighbours: nearly always the right one.

A row begins with the group of centres whose mean is nearest to it (there are about √k groups) and is compared with the
hundreds of centres around that mean. From the best of them it goes to the nearest centre in the list of the present
one, and so on until none is nearer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ksums.drivers import FAMILY, Driver
from ksums.engines._neighbour_kernels import Neighbours, list_length
from ksums.engines.nearest import nearest_centres
from ksums.engines.neighbour_lists import NeighbourLists
from ksums.engines.neighbours import NeighbourEngine
from ksums.rows import Rows
from ksums.state import ClusterState, no_limits
from ksums.sums import members_by_cluster

_AROUND = 512  # centres compared at first,
_LENGTH = 128  # and in each further step
_MOST_STEPS = 100  # far more than any row takes
_AT_A_TIME = 1 << 28  # bytes of rows: of these a copy is made

_NEAREST = Driver("distortion", FAMILY, 0.0, 0.0)


def walk_to_nearest(rows: Rows, centres: np.ndarray, squares: np.ndarray, n_threads: int) -> np.ndarray:
    """For each of the rows that pull a centre with less |x − C|² than all its neighbours; 0 for the others.

    ``squares`` are those of the centres; under cosine rows and centres have unit length, and all of them are 1.
    """
    k = len(centres)
    centres = centres.astype(np.float64)
    labels = np.zeros(rows.n, np.int32)
    state = ClusterState(labels, centres, np.ones(k), np.full(k, 2), squares, squares)
    finder = NeighbourLists(rows.dtype, n_threads)
    lists = finder.make(state, FAMILY, _LENGTH)
    means, middle = _groups(centres, finder.group_of)
    around = _around(centres, squares, middle)
    ids = rows.pulling
    labels[ids] = middle[nearest_centres(rows, ids, means, np.einsum("gt,gt->g", means, means), n_threads)]
    length = max(1, _AT_A_TIME // (rows.d * rows.dtype.itemsize))
    for first in range(0, len(ids), length):
        walking, near = ids[first : first + length], around
        for _ in range(_MOST_STEPS):
            if len(walking) == 0:
                break
            engine = NeighbourEngine(replace(rows, pulling=walking), state, _NEAREST, no_limits(k), n_threads)
            walking, near = engine.step(near), lists
    return labels


def _groups(centres: np.ndarray, group_of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean of each group of centres, and the centre nearest to it."""
    parts = members_by_cluster(np.arange(len(centres)), group_of, int(group_of.max()) + 1)
    means = np.array([centres[part].mean(axis=0) for part in parts])
    distances = [np.square(centres[part] - mean).sum(axis=1) for part, mean in zip(parts, means, strict=True)]
    middle = [part[near.argmin()] for part, near in zip(parts, distances, strict=True)]
    return means, np.array(middle, np.int32)


def _around(centres: np.ndarray, squares: np.ndarray, middle: np.ndarray) -> Neighbours:
    """Long lists for those few centres, the others have none."""
    k = len(centres)
    length = list_length(_AROUND, k)
    near = Neighbours(np.zeros((k, length), np.int32), np.ones(k, np.int32))
    distances = squares - 2 * centres[middle] @ centres.T
    distances[np.arange(len(middle)), middle] = np.inf
    near.lists[middle, 0] = middle  # each is the first in its own list
    if k > 1:
        others = min(length, k) - 1
        near.lists[middle, 1 : others + 1] = np.argpartition(distances, others - 1, axis=1)[:, :others]
        near.filled[middle] = others + 1
    return near
