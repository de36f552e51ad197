"""Engines that remember their bounds from one round to the next. They only save work: labels are the same without."""

from __future__ import annotations

import numpy as np

from ksums.method.data.rows import Rows
from ksums.method.engines.protocol import Engine, make_engine
from ksums.method.shards.orders import Order
from ksums.method.state.limits import no_limits
from ksums.method.state.state import ClusterState

_MOST_LOST = 0.5
"""The share of its rows that a cluster keeps at least, where a block assumes that others move as it does."""


class KeptEngines:
    """The engines of some blocks, without their rows, as long as there is room for their bounds."""

    def __init__(self, room: float = np.inf) -> None:
        self.room = room  # bytes
        self._engines: dict[int, Engine] = {}

    def take(self, block: int, rows: Rows, state: ClusterState, order: Order) -> Engine:
        """An engine for a round of a block: that of the last round, if the labels are still those it left."""
        kept = self._engines.pop(block, None)
        if kept is not None:
            self.room += kept.bytes_of_bounds()
            if np.array_equal(kept.state.labels, state.labels):
                kept.continue_with(rows, state, order.rule)
                return kept
        name, limits = order.engine.name, no_limits(len(state.sizes))
        if order.foreseen:
            limits = limits._replace(low=_MOST_LOST * state.sizes)
        return make_engine(name, rows, state, order.rule, limits, **order.engine.options)

    def give_back(self, block: int, engine: Engine) -> None:
        """Keep an engine after a round, if it has bounds and there is room."""
        size = engine.bytes_of_bounds()
        if 0 < size <= self.room:
            engine.let_go_of_rows()
            self.room -= size
            self._engines[block] = engine
