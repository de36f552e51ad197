"""The clusters of a tree that is growing."""

from __future__ import annotations

import numpy as np

from ksums.method.data.rows import Rows
from ksums.method.state.state import ClusterState, build_state
from ksums.method.trees.tree import leaves_of
from ksums.rules.objectives import within_clusters, within_from_squares


class Leaves:
    """The clusters so far. Each node of the tree owns a range of ``members``; measures are in the units of the data."""

    def __init__(self, rows: Rows, k: int) -> None:
        whole = build_state(rows, np.zeros(rows.n, np.int32), 1)
        self.rows, self.members = rows, rows.active.copy()
        self.bounds = [(0, len(self.members))]
        self.sizes, self.squares = [float(whole.sizes[0])], [float(self._squares(whole)[0])]
        self.splits: list[int] = []
        self.nodes = [0]  # of each cluster
        self.cluster_sizes = np.full(k, self.sizes[0])
        self.label_of = [0]  # of each node

    def ids(self, node: int) -> np.ndarray:
        """The rows of a node."""
        first, last = self.bounds[node]
        return self.members[first:last]

    def divide(self, node: int, halves: np.ndarray, state: ClusterState) -> tuple[int, int]:
        """Make two nodes of one, which become clusters; ``halves`` says to which one each member goes."""
        first, last = self.bounds[node]
        ids, middle = self.ids(node), first + int(np.count_nonzero(halves == 0))
        self.members[first:last] = np.concatenate([ids[halves == 0], ids[halves == 1]])
        self.bounds += [(first, middle), (middle, last)]
        self.sizes += state.sizes.tolist()
        self.squares += self._squares(state).tolist()
        left, right = len(self.bounds) - 2, len(self.bounds) - 1
        label = self.label_of[node]
        self.label_of += [label, len(self.nodes)]
        self.nodes[label] = left
        self.nodes.append(right)
        self.cluster_sizes[[label, self.label_of[right]]] = state.sizes
        self.splits.append(node)  # comes last: without it the split has not happened
        return left, right

    def drop_unfinished(self) -> None:
        """After an interruption anywhere: back to the splits that were finished."""
        splits = np.array(self.splits, np.int64)
        made = 2 * len(splits) + 1
        for figures in (self.bounds, self.sizes, self.squares, self.label_of):
            del figures[made:]
        self.nodes = leaves_of(splits).tolist()

    def labels(self) -> np.ndarray:
        """(n,) Rows that are not active keep the label 0."""
        labels = np.zeros(self.rows.n, np.int32)
        for label, node in enumerate(self.nodes):
            labels[self.ids(node)] = label
        return labels

    def within(self, objective: str, node: int) -> float:
        """What a node adds to n times the objective."""
        return float(within_from_squares(objective, self.sizes[node], self.squares[node]))

    def _squares(self, state: ClusterState) -> np.ndarray:
        """Σ|x − C|² of each cluster."""
        return np.maximum(within_clusters("distortion", state), 0.0) * self.rows.sq_unit
