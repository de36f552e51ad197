"""Passes over rows in storage order with bounds, for few clusters and many dense rows; see ``kernels/blocks.py``.

A block of rows is all that the kernels are handed: rows that lie in memory as the kernels read them are visited where
they are; others (narrower types, other layouts, memory maps of them) are read a block at a time, in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ksums.compute.sharing import ALONE, Team, team
from ksums.compute.threads import threads
from ksums.compute.two_nearest import PADDING
from ksums.compute.vectors import panel_width
from ksums.method.data.rows import Rows, plain_rows
from ksums.method.engines.kernels.assign import PieceSums, assign_blocks
from ksums.method.engines.kernels.blocks import Proposals, pass_over_blocks
from ksums.method.engines.kernels.bounds import Bounds, Drift, Relaxation
from ksums.method.engines.kernels.tables import Centroids, Layout, Table, Work, renew_all
from ksums.method.engines.protocol import Engine
from ksums.method.engines.pushed import PushedEngine
from ksums.method.state.limits import Limits, no_limits
from ksums.method.state.state import ClusterState, renew_sq_composites
from ksums.planning.blocks import PIECE, block_length, cluster_groups
from ksums.rules.kinds import Rule

_CALL = 2e9
"""Multiplications in one call of a kernel, about half a second: Ctrl-C is only heard between calls."""
_MARGIN = 6.0
"""Of ``kernels/bounds.py``, in units of rounding and of the longest centroid."""
_LONGER = 2.0
"""The margin allows for centroids this many times as long as the longest was."""


class BlockEngine(PushedEngine):
    """See ``protocol.Engine``. Its order is one of blocks."""

    _table: Table

    def __init__(self, rows: Rows, state: ClusterState, rule: Rule, limits: Limits) -> None:
        super().__init__(rows, state, rule, limits)
        self._make_room(rows, *state.composites.shape)
        self._forget()

    @classmethod
    def from_centres(cls, rows: Rows, centres: np.ndarray, rule: Rule) -> BlockEngine:
        """An engine for the state in which each row is in the cluster of the nearest centre.

        Clusters may be numbered in another order than the centres. A cluster may be empty: see ``state.counts``.
        """
        self, (k, d) = cls.__new__(cls), centres.shape
        sums = np.zeros((k, d)), np.zeros(k), np.zeros(k, np.int64), np.zeros(k), np.zeros(k)
        state = ClusterState(np.zeros(rows.n, np.int32), *sums)
        Engine.__init__(self, rows, state, rule, no_limits(k))
        self._make_room(rows, k, d)
        self._centroids.vectors[:k] = centres[near_each_other(centres, self._bounds.groups)]
        self._assign()
        return self

    def use_rule(self, rule: Rule) -> None:
        """See ``protocol.Engine``: the same with another relaxation."""
        super().use_rule(rule)
        self._table = self._table._replace(relaxation=_relaxation(rule, self.rows.heaviest))
        self.renew()

    def bytes_of_bounds(self) -> int:
        """See ``protocol.Engine``."""
        return sum(array.nbytes for array in self._bounds) + self.state.labels.nbytes

    def let_go_of_rows(self) -> None:
        """See ``protocol.Engine``."""
        self._reach = float(self._centroids.reach[0]), int(self._centroids.clock[0])
        nothing = np.empty(0)
        self.state = ClusterState(self.state.labels, *(nothing for _ in self.state[1:]))
        del self.rows, self._table, self._centroids, self._work, self._drift, self._proposals

    def continue_with(self, rows: Rows, state: ClusterState, rule: Rule) -> None:
        """See ``protocol.Engine``."""
        self.rows, self.state = rows, state
        self._make_table()
        self._make_work_space(len(state.sizes))
        self._centroids.reach[0], self._centroids.clock[0] = self._reach
        self.use_rule(rule)
        if self._centroids.reach[1] > self._centroids.reach[0]:
            self._forget()

    def draw_order(self, rng: np.random.Generator) -> np.ndarray:
        """The blocks in random order."""
        return rng.permutation(len(self._bounds.seen))

    def visiting_order(self, order: np.ndarray) -> np.ndarray:
        """See ``protocol.Engine``."""
        starts = order * self._layout.block
        rows = np.concatenate([np.arange(first, min(first + self._layout.block, self.rows.n)) for first in starts])
        return rows if self.rows.weights is None else rows[self.rows.weights[rows] > 0]

    def visit(self, order: np.ndarray) -> Iterator[int]:
        """Each block in turn; yields the number of moves, some blocks at a time, less than 0 if they are taken back."""
        self.comparisons, moves = 0, 0
        for _ in self.attempts():
            if moves:
                yield -moves
            result, moves, before = np.zeros(2, np.int64), 0, self.comparisons
            more = self._drift, self._proposals, result
            ALONE.run(
                pass_over_blocks, *self._arguments(order[:0]), *more
            )  # compiles, if need be, before there are threads
            for workers, part in self._parts(order):
                workers.run(pass_over_blocks, *self._arguments(part), *more)
                self.comparisons = before + int(result[1])
                yield int(result[0]) - moves
                moves = int(result[0])
            if self._centroids.reach[1] > self._centroids.reach[0]:
                self._forget()

    def renew(self) -> None:
        """The centroids and all that is known of them, from the sums."""
        renew_sq_composites(self.state)
        renew_all(self.state, self._table.relaxation, self._centroids)
        self._centroids.clock[0] += 1
        self._centroids.stamps[:] = self._centroids.clock[0]

    def look_again_at(self, ids: np.ndarray) -> None:
        """See ``pushed.PushedEngine``."""
        self._bounds.slack[ids] = -np.inf
        if len(self._bounds.groups) > 2:
            self._bounds.low[ids // PIECE, :, ids % PIECE] = -np.inf

    # ------------------------------------------------------------------------------------------ inside
    def _make_room(self, rows: Rows, k: int, d: int) -> None:
        dtype, length = rows.dtype, block_length(k)
        groups, blocks, pieces = cluster_groups(k, d), -(-rows.n // length), length // PIECE
        many, unit = len(groups) > 2, float(np.finfo(dtype).eps) / 2
        self._layout = Layout(rows.n, length, PIECE, (d + 8) * unit, 0.0)
        self._make_table()
        self._bounds = Bounds(
            slack=np.full(rows.n, -np.inf, np.float32),
            low=np.full((-(-rows.n // PIECE), len(groups) - 1, PIECE) if many else (1, 1, 1), -np.inf, np.float32),
            groups=groups,
            spent=np.zeros((blocks, k)),
            sunk=np.zeros((blocks, len(groups) - 1)),
            far=np.zeros((blocks, pieces)),
            centroids=np.zeros((blocks, k, d), dtype),
            sizes=np.full((blocks, k), np.inf),
            relaxed=np.ones((blocks, 2)),
            seen=np.zeros(blocks, np.int64),
        )
        self._make_work_space(k)

    def _make_work_space(self, k: int) -> None:
        """Centroids, and what the threads need."""
        dtype, d, pieces = self.rows.dtype, self.rows.d, self._layout.block // PIECE
        padded = k + k % PADDING
        vectors = np.full((padded, d), np.sqrt(np.finfo(np.float32).max) / (2 * d), dtype)
        self._centroids = Centroids(
            vectors,
            np.ones(padded, dtype),
            np.ones(k, dtype),
            np.zeros(k, np.int64),
            np.zeros(1, np.int64),
            np.zeros(2),
        )
        width, crew = panel_width(dtype), threads()
        room = crew, PIECE + 2 * width
        self._work = Work(
            due=np.empty(room, np.int64),
            some=np.empty(room, np.int64),
            index=np.empty(room, np.int64),
            best=np.empty(room, dtype),
            second=np.empty(room, dtype),
            which=np.empty(room, np.int32),
            stay=np.empty(room),
            lowest=np.empty(room),
            limits=np.empty((crew, k)),
            panels=np.empty((crew, d, width), dtype),
        )
        self._drift = Drift(np.zeros(k, np.bool_), np.zeros(k))
        self._proposals = Proposals(
            np.empty((pieces, PIECE), np.int64),
            np.empty((pieces, PIECE), np.int32),
            np.zeros(pieces, np.int64),
            np.zeros(pieces, np.int64),
        )

    def _make_table(self) -> None:
        """The rows as the kernels read them, or room for a block of them."""
        rows, dtype, d = self.rows, self.rows.dtype, self.rows.d
        self._in_place = rows.ids is None and rows.X.dtype == dtype and rows.X.flags.c_contiguous
        shift = np.zeros(d, dtype) if rows.shift is None or not self._in_place else rows.shift.astype(dtype)
        scale = rows.scales.astype(dtype) if self._in_place else np.ones(1, dtype)
        weights = np.ones(0) if rows.weights is None else rows.weights
        X = np.asarray(rows.X) if self._in_place else np.zeros((self._layout.block, d), dtype)
        self._table = Table(X, 0, shift, scale, weights, _relaxation(self.rule, rows.heaviest))

    def _assign(self) -> None:
        """First labels, sums and bounds from the centres."""
        (k, d), blocks, pieces = self.state.composites.shape, len(self._bounds.seen), len(self._proposals.count)
        vectors = self._centroids.vectors[:k].astype(np.float64)
        self._bounds.centroids[:] = self._centroids.vectors[:k]
        self._bounds.sizes[:] = _INFINITE
        self._allow_for(float(np.sqrt(np.einsum("rt,rt->r", vectors, vectors).max())))
        sums = PieceSums(
            np.zeros((pieces, k, d)), np.zeros((pieces, k)), np.zeros((pieces, k), np.int64), np.zeros((pieces, k))
        )
        order = np.arange(blocks)
        ALONE.run(assign_blocks, *self._arguments(order[:0]), sums)
        for workers, part in self._parts(order):
            workers.run(assign_blocks, *self._arguments(part), sums)
        if self.state.counts.min() > 0:
            self.renew()

    def _arguments(self, order: np.ndarray) -> tuple[Any, ...]:
        """What both kernels are handed for some blocks; rows that are not in place are read first."""
        table = self._table
        if not self._in_place and len(order):
            first = int(order[0]) * self._layout.block
            ids = np.arange(first, min(first + self._layout.block, self.rows.n))
            self.rows.read(ids, self.rows.dtype, out=table.X[: len(ids)])
            table = table._replace(first=first)
        return order, table, self._layout, self.state, self._centroids, self._bounds, self._work

    def _parts(self, order: np.ndarray) -> Iterator[tuple[Team, np.ndarray]]:
        """The blocks of some calls, and who makes them."""
        operations = float(self._layout.block * self._centroids.vectors.size)
        count = max(1, int(_CALL / operations)) if self._in_place else 1
        with team(2.0 * operations * min(count, len(order)), len(self._work.due)) as workers:
            for first in range(0, len(order), count):
                yield workers, order[first : first + count]

    def _forget(self) -> None:
        """Every row must be looked at again."""
        self._bounds.slack.fill(-np.inf)
        self._bounds.low.fill(-np.inf)
        self._centroids.reach[:] = 0.0
        self.renew()
        self._bounds.centroids[:] = self._centroids.vectors[: len(self.state.sizes)]
        self._bounds.sizes[:] = self.state.sizes
        self._bounds.relaxed[:] = self._table.relaxation[1:]
        self._allow_for(float(self._centroids.reach[1]))

    def _allow_for(self, longest: float) -> None:
        """Set the margin so that it holds for centroids twice as long as these."""
        info = np.finfo(self.rows.dtype)
        margin = _MARGIN * float(info.eps) / 2 * longest + float(np.sqrt(self.rows.d * float(info.tiny)))
        self._layout = self._layout._replace(margin=margin)
        self._centroids.reach[:] = _LONGER * longest, 0.0


_compiled: set[str] = set()
"""Types of rows for which ``compile_blocks`` has been called in this process."""


def compile_blocks(dtype: np.dtype[Any], rule: Rule) -> None:
    """Compile the kernels for a type of rows, or load them from disk: once in a process, by visiting two rows."""
    if dtype.name in _compiled:
        return
    _compiled.add(dtype.name)
    points = np.eye(2, dtype=dtype)
    engine = BlockEngine.from_centres(plain_rows(points), points, rule)
    sum(engine.visit(np.zeros(1, np.int64)))


_INFINITE = 1e30
"""The size of clusters whose factors are 1: those of given centres."""


def _relaxation(rule: Rule, heaviest: float) -> Relaxation:
    return Relaxation(heaviest, rule.p, rule.relaxation_per_size)


def near_each_other(centres: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """An order of the centres in which those of a group are near each other: halves along the widest direction."""

    def divide(ids: np.ndarray, firsts: np.ndarray) -> np.ndarray:
        if len(firsts) == 1:
            return ids
        half = len(firsts) // 2
        at = firsts[half] - firsts[0]
        part = centres[ids] - centres[ids].mean(axis=0)
        along = part @ np.linalg.svd(part, full_matrices=False)[2][0]
        ids = ids[np.argsort(along, kind="stable")]
        return np.concatenate([divide(ids[:at], firsts[:half]), divide(ids[at:], firsts[half:])])

    return divide(np.arange(len(centres)), groups[:-1])
