"""Passes over all rows on a card, block by block.

A pass sorts the rows of each block by cluster, so that a program meets few clusters of its own rows; then, for each
block: what is asked of clusters, proposals, decisions. With lists of nearest clusters, a block is the rows of some
clusters. A pass over rows on the card returns nothing to the host, so it can be recorded as a CUDA graph, whose kernels
start without waiting for Python, and made again with another relaxation.

Rows of a block move at the same time, each by the gain it has alone, so large clusters creep towards their optimum.
Therefore their centres are *pushed*: a pass decides against C + PUSH·(C − C'), where C' is the centre one pass before.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import torch

from ksums.method.engines.gpu.card import Card, Layout, Lists, new_candidates, new_clusters, new_state
from ksums.method.engines.gpu.lists import ends_of, nearest_lists, seeds_nearby
from ksums.method.engines.gpu.operations import Operations
from ksums.method.engines.gpu.rows import Rows, new_table
from ksums.method.engines.gpu.streaming import Chunks
from ksums.planning.tiles import tiles_for

_SHORT = 1 << 15
"""Below this, keys fit into 16 bits."""
_ALIGNED = 16
"""Triton compiles other kernels for rows that do not begin at a multiple of this many bytes."""
_COMPILED: set[tuple[Any, ...]] = set()
"""What has run in this process."""
_MULTIPLIER = 0x9E3779B97F4A7C15
"""An odd number whose multiples are spread evenly: 2^64 over the golden ratio."""


class Numbers(NamedTuple):
    """What a pass is recorded by; sums of squares are in the units of the prepared rows."""

    squares: float  # Σ|x − C|²
    pairs: float  # Σ over clusters of squared distances of all pairs
    lengths: float  # Σ|D|
    moved: float
    smallest: float
    largest: float
    norms: float  # Σ w|x|²


class Outcome:
    """What a pass has left: the labels, and the numbers on their way to the host. The next pass may begin meanwhile."""

    def __init__(self, labels: torch.Tensor, numbers: torch.Tensor) -> None:
        self.labels, self._event = labels.clone(), torch.cuda.Event() if numbers.is_cuda else None
        self._numbers = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=numbers.is_cuda)
        self._numbers.copy_(numbers, non_blocking=True)
        if self._event is not None:
            self._event.record()

    def numbers(self) -> Numbers:
        """The numbers of the pass; of a single problem."""
        if self._event is not None:
            self._event.synchronize()
        return Numbers(*self._numbers[0].tolist())


class Options(NamedTuple):
    """How passes are made."""

    blocks: int  # parts of a pass
    pushed: bool = False
    short: bool = False  # whether the card would wait for the host
    graphs: bool = False  # whether passes may be recorded as CUDA graphs
    chunk: int = 0  # rows that are in low precision at a time; 0: all of them


def recorded(work: Callable[[], None]) -> torch.cuda.CUDAGraph:
    """Work as a CUDA graph.

    ``torch.cuda.graph`` empties the cache of the allocator, and the next fit then waits for memory. No garbage may be
    collected meanwhile: to destroy another graph would spoil this one.
    """
    graph, stream, collects = torch.cuda.CUDAGraph(), torch.cuda.Stream(), gc.isenabled()
    stream.wait_stream(torch.cuda.current_stream())
    gc.disable()
    try:
        with torch.cuda.stream(stream):
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                work()
            except BaseException:
                with suppress(RuntimeError):  # it has ended if the error spoilt it
                    graph.capture_end()
                raise
            graph.capture_end()
    finally:
        if collects:
            gc.enable()
    torch.cuda.current_stream().wait_stream(stream)
    return graph


def _stride(number: int, n: int) -> int:
    """A number without a common divisor with n: 0, s, 2s … modulo n is an order of all n places."""
    stride = number * _MULTIPLIER % (1 << 64) % n or 1
    while math.gcd(stride, n) > 1:
        stride += 1
    return stride


class Passes:
    """The passes of one run over the first rows of a random order."""

    def __init__(
        self, operations: Operations, rows: Rows, layout: Layout, order: torch.Tensor, options: Options
    ) -> None:
        device = order.device
        self.operations, self.options = operations, options
        table = new_table(rows, layout, order, options.chunk)
        self.card = Card(
            layout,
            table,
            new_state(layout, device),
            new_clusters(layout, device, pushed=options.pushed),
            new_candidates(layout, device),
        )
        self._chunks = Chunks(operations, table, layout, options.chunk)
        self.share = layout.n // layout.problems  # rows of a problem
        self._length = -(-self.share // options.blocks)
        self._stride = torch.empty(1, dtype=torch.int64, device=device)
        self._number = 0  # of passes that were made
        self.lists: Lists | None = None
        self._room: Lists | None = None
        self._numbers = torch.empty(layout.problems, len(Numbers._fields), dtype=torch.float64, device=device)
        self._known: list[Numbers] = []  # the same on the host, once somebody has asked
        self._graphs: dict[str, torch.cuda.CUDAGraph] = {}

    # ------------------------------------------------------------------------------------ start
    def start_from_rows(self) -> None:
        """Each row joins the nearest of the first k rows."""
        places = torch.arange(self.card.layout.k, device=self.card.table.places.device)
        self.start_from(self.operations.prepared_rows(self.card.table, self.card.layout, places))

    def start_from(self, vectors: torch.Tensor) -> None:
        """Each row joins the nearest of k vectors, which are prepared as rows are. Under cosine: by their products."""
        self.operations.set_centres(self.card, vectors)
        self.label_by_centres(torch.arange(self.card.layout.n, device=vectors.device))
        self._accept_start()

    def label_by_centres(self, places: torch.Tensor) -> None:
        """Rows join the nearest of the centres that were set; ``candidates.gains`` are costs then.

        With several problems, ``places`` are the same number of places of each, problem by problem.
        """
        self._propose(self.card, places, 0, len(places) // self.card.layout.problems, start=True)

    def start_from_groups(self, vectors: torch.Tensor) -> None:
        """Each row joins the nearest of those of the first k rows that are in the groups near its own.

        The groups are made by a few vectors.
        """
        layout, table, device = self.card.layout, self.card.table, vectors.device
        coarse = layout._replace(k=len(vectors), tiles=tiles_for(layout.padded, len(vectors), layout.split))
        over = Card(coarse, table, new_state(coarse, device), new_clusters(coarse, device), self.card.candidates)
        self.operations.set_centres(over, vectors)
        everybody = torch.arange(layout.n, device=device)
        self._propose(over, everybody, 0, layout.n, start=True)
        labels = over.state.labels
        lists = seeds_nearby(labels[: layout.k].long(), vectors)
        self.operations.set_centres(self.card, self.operations.prepared_rows(table, layout, everybody[: layout.k]))
        groups = ends_of(torch.bincount(labels, minlength=coarse.k))
        self.propose_from_lists(self.card, torch.sort(labels).indices, groups, lists, 0, coarse.k, start=True)
        self._accept_start()

    def _accept_start(self) -> None:
        """Continue from the labels and costs that a start has written."""
        self._add_up()
        self.measure()
        if min(numbers.smallest for numbers in self._on_host()) == 0.0:
            self._fill_empty()
            self.measure()

    def continue_from(self, labels: torch.Tensor) -> None:
        """Continue from other labels."""
        self.card.state.labels.copy_(labels)
        self._add_up()

    def centres(self) -> torch.Tensor:
        """(k, d) Mean of the prepared rows of each cluster, in float64."""
        layout, state = self.card.layout, self.card.state
        return state.composites.double() / layout.fixed / (state.sizes.double() / layout.fixed_weight)[:, None]

    def _add_up(self) -> None:
        self.operations.add_by_cluster(self.card.table, self.card.layout, self.card.state)
        if self.options.pushed:
            self.card.clusters.before.copy_(self.centres())

    def _fill_empty(self) -> None:
        """Empty clusters, of equal seeds, get the rows of their problem that are farthest from theirs."""
        state, costs, layout = self.card.state, self.card.candidates.gains, self.card.layout
        while len(empty := (state.counts == 0).nonzero()[:, 0]):
            free = state.counts[state.labels.long()] > 1
            far = torch.where(free, costs, -torch.inf).view(layout.problems, -1)
            by_cost = torch.sort(far, descending=True, stable=True).indices
            problem = empty // layout.k
            rank = torch.arange(len(empty), device=empty.device) - torch.searchsorted(problem, problem)
            fits = rank < free.view(layout.problems, -1).sum(1)[problem]
            chosen = by_cost[problem, rank.clamp(max=self.share - 1)] + problem * self.share
            state.labels[chosen[fits]] = empty[fits].int()
            self._add_up()

    # ------------------------------------------------------------------------------------ passes
    def relax(self, relaxation: float) -> None:
        """The relaxation of the passes that follow."""
        self.card.clusters.relaxation.fill_(relaxation)

    def renew_lists(self, length: int) -> None:
        """From now on, compare rows with the ``length`` clusters that are nearest to their own only; 0: with all.

        The length is the same in all calls.
        """
        if not length:
            self.lists = None
            return
        found = nearest_lists(self.operations, self.card, length)
        if self._room is None:
            self._room = found
        else:  # CUDA graphs read lists where they were when they were recorded
            self._room.entries.copy_(found.entries)
        self.lists = self._room

    def one_pass(self) -> None:
        """All rows once."""
        if self.card.layout.pairs:
            self._number += 1
            self._stride.fill_(_stride(self._number, self.share))
        self._make("pass" if self.lists is None else "pass with lists", self._one_pass)

    def settling_pass(self, rounds: int) -> None:
        """All rows propose once; then moves that concern no cluster twice are made, ``rounds`` times, each time against
        the new state. At p = 1 the objective cannot rise; if nothing moves, no row that proposes gains by a move."""
        self._make(
            f"{rounds} rounds" if self.lists is None else f"{rounds} rounds with lists",
            lambda: self._settling_pass(rounds),
        )

    def _one_pass(self) -> None:
        card = self.card
        card.state.moved.zero_()
        if self.lists is None:
            self._pass_over_blocks()
        else:
            self._pass_over_lists(self.lists)
        self.measure()

    def _pass_over_blocks(self) -> None:
        card, problems = self.card, self.card.layout.problems
        order = self._sorted(card.state.labels if self.options.blocks == 1 else card.state.labels + self._block_of())
        for first in range(0, self.share, self._length):
            count = min(self._length, self.share - first)
            self.operations.refresh(card, pushed=self.options.pushed, begins=first == 0)
            self._propose(card, order, first * problems, count)
            self.operations.decide(card, count * problems)

    def _pass_over_lists(self, lists: Lists) -> None:
        """A block is the rows of some clusters, whose numbers are random."""
        card, k = self.card, self.card.layout.k
        order, groups = self._grouped()
        length = -(-k // self.options.blocks)
        for first in range(0, k, length):
            self.operations.refresh(card, pushed=self.options.pushed, begins=first == 0)
            self.propose_from_lists(card, order, groups, lists, first, min(length, k - first))
            self.operations.decide(card, card.layout.n)

    def _block_of(self) -> torch.Tensor:
        """(n,) The number of clusters times the block of each place.

        For pairs other rows share a block in each pass. Rows that always decide together flee together to the clusters
        that have just become small, pass by pass.
        """
        layout, device = self.card.layout, self.card.table.places.device
        at = torch.arange(self.share, dtype=torch.int64 if layout.pairs else torch.int32, device=device)
        if layout.pairs:
            at = at.mul_(self._stride).remainder_(self.share)
        within = at.div_(self._length, rounding_mode="floor").mul_(layout.clusters).int()
        return within.repeat(layout.problems) if layout.problems > 1 else within

    def _settling_pass(self, rounds: int) -> None:
        card, n = self.card, self.card.layout.n
        card.state.moved.zero_()
        self.operations.refresh(card)
        if self.lists is None:
            self._propose(card, self._sorted(card.state.labels), 0, self.share)
        else:
            order, groups = self._grouped()
            self.propose_from_lists(card, order, groups, self.lists, 0, card.layout.k)
        for number in range(rounds):
            if number:
                self.operations.refresh(card, reset=False)
            self.operations.decide(card, n, apart=True)
        self.measure()

    def _propose(self, card: Card, order: torch.Tensor, first: int, count: int, *, start: bool = False) -> None:
        for at, some, low in self._chunks.of(order, first, count):
            self.operations.propose(card, order, at, some, start=start, low=low)

    def propose_from_lists(
        self,
        card: Card,
        order: torch.Tensor,
        groups: torch.Tensor,
        lists: Lists,
        first: int,
        count: int,
        *,
        start: bool = False,
    ) -> None:
        """The rows of some groups against their lists, chunk by chunk: see ``operations.Operations``."""
        begin, end = 0, self.card.layout.n
        if self._chunks.length:
            begin, end = groups[[first, first + count]].tolist()
        for at, some, low in self._chunks.of(order, begin, end - begin):
            self.operations.propose_from_lists(
                card, order, groups, lists, first, count, within=(at, at + some), start=start, low=low
            )

    def _grouped(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Places sorted by cluster, and where each cluster begins."""
        return torch.sort(self.card.state.labels).indices, ends_of(self.card.state.counts)

    def _sorted(self, keys: torch.Tensor) -> torch.Tensor:
        """Places sorted by key; short keys are sorted faster."""
        short = self.options.blocks * self.card.layout.clusters < _SHORT
        return torch.sort(keys.short() if short else keys).indices

    def _make(self, name: str, work: Callable[[], None]) -> None:
        """Work that returns nothing to the host: the first time as it is, later from a CUDA graph, if there may be one.

        Kernels are compiled when they first run, which a graph cannot record. What ran once for the same layout, in
        whichever fit, has been compiled.
        """
        self._known = []
        if name in self._graphs:
            self._graphs[name].replay()
            return
        X = self.card.table.X
        same = self.card.layout._replace(sigma=1.0, fixed_square=1.0)  # no kernel is compiled for a scale
        known = (name, same, self.options, X.dtype, X.stride(0), X.data_ptr() % _ALIGNED, self.card.table.places.device)
        if not self.options.graphs or known not in _COMPILED:
            work()
            _COMPILED.add(known)
            return
        self._graphs[name] = recorded(work)
        self._graphs[name].replay()

    # ------------------------------------------------------------------------------------ measures
    def measure(self) -> None:
        """Fill in what ``numbers`` returns."""
        self.operations.refresh(self.card)
        self.operations.summarise(self.card, self._numbers)
        self._known = []

    def numbers(self) -> Numbers:
        """The numbers of the last pass; of a single problem."""
        return self._on_host()[0]

    def _on_host(self) -> list[Numbers]:
        if not self._known:
            self._known = [Numbers(*row) for row in self._numbers.tolist()]
        return self._known

    def outcome(self) -> Outcome:
        """Of the last pass, for later."""
        return Outcome(self.card.state.labels, self._numbers)

    def objective(self) -> float:
        """What the last pass left, in the units of the prepared rows: n times the objective."""
        numbers, layout = self.numbers(), self.card.layout
        if layout.pairs:
            return numbers.pairs
        return layout.n - numbers.lengths if layout.lengths else numbers.squares

    def numbers_of_problems(self) -> Numbers:
        """The numbers of each problem, on the device, where they change with the next pass."""
        return Numbers(*self._numbers.unbind(1))  # type: ignore[arg-type]
