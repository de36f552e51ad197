"""Explicit vectors for the three inner loops that LLVM does not vectorise well by itself.

Everything else in this package is plain Numba. Three loops are not, because they were measured to be worth
it (``benchmarks/exact_pass.py`` prints both): the affine scores of a panel of samples for a few composites,
which must keep its accumulators in registers to reach the speed of a matrix product, the minimum of a tile of
such scores, and the transposition that makes a panel. Their plain twin is the whole of ``_direct_kernels.py``:
a dot product is one chain of fused multiply-adds over the dimensions, in order, here and there, so both give
the same bits.

A panel is a group of samples, transposed: ``panel[t, lane]`` is coordinate ``t`` of sample ``lane``. It is
``VECTORS`` hardware vectors wide, so that one composite coordinate, broadcast, serves them all:

    registers:   CLUSTERS × VECTORS accumulators + VECTORS panel vectors + 1 broadcast coordinate

``USE_VECTORS`` says whether passes are worth running this way on this CPU. Where they are not, the direct kernels run
and the log says so.
"""

from __future__ import annotations

import os

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ksums.engines._jit import helper

VECTORS = 3
_INT64 = ir.IntType(64)
_INT32 = ir.IntType(32)


def _cpu_features() -> dict[str, bool]:
    """Features of the CPU that Numba compiles for: the host, unless Numba's environment names another."""
    forced = os.environ.get("NUMBA_CPU_FEATURES")
    if forced is None:
        return dict(binding.get_host_cpu_features())
    return {word[1:]: word[0] == "+" for word in forced.split(",") if word}


def _shape_for(features: dict[str, bool]) -> tuple[int, int, bool]:
    """Bits of a vector, composites handled at a time, and whether explicit vectors are used at all."""
    if features.get("avx512f"):
        return 512, 8, True  # 24 accumulators of 32 registers
    if features.get("avx2") and features.get("fma"):
        return 256, 4, True  # 12 accumulators of 16 registers
    if features.get("neon") or features.get("asimd"):
        return 128, 8, True  # 24 accumulators of 32 registers
    return 128, 8, False


VECTOR_BITS, CLUSTERS, USE_VECTORS = _shape_for(_cpu_features())


def lanes_of(itemsize: int) -> int:
    """Floats of ``itemsize`` bytes in one vector; a panel holds ``VECTORS`` times as many samples."""
    return VECTOR_BITS // (8 * itemsize)


