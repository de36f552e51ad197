"""Panels: groups of samples that are scored against several composites at once, at the speed of a matrix product.

A panel is transposed: ``panel[t, lane]`` is coordinate ``t`` of sample ``lane``. It is ``VECTORS`` hardware vectors
wide, so that one composite coordinate, broadcast, serves them all:

    registers:   CLUSTERS × VECTORS accumulators + VECTORS panel vectors + 1 broadcast coordinate

These loops are written with explicit vectors because they were measured to be worth it (``benchmarks/exact_pass.py``
prints both): the affine scores of a panel, which must stay in registers to reach the speed of a matrix product, the
minimum of a tile of such scores (or of those of a list, which need not be kept), how many are below a bound, and the
transposition that makes a panel. Their plain twin is the ``columns`` kernel of ``method/engines/kernels/direct.py``: a
dot product is one chain of fused multiply-adds over the dimensions, in order, in both, so both give the same bits.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ksums.compute.jit import helper
from ksums.compute.vectors import (
    CLUSTERS,
    INT32,
    INT64,
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


# ------------------------------------------------------------------------------------ scores of a panel
class _Products:
    """The products x·D_r of ``clusters`` composites with the last ``vectors`` vectors of a panel, as code to emit."""

    def __init__(self, context, builder, clusters, vectors, panel, composites, ids, first):
        """``panel``, ``composites``, ``ids`` are pairs of type and value; clusters are those from ids[first] on."""
        self.builder, self.vectors = builder, vectors
        self.vector = vector_of(panel[0].dtype)
        self.skipped = (VECTORS - vectors) * self.vector.count
        self.fma = fused(builder, self.vector)
        panel, self.width = data_of(context, builder, *panel)
        composites, dimensions = data_of(context, builder, *composites)
        ids, _ = data_of(context, builder, *ids)
        self.positions = [builder.add(first, constant(j)) for j in range(clusters)]
        self.chosen = [builder.load(builder.gep(ids, [position])) for position in self.positions]
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
                    total = builder.call(self.fma, [x[v], coordinate, builder.load(row_sums[v])])
                    builder.store(total, row_sums[v])

    def offset_of(self, start, v):
        return self.builder.add(start, constant(self.skipped + v * self.vector.count))

    def lanes_of(self, pointer, start, vector=None):
        """The vectors in use of a row of lanes that begins at ``start``."""
        builder, vector = self.builder, vector or self.vector
        return [
            load_vector(builder, builder.gep(pointer, [self.offset_of(start, v)]), vector) for v in range(self.vectors)
        ]

    def _spread(self, pointer, index):
        return broadcast(self.builder, self.builder.load(self.builder.gep(pointer, [index])), self.vector)

    def scores(self, a, b, c, norms, listed):
        """a·|x|² − b·(x·D) + c, cluster by cluster: its index and its vectors."""
        builder = self.builder
        for r, row_sums in zip(self.positions if listed else self.chosen, self.sums, strict=True):
            a_r, minus_b, c_r = self._spread(a, r), builder.fneg(self._spread(b, r)), self._spread(c, r)
            row = []
            for v in range(self.vectors):
                score = builder.call(self.fma, [a_r, norms[v], c_r])
                row.append(builder.call(self.fma, [minus_b, builder.load(row_sums[v]), score]))
            yield r, row


def _make_panel_scores(clusters: int, vectors: int):
    """A scoring function for ``clusters`` composites and the last ``vectors`` vectors of the panel."""

    @intrinsic
    def panel_scores(typingctx, panel, composites, a, b, c, sq_norms, at, ids, first, scores):
        """scores[r, lane] = a_r·sq_norms[at + lane] − b_r·(x·D_r) + c_r for r = ids[first], ids[first+1], …"""
        integer = types.int64
        signature = types.void(panel, composites, a, b, c, sq_norms, integer, ids, integer, scores)

        def codegen(context, builder, signature, args):
            pairs = list(zip(signature.args, args, strict=True))
            products = _Products(context, builder, clusters, vectors, pairs[0], pairs[1], pairs[7], args[8])
            a, b, c, sq_norms, scores = (data_of(context, builder, *pairs[i])[0] for i in (2, 3, 4, 5, 9))
            norms = products.lanes_of(sq_norms, args[6])
            for r, row in products.scores(a, b, c, norms, listed=False):
                for v, score in enumerate(row):
                    offset = products.offset_of(builder.mul(r, products.width), v)
                    store_vector(builder, score, builder.gep(scores, [offset]))
            return context.get_dummy_value()

        return signature, codegen

    return panel_scores


def _make_listed_scores(vectors: int):
    """The same for a list of clusters: coefficients are indexed by position in the list, scores from ``first``."""

    @intrinsic
    def listed_scores(typingctx, panel, composites, a, b, c, sq_norms, ids, first, scores):
        """scores[j, lane] = a_l·sq_norms[lane] − b_l·(x·D_ids[l]) + c_l for l = first + j, j = 0 … CLUSTERS−1"""
        signature = types.void(panel, composites, a, b, c, sq_norms, ids, types.int64, scores)

        def codegen(context, builder, signature, args):
            pairs = list(zip(signature.args, args, strict=True))
            products = _Products(context, builder, CLUSTERS, vectors, pairs[0], pairs[1], pairs[6], args[7])
            a, b, c, sq_norms, scores = (data_of(context, builder, *pairs[i])[0] for i in (2, 3, 4, 5, 8))
            norms = products.lanes_of(sq_norms, constant(0))
            for j, (_, row) in enumerate(products.scores(a, b, c, norms, listed=True)):
                for v, score in enumerate(row):
                    offset = products.offset_of(builder.mul(constant(j), products.width), v)
                    store_vector(builder, score, builder.gep(scores, [offset]))
            return context.get_dummy_value()

        return signature, codegen

    return listed_scores


def _make_listed_best(vectors: int):
    """The same without keeping the scores: only the best one and its position in the list."""

    @intrinsic
    def listed_best(typingctx, panel, composites, a, b, c, sq_norms, ids, first, best, position):
        """best[lane], position[lane]: the least of what they were and of CLUSTERS scores from position ``first``."""
        signature = types.void(panel, composites, a, b, c, sq_norms, ids, types.int64, best, position)

        def codegen(context, builder, signature, args):
            pairs = list(zip(signature.args, args, strict=True))
            products = _Products(context, builder, CLUSTERS, vectors, pairs[0], pairs[1], pairs[6], args[7])
            a, b, c, sq_norms, best, position = (data_of(context, builder, *pairs[i])[0] for i in (2, 3, 4, 5, 8, 9))
            whole = ir.VectorType(INT32, products.vector.count)
            norms = products.lanes_of(sq_norms, constant(0))
            least, at = products.lanes_of(best, constant(0)), products.lanes_of(position, constant(0), whole)
            for index, row in products.scores(a, b, c, norms, listed=True):
                here = broadcast(builder, builder.trunc(index, INT32), whole)
                for v, score in enumerate(row):
                    below = builder.fcmp_ordered("<", score, least[v])
                    least[v] = builder.select(below, score, least[v])
                    at[v] = builder.select(below, here, at[v])
            for v in range(vectors):
                store_vector(builder, least[v], builder.gep(best, [products.offset_of(constant(0), v)]))
                store_vector(builder, at[v], builder.gep(position, [products.offset_of(constant(0), v)]))
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
            vector = vector_of(signature.args[0].dtype)
            lanes, skipped = vector.count, (VECTORS - vectors) * vector.count
            scores, width = data_of(context, builder, signature.args[0], args[0])
            minima, _ = data_of(context, builder, signature.args[3], args[3])
            _, first, stop, _, g = args
            least = [cgutils.alloca_once(builder, vector) for _ in range(vectors)]
            for pointer in least:
                builder.store(ir.Constant(vector, [float("inf")] * lanes), pointer)
            with cgutils.for_range_slice(builder, first, stop, constant(1), INT64) as (r, _):
                for v in range(vectors):
                    offset = builder.add(builder.mul(r, width), constant(skipped + v * lanes))
                    score, known = load_vector(builder, builder.gep(scores, [offset]), vector), builder.load(least[v])
                    below = builder.fcmp_ordered("<", score, known)
                    builder.store(builder.select(below, score, known), least[v])
            for v in range(vectors):
                offset = builder.add(builder.mul(g, width), constant(skipped + v * lanes))
                store_vector(builder, builder.load(least[v]), builder.gep(minima, [offset]))
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
        vector = vector_of(signature.args[0].dtype)
        lanes, whole = vector.count, ir.VectorType(INT32, vector.count)
        scores, width = data_of(context, builder, signature.args[0], args[0])
        bounds, _ = data_of(context, builder, signature.args[2], args[2])
        counts, _ = data_of(context, builder, signature.args[3], args[3])
        limits = [load_vector(builder, builder.gep(bounds, [constant(v * lanes)]), vector) for v in range(VECTORS)]
        totals = [cgutils.alloca_once(builder, whole) for _ in range(VECTORS)]
        for total in totals:
            builder.store(ir.Constant(whole, [0] * lanes), total)
        with cgutils.for_range(builder, args[1]) as loop:
            for v in range(VECTORS):
                offset = builder.add(builder.mul(loop.index, width), constant(v * lanes))
                score = load_vector(builder, builder.gep(scores, [offset]), vector)
                within = builder.zext(builder.fcmp_ordered("<=", score, limits[v]), whole)
                builder.store(builder.add(builder.load(totals[v]), within), totals[v])
        for v in range(VECTORS):
            store_vector(builder, builder.load(totals[v]), builder.gep(counts, [constant(v * lanes)]))
        return context.get_dummy_value()

    return signature, codegen


# ---------------------------------------------------------------------------------------- packing a panel
@intrinsic
def _transpose_square(typingctx, rows, members, first, column, panel, lane):
    """panel[column + t, lane + i] = rows[members[first + i], column + t] for a square of one vector each way."""
    signature = types.void(rows, members, types.int64, types.int64, panel, types.int64)

    def codegen(context, builder, signature, args):
        vector = vector_of(signature.args[0].dtype)
        size = vector.count
        source, dimensions = data_of(context, builder, signature.args[0], args[0])
        members, _ = data_of(context, builder, signature.args[1], args[1])
        target, width = data_of(context, builder, signature.args[4], args[4])
        _, _, first, column, _, lane = args
        pieces = []
        for i in range(size):
            row = builder.load(builder.gep(members, [builder.add(first, constant(i))]))
            offset = builder.add(builder.mul(row, dimensions), column)
            pieces.append(load_vector(builder, builder.gep(source, [offset]), vector))
        step = size // 2
        while step:  # exchange the off-diagonal quarters, then the same inside each quarter
            low = [c if not c & step else size + c - step for c in range(size)]
            high = [c + step if not c & step else size + c for c in range(size)]
            masks = [ir.Constant(ir.VectorType(INT32, size), m) for m in (low, high)]
            for i in range(size):
                if not i & step:
                    upper, lower = pieces[i], pieces[i + step]
                    pieces[i] = builder.shuffle_vector(upper, lower, masks[0])
                    pieces[i + step] = builder.shuffle_vector(upper, lower, masks[1])
            step //= 2
        for t in range(size):
            offset = builder.add(builder.mul(builder.add(column, constant(t)), width), lane)
            store_vector(builder, pieces[t], builder.gep(target, [offset]))
        return context.get_dummy_value()

    return signature, codegen


@helper
def pack_panel(
    rows,  # IN   (n, d)
    members,  # IN   which of the rows; readable a whole panel from ``first`` on
    first,  # IN   the panel's first position in members
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


# -------------------------------------------------------------------------------------- the best of a panel
@helper
def best_cluster(
    scores,  # IN  (k, width)
    minima,  # IN  (tiles, width)  least score of each tile, a run of ``tile`` clusters
    tile,  # IN
    lane,  # IN
    bound,  # IN  the cost to beat
):
    """Lowest-numbered cluster of least score, or −1 if none is below the bound; takes about 2√k steps."""
    tiles = minima.shape[0]
    best = minima[0, lane]
    for g in range(1, tiles):
        best = min(best, minima[g, lane])
    if not best < bound:
        return np.int64(-1)
    g = np.int64(0)
    while minima[g, lane] != best:
        g += 1
    r = g * tile
    while scores[r, lane] != best:
        r += 1
    return r


@helper
def score_listed(
    vectors,  # IN   vectors of the panel that are in use, the last ones
    panel,  # IN   (d, width)
    composites,  # IN   (k, d)
    coefficients,  # IN   (3, length)  by position in the list
    sq_norms,  # IN   (width,)
    ids,  # IN   (length,)  clusters
    first,  # IN   position of the first one to score
    scores,  # OUT  (CLUSTERS, width)
):
    """Affine scores of CLUSTERS positions of a list for the samples of a panel."""
    a, b, c = coefficients[0], coefficients[1], coefficients[2]
    if vectors == 3:
        listed_scores(panel, composites, a, b, c, sq_norms, ids, first, scores)
    elif vectors == 2:
        listed_scores_last2(panel, composites, a, b, c, sq_norms, ids, first, scores)
    else:
        listed_scores_last1(panel, composites, a, b, c, sq_norms, ids, first, scores)
