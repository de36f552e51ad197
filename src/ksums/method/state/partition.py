"""What a clustering must be able to do, whatever it is made of: cells of a table, or distances between samples."""

from __future__ import annotations

from typing import NamedTuple, Protocol, Self

import numpy as np


class Measures(NamedTuple):
    """What a record says of a clustering."""

    objective: float
    distortion: float
    pairwise: float


class Partition(Protocol):
    """Samples in k clusters, none of them empty, with all that is needed to tell what a move would change."""

    k: int

    @property
    def labels(self) -> np.ndarray:
        """(n,) Of the samples that count."""

    @property
    def sizes(self) -> np.ndarray:
        """(k,) Number of samples, or sum of weights."""

    def visit(self, order: np.ndarray, relaxation: float) -> int:
        """Visit samples in this order and move each to the cluster that suits it best; returns the number of moves.

        With a relaxation of 1 every move lowers the objective.
        """

    def measures(self) -> Measures:
        """The objective of the present labels, and both measures."""

    def merge_costs(self) -> np.ndarray:
        """(k, k) What the objective would rise by if two clusters became one; infinite on the diagonal."""

    def halves(self, cluster: int, rng: np.random.Generator) -> tuple[np.ndarray, float]:
        """Samples that would leave a cluster if it became two, and what the objective would fall by.

        No samples and no gain if the cluster cannot be split.
        """

    def exchanged(self, a: int, b: int, split: int, part: np.ndarray) -> Self:
        """Another partition: b merged into a, and ``part`` of the cluster ``split`` as the new b. ``self`` stays."""
