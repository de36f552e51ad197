"""The nearest and the second nearest of several centres for the samples of a panel, as differences.

Distances are sums of squared differences, not the expansion |x|² − 2 x·C + |C|²: bounds on a distance are only as good
as the distance itself, and the expansion loses digits where rows are close to centres. Explicit vectors pay here for
the same reason as in ``panels.py``: the sums of several centres stay in registers.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ksums.compute.jit import helper, helper_reordering
from ksums.compute.vectors import (
    INT32,
    USE_VECTORS,
    VECTORS,
    broadcast,
    cgutils,
    constant,
    data_of,
    fused,
    load_vector,
    store_vector,
    vector_of,
)

_CENTRES = 4
"""Centres that are compared at a time: 12 sums, 3 vectors of the panel and a coordinate fill 16 registers."""
PADDING = 2
"""The number of centres is rounded up to a multiple of this; the last one may be infinitely far."""


def _make_two_nearest(centres_at_a_time: int):
    @intrinsic
    def two_nearest(typingctx, panel, centres, factors, first, best, which, second, at):
        """best, which, second [at + lane]: updated by factors[r]·|x − C_r|² for r = first, first + 1, …"""
        signature = types.void(panel, centres, factors, types.int64, best, which, second, types.int64)

        def codegen(context, builder, signature, args):
            pairs = list(zip(signature.args, args, strict=True))
            vector = vector_of(signature.args[0].dtype)
            lanes, whole = vector.count, ir.VectorType(INT32, vector.count)
            panel, width = data_of(context, builder, *pairs[0])
            centres, dimensions = data_of(context, builder, *pairs[1])
            factors, best, which, second = (data_of(context, builder, *pairs[i])[0] for i in (2, 4, 5, 6))
            fma = fused(builder, vector)
            ids = [builder.add(args[3], constant(j)) for j in range(centres_at_a_time)]
            rows = [builder.gep(centres, [builder.mul(r, dimensions)]) for r in ids]
            sums = [[cgutils.alloca_once(builder, vector) for _ in range(VECTORS)] for _ in ids]
            for row_sums in sums:
                for total in row_sums:
                    builder.store(ir.Constant(vector, [0.0] * lanes), total)

            def spread(pointer, index):
                return broadcast(builder, builder.load(builder.gep(pointer, [index])), vector)

            with cgutils.for_range(builder, dimensions) as loop:
                start = builder.mul(loop.index, width)
                x = [
                    load_vector(builder, builder.gep(panel, [builder.add(start, constant(v * lanes))]), vector)
                    for v in range(VECTORS)
                ]
                for row, row_sums in zip(rows, sums, strict=True):
                    coordinate = spread(row, loop.index)
                    for v in range(VECTORS):
                        away = builder.fsub(x[v], coordinate)
                        builder.store(builder.call(fma, [away, away, builder.load(row_sums[v])]), row_sums[v])
            offsets = [builder.add(args[7], constant(v * lanes)) for v in range(VECTORS)]
            least = [load_vector(builder, builder.gep(best, [offset]), vector) for offset in offsets]
            runner_up = [load_vector(builder, builder.gep(second, [offset]), vector) for offset in offsets]
            nearest = [load_vector(builder, builder.gep(which, [offset]), whole) for offset in offsets]
            for r, row_sums in zip(ids, sums, strict=True):
                factor, index = spread(factors, r), broadcast(builder, builder.trunc(r, INT32), whole)
                for v in range(VECTORS):
                    score = builder.fmul(factor, builder.load(row_sums[v]))
                    below = builder.fcmp_ordered("<", score, least[v])
                    larger = builder.select(below, least[v], score)
                    closer = builder.fcmp_ordered("<", larger, runner_up[v])
                    runner_up[v] = builder.select(closer, larger, runner_up[v])
                    least[v] = builder.select(below, score, least[v])
                    nearest[v] = builder.select(below, index, nearest[v])
            for v, offset in enumerate(offsets):
                store_vector(builder, least[v], builder.gep(best, [offset]))
                store_vector(builder, runner_up[v], builder.gep(second, [offset]))
                store_vector(builder, nearest[v], builder.gep(which, [offset]))
            return context.get_dummy_value()

        return signature, codegen

    return two_nearest


_two_nearest_many = _make_two_nearest(_CENTRES)
_two_nearest_pair = _make_two_nearest(PADDING)


@helper_reordering
def _scaled_distance(panel, lane, centres, factor, r):
    total = panel[0, lane] - panel[0, lane]
    for t in range(panel.shape[0]):
        away = panel[t, lane] - centres[r, t]
        total += away * away
    return total * factor


@helper
def two_nearest(
    panel,  # IN   (d, width)  samples, transposed
    centres,  # IN   (padded k, d)
    factors,  # IN   (padded k,)
    first,  # IN   centres from ``first`` …
    stop,  # IN   … to ``stop`` − 1, a multiple of PADDING of them
    best,  # OUT  least factor·|x − C|²; written from ``at`` on, a whole panel
    which,  # OUT  its centre
    second,  # OUT  the second least
    at,  # IN
):
    """Nearest and second nearest of some centres for a panel of samples."""
    for lane in range(at, at + panel.shape[1]):
        best[lane] = np.inf
        second[lane] = np.inf
        which[lane] = first
    r = np.int64(first)
    if USE_VECTORS:
        while r + _CENTRES <= stop:
            _two_nearest_many(panel, centres, factors, r, best, which, second, at)
            r += _CENTRES
        while r < stop:
            _two_nearest_pair(panel, centres, factors, r, best, which, second, at)
            r += PADDING
    else:
        while r < stop:
            for lane in range(panel.shape[1]):
                score = _scaled_distance(panel, lane, centres, factors[r], r)
                if score < best[at + lane]:
                    second[at + lane] = best[at + lane]
                    best[at + lane] = score
                    which[at + lane] = r
                elif score < second[at + lane]:
                    second[at + lane] = score
            r += 1
