"""The nearest of very many centres by a walk through the graph of their neighbours: nearly always the right one.

A row starts with the group of centres whose mean is nearest to it (there are about √k groups) and is compared with the
hundreds of centres around that mean. From the best of them it moves to the nearest centre in the list of the present
one, and so on until none is nearer.
"""

from __future__ import annotations

import numpy as np

from ksums.compute.arrays import blocks
from ksums.method.data.centres import Centres
from ksums.method.data.norms import sq_norms
from ksums.method.data.rows import Rows
from ksums.method.data.sums import members_by_cluster
from ksums.method.engines.neighbours import NeighbourEngine
from ksums.method.nearest.centres import nearest_centres
from ksums.method.nearest.list_kernels import Neighbours, list_length
from ksums.method.nearest.lists import NeighbourLists
from ksums.method.state.limits import no_limits
from ksums.method.state.state import ClusterState
from ksums.rules.kinds import rule_for

_AROUND = 512
"""Centres that a row is compared with at first."""
_LENGTH = 128
"""Centres that it is compared with in each further step."""
_MOST_STEPS = 100
"""Far more steps than any row takes."""
_AT_A_TIME = 1 << 28
"""Bytes of rows that walk together: a copy of them is made."""

_NEAREST = rule_for("distortion", "l2", "online")


def walk_to_nearest(rows: Rows, centres: Centres) -> np.ndarray:
    """For each active row a centre with less |x − C|² than all its neighbours; 0 for the other rows.

    Under cosine rows and centres have unit length, and all squares are 1.
    """
    vectors, squares = centres.vectors.astype(np.float64), centres.squares
    k, labels = len(vectors), np.zeros(rows.n, np.int32)
    state = ClusterState(labels, vectors, np.ones(k), np.full(k, 2), squares, squares)
    finder = NeighbourLists(rows.dtype)
    lists = finder.make(state, _NEAREST, _LENGTH)
    means, middle = _groups(vectors, finder.group_of)
    around = _around(vectors, squares, middle)
    ids = rows.active
    labels[ids] = middle[nearest_centres(rows, ids, Centres(means, sq_norms(means)))]
    for part in blocks(len(ids), max(1, _AT_A_TIME // (rows.d * rows.dtype.itemsize))):
        walking, near = ids[part], around
        for _ in range(_MOST_STEPS):
            if len(walking) == 0:
                break
            engine = NeighbourEngine(rows.with_active(walking), state, _NEAREST, no_limits(k))
            walking, near = engine.move_all_at_once(near), lists
    return labels


def _groups(centres: np.ndarray, group_of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean of each group of centres, and the centre nearest to it."""
    parts = members_by_cluster(np.arange(len(centres)), group_of, int(group_of.max()) + 1)
    means = np.array([centres[part].mean(axis=0) for part in parts])
    distances = [np.square(centres[part] - mean).sum(axis=1) for part, mean in zip(parts, means, strict=True)]
    middle = [part[near.argmin()] for part, near in zip(parts, distances, strict=True)]
    return means, np.array(middle, np.int32)


def _around(centres: np.ndarray, squares: np.ndarray, middle: np.ndarray) -> Neighbours:
    """Long lists for these few centres; the others have none."""
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
