"""The clusters of a table, and what a move between them changes."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from ksums.method.cells.cells import Cells, rows_as_centres, unpulled
from ksums.method.cells.kernels import visit_cells
from ksums.method.cells.reference import reference_pass
from ksums.method.cells.starts import distances
from ksums.method.cells.sums import (
    CellSums,
    merged_pairs,
    merged_squares,
    pairs_by_cluster,
    squares_by_cluster,
    sums_of,
    without_pull,
)
from ksums.method.state.invariants import switched_on
from ksums.method.state.partition import Measures

_PASSES_OF_SPLIT = 10
"""Passes over a cluster that is tried as two: the search goes by what they gain, and passes over all rows follow."""


class Prices(NamedTuple):
    """What a cell costs in each cluster: F·(x − c)² + V for a number, V − B·count for a category."""

    centres: np.ndarray  # (a, k)  c
    factors: np.ndarray  # (a, k)  F
    constants: np.ndarray  # (a + b, k)  V
    slopes: np.ndarray  # (b, k)  B


class CellPartition:
    """Rows of a table in k clusters. Under E_s centres play no part, so nothing pulls them."""

    def __init__(self, cells: Cells, labels: np.ndarray, k: int, objective: str, engine: str = "exact") -> None:
        self.pairs, self.engine = objective == "pairwise", engine
        self.cells, self.k, self.objective = unpulled(cells) if self.pairs else cells, k, objective
        self.sums: CellSums = sums_of(self.cells, labels, k)
        a, b = self.cells.numbers.shape[1], self.cells.codes.shape[1]
        self._prices = Prices(np.zeros((a, k)), np.zeros((a, k)), np.zeros((a + b, k)), np.zeros((b, k)))
        self._costs = np.empty(k)
        self._moved = False  # since the sums were made

    @property
    def labels(self) -> np.ndarray:
        return self.sums.labels

    @property
    def sizes(self) -> np.ndarray:
        return self.sums.sizes

    def visit(self, order: np.ndarray, relaxation: float) -> int:
        """One pass; see ``Partition``.

        Every move adds rounding to the sums, in proportion to the largest row that ever was in them. So they are made
        again before each exact pass, which costs one comparison of a row of k.
        """
        if self.engine == "reference":
            labels = self.labels.copy()
            moves = reference_pass(self.cells, labels, self.k, order, relaxation, self.objective)
            self.sums = sums_of(self.cells, labels, self.k)
            return moves
        if relaxation == 1.0 and self._moved:
            self.sums, self._moved = sums_of(self.cells, self.labels, self.k), False
        moves = visit_cells(self.cells, order, relaxation, self.pairs, self.sums, self._prices, self._costs)
        self._moved |= moves > 0
        if switched_on():
            self._check()
        return moves

    def _check(self) -> None:
        """Raise AssertionError where the sums are not those of the labels."""
        fresh = sums_of(self.cells, self.labels, self.k)
        assert (fresh.members > 0).all(), "a cluster is empty"
        assert (fresh.members == self.sums.members).all(), "counts are not those of the labels"
        for name, now, right in zip(CellSums._fields[2:], self.sums[2:], fresh[2:], strict=True):
            scale = max(float(np.abs(right).max(initial=0.0)), 1e-300)
            assert np.abs(now - right).max(initial=0.0) <= 1e-9 * scale, f"{name} have drifted"

    def by_cluster(self) -> np.ndarray:
        """(k,) The part of each cluster in the objective, not divided by the number of rows."""
        return (pairs_by_cluster if self.pairs else squares_by_cluster)(self.cells, self.sums)

    def measures(self) -> Measures:
        """The objective, and both measures with plain means as centres."""
        plain = without_pull(self.cells, self.sums)
        total = float(self.sums.sizes.sum())
        values = (self.by_cluster(), squares_by_cluster(*plain), pairs_by_cluster(*plain))
        return Measures(*(float(value.sum()) / total for value in values))

    def merge_costs(self) -> np.ndarray:
        """(k, k) What merging two clusters costs; see ``Partition``."""
        merged = (merged_pairs if self.pairs else merged_squares)(self.cells, self.sums)
        own = self.by_cluster()
        costs = (merged - own[:, None] - own) / self.sums.sizes.sum()
        np.fill_diagonal(costs, np.inf)
        return costs

    def halves(self, cluster: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
        """The rows of one half of a cluster, from two seeds; see ``Partition``."""
        rows = np.flatnonzero(self.labels == cluster)
        nothing = np.zeros(0, np.int64), 0.0
        if len(rows) < 2:
            return nothing
        cells = self.cells.take(rows)
        first = int(rng.integers(len(rows)))
        away = distances(cells, rows_as_centres(cells, np.array([first])))[:, 0]
        if not away.sum() > 0:
            return nothing
        second = int(rng.choice(len(rows), p=away / away.sum()))
        found = distances(cells, rows_as_centres(cells, np.array([first, second])))
        labels = (found[:, 1] < found[:, 0]).astype(np.int32)
        if labels.min() == labels.max():
            return nothing
        two = CellPartition(cells, labels, 2, self.objective, self.engine)
        for _ in range(_PASSES_OF_SPLIT):
            if not two.visit(np.arange(len(rows)), 1.0):
                break
        gain = self.by_cluster()[cluster] - two.by_cluster().sum()
        return rows[two.labels == 1], float(gain / self.sums.sizes.sum())

    def exchanged(self, a: int, b: int, split: int, part: np.ndarray) -> Self:
        """Another partition; see ``Partition``."""
        labels = self.labels.copy()
        labels[labels == b] = a
        labels[part] = b
        return type(self)(self.cells, labels, self.k, self.objective, self.engine)
