"""Passes of blocks with centroids that are pushed on.

The rows at a border follow the centroids, and the centroids the rows, in ever smaller steps: where groups overlap this
takes hundreds of passes. Therefore a pass decides against C + PUSH·(C − C'), where C' are the centroids one pass
before: as if n_r·PUSH·(C_r − C'_r) were part of each D_r. That takes less than half of the passes. A pass that does not
end lower is taken back and made again without being pushed, so the objective never rises.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ksums.compute.arrays import blocks
from ksums.method.engines.protocol import Engine
from ksums.method.state.state import ClusterState, renew_sq_composites
from ksums.planning.blocks import FIRST_PUSHED, PUSH
from ksums.rules.kinds import ROUNDING, Rule
from ksums.rules.objectives import objective_value

_ROUNDING = ROUNDING[np.dtype(np.float64)]
_ROWS_AT_A_TIME = 1 << 16
"""Labels are compared this many at a time, so that comparing them needs little memory."""


class PushedEngine(Engine):
    """An engine that visits blocks of rows."""

    _before: np.ndarray | None = None  # (k, d)  the centroids when the last visit began
    _passes = 0  # since centroids moved in the same way

    @abstractmethod
    def renew(self) -> None:
        """D_r·D_r and all else that is known of clusters, from D_r and n_r."""

    @abstractmethod
    def look_again_at(self, ids: np.ndarray) -> None:
        """The labels of these rows were changed by somebody else, so nothing is known of them."""

    def attempts(self) -> Iterator[None]:
        """One attempt at a pass or two: with pushed centroids, and, if that did not end lower, with those there are.

        The first is taken back before the second begins. If a visit stops early, the pushes are taken out of the sums.
        """
        push = self._next_push()
        self.each_move_gains = push is None
        if push is not None:
            renew_sq_composites(self.state)
            limit, saved = self._value() - self._rounding(), _Saved.of(self.state)
            added = self.state.sizes[:, None] * push
            self._add(added)
            try:
                yield
            finally:
                self._add(-added)
                is_lower = self._value() < limit
                if not is_lower:
                    self.look_again_at(saved.restore(self.state))
                    self.renew()
            if is_lower:
                return
            self.each_move_gains = True
        yield

    def use_rule(self, rule: Rule) -> None:
        """See ``protocol.Engine``."""
        super().use_rule(rule)
        self.forget_pushes()

    def forget_pushes(self) -> None:
        """Go on as if no pass had been made."""
        self._before, self._passes = None, 0

    def memory(self) -> dict[str, np.ndarray]:
        """See ``protocol.Engine``."""
        return {} if self._before is None else {"before": self._before, "passes": np.array(self._passes)}

    def remember(self, memory: dict[str, np.ndarray]) -> None:
        """See ``protocol.Engine``."""
        self._before, self._passes = memory["before"], int(memory["passes"])

    def _next_push(self) -> np.ndarray | None:
        """(k, d) How far centroids are pushed in the pass that begins; None if they are not."""
        if not self.rule.monotone:
            return None
        now, before = self.state.composites / self.state.sizes[:, None], self._before
        self._before, self._passes = now, self._passes + 1
        if before is None or self._passes < FIRST_PUSHED or np.array_equal(now, before):
            return None
        return PUSH * (now - before)

    def _value(self) -> float:
        return objective_value(self.rule.objective, self.state)

    def _rounding(self) -> float:
        """What it may change by without a move: sums to which something was added differ in the last digit."""
        return _ROUNDING * (self._value() + float(self.state.norm_sums.sum() / self.state.sizes.sum()))

    def _add(self, added: np.ndarray) -> None:
        self.state.composites[:] += added
        self.renew()


class _Saved(NamedTuple):
    """A state to return to."""

    labels: np.ndarray  # in a narrow type
    state: ClusterState

    @classmethod
    def of(cls, state: ClusterState) -> _Saved:
        labels = state.labels.astype(np.min_scalar_type(-len(state.sizes)))
        return cls(labels, state._replace(**{name: getattr(state, name).copy() for name in state._fields[1:]}))

    def restore(self, state: ClusterState) -> np.ndarray:
        """Return to it; returns the rows that are moved by that."""
        moved = [np.empty(0, np.int64)]
        for part in blocks(len(self.labels), _ROWS_AT_A_TIME):
            moved.append(part.start + np.flatnonzero(state.labels[part] != self.labels[part]))
            state.labels[part] = self.labels[part]
        for now, then in zip(state[1:], self.state[1:], strict=True):
            now[:] = then
        return np.concatenate(moved)
