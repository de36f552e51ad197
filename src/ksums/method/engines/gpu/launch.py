"""The operations of a card, by Triton kernels."""

from __future__ import annotations

from typing import Any

import torch
import triton

from ksums.method.engines.gpu.card import Card, Layout, Lists, State, Table
from ksums.method.engines.gpu.kernels.clusters import coefficients, given_centres, summary
from ksums.method.engines.gpu.kernels.lists import nearest_in_bins
from ksums.method.engines.gpu.kernels.moves import move, verify
from ksums.method.engines.gpu.kernels.propose import propose, propose_from_lists
from ksums.method.engines.gpu.kernels.rows import (
    add_by_cluster,
    column_moments,
    gather_rows,
    lower_rows,
    scrambled_keys,
    squares_to_own,
)
from ksums.method.engines.gpu.operations import Operations
from ksums.method.engines.gpu.rows import MIX
from ksums.planning.gpu import PER_SIZE, PUSH
from ksums.planning.tiles import tiles_of_lists, tolerance_for
from ksums.rules.kinds import VANISHED

_NUMBERS = 4096
"""Numbers of X that a program holds at a time."""
_KEYS = 1024
"""Scrambled numbers that a program makes."""
_CHUNK = 128
"""Rows that a program adds up."""
_CHUNK_OF_MOMENTS, _NUMBERS_OF_MOMENTS = 512, 2048
"""Rows and numbers, where there is nothing to add up by cluster."""
_PROGRAMS = 2048
"""Programs that share the candidates, at most."""
_SHARES = 16
"""Programs that share the rows of a large group."""

_ALWAYS = {"enable_fp_fusion": True}
"""Compiled in the same way by all versions of Triton, whose default differs."""


