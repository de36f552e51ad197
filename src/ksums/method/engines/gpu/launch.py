"""The operations of a card, by Triton kernels."""

from __future__ import annotations

import torch
import triton

from ksums.method.engines.gpu.card import Card, Layout, State, Table
from ksums.method.engines.gpu.kernels.clusters import coefficients, summary
from ksums.method.engines.gpu.kernels.moves import move, verify
from ksums.method.engines.gpu.kernels.propose import propose
from ksums.method.engines.gpu.kernels.rows import add_by_cluster, column_moments, lower_rows, squares_to_own
from ksums.method.engines.gpu.operations import Operations
from ksums.planning.gpu import PER_SIZE, tolerance_for
from ksums.rules.kinds import VANISHED

_NUMBERS = 4096
"""Numbers of X that a program holds at a time."""
_CHUNK = 128
"""Rows that a program adds up."""
_CHUNK_OF_MOMENTS = 1024
"""The same, where there is nothing to add up by cluster."""
_PROGRAMS = 2048
"""Programs that share the candidates, at most."""

_ALWAYS = {"enable_fp_fusion": True}
"""Compiled in the same way by all versions of Triton, whose default differs."""


class Kernels(Operations):
    """See ``operations.Operations``."""

    def moments(self, X: torch.Tensor, active: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """See ``operations.Operations``."""
        n, d = len(X) if active is None else len(active), X.shape[1]
        columns, count = _columns(d), triton.cdiv(n, _CHUNK_OF_MOMENTS)
        sums, least, most = (torch.empty(count, d, dtype=torch.float64, device=X.device) for _ in range(3))
        column_moments[(count, triton.cdiv(d, columns))](
            X, X.stride(0), X if active is None else active, sums, least, most, n, d, CHUNK=_CHUNK_OF_MOMENTS,
            BR=max(1, _NUMBERS // columns), BD=columns, SOME=active is not None, num_warps=4, **_ALWAYS,
        )  # fmt: skip
        return sums.sum(0), least.amin(0), most.amax(0)

    def lower_rows(self, table: Table, layout: Layout) -> None:
        """See ``operations.Operations``."""
        columns = _columns(layout.d)
        rows = max(1, _NUMBERS // columns)
        lower_rows[(triton.cdiv(layout.n, rows),)](
            table.X, table.X.stride(0), table.places, table.mean, table.scales, table.low, table.low_squares,
            table.squares, layout.n, layout.d, layout.aligned, BR=rows, BD=columns, BY_ROW=layout.lengths,
            SPLIT=layout.split, num_warps=4, **_ALWAYS,
        )  # fmt: skip

    def add_by_cluster(self, table: Table, layout: Layout, state: State, *, wide: bool = False) -> None:
        """See ``operations.Operations``."""
        for sums in (state.composites, state.counts, state.sizes, state.norm_sums):
            sums.zero_()
        order, columns = torch.sort(state.labels).indices, _columns(layout.d)
        add_by_cluster[(triton.cdiv(layout.n, _CHUNK), triton.cdiv(layout.d, columns))](
            table.X, table.X.stride(0), table.places, table.mean, table.scales, table.weights, table.squares, order,
            state.labels, state.composites, state.counts, state.sizes, state.norm_sums, layout.n, layout.d,
            layout.fixed, layout.fixed_weight, layout.fixed_square, CHUNK=_CHUNK, BD=columns, BY_ROW=layout.lengths,
            WEIGHTED=layout.weighted, WIDE=wide, num_warps=1 if columns <= 128 else 2, **_ALWAYS,
        )  # fmt: skip

    def refresh(self, card: Card, *, reset: bool = True) -> None:
        """See ``operations.Operations``."""
        layout, state, clusters = card.layout, card.state, card.clusters
        columns = _columns(layout.d)
        coefficients[(layout.k,)](
            state.composites, state.counts, state.sizes, clusters.relaxation, clusters.vectors, clusters.low,
            clusters.join, clusters.base, clusters.stay, clusters.weight, clusters.members, clusters.sq_composites,
            clusters.leavers, clusters.claims, card.candidates.number, layout.k, layout.d, layout.padded,
            1.0 / layout.fixed,
            1.0 / layout.fixed_weight, PER_SIZE, VANISHED, BD=columns, LENGTHS=layout.lengths, SPLIT=layout.split,
            RESET=reset, num_warps=1 if columns <= 128 else 2, **_ALWAYS,
        )  # fmt: skip

    def propose(self, card: Card, order: torch.Tensor, first: int, count: int, *, start: bool = False) -> None:
        """See ``operations.Operations``."""
        layout, table, clusters, tiles = card.layout, card.table, card.clusters, card.layout.tiles
        propose[(triton.cdiv(count, tiles.rows),)](
            table.X, table.X.stride(0), table.places, table.mean, table.scales, table.low, table.low_squares, order,
            card.state.labels, clusters.low, clusters.join, clusters.base, clusters.stay, card.candidates.rows,
            card.candidates.targets, card.candidates.number, card.candidates.gains, first, count, layout.k, layout.d,
            layout.aligned, tolerance_for(layout.split), padded=layout.padded, BM=tiles.rows, BN=tiles.clusters,
            BK=tiles.columns, BITS=tiles.bits(layout.k), BY_ROW=layout.lengths, LENGTHS=layout.lengths,
            SPLIT=layout.split, START=start, num_warps=tiles.warps, num_stages=tiles.stages, **_ALWAYS,
        )  # fmt: skip

    def decide(self, card: Card, most: int, *, apart: bool = False) -> None:
        """See ``operations.Operations``."""
        layout, table, state, clusters, candidates = card
        columns = _columns(layout.d)
        rows = max(1, min(16, _NUMBERS // 2 // columns))
        grid = (min(_PROGRAMS, triton.cdiv(most, rows)),)
        source = table.X, table.X.stride(0), table.places, table.mean, table.scales, table.weights
        listed = candidates.rows, candidates.targets, candidates.sources, candidates.gains, candidates.number
        verify[grid](
            *source, state.labels, state.counts, clusters.vectors, clusters.join, clusters.stay, clusters.weight,
            clusters.relaxation, clusters.leavers, clusters.claims, *listed, layout.d, PER_SIZE, BR=rows, BD=columns,
            BY_ROW=layout.lengths, LENGTHS=layout.lengths, WEIGHTED=layout.weighted, APART=apart, num_warps=4,
            **_ALWAYS,
        )  # fmt: skip
        move[grid](
            *source, state.labels, table.squares, state.composites, state.counts, state.sizes, state.norm_sums,
            clusters.members, clusters.leavers, clusters.claims, *listed, state.moved, layout.d, layout.fixed,
            layout.fixed_weight, layout.fixed_square, BR=rows, BD=columns, BY_ROW=layout.lengths,
            WEIGHTED=layout.weighted, APART=apart, num_warps=4, **_ALWAYS,
        )  # fmt: skip

    def summarise(self, card: Card, numbers: torch.Tensor) -> None:
        """See ``operations.Operations``."""
        layout, state = card.layout, card.state
        summary[(1,)](
            state.sizes, state.norm_sums, card.clusters.sq_composites, state.moved, numbers, layout.k,
            1.0 / layout.fixed_weight, 1.0 / layout.fixed_square, BK=1024, num_warps=4, **_ALWAYS,
        )  # fmt: skip

    def squares_to_own(self, table: Table, layout: Layout, labels: torch.Tensor, centres: torch.Tensor) -> torch.Tensor:
        """See ``operations.Operations``."""
        columns = _columns(layout.d)
        rows = max(1, _NUMBERS // columns)
        squares = torch.empty(layout.n, dtype=torch.float64, device=labels.device)
        squares_to_own[(triton.cdiv(layout.n, rows),)](
            table.X, table.X.stride(0), table.places, table.mean, table.scales, labels, centres, squares, layout.n,
            layout.d, BR=rows, BD=columns, BY_ROW=layout.lengths, num_warps=4, **_ALWAYS,
        )  # fmt: skip
        return squares


def _columns(d: int) -> int:
    """Columns that a program reads at a time."""
    return min(256, max(16, triton.next_power_of_2(d)))
