"""Explicit vectors for the few inner loops that LLVM does not vectorise well by itself.

Everything else in this package is plain Numba. These loops are not, because they were measured to be worth
it (``benchmarks/exact_pass.py`` prints both): the affine scores of a panel of samples for a few composites,
which must keep its accumulators in registers to reach the speed of a matrix product, the minimum of a tile of
such scores (or of those of a list, where they need not be kept), how many are below a bound, and the
transposition that makes a panel. Their plain twin is the whole of ``_direct_kernels.py``: a dot product is one
chain of fused multiply-adds over the dimensions, in order, here and there, so both give the same bits. That of
the lists is in ``tests/test_neighbours.py``.

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

from ksums._jit import helper

VECTORS = 3
_CACHE_LINE = 64  # bytes
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


def panel_width(dtype) -> int:
    """Samples in a panel."""
    return VECTORS * lanes_of(dtype.itemsize)


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


@intrinsic
def prefetch_row(typingctx, rows, r):
    """Ask for row r to be brought from memory into the cache."""
    signature = types.void(rows, types.int64)

    def codegen(context, builder, signature, args):
        data, dimensions = _data(context, builder, signature.args[0], args[0])
        byte = ir.IntType(8).as_pointer()
        ask = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, _INT32, _INT32, _INT32]), "llvm.prefetch.p0"
        )
        step = _CACHE_LINE // (signature.args[0].dtype.bitwidth // 8)
        start = builder.mul(args[1], dimensions)
        with cgutils.for_range_slice(builder, _at(0), dimensions, _at(step), _INT64) as (t, _):
            place = builder.bitcast(builder.gep(data, [builder.add(start, t)]), byte)
            builder.call(ask, [place, *(ir.Constant(_INT32, option) for option in (0, 3, 1))])
        return context.get_dummy_value()

    return signature, codegen


# ------------------------------------------------------------------------------------ scores of a panel
class _Products:
    """The products x·D_r of ``clusters`` composites with the last ``vectors`` vectors of a panel, as code to emit."""

    def __init__(self, context, builder, clusters, vectors, panel, composites, ids, first):
        """``panel``, ``composites``, ``ids`` are pairs of type and value; clusters are those from ids[first] on."""
        self.builder, self.vectors = builder, vectors
        self.vector = _vector_of(panel[0].dtype)
        self.skipped = (VECTORS - vectors) * self.vector.count
        self.fused = _fused(builder, self.vector)
        panel, self.width = _data(context, builder, *panel)
        composites, dimensions = _data(context, builder, *composites)
        ids, _ = _data(context, builder, *ids)
        self.places = [builder.add(first, _at(j)) for j in range(clusters)]
        self.chosen = [builder.load(builder.gep(ids, [place])) for place in self.places]
        rows = [builder.gep(composites, [builder.mul(r, dimensions)]) for r in self.chosen]
        self.sums = [[cgutils.alloca_once(builder, self.vector) for _ in range(vectors)] for _ in self.chosen]
        for row_sums in self.sums:
            for total in row_sums:
                builder.store(ir.Constant(self.vector, [0.0] * self.vector.count), total)
        with cgutils.for_range(builder, dimensions) as loop:
            x = self.lanes_of(panel, builder.mul(loop.index, self.width))
            for row, row_sums in zip(rows, self.sums, strict=True):
                coordinate = self._spread(row, loop.index)
                for v in range(vectors):
                    total = builder.call(self.fused, [x[v], coordinate, builder.load(row_sums[v])])
                    builder.store(total, row_sums[v])

    def place_of(self, start, v):
        return self.builder.add(start, _at(self.skipped + v * self.vector.count))

    def lanes_of(self, pointer, start, vector=None):
        """The vectors in use of a row of lanes that begins at ``start``."""
        builder, vector = self.builder, vector or self.vector
        return [_load(builder, builder.gep(pointer, [self.place_of(start, v)]), vector) for v in range(self.vectors)]

    def _spread(self, pointer, index):
        return _broadcast(self.builder, self.builder.load(self.builder.gep(pointer, [index])), self.vector)

    def scores(self, a, b, c, norms, listed):
        """a·|x|² − b·(x·D) + c, cluster by cluster: its index and its vectors."""
        builder = self.builder
        for r, row_sums in zip(self.places if listed else self.chosen, self.sums, strict=True):
            a_r, minus_b, c_r = self._spread(a, r), builder.fneg(self._spread(b, r)), self._spread(c, r)
            row = []
            for v in range(self.vectors):
                score = builder.call(self.fused, [a_r, norms[v], c_r])
                row.append(builder.call(self.fused, [minus_b, builder.load(row_sums[v]), score]))
            yield r, row


def _make_panel_scores(clusters: int, vectors: int):
    """A function for ``clusters`` composites and the last ``vectors`` vectors of the panel."""

    @intrinsic
    def panel_scores(typingctx, panel, composites, a, b, c, sq_norms, at, ids, first, scores):
        """scores[r, lane] = a_r·sq_norms[at + lane] − b_r·(x·D_r) + c_r for r = ids[first], ids[first+1], …"""
        integer = types.int64
        signature = types.void(panel, composites, a, b, c, sq_norms, integer, ids, integer, scores)

        def codegen(context, builder, signature, args):
            pairs = list(zip(signature.args, args, strict=True))
            products = _Products(context, builder, clusters, vectors, pairs[0], pairs[1], pairs[7], args[8])
            a, b, c, sq_norms, scores = (_data(context, builder, *pairs[i])[0] for i in (2, 3, 4, 5, 9))
            norms = products.lanes_of(sq_norms, args[6])
            for r, row in products.scores(a, b, c, norms, listed=False):
                for v, score in enumerate(row):
                    place = products.place_of(builder.mul(r, products.width), v)
                    _store(builder, score, builder.gep(scores, [place]))
            return context.get_dummy_value()

        return signature, codegen

    return panel_scores


def _make_listed_scores(vectors: int):
    """As above for a list of clusters: coefficients go by place in the list, scores by place behind ``first``."""

    @intrinsic
    def listed_scores(typingctx, panel, composites, a, b, c, sq_norms, ids, first, scores):
        """scores[j, lane] = a_l·sq_norms[lane] − b_l·(x·D_ids[l]) + c_l for l = first + j, j = 0 … CLUSTERS−1"""
        signature = types.void(panel, composites, a, b, c, sq_norms, ids, types.int64, scores)

        def codegen(context, builder, signature, args):
            pairs = list(zip(signature.args, args, strict=True))
            products = _Products(context, builder, CLUSTERS, vectors, pairs[0], pairs[1], pairs[6], args[7])
            a, b, c, sq_norms, scores = (_data(context, builder, *pairs[i])[0] for i in (2, 3, 4, 5, 8))
            norms = products.lanes_of(sq_norms, _at(0))
            for j, (_, row) in enumerate(products.scores(a, b, c, norms, listed=True)):
                for v, score in enumerate(row):
                    place = products.place_of(builder.mul(_at(j), products.width), v)
                    _store(builder, score, builder.gep(scores, [place]))
            return context.get_dummy_value()

        return signature, codegen

    return listed_scores


def _make_listed_best(vectors: int):
    """The same without keeping the scores: only the best, and its place."""

    @intrinsic
    def listed_best(typingctx, panel, composites, a, b, c, sq_norms, ids, first, best, place):
        """best[lane] and place[lane]: the least of what they were and of CLUSTERS scores from place ``first`` on."""
        signature = types.void(panel, composites, a, b, c, sq_norms, ids, types.int64, best, place)

        def codegen(context, builder, signature, args):
            pairs = list(zip(signature.args, args, strict=True))
            products = _Products(context, builder, CLUSTERS, vectors, pairs[0], pairs[1], pairs[6], args[7])
            a, b, c, sq_norms, best, place = (_data(context, builder, *pairs[i])[0] for i in (2, 3, 4, 5, 8, 9))
            whole = ir.VectorType(_INT32, products.vector.count)
            norms = products.lanes_of(sq_norms, _at(0))
            least, at = products.lanes_of(best, _at(0)), products.lanes_of(place, _at(0), whole)
            for index, row in products.scores(a, b, c, norms, listed=True):
                here = _broadcast(builder, builder.trunc(index, _INT32), whole)
                for v, score in enumerate(row):
                    below = builder.fcmp_ordered("<", score, least[v])
                    least[v] = builder.select(below, score, least[v])
                    at[v] = builder.select(below, here, at[v])
            for v in range(vectors):
                _store(builder, least[v], builder.gep(best, [products.place_of(_at(0), v)]))
                _store(builder, at[v], builder.gep(place, [products.place_of(_at(0), v)]))
            return context.get_dummy_value()

        return signature, codegen

    return listed_best


panel_scores_many = _make_panel_scores(CLUSTERS, VECTORS)
panel_scores_pair = _make_panel_scores(2, VECTORS)
panel_scores_pair_last2 = _make_panel_scores(2, 2)
panel_scores_pair_last1 = _make_panel_scores(2, 1)
listed_scores = _make_listed_scores(VECTORS)
listed_scores_last2 = _make_listed_scores(2)
listed_scores_last1 = _make_listed_scores(1)
listed_best = _make_listed_best(VECTORS)
listed_best_last2 = _make_listed_best(2)
listed_best_last1 = _make_listed_best(1)


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


@intrinsic
def count_within(typingctx, scores, stop, bounds, counts):
    """counts[lane] = number of r in 0 … stop−1 with scores[r, lane] <= bounds[lane]"""
    signature = types.void(scores, types.int64, bounds, counts)

    def codegen(context, builder, signature, args):
        vector = _vector_of(signature.args[0].dtype)
        lanes, whole = vector.count, ir.VectorType(_INT32, vector.count)
        scores, width = _data(context, builder, signature.args[0], args[0])
        bounds, _ = _data(context, builder, signature.args[2], args[2])
        counts, _ = _data(context, builder, signature.args[3], args[3])
        limits = [_load(builder, builder.gep(bounds, [_at(v * lanes)]), vector) for v in range(VECTORS)]
        totals = [cgutils.alloca_once(builder, whole) for _ in range(VECTORS)]
        for total in totals:
            builder.store(ir.Constant(whole, [0] * lanes), total)
        with cgutils.for_range(builder, args[1]) as loop:
            for v in range(VECTORS):
                place = builder.add(builder.mul(loop.index, width), _at(v * lanes))
                score = _load(builder, builder.gep(scores, [place]), vector)
                within = builder.zext(builder.fcmp_ordered("<=", score, limits[v]), whole)
                builder.store(builder.add(builder.load(totals[v]), within), totals[v])
        for v in range(VECTORS):
            _store(builder, builder.load(totals[v]), builder.gep(counts, [_at(v * lanes)]))
        return context.get_dummy_value()

    return signature, codegen


# ---------------------------------------------------------------------------------------- packing a panel
@intrinsic
def _transpose_square(typingctx, rows, members, first, column, panel, lane):
    """panel[column + t, lane + i] = rows[members[first + i], column + t] for a square of one vector each way."""
    signature = types.void(rows, members, types.int64, types.int64, panel, types.int64)

    def codegen(context, builder, signature, args):
        vector = _vector_of(signature.args[0].dtype)
        size = vector.count
        source, dimensions = _data(context, builder, signature.args[0], args[0])
        members, _ = _data(context, builder, signature.args[1], args[1])
        target, width = _data(context, builder, signature.args[4], args[4])
        _, _, first, column, _, lane = args
        pieces = []
        for i in range(size):
            row = builder.load(builder.gep(members, [builder.add(first, _at(i))]))
            place = builder.add(builder.mul(row, dimensions), column)
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
    members,  # IN   which of the rows; readable a whole panel from ``first`` on
    first,  # IN   the panel's first place in members
    vectors,  # IN   vectors to fill, the last ones of the panel
    panel,  # OUT  (d, width)
):
    """Transpose some rows, square by square; the last square of a row overlaps the one before it."""
    d, width = panel.shape
    lanes = width // VECTORS
    skipped = width - vectors * lanes
    if d < lanes:
        for lane in range(skipped, width):
            for t in range(d):
                panel[t, lane] = rows[members[first + lane - skipped], t]
        return
    for lane in range(skipped, width, lanes):
        at = first + lane - skipped
        for column in range(0, d - lanes + 1, lanes):
            _transpose_square(rows, members, at, column, panel, lane)
        if d % lanes:
            _transpose_square(rows, members, at, d - lanes, panel, lane)
