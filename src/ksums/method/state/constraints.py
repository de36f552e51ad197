"""What labels must keep to: limits on sizes, rows that stay, rows that must not meet, centres that do not move."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.compute.colouring import Graph
from ksums.method.data.rows import Rows
from ksums.method.state.limits import Limits, no_limits
from ksums.method.state.state import ClusterState
from ksums.planning.constraints import APART, CENTRES, SIZES, STAY, TOGETHER

HELD = 2.0**50
"""The size of a cluster whose centre does not move: a sample that joins it shifts its centre by a share of 2⁻⁵⁰. As a
power of two it leaves all digits of the centre as they are."""


class Constraints(NamedTuple):
    """All constraints of a fit. None: there are none of that kind."""

    limits: Limits | None = None
    fixed: np.ndarray | None = None  # (n,)  int32  the cluster in which a row stays; −1: it may move
    conflicts: Graph | None = None  # joins the rows that must not share a cluster
    centres: np.ndarray | None = None  # (m, d)  prepared centres of the clusters 0 … m − 1, which do not move
    groups: np.ndarray | None = None  # (n,)  rows that stand for several, where their scatter is part of their costs

    @property
    def kinds(self) -> tuple[str, ...]:
        """Which kinds there are, as plans name them."""
        named = (
            (SIZES, self.limits),
            (APART, self.conflicts),
            (STAY, self.fixed),
            (CENTRES, self.centres),
            (TOGETHER, self.groups),
        )
        return tuple(kind for kind, given in named if given is not None)

    def movable(self, ids: np.ndarray) -> np.ndarray:
        """Those of some rows that may move."""
        return ids if self.fixed is None else ids[self.fixed[ids] < 0]

    def unlinked(self, ids: np.ndarray) -> np.ndarray:
        """Those of some rows that may move wherever there is room, at costs that every engine knows."""
        ids = self.movable(ids)
        return ids if self._special is None else ids[~self._special[ids]]

    def not_apart(self, ids: np.ndarray) -> np.ndarray:
        """Those of some rows that may move and meet everybody."""
        ids = self.movable(ids)
        return ids if self.conflicts is None else ids[np.diff(self.conflicts.starts)[ids] == 0]

    def linked(self, ids: np.ndarray) -> np.ndarray:
        """The others of those that may move."""
        ids = self.movable(ids)
        return ids[:0] if self._special is None else ids[self._special[ids]]

    @property
    def _special(self) -> np.ndarray | None:
        if self.conflicts is None:
            return self.groups
        apart = np.diff(self.conflicts.starts) > 0
        return apart if self.groups is None else apart | self.groups

    def allows(self, labels: np.ndarray, i: int, dst: int, without: int = -1) -> bool:
        """Whether row i may join cluster ``dst``, as far as links tell, if row ``without`` leaves it."""
        if self.fixed is not None and self.fixed[i] >= 0:
            return False
        if self.conflicts is None:
            return True
        partners = self.conflicts.of(i)
        return not ((labels[partners] == dst) & (partners != without)).any()


def limits_of(constraints: Constraints, k: int) -> Limits:
    """The limits on sizes, as a state counts them: a cluster whose centre does not move is enormous."""
    low, high = no_limits(k) if constraints.limits is None else constraints.limits
    if constraints.centres is None:
        return Limits(low, high)
    held = np.where(np.arange(k) < len(constraints.centres), HELD, 0.0)
    return Limits(low + held, high + held)


def check_constraints(rows: Rows, labels: np.ndarray, k: int, constraints: Constraints) -> None:
    """Raise AssertionError where labels break a constraint."""
    active = rows.active
    sizes = np.bincount(labels[active], rows.weights_of(active), minlength=k)
    if constraints.limits is not None:
        slack = 1e-9 * float(sizes.max())
        assert (sizes >= constraints.limits.low - slack).all(), "a cluster is smaller than size_min"
        assert (sizes <= constraints.limits.high + slack).all(), "a cluster is larger than size_max"
    if constraints.fixed is not None:
        held = active[constraints.fixed[active] >= 0]
        assert (labels[held] == constraints.fixed[held]).all(), "a fixed row has moved"
    if constraints.conflicts is not None:
        starts, partners = constraints.conflicts
        here = np.repeat(np.arange(rows.n), np.diff(starts))
        assert (labels[here] != labels[partners]).all(), "two rows that must not share a cluster do"


def hold_centres(state: ClusterState, centres: np.ndarray) -> None:
    """Make the first clusters of a state ones whose centres do not move: D = n C with an enormous n."""
    m = len(centres)
    state.sizes[:m] += HELD
    state.composites[:m] = state.sizes[:m, None] * centres
    state.sq_composites[:m] = np.einsum("rt,rt->r", state.composites[:m], state.composites[:m])