# ----------------------------------------------------------------------------------- small LLVM helpers
def _vector_of(dtype: types.Float) -> ir.VectorType:
    element = ir.FloatType() if dtype == types.float32 else ir.DoubleType()
    return ir.VectorType(element, lanes_of(dtype.bitwidth // 8))


def _data(context, builder, array_type, value):
    """Data pointer and length of the last axis of a C-contiguous array."""
    array = context.make_array(array_type)(context, builder, value)
    return array.data, cgutils.unpack_tuple(builder, array.shape)[-1]


def _load(builder, pointer, vector):
    load = builder.load(builder.bitcast(pointer, vector.as_pointer()))
    load.align = 4  # NumPy promises no more than the alignment of one float
    return load


def _store(builder, value, pointer):
    builder.store(value, builder.bitcast(pointer, value.type.as_pointer())).align = 4


def _broadcast(builder, scalar, vector):
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(_INT32, 0))
    zeros = ir.Constant(ir.VectorType(_INT32, vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, zeros)


def _fused(builder, vector):
    """The LLVM function fma(x, y, z) = x·y + z with one rounding, on vectors."""
    bits = 32 if isinstance(vector.element, ir.FloatType) else 64
    signature = ir.FunctionType(vector, [vector, vector, vector])
    return cgutils.get_or_insert_function(builder.module, signature, f"llvm.fma.v{vector.count}f{bits}")


def _at(value: int):
    return ir.Constant(_INT64, value)


@intrinsic
def fma(typingctx, x, y, z):
    """x·y + z with one rounding, for scalars of one float type."""
    if not (isinstance(x, types.Float) and x == y == z):
        return None

    def codegen(context, builder, signature, args):
        return builder.fma(*args)

    return x(x, x, x), codegen


# ------------------------------------------------------------------------------------ scores of a panel
def _make_panel_scores(clusters: int, vectors: int):
    """A function for ``clusters`` composites and the last ``vectors`` vectors of the panel."""

    @intrinsic
    def panel_scores(typingctx, panel, composites, a, b, c, sq_norms, at, ids, first, scores):
        """scores[r, lane] = a_r·sq_norms[at + lane] − b_r·(x·D_r) + c_r for r = ids[first], ids[first+1], …"""
        integer = types.int64
        signature = types.void(panel, composites, a, b, c, sq_norms, integer, ids, integer, scores)

        def codegen(context, builder, signature, args):
            vector = _vector_of(signature.args[0].dtype)
            lanes, skipped = vector.count, (VECTORS - vectors) * vector.count
            arrays = {i: _data(context, builder, signature.args[i], args[i]) for i in (0, 1, 2, 3, 4, 5, 7, 9)}
            (panel, width), (composites, dimensions) = arrays[0], arrays[1]
            a, b, c, sq_norms, ids, scores = (arrays[i][0] for i in (2, 3, 4, 5, 7, 9))
            fused = _fused(builder, vector)
            chosen = [builder.load(builder.gep(ids, [builder.add(args[8], _at(j))])) for j in range(clusters)]
            rows = [builder.gep(composites, [builder.mul(r, dimensions)]) for r in chosen]
            sums = [[cgutils.alloca_once(builder, vector) for _ in range(vectors)] for _ in chosen]
            for row_sums in sums:
                for total in row_sums:
                    builder.store(ir.Constant(vector, [0.0] * lanes), total)

            def panel_vectors(start, pointer):
                places = [builder.add(start, _at(skipped + v * lanes)) for v in range(vectors)]
                return [_load(builder, builder.gep(pointer, [place]), vector) for place in places]

            def spread(pointer, index):
                return _broadcast(builder, builder.load(builder.gep(pointer, [index])), vector)

            with cgutils.for_range(builder, dimensions) as loop:
                x = panel_vectors(builder.mul(loop.index, width), panel)
                for row, row_sums in zip(rows, sums, strict=True):
                    coordinate = spread(row, loop.index)
                    for v in range(vectors):
                        total = builder.call(fused, [x[v], coordinate, builder.load(row_sums[v])])
                        builder.store(total, row_sums[v])
            norms = panel_vectors(args[6], sq_norms)
            for r, row_sums in zip(chosen, sums, strict=True):
                a_r, minus_b, c_r = spread(a, r), builder.fneg(spread(b, r)), spread(c, r)
                for v in range(vectors):
                    score = builder.call(fused, [a_r, norms[v], c_r])
                    score = builder.call(fused, [minus_b, builder.load(row_sums[v]), score])
                    place = builder.add(builder.mul(r, width), _at(skipped + v * lanes))
                    _store(builder, score, builder.gep(scores, [place]))
            return context.get_dummy_value()

        return signature, codegen

    return panel_scores


panel_scores_many = _make_panel_scores(CLUSTERS, VECTORS)
panel_scores_pair = _make_panel_scores(2, VECTORS)
panel_scores_pair_last2 = _make_panel_scores(2, 2)
panel_scores_pair_last1 = _make_panel_scores(2, 1)


# ------------------------------------------------------------------------------------- minimum of a tile
def _make_tile_minimum(vectors: int):
    @intrinsic
    def tile_minimum(typingctx, scores, first, stop, minima, g):
        """minima[g, lane] = min over r in first … stop−1 of scores[r, lane]"""
        signature = types.void(scores, types.int64, types.int64, minima, types.int64)

        def codegen(context, builder, signature, args):
            vector = _vector_of(signature.args[0].dtype)
            lanes, skipped = vector.count, (VECTORS - vectors) * vector.count
            scores, width = _data(context, builder, signature.args[0], args[0])
            minima, _ = _data(context, builder, signature.args[3], args[3])
            _, first, stop, _, g = args
            least = [cgutils.alloca_once(builder, vector) for _ in range(vectors)]
            for pointer in least:
                builder.store(ir.Constant(vector, [float("inf")] * lanes), pointer)
            with cgutils.for_range_slice(builder, first, stop, _at(1), _INT64) as (r, _):
                for v in range(vectors):
                    place = builder.add(builder.mul(r, width), _at(skipped + v * lanes))
                    score, known = _load(builder, builder.gep(scores, [place]), vector), builder.load(least[v])
                    below = builder.fcmp_ordered("<", score, known)
                    builder.store(builder.select(below, score, known), least[v])
            for v in range(vectors):
                place = builder.add(builder.mul(g, width), _at(skipped + v * lanes))
                _store(builder, builder.load(least[v]), builder.gep(minima, [place]))
            return context.get_dummy_value()

        return signature, codegen

    return tile_minimum


tile_minimum_all = _make_tile_minimum(VECTORS)
tile_minimum_last2 = _make_tile_minimum(2)
tile_minimum_last1 = _make_tile_minimum(1)


# ---------------------------------------------------------------------------------------- packing a panel
@intrinsic
def _transpose_square(typingctx, rows, row, column, panel, lane):
    """panel[column + t, lane + i] = rows[row + i, column + t] for a square of one vector each way."""
    signature = types.void(rows, types.int64, types.int64, panel, types.int64)

    def codegen(context, builder, signature, args):
        vector = _vector_of(signature.args[0].dtype)
        size = vector.count
        source, dimensions = _data(context, builder, signature.args[0], args[0])
        target, width = _data(context, builder, signature.args[3], args[3])
        _, row, column, _, lane = args
        pieces = []
        for i in range(size):
            place = builder.add(builder.mul(builder.add(row, _at(i)), dimensions), column)
            pieces.append(_load(builder, builder.gep(source, [place]), vector))
        step = size // 2
        while step:  # exchange the off-diagonal quarters, then the same inside each quarter
            low = [c if not c & step else size + c - step for c in range(size)]
            high = [c + step if not c & step else size + c for c in range(size)]
            masks = [ir.Constant(ir.VectorType(_INT32, size), m) for m in (low, high)]
            for i in range(size):
                if not i & step:
                    upper, lower = pieces[i], pieces[i + step]
                    pieces[i] = builder.shuffle_vector(upper, lower, masks[0])
                    pieces[i + step] = builder.shuffle_vector(upper, lower, masks[1])
            step //= 2
        for t in range(size):
            place = builder.add(builder.mul(builder.add(column, _at(t)), width), lane)
            _store(builder, pieces[t], builder.gep(target, [place]))
        return context.get_dummy_value()

    return signature, codegen


@helper
def pack_panel(
    rows,  # IN   (n, d)
    first,  # IN   the panel's first row
    lanes,  # IN   floats in a vector
    panel,  # OUT  (d, width)
):
    """Transpose ``width`` rows, square by square; the last square of a row overlaps the one before it."""
    d, width = panel.shape
    if d < lanes:
        for lane in range(width):
            for t in range(d):
                panel[t, lane] = rows[first + lane, t]
        return
    for lane in range(0, width, lanes):
        for column in range(0, d - lanes + 1, lanes):
            _transpose_square(rows, first + lane, column, panel, lane)
        if d % lanes:
            _transpose_square(rows, first + lane, d - lanes, panel, lane)