class Kernels(Operations):
    """See ``operations.Operations``."""

    def moments(self, X: torch.Tensor, active: torch.Tensor | None, device: torch.device) -> torch.Tensor:
        """See ``operations.Operations``."""
        n, d = len(X) if active is None else len(active), X.shape[1]
        columns, count = _columns(d), triton.cdiv(n, _CHUNK_OF_MOMENTS)
        of_chunks = torch.empty(4, count, d, dtype=torch.float64, device=device)
        column_moments[(count, triton.cdiv(d, columns))](
            X, X.stride(0), X if active is None else active, of_chunks, n, d, CHUNK=_CHUNK_OF_MOMENTS,
            BR=max(1, _NUMBERS_OF_MOMENTS // columns), BD=columns, SOME=active is not None,
            WIDE=X.dtype == torch.float64, num_warps=4, **_ALWAYS,
        )  # fmt: skip
        return torch.cat([of_chunks[:2].sum(1), of_chunks[2:].amin(1)])

    def scrambled_keys(self, n: int, seed: int, device: torch.device) -> torch.Tensor:
        """See ``operations.Operations``."""
        keys = torch.empty(n, dtype=torch.int64, device=device)
        scrambled_keys[(triton.cdiv(n, _KEYS),)](keys, n, seed, *MIX, BLOCK=_KEYS, num_warps=4, **_ALWAYS)
        return keys

    def lower_rows(
        self,
        table: Table,
        layout: Layout,
        places: torch.Tensor | None = None,
        low: torch.Tensor | None = None,
        by: torch.Tensor | None = None,
    ) -> None:
        """See ``operations.Operations``."""
        columns, n = _columns(layout.d), layout.n if places is None else len(places)
        rows = max(1, _NUMBERS // columns)
        lower_rows[(triton.cdiv(n, rows),)](
            *_rows_of(table), table.places if places is None else places, table.places if by is None else by,
            table.low if low is None else low, table.low_squares, table.squares, n, layout.d, layout.aligned, BR=rows,
            BD=columns, BY_ROW=layout.directed, SPLIT=layout.split, IN_ORDER=places is not None, BY=by is not None,
            num_warps=4, **_ALWAYS,
        )  # fmt: skip

    def prepared_rows(self, table: Table, layout: Layout, places: torch.Tensor) -> torch.Tensor:
        """See ``operations.Operations``."""
        columns, found = _columns(layout.d), torch.empty(len(places), layout.d, device=places.device)
        rows = max(1, _NUMBERS // columns)
        gather_rows[(triton.cdiv(len(places), rows),)](
            *_rows_of(table), places, found, len(places), layout.d,
            BR=rows, BD=columns, BY_ROW=layout.directed, num_warps=4, **_ALWAYS,
        )  # fmt: skip
        return found

    def add_by_cluster(self, table: Table, layout: Layout, state: State, *, wide: bool = False) -> None:
        """See ``operations.Operations``."""
        for sums in (state.composites, state.counts, state.sizes, state.norm_sums):
            sums.zero_()
        order, columns = torch.sort(state.labels).indices, _columns(layout.d)
        add_by_cluster[(triton.cdiv(layout.n, _CHUNK), triton.cdiv(layout.d, columns))](
            *_rows_of(table), table.weights, table.squares, order,
            state.labels, state.composites, state.counts, state.sizes, state.norm_sums, layout.n, layout.d,
            layout.fixed, layout.fixed_weight, layout.fixed_square, CHUNK=_CHUNK, BD=columns, BY_ROW=layout.directed,
            WEIGHTED=layout.weighted, WIDE=wide, num_warps=1 if columns <= 128 else 2, **_ALWAYS,
        )  # fmt: skip

    def set_centres(self, card: Card, vectors: torch.Tensor) -> None:
        """See ``operations.Operations``."""
        layout, clusters, columns = card.layout, card.clusters, _columns(card.layout.d)
        given_centres[(layout.clusters,)](
            vectors.contiguous(), clusters.low, clusters.low_squares, clusters.join, clusters.base, layout.clusters,
            layout.d, layout.padded, BD=columns, LENGTHS=layout.lengths, SPLIT=layout.split,
            num_warps=1 if columns <= 128 else 2, **_ALWAYS,
        )  # fmt: skip

    def refresh(self, card: Card, *, reset: bool = True, pushed: bool = False, begins: bool = False) -> None:
        """See ``operations.Operations``."""
        layout, state, clusters = card.layout, card.state, card.clusters
        columns = _columns(layout.d)
        coefficients[(layout.clusters,)](
            state.composites, state.counts, state.sizes, state.norm_sums, clusters.relaxation, clusters.push,
            clusters.before, clusters.vectors, clusters.low, clusters.low_squares, clusters.join, clusters.base,
            clusters.stay, clusters.weight, clusters.scatter, clusters.members, clusters.sq_composites,
            clusters.leavers, clusters.claims, card.candidates.number, layout.clusters, layout.d, layout.padded,
            1.0 / layout.fixed, 1.0 / layout.fixed_weight, 1.0 / layout.fixed_square, PER_SIZE, PUSH, VANISHED,
            BD=columns, LENGTHS=layout.lengths, PAIRS=layout.pairs, SPLIT=layout.split, RESET=reset, PUSHED=pushed,
            BEGINS=pushed and begins,
            num_warps=1 if columns <= 128 else 2, **_ALWAYS,
        )  # fmt: skip

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
        """See ``operations.Operations``."""
        layout, tiles = card.layout, card.layout.tiles
        propose[(triton.cdiv(count, tiles.rows) * layout.problems,)](
            *_rows_of(card.table), card.table.low if low is None else low, card.table.low_squares, order,
            *_asked_of(card), first, count, layout.k, layout.clusters, layout.d, layout.aligned,
            tolerance_for(layout.split), padded=layout.padded, BM=tiles.rows, BN=tiles.clusters, BK=tiles.columns,
            BITS=tiles.bits(layout.k), BY_ROW=layout.directed, LENGTHS=layout.lengths, SPLIT=layout.split, START=start,
            IN_ORDER=low is not None, num_warps=tiles.warps, num_stages=tiles.stages, **_ALWAYS,
        )  # fmt: skip

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
        """See ``operations.Operations``."""
        layout = card.layout
        tiles = tiles_of_lists(layout.padded, layout.split, start)
        shares = min(_SHARES, max(1, layout.n // (count * tiles.rows))) if start else 1
        propose_from_lists[(count, shares)](
            *_rows_of(card.table), card.table.low if low is None else low, card.table.low_squares, order, groups,
            lists.entries, lists.ends, *_asked_of(card), first, *within, layout.clusters, layout.d, layout.aligned,
            tolerance_for(layout.split), padded=layout.padded, BM=tiles.rows, BN=tiles.clusters, BK=tiles.columns,
            BY_ROW=layout.directed, LENGTHS=layout.lengths, SPLIT=layout.split, START=start, IN_ORDER=low is not None,
            num_warps=tiles.warps, num_stages=tiles.stages, **_ALWAYS,
        )  # fmt: skip

    def nearest_in_bins(self, card: Card, first: int, count: int, bins: int) -> tuple[torch.Tensor, torch.Tensor]:
        """See ``operations.Operations``."""
        layout, clusters = card.layout, card.clusters
        least = torch.empty(count, bins, device=clusters.low.device)
        which = torch.empty(count, bins, dtype=torch.int32, device=clusters.low.device)
        columns = min(64, layout.padded)
        nearest_in_bins[(triton.cdiv(count, 128), triton.cdiv(bins, 64))](
            clusters.low, clusters.low_squares, least, which, first, count, layout.k, bins, layout.padded,
            BM=128, BN=64, BK=columns, SPLIT=layout.split, num_warps=4, num_stages=3, **_ALWAYS,
        )  # fmt: skip
        return least, which

    def decide(self, card: Card, most: int, *, apart: bool = False) -> None:
        """See ``operations.Operations``."""
        layout, table, state, clusters, candidates = card
        columns = _columns(layout.d)
        rows = max(1, min(16, _NUMBERS // 2 // columns))
        grid = (min(_PROGRAMS, triton.cdiv(most, rows)),)
        source = *_rows_of(table), table.weights
        listed = candidates.rows, candidates.targets, candidates.sources, candidates.gains, candidates.number
        verify[grid](
            *source, state.labels, state.counts, clusters.vectors, clusters.join, clusters.stay, clusters.weight,
            clusters.scatter, clusters.relaxation, clusters.leavers, clusters.claims, *listed, layout.d, PER_SIZE,
            BR=rows, BD=columns, BY_ROW=layout.directed, LENGTHS=layout.lengths, PAIRS=layout.pairs,
            WEIGHTED=layout.weighted, APART=apart, num_warps=4, **_ALWAYS,
        )  # fmt: skip
        move[grid](
            *source, state.labels, table.squares, state.composites, state.counts, state.sizes, state.norm_sums,
            clusters.members, clusters.leavers, clusters.claims, *listed, state.moved, layout.d, layout.fixed,
            layout.fixed_weight, layout.fixed_square, BR=rows, BD=columns, BY_ROW=layout.directed,
            WEIGHTED=layout.weighted, APART=apart, num_warps=4, **_ALWAYS,
        )  # fmt: skip

    def summarise(self, card: Card, numbers: torch.Tensor) -> None:
        """See ``operations.Operations``."""
        layout, state = card.layout, card.state
        summary[(layout.problems,)](
            state.sizes, state.norm_sums, card.clusters.sq_composites, state.moved, numbers, layout.k,
            1.0 / layout.fixed_weight, 1.0 / layout.fixed_square, BK=1024, num_warps=4, **_ALWAYS,
        )  # fmt: skip

    def squares_to_own(self, table: Table, layout: Layout, labels: torch.Tensor, centres: torch.Tensor) -> torch.Tensor:
        """See ``operations.Operations``."""
        columns = _columns(layout.d)
        rows = max(1, _NUMBERS // columns)
        squares = torch.empty(layout.n, dtype=torch.float64, device=labels.device)
        squares_to_own[(triton.cdiv(layout.n, rows),)](
            *_rows_of(table), labels, centres, squares, layout.n,
            layout.d, BR=rows, BD=columns, BY_ROW=layout.directed, num_warps=4, **_ALWAYS,
        )  # fmt: skip
        return squares


def _rows_of(table: Table) -> tuple[Any, ...]:
    """Where kernels find the rows."""
    return table.X, table.X.stride(0), table.places, table.mean, table.scales


def _asked_of(card: Card) -> tuple[torch.Tensor, ...]:
    """What proposals read and write."""
    clusters, candidates = card.clusters, card.candidates
    return (
        card.state.labels, clusters.low, clusters.join, clusters.base, clusters.stay, candidates.rows,
        candidates.targets, candidates.number, candidates.gains,
    )  # fmt: skip


def _columns(d: int) -> int:
    """Columns that a program reads at a time."""
    return min(256, max(16, triton.next_power_of_2(d)))
