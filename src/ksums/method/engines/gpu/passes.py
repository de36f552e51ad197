"""Passes over all rows on a card, block by block.

A pass sorts the rows of each block by cluster, so that a program meets few clusters of its own rows; then, for each
block: what is asked of clusters, proposals, decisions. It returns nothing to the host, so it can be recorded as a CUDA
graph, whose kernels start without waiting for Python, and made again with another relaxation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from ksums.method.engines.gpu.card import Card, Layout, new_candidates, new_clusters, new_state
from ksums.method.engines.gpu.operations import Operations
from ksums.method.engines.gpu.rows import Rows, new_table
from ksums.method.engines.gpu.twin import prepared_rows

_SHORT = 1 << 15
"""Below this, keys fit into 16 bits."""
_COMPILED: set[tuple[Any, ...]] = set()
"""What has run in this process."""


class Numbers(NamedTuple):
    """What a pass is recorded by; sums of squares are in the units of the prepared rows."""

    squares: float  # Σ|x − C|²
    pairs: float  # Σ over clusters of squared distances of all pairs
    lengths: float  # Σ|D|
    moved: float
    smallest: float
    largest: float


class Passes:
    """The passes of one run."""

    def __init__(
        self, operations: Operations, rows: Rows, layout: Layout, seed: int, blocks: int, graphs: bool = False
    ) -> None:
        device = rows.X.device
        self.operations, self.blocks, self.graphs = operations, blocks, graphs
        table = new_table(rows, layout, seed)
        operations.lower_rows(table, layout)
        self.card = Card(
            layout, table, new_state(layout, device), new_clusters(layout, device), new_candidates(layout, device)
        )
        length = -(-layout.n // blocks)
        self._block_of = torch.arange(layout.n, dtype=torch.int32, device=device) // length * layout.k
        self._length = length
        self._numbers = torch.zeros(len(Numbers._fields), dtype=torch.float64, device=device)
        self._graphs: dict[str, torch.cuda.CUDAGraph] = {}

    # ------------------------------------------------------------------------------------ start
    def start_from_rows(self) -> None:
        """Each row joins the nearest of the first k rows."""
        places = torch.arange(self.card.layout.k, device=self.card.table.places.device)
        self.start_from(prepared_rows(self.card.table, places))

    def start_from(self, vectors: torch.Tensor) -> None:
        """Each row joins the nearest of k vectors, which are prepared as rows are."""
        layout, clusters, n = self.card.layout, self.card.clusters, self.card.layout.n
        high = vectors.half().float()
        clusters.low[0, :, : layout.d] = (high * -2.0).half()
        both = high
        if layout.split:
            rest = (vectors - high).half().float()
            clusters.low[1, :, : layout.d] = (rest * -2.0).half()
            both = high + rest
        clusters.join.fill_(0.0 if layout.lengths else 1.0)  # so that costs are 2 − cos, or squared distances
        clusters.base.copy_(both.square().sum(1))
        natural = torch.arange(n, device=vectors.device)
        self.operations.propose(self.card, natural, 0, n, start=True)
        self._add_up()
        self._fill_empty()
        self.measure()

    def continue_from(self, labels: torch.Tensor) -> None:
        """Go on from other labels."""
        self.card.state.labels.copy_(labels)
        self._add_up()

    def _add_up(self) -> None:
        self.operations.add_by_cluster(self.card.table, self.card.layout, self.card.state)

    def _fill_empty(self) -> None:
        """Empty clusters, of equal seeds, get the rows that are farthest from theirs."""
        state, costs = self.card.state, self.card.candidates.gains
        while len(empty := (state.counts == 0).nonzero()[:, 0]):
            free = state.counts[state.labels.long()] > 1
            far = torch.where(free, costs, -torch.inf)
            chosen = torch.sort(far, descending=True, stable=True).indices[: min(len(empty), int(free.sum()))]
            state.labels[chosen] = empty[: len(chosen)].int()
            self._add_up()

    # ------------------------------------------------------------------------------------ passes
    def relax(self, relaxation: float) -> None:
        """The relaxation of the passes that follow."""
        self.card.clusters.relaxation.fill_(relaxation)

    def one_pass(self) -> None:
        """All rows once."""
        self._make("pass", self._one_pass)

    def settling_pass(self, rounds: int) -> None:
        """All rows propose once; then moves that concern no cluster twice are made, ``rounds`` times, each time against
        the new state. At p = 1 the objective cannot rise; if nothing moves, no row that proposes gains by a move."""
        self._make("settling", lambda: self._settling_pass(rounds))

    def _one_pass(self) -> None:
        card, n = self.card, self.card.layout.n
        card.state.moved.zero_()
        order = self._sorted(card.state.labels if self.blocks == 1 else card.state.labels + self._block_of)
        for first in range(0, n, self._length):
            count = min(self._length, n - first)
            self.operations.refresh(card)
            self.operations.propose(card, order, first, count)
            self.operations.decide(card, count)
        self.measure()

    def _settling_pass(self, rounds: int) -> None:
        card, n = self.card, self.card.layout.n
        card.state.moved.zero_()
        self.operations.refresh(card)
        self.operations.propose(card, self._sorted(card.state.labels), 0, n)
        for number in range(rounds):
            if number:
                self.operations.refresh(card, reset=False)
            self.operations.decide(card, n, apart=True)
        self.measure()

    def _make(self, name: str, work: Callable[[], None]) -> None:
        """Work that returns nothing to the host: the first time as it is, later from a CUDA graph, if there may be one.

        Kernels are compiled when they first run, which a graph cannot record. What ran once for the same layout, in
        whichever fit, has been compiled.
        """
        if name in self._graphs:
            self._graphs[name].replay()
            return
        same = self.card.layout._replace(sigma=1.0)  # no kernel is compiled for a scale
        known = (name, same, self.blocks, self.card.table.X.dtype, self.card.table.X.device)
        if not self.graphs or known not in _COMPILED:
            work()
            _COMPILED.add(known)
            return
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
        self._graphs[name] = graph
        graph.replay()

    def _sorted(self, keys: torch.Tensor) -> torch.Tensor:
        """Places sorted by key; short keys are sorted faster."""
        short = self.blocks * self.card.layout.k < _SHORT
        return torch.sort(keys.short() if short else keys).indices

    # ------------------------------------------------------------------------------------ measures
    def measure(self) -> None:
        """Fill in what ``numbers`` returns."""
        self.operations.refresh(self.card)
        self.operations.summarise(self.card, self._numbers)

    def numbers(self) -> Numbers:
        """The numbers of the last pass."""
        return Numbers(*self._numbers.tolist())
