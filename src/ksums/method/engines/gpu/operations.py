"""What a card is asked to do. ``launch.Kernels`` and ``twin.Twin`` must give the same labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from ksums.method.engines.gpu.card import Card, Layout, State, Table


class Operations(ABC):
    """The steps of a pass. None of them returns anything to the host."""

    @abstractmethod
    def moments(self, X: torch.Tensor, active: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Sum, least and largest value of each column over the active rows (None: all), in float64."""

    @abstractmethod
    def lower_rows(self, table: Table, layout: Layout) -> None:
        """Fill ``low``, ``low_squares`` and ``squares`` of a table."""

    @abstractmethod
    def add_by_cluster(self, table: Table, layout: Layout, state: State, *, wide: bool = False) -> None:
        """All sums of a state from its labels; ``wide``: rows are prepared in float64, for measures."""

    @abstractmethod
    def refresh(self, card: Card, *, reset: bool = True) -> None:
        """All of ``Clusters`` from the sums and the relaxation; ``reset``: the list of candidates becomes empty."""

    @abstractmethod
    def propose(self, card: Card, order: torch.Tensor, first: int, count: int, *, start: bool = False) -> None:
        """List the rows order[first : first + count] that may gain, with their targets; ``order`` sorts by cluster.

        ``start``: instead, label each row with the cluster of least cost, and write that cost into ``gains``.
        """

    @abstractmethod
    def decide(self, card: Card, most: int, *, apart: bool = False) -> None:
        """Verify the candidates, of which there are at most ``most``, and make their moves."""

    @abstractmethod
    def summarise(self, card: Card, numbers: torch.Tensor) -> None:
        """Fill in the numbers of ``passes.Numbers``, after a ``refresh``."""

    @abstractmethod
    def squares_to_own(self, table: Table, layout: Layout, labels: torch.Tensor, centres: torch.Tensor) -> torch.Tensor:
        """(n,) Squared distances of the rows to the centres of their clusters, all in float64."""
