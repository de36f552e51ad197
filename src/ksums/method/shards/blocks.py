"""What the rounds ask of the blocks, wherever they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ksums.method.data.centres import Centres
from ksums.method.data.measures import ClusterMeasures
from ksums.method.shards.frame import Frame, Moments
from ksums.method.shards.orders import Order
from ksums.method.shards.steps import Step
from ksums.method.shards.sums import Sums


class Place(NamedTuple):
    """Where a block is."""

    part: int  # of the source
    rows: slice  # of the part
    first: int  # its first row among all rows

    @property
    def length(self) -> int:
        return self.rows.stop - self.rows.start


def places_of(lengths: list[int], most: int) -> list[Place]:
    """Blocks of about equal length, at most ``most`` rows; none of them crosses from one part into the next."""
    found, first = [], 0
    for part, length in enumerate(lengths):
        count = -(-length // most)
        edges = [length * at // count for at in range(count + 1)] if count else []
        for start, stop in pairwise(edges):
            found.append(Place(part, slice(start, stop), first + start))
        first += length
    return found


class Blocks(ABC):
    """All blocks of a fit. Their labels stay where they are."""

    count: int
    k: int
    frame: Frame
    moments: list[Moments]
    weighted: bool
    is_open: bool = False
    """Whether there is a step whose moves can be taken back: from ``step`` to ``keep``."""
    show: Callable[[int], None] = staticmethod(lambda done: None)
    """Called now and then in a step, with the number of blocks that are done."""

    @property
    @abstractmethod
    def labels(self) -> Any:
        """The labels of all rows."""

    @abstractmethod
    def gather_labels(self) -> np.ndarray:
        """The same in this process, for a checkpoint."""

    @abstractmethod
    def restore_labels(self, read: Callable[[np.ndarray], None]) -> None:
        """Go on with other labels; ``read`` fills an array (n,) with them."""

    @abstractmethod
    def measure(self, sums: Sums) -> ClusterMeasures:
        """Measures from the rows and their labels, in the space of the data."""

    @abstractmethod
    def sample(self, count: int, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Some rows of all blocks, as they are in the data, and their weights."""

    @abstractmethod
    def assign(self, centres: Centres) -> Sums:
        """Give each row its nearest centre; the sums of all blocks."""

    @abstractmethod
    def counts(self) -> np.ndarray:
        """(blocks, k) Rows of each cluster in each block."""

    @abstractmethod
    def give_away(self, block: int, src: int, dst: int) -> Sums:
        """Move the first row of a cluster in a block to another cluster; what that changes."""

    @abstractmethod
    def step(self, order: Order) -> Step:
        """A pass over each block; what all of them hand back. Until ``keep`` the moves can be taken back."""

    @abstractmethod
    def take_back(self, emptied: np.ndarray) -> Sums:
        """Take back the moves out of these clusters; what that changes."""

    @abstractmethod
    def changes_of_every(self, stride: int) -> Sums:
        """What changes if only every ``stride``-th block keeps its moves."""

    @abstractmethod
    def keep(self, stride: int) -> None:
        """Every ``stride``-th block keeps the moves of the last step, the others take them back; 0: all do."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what only further rounds would need."""
