"""What a card is asked to do. ``launch.Kernels`` and ``twin.Twin`` must give the same labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from ksums.method.engines.gpu.card import Card, Layout, Lists, State, Table


class Operations(ABC):
    """The steps of a pass. None of them returns anything to the host."""

    @abstractmethod
    def moments(self, X: torch.Tensor, active: torch.Tensor | None, device: torch.device) -> torch.Tensor:
        """(4, d) Of each column over the active rows (None: all): sum, sum of squares, least value, minus the largest.

        In float64, on ``device``.
        """

    @abstractmethod
    def scrambled_keys(self, n: int, seed: int, device: torch.device) -> torch.Tensor:
        """(n,) Whole numbers that look random: those of ``rows.scrambled_keys``."""

    @abstractmethod
    def lower_rows(
        self,
        table: Table,
        layout: Layout,
        places: torch.Tensor | None = None,
        low: torch.Tensor | None = None,
        by: torch.Tensor | None = None,
    ) -> None:
        """Fill ``low``, ``low_squares`` and ``squares`` of a table.

        With ``places`` only for these, and in their order into the rows of ``low``; they are read in the order ``by``.
        """

    @abstractmethod
    def prepared_rows(self, table: Table, layout: Layout, places: torch.Tensor) -> torch.Tensor:
        """(x − mean)·scale of the rows at some places, in float32."""

    @abstractmethod
    def add_by_cluster(self, table: Table, layout: Layout, state: State, *, wide: bool = False) -> None:
        """All sums of a state from its labels; ``wide``: rows are prepared in float64, for measures."""

    @abstractmethod
    def set_centres(self, card: Card, vectors: torch.Tensor) -> None:
        """Vectors that rows are compared with at the start: costs are squared distances, or 2 − cos."""

    @abstractmethod
    def refresh(self, card: Card, *, reset: bool = True, pushed: bool = False, begins: bool = False) -> None:
        """All of ``Clusters`` from the sums and the relaxation.

        ``reset``: the list of candidates becomes empty. ``pushed``: centres are moved by ``Clusters.push``.
        ``begins``: a pass begins, and the push becomes a part of what means have moved since the pass before.
        """

    @abstractmethod
    def propose(
        self,
        card: Card,
        order: torch.Tensor,
        first: int,
        count: int,
        *,
        start: bool = False,
        low: torch.Tensor | None = None,
    ) -> None:
        """List the rows order[first : first + count] that may gain, with their targets; ``order`` sorts by cluster.

        ``start``: instead, label each row with the cluster of least cost, and write that cost into ``gains``. ``low``:
        these rows in low precision, in this order; None: those of the table. With several problems, ``count`` rows of
        each of them, problem by problem.
        """

    @abstractmethod
    def propose_from_lists(
        self,
        card: Card,
        order: torch.Tensor,
        groups: torch.Tensor,
        lists: Lists,
        first: int,
        count: int,
        *,
        within: tuple[int, int],
        start: bool = False,
        low: torch.Tensor | None = None,
    ) -> None:
        """The same for the rows of the groups first … first + count − 1, against the clusters of their lists only.

        The rows of group g are order[groups[g] : groups[g + 1]], of which those ``within`` two positions of the order
        are asked; ``low`` holds these. But for ``start``, a group is a cluster, and in its list. Ties go to the lowest
        cluster.
        """

    @abstractmethod
    def nearest_in_bins(self, card: Card, first: int, count: int, bins: int) -> tuple[torch.Tensor, torch.Tensor]:
        """(count, bins) For the clusters first … first + count − 1, the nearest other one in each bin.

        Squared distances of centres in low precision, and numbers of clusters. Bin b holds the clusters b, b + bins,
        b + 2·bins …
        """

    @abstractmethod
    def decide(self, card: Card, most: int, *, apart: bool = False) -> None:
        """Verify the candidates, of which there are at most ``most``, and make their moves."""

    @abstractmethod
    def summarise(self, card: Card, numbers: torch.Tensor) -> None:
        """Fill in (problems, 7) numbers, those of ``passes.Numbers``, after a ``refresh`` that pushed nothing."""

    @abstractmethod
    def squares_to_own(self, table: Table, layout: Layout, labels: torch.Tensor, centres: torch.Tensor) -> torch.Tensor:
        """(n,) Squared distances of the rows to the centres of their clusters, all in float64."""
