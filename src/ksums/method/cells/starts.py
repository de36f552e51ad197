"""First labels of a table: greedy k-means++ seeds, and the nearest of them by observed cells."""

from __future__ import annotations

import numpy as np

from ksums.method.cells.cells import CellCentres, Cells, rows_as_centres
from ksums.method.cells.kernels import distances_to


def distances(cells: Cells, centres: CellCentres) -> np.ndarray:
    """(n, k) Sums over the observed cells of the squared distances to centres."""
    found = np.empty((cells.n, centres.numbers.shape[1]))
    distances_to(cells, centres, found)
    return found


def seeded_labels(cells: Cells, k: int, rng: np.random.Generator) -> np.ndarray:
    """Rows as seeds, each the best of a few drawn in proportion to the distance from the seeds before it.

    A row with few cells is near to everything, so it hardly ever becomes a seed.
    """
    weights = cells.weights if len(cells.weights) else np.ones(cells.n)
    first = int(rng.choice(cells.n, p=weights / weights.sum()))
    nearest, labels = distances(cells, rows_as_centres(cells, np.array([first])))[:, 0], np.zeros(cells.n, np.int32)
    tries = 2 + int(np.log(k))
    for cluster in range(1, k):
        mass = np.cumsum(weights * nearest)
        if mass[-1] > 0:
            drawn = np.searchsorted(mass, rng.random(tries) * mass[-1], side="right").clip(0, cells.n - 1)
        else:  # all rows are equal
            drawn = rng.integers(cells.n, size=tries)
        found = distances(cells, rows_as_centres(cells, drawn))
        left = weights @ np.minimum(found, nearest[:, None])
        best = int(left.argmin())
        closer = found[:, best] < nearest
        labels[closer] = cluster
        nearest = np.minimum(nearest, found[:, best])
    return without_empty(labels, k, rng)


def without_empty(labels: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Labels in which every cluster has a row; an empty one takes a random row of a larger one."""
    sizes = np.bincount(labels, minlength=k)
    for cluster in np.flatnonzero(sizes == 0):
        row = rng.choice(np.flatnonzero(sizes[labels] > 1))
        sizes[labels[row]] -= 1
        labels[row], sizes[cluster] = cluster, 1
    return labels
