"""Engines: one pass over the data, each sample offered to all clusters, or to those nearest to its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from ksums.drivers import Driver
from ksums.engines.reference import ReferenceEngine
from ksums.rows import Rows
from ksums.state import ClusterState, Limits

if TYPE_CHECKING:
    from ksums.engines._neighbour_kernels import Neighbours
    from ksums.engines.merge_split import MergeSplit


class Engine(Protocol):
    """Moves samples of a state, in a given order."""

    def visit(self, order: np.ndarray) -> Iterator[int]:
        """Offer each sample in turn to all clusters; yield the number of moves every now and then.

        Between two yields the state is whole, so a caller may stop there.
        """
        ...


@runtime_checkable
class RelaxingEngine(Engine, Protocol):
    """One whose relaxation may change between passes."""

    def drive(self, driver: Driver) -> None:
        """Go on with another driver of the same kind."""
        ...


@runtime_checkable
class ListingEngine(RelaxingEngine, Protocol):
    """One that offers a sample only to the clusters nearest to its own, which are kept in lists."""

    comparisons: int
    """Of a sample with a cluster, or of two clusters, in the last visit."""

    def lists(self) -> np.ndarray:
        """The lists (k, L) of the last visit."""
        ...

    def lengthen(self, length: int) -> None:
        """Go on with lists of so many clusters each, the own one counted."""
        ...

    def turns(self, order: np.ndarray) -> np.ndarray:
        """The samples as ``visit`` would take them now: in its own order."""
        ...


EngineMaker = Callable[[Rows, ClusterState, Driver, Limits, int], Engine]
"""Makes an engine for data, state, driver, size limits and a number of threads."""


def reference_engine(rows: Rows, state: ClusterState, driver: Driver, limits: Limits, n_threads: int) -> Engine:
    """Algorithm 1 in plain NumPy."""
    return ReferenceEngine(rows, state, driver, limits)


def exact_engine(rows: Rows, state: ClusterState, driver: Driver, limits: Limits, n_threads: int) -> Engine:
    """Algorithm 1, compiled."""
    from ksums.engines.exact import ExactEngine  # Numba is loaded by the first fit, not by the import

    return ExactEngine(rows, state, driver, limits, n_threads)


def neighbour_engine(rows: Rows, state: ClusterState, driver: Driver, limits: Limits, n_threads: int) -> Engine:
    """Algorithm 1 with each sample looking only at the clusters nearest to its own."""
    from ksums.engines.neighbours import NeighbourEngine

    return NeighbourEngine(rows, state, driver, limits, n_threads)


ENGINES: dict[str, EngineMaker] = {
    "auto": exact_engine,
    "exact": exact_engine,
    "neighbors": neighbour_engine,
    "reference": reference_engine,
}
"""The engines behind a valid ``engine`` parameter."""


def nearest_centres(
    rows: Rows, ids: np.ndarray, centres: np.ndarray, sq_centres: np.ndarray, n_threads: int
) -> np.ndarray:
    """For each of the rows, the centre of least ``sq_centres − 2 x·C``; the lowest index on ties."""
    from ksums.engines import nearest

    return nearest.nearest_centres(rows, ids, centres, sq_centres, n_threads)


def walk_to_nearest(rows: Rows, centres: np.ndarray, squares: np.ndarray, n_threads: int) -> np.ndarray:
    """The nearest centre of each row that pulls, nearly always, through the graph of nearest centres."""
    from ksums.engines import graph

    return graph.walk_to_nearest(rows, centres, squares, n_threads)


def list_clusters(state: ClusterState, kind: int, dtype: np.dtype, length: int, n_threads: int) -> Neighbours:
    """Lists of so many clusters each: the cluster itself, and those nearest to it by a driver's kind."""
    from ksums.engines.neighbour_lists import NeighbourLists

    return NeighbourLists(dtype, n_threads).make(state, kind, length)


def merge_split(rows: Rows, state: ClusterState, limits: Limits, rng: np.random.Generator) -> MergeSplit:
    """A merge–split search from a state on."""
    from ksums.engines.merge_split import MergeSplit

    return MergeSplit(rows, state, limits, rng)
