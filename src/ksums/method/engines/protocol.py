"""What an engine is, and the engines by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ksums.method.data.rows import Rows
from ksums.method.state.limits import Limits
from ksums.method.state.state import ClusterState
from ksums.rules.kinds import Rule


class Engine(ABC):
    """Moves the samples of a state, in a given order. By default an engine compares a sample with all clusters."""

    def __init__(self, rows: Rows, state: ClusterState, rule: Rule, limits: Limits) -> None:
        self.rows, self.state, self.rule, self.limits = rows, state, rule, limits
        self.comparisons = 0
        """Of a sample with a cluster, or of two clusters, in the last visit."""
        self.each_move_gains = True
        """Whether each move of the last visit is a gain by itself, if the rule is monotone; or else the whole visit."""

    @abstractmethod
    def visit(self, order: np.ndarray) -> Iterator[int]:
        """Offer each sample in turn to the clusters; yield the number of moves every now and then.

        A caller may stop between two yields; the state is consistent when the iterator is closed. An engine sets
        ``comparisons``.
        """

    def draw_order(self, rng: np.random.Generator) -> np.ndarray:
        """A random order for a visit: of the active samples, or of what the engine visits as a whole."""
        return self.rows.active[rng.permutation(len(self.rows.active))]

    def use_rule(self, rule: Rule) -> None:
        """Continue with another rule of the same kind."""
        self.rule = rule

    def use_lists(self, length: int) -> None:
        """Continue with lists of ``length`` nearest clusters, if the engine has lists."""
        raise TypeError(f"{type(self).__name__} compares with all clusters and has no lists.")

    def memory(self) -> dict[str, np.ndarray]:
        """What labels of later visits depend on, besides the state and the rule: goes into checkpoints."""
        return {}

    def remember(self, memory: dict[str, np.ndarray]) -> None:
        """Go on as the engine whose memory this is."""
        raise TypeError(f"{type(self).__name__} has no memory.")

    def bytes_of_bounds(self) -> int:
        """Memory of what the engine has learnt of the rows and could use in a later visit; 0 if that is nothing."""
        return 0

    def let_go_of_rows(self) -> None:
        """Keep nothing but bounds and labels until ``continue_with``."""
        raise TypeError(f"{type(self).__name__} has no bounds.")

    def continue_with(self, rows: Rows, state: ClusterState, rule: Rule) -> None:
        """Go on with the same rows, read again, and the same labels, but other sums and another relaxation."""
        raise TypeError(f"{type(self).__name__} has no bounds.")

    def lists(self) -> np.ndarray | None:
        """(k, L) The clusters that the samples of each cluster are offered to; None: all clusters."""
        return None

    def visiting_order(self, order: np.ndarray) -> np.ndarray:
        """The order of samples in which ``visit(order)`` would take the samples now."""
        return order


EngineMaker = Callable[..., Engine]
"""Makes an engine of data, state, rule, limits, and options of its own."""

_MAKERS: dict[str, EngineMaker] = {}


def register_engine(name: str, make: EngineMaker) -> None:
    """Let plans call an engine by a name."""
    _MAKERS[name] = make


def make_engine(name: str, rows: Rows, state: ClusterState, rule: Rule, limits: Limits, **options: Any) -> Engine:
    """The engine of that name for a state."""
    return _MAKERS[name](rows, state, rule, limits, **options)


def _reference(*arguments: Any) -> Engine:
    from ksums.method.engines.reference import ReferenceEngine

    return ReferenceEngine(*arguments)


def _exact(*arguments: Any) -> Engine:
    from ksums.method.engines.exact import ExactEngine  # Numba is loaded by the first fit, not by the import

    return ExactEngine(*arguments)


def _blocks(*arguments: Any) -> Engine:
    from ksums.method.engines.blocks import BlockEngine

    return BlockEngine(*arguments)


def _neighbours(*arguments: Any, **options: Any) -> Engine:
    from ksums.method.engines.neighbours import NeighbourEngine

    return NeighbourEngine(*arguments, **options)


register_engine("reference", _reference)
register_engine("exact", _exact)
register_engine("blocks", _blocks)
register_engine("neighbors", _neighbours)
