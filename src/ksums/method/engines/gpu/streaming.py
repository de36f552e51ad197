"""Rows in low precision, chunk by chunk: for rows that stay in pinned memory of the host because the card is too small.

While a chunk is compared with clusters, the next one is read through the bus and rounded, on a stream of its own. Only
candidates are read again, when they are verified. Rows of a chunk are read in the order in which they are stored;
otherwise the bus is a third slower. Whatever the chunks are, the same rows propose the same moves.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from ksums.method.engines.gpu.card import Layout, Table
from ksums.method.engines.gpu.operations import Operations
from ksums.planning.room import SLOTS


class Chunks:
    """The rows of an order in chunks of ``length``; 0: all of them at once, from the table."""

    def __init__(self, operations: Operations, table: Table, layout: Layout, length: int) -> None:
        self.operations, self.table, self.layout = operations, table, layout
        self.length = 0 if layout.split else length  # rows that are split are read where they are
        self._stream: torch.cuda.Stream | None = None
        if not self.length:
            operations.lower_rows(table, layout)
            return
        self._slots = table.low.view(SLOTS, length, layout.aligned)
        if table.low.is_cuda:
            self._stream = torch.cuda.Stream(table.low.device)
            self._lowered = [torch.cuda.Event() for _ in range(SLOTS)]
            self._used = [torch.cuda.Event() for _ in range(SLOTS)]

    def of(self, order: torch.Tensor, first: int, count: int) -> Iterator[tuple[int, int, torch.Tensor | None]]:
        """Where chunks begin in ``order``, how many rows they have, and these in low precision (None: as in the table).

        A chunk must have been used, on the current stream, before the next one is asked for.
        """
        if not self.length:
            yield first, count, None
            return
        starts = range(first, first + count, self.length)
        if self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream())  # ``order`` is made there, and slots are read there
        try:
            for number, at in enumerate(starts):
                for ahead in range(number and number + 1, min(number + 2, len(starts))):
                    self._lower(ahead % SLOTS, order[starts[ahead] : min(starts[ahead] + self.length, first + count)])
                slot = number % SLOTS
                if self._stream is not None:
                    torch.cuda.current_stream().wait_event(self._lowered[slot])
                yield at, min(self.length, first + count - at), self._slots[slot]
                if self._stream is not None:
                    self._used[slot].record()
        finally:  # nobody gets the memory of ``order`` and of the slots while the stream still reads it
            if self._stream is not None:
                torch.cuda.current_stream().wait_stream(self._stream)

    def _lower(self, slot: int, places: torch.Tensor) -> None:
        if self._stream is None:
            self._read(slot, places)
            return
        with torch.cuda.stream(self._stream):
            self._stream.wait_event(self._used[slot])
            self._read(slot, places)
            self._lowered[slot].record()

    def _read(self, slot: int, places: torch.Tensor) -> None:
        by_address = torch.sort(self.table.places[places]).indices
        self.operations.lower_rows(self.table, self.layout, places, self._slots[slot], by_address)
