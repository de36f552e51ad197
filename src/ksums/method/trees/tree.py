"""The tree that a bisecting fit leaves: which node was split when, and what that means for the labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ksums.method.data.measures import ClusterMeasures
from ksums.rules.objectives import within_from_squares


@dataclass(frozen=True)
class BisectingTree:
    """Nodes are numbered in the order in which they were made: 0 holds all samples, split s makes 2s + 1 and 2s + 2.

    The first of the two keeps the label of the node that was split, the second gets the label s + 1. So the first
    k − 1 splits are the clustering into k clusters, for any k up to the one fitted.
    """

    splits: np.ndarray
    """(k − 1,) The node that each split divided."""
    sizes: np.ndarray
    """(2k − 1,) Number of samples in each node, or sum of weights."""
    within: np.ndarray
    """(2k − 1,) What each node adds to n times the objective: for E_m its sum of squared distances to the mean, for
    E_s its sum of squared distances of all pairs, for directions (I_m under cosine) its sum of cosine distances."""
    objectives: np.ndarray
    """(k,) The objective with 1, 2, … k clusters: after 0, 1, … k − 1 splits. If flat passes followed, it is that of
    the clusters they left, merged again in the order of the splits."""

    @property
    def n_clusters(self) -> int:
        return len(self.splits) + 1

    @property
    def parents(self) -> np.ndarray:
        """(2k − 1,) The parent of each node; −1 for node 0."""
        return np.concatenate([[-1], np.repeat(self.splits, 2)]).astype(np.int64)

    @property
    def children(self) -> np.ndarray:
        """(2k − 1, 2) The two nodes that each node was split into; −1 for the leaves."""
        children = np.full((2 * len(self.splits) + 1, 2), -1)
        first = 2 * np.arange(len(self.splits)) + 1
        children[self.splits] = np.column_stack([first, first + 1])
        return children

    @property
    def labels(self) -> np.ndarray:
        """(2k − 1,) The label that each node had when it was a cluster."""
        return _labels(self.splits)

    @property
    def leaves(self) -> np.ndarray:
        """(k,) The node of each cluster."""
        return leaves_of(self.splits)

    def relabelling(self, k: int) -> np.ndarray:
        """(n_clusters,) For each final label, its label when there were k clusters."""
        before = np.arange(self.n_clusters)
        origins = self.labels[self.splits]
        for label in range(k, self.n_clusters):
            before[label] = before[origins[label - 1]]
        return before

    def linkage(self) -> np.ndarray:
        """(k − 1, 4) The splits as merges, in SciPy's form; a merge is as high as ``within`` of the node it makes.

        No node is lower than the nodes in it, so the merges are in the order of their heights.
        """
        k, merges = self.n_clusters, len(self.splits)
        order = np.lexsort((-np.arange(merges), self.within[self.splits]))  # of equal ones the later split first
        ids = np.empty(2 * k - 1, np.int64)
        ids[self.leaves] = np.arange(k)
        ids[self.splits[order]] = k + np.arange(merges)
        matrix = np.empty((merges, 4))
        matrix[:, :2] = np.sort(np.column_stack([ids[2 * order + 1], ids[2 * order + 2]]), axis=1)
        matrix[:, 2] = self.within[self.splits[order]]
        matrix[:, 3] = sums_of_nodes(self.splits, np.ones(k))[self.splits[order]]
        return matrix


def _labels(splits: np.ndarray) -> np.ndarray:
    labels = np.zeros(2 * len(splits) + 1, np.int64)
    for s, node in enumerate(splits):
        labels[2 * s + 1], labels[2 * s + 2] = labels[node], s + 1
    return labels


def leaves_of(splits: np.ndarray) -> np.ndarray:
    """(k,) The node of each cluster after these splits."""
    leaves = np.zeros(len(splits) + 1, np.int64)
    for node, label in enumerate(_labels(splits)):  # the last node to carry a label is its leaf
        leaves[label] = node
    return leaves


def sums_of_nodes(splits: np.ndarray, of_clusters: np.ndarray) -> np.ndarray:
    """For all nodes, the sums of something that is known for the clusters, such as their composites."""
    sums = np.zeros((2 * len(splits) + 1, *of_clusters.shape[1:]))
    sums[leaves_of(splits)] = of_clusters
    for s in range(len(splits) - 1, -1, -1):
        sums[splits[s]] = sums[2 * s + 1] + sums[2 * s + 2]
    return sums


def tree_of(splits: np.ndarray, clusters: ClusterMeasures, objective: str) -> BisectingTree:
    """The tree of these splits, with the measures of the final clusters.

    Two nodes l and r together have the squares  S_l + S_r + n_l n_r / (n_l + n_r) |C_l − C_r|².
    """
    sizes, composites = sums_of_nodes(splits, clusters.sizes), sums_of_nodes(splits, clusters.composites)
    centres = composites / np.where(sizes > 0, sizes, 1.0)[:, None]
    squares = np.zeros(len(sizes))
    squares[leaves_of(splits)] = clusters.squares
    for s in range(len(splits) - 1, -1, -1):
        node, left, right = splits[s], 2 * s + 1, 2 * s + 2
        between = sizes[left] * sizes[right] / sizes[node] * np.square(centres[left] - centres[right]).sum()
        squares[node] = squares[left] + squares[right] + between
    if objective == "cosine_distance":  # rows of zeros count in n and add nothing to D
        within = sizes - np.linalg.norm(composites, axis=1)
    else:
        within = within_from_squares(objective, sizes, squares)
    for s in range(len(splits) - 1, -1, -1):  # rounding must not put a node below its parts
        within[splits[s]] = max(within[splits[s]], within[2 * s + 1] + within[2 * s + 2])
    gains = within[splits] - within[1::2] - within[2::2]
    objectives = (within[leaves_of(splits)].sum() + np.concatenate([np.cumsum(gains[::-1])[::-1], [0.0]])) / sizes[0]
    return BisectingTree(splits, sizes, within, objectives)
