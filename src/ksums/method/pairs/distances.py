"""Distances between samples as the method reads them, and what a matrix of distances must not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ksums.compute.arrays import blocks
from ksums.compute.threads import workers
from ksums.method.pairs.kernels import TILE, add_rows, copy_part, look_for_faults

_COLUMNS = 1024
"""Columns that a thread adds up at a time: the sums of ten clusters then fit into a core's own cache."""

_WORTH_SHARING = 3e7
"""Fewer additions, some ten milliseconds, are done before another thread has got a core on a busy machine."""

_TILES = 4
"""Rows of tiles that a thread looks at at a time; the first ones are the longest, so pieces must be small."""


_ROWS = 256
"""Rows that are searched at a time for what is wrong."""


class Distances(NamedTuple):
    """A symmetric matrix of distances with zeros on the diagonal, and the weights of its samples."""

    square: np.ndarray  # (n, n)  float32 or float64, C-ordered
    weights: np.ndarray  # (n,)    float64; (0,) if all are 1

    @property
    def total(self) -> float:
        """The number of samples, or the sum of their weights."""
        return float(self.weights.sum()) if len(self.weights) else float(len(self.square))

    def take(self, ids: np.ndarray) -> Distances:
        """Some of the samples, as a copy."""
        return Distances(self.part(ids, ids), self.weights[ids] if len(self.weights) else self.weights)

    def part(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The distances between some samples and others, as a copy."""
        found = np.empty((len(rows), len(columns)), self.square.dtype)
        copy_part(self.square, rows, columns, found)
        return found


def without_weights(square: np.ndarray) -> Distances:
    """Samples that all count the same."""
    return Distances(square, np.zeros(0))


def add_to(sums: np.ndarray, distances: Distances, rows: np.ndarray, clusters: np.ndarray) -> None:
    """Add the distances from these samples to the sums (k, n) of these clusters, on all threads."""
    parts = list(blocks(len(distances.square), _COLUMNS))

    def one(part: slice) -> None:
        add_rows(distances.square, distances.weights, rows, clusters, part.start, part.stop, sums)

    with workers(len(parts) if len(rows) * len(distances.square) > _WORTH_SHARING else 1) as run:
        list(run(one, parts))


class Faults(NamedTuple):
    """What is wrong with a matrix of distances, if anything is."""

    largest: float
    least: float
    asymmetry: float
    """The largest difference of two distances that should be equal, 0 if there is none."""
    excess: float
    """The largest difference that is more than the tolerance, less the tolerance."""
    diagonal: float
    """The largest of the distances between a sample and itself."""
    is_finite: bool


def faults_of(square: np.ndarray, tolerance: float) -> Faults:
    """One look at all pairs, on all threads."""
    parts = list(blocks(-(-len(square) // TILE), _TILES))

    def one(part: slice) -> np.ndarray:
        values = np.empty(5)
        look_for_faults(square, part.start, part.stop, tolerance, values)
        return values

    with workers(len(parts)) as run:
        found = np.array(list(run(one, parts)))
    return Faults(
        largest=float(found[:, 0].max()),
        least=float(found[:, 1].min()),
        asymmetry=float(found[:, 3].max()),
        excess=float(found[:, 2].max()),
        diagonal=float(np.abs(square.diagonal()).max()),
        is_finite=not found[:, 4].any(),
    )


def first_where(square: np.ndarray, is_wrong: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> tuple[int, int]:
    """The first pair for which something holds, given a block of rows and its mirror image."""
    for part in blocks(len(square), _ROWS):
        wrong = np.argwhere(is_wrong(square[part], square[:, part].T))
        if len(wrong):
            return int(wrong[0, 0]) + part.start, int(wrong[0, 1])
    raise AssertionError("nothing is wrong")
