"""Rows against all clusters on the matrix units: no table of n × k costs is ever written."""

from __future__ import annotations

import triton
import triton.language as tl

from ksums.method.engines.gpu.kernels.rows import prepared, scale_of

FAR = tl.constexpr(3e38)
ABOVE = tl.constexpr(2.0)  # added to costs of the kind LENGTH, so that none is negative


@triton.jit
def _halves(X, stride, row, live, t, d, mean, scale):
    """Rows as a sum of two numbers of 11 bits."""
    x = prepared(X, stride, row, live, t, d, mean, scale, False)
    high = x.to(tl.float16)
    return high, (x - high.to(tl.float32)).to(tl.float16)


@triton.jit
def _products(
    X, stride, row, live, mean, scale, low, i64, high, rest, clusters, v, k, d, aligned,
    padded: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    """−2 x·c of the rows of a tile with the clusters v."""
    inside = (v < k)[:, None]
    v64 = v.to(tl.int64)[:, None]
    if padded <= BK:
        t = tl.arange(0, padded)
        y = tl.load(clusters + v64 * padded + t[None, :], mask=inside, other=0.0)
        P = tl.dot(high, tl.trans(y))
        if SPLIT:
            P = tl.dot(rest, tl.trans(y), P)
            y = tl.load(clusters + (k + v64) * padded + t[None, :], mask=inside, other=0.0)
            P = tl.dot(high, tl.trans(y), P)
    else:
        P = tl.zeros((BM, BN), tl.float32)
        for c0 in range(0, padded, BK):
            t = c0 + tl.arange(0, BK)
            y = tl.load(clusters + v64 * padded + t[None, :], mask=inside, other=0.0)
            if SPLIT:
                one, other = _halves(X, stride, row, live, t, d, mean, scale)
                P = tl.dot(one, tl.trans(y), P)
                P = tl.dot(other, tl.trans(y), P)
                y = tl.load(clusters + (k + v64) * padded + t[None, :], mask=inside, other=0.0)
                P = tl.dot(one, tl.trans(y), P)
            else:
                part = tl.load(low + i64[:, None] * aligned + t[None, :])
                P = tl.dot(part, tl.trans(y), P)
    return P


@triton.jit
def _costs(P, xi, join, base, v, k, LENGTHS: tl.constexpr):
    """The cost of joining the clusters v, for a row of weight 1."""
    inside = v < k
    a = tl.load(join + v, mask=inside, other=0.0)[None, :]
    if LENGTHS:
        s = ABOVE - (a - P) / (1.0 + tl.sqrt(tl.maximum(1.0 + a * a - a * P, 0.0)))
        return tl.where(inside[None, :], s, FAR)
    b = tl.load(base + v, mask=inside, other=FAR)[None, :]
    return (xi[:, None] + P) * a + b


@triton.jit(do_not_specialize=["first", "m"])
def propose(
    X, stride, places, mean, scales, low, low_squares, order, labels, clusters, join, base, stay, rows, targets, count,
    least, first, m, k, d, aligned, tolerance,
    padded: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BITS: tl.constexpr,
    BY_ROW: tl.constexpr, LENGTHS: tl.constexpr, SPLIT: tl.constexpr, START: tl.constexpr,
):  # fmt: skip
    """The rows order[first : first + m], sorted by cluster, each against all clusters but its own; those whose least
    cost is below what it costs to stay, or nearly, become candidates.

    START: against all clusters; ``labels`` becomes the cluster of least cost, ``least`` that cost. The lowest BITS bits
    of a cost are replaced by the number of its tile, so that one minimum finds both: ties go to the first tile.
    """
    at = tl.program_id(0) * BM + tl.arange(0, BM)
    live = at < m
    i = tl.load(order + first + at, mask=live, other=0)
    i64 = i.to(tl.int64)
    row = tl.load(places + i, mask=live, other=0)
    scale = scale_of(scales, i, live, BY_ROW)
    xi = tl.load(low_squares + i, mask=live, other=0.0)
    high = 0
    rest = 0
    if padded <= BK:
        t = tl.arange(0, padded)
        if SPLIT:
            high, rest = _halves(X, stride, row, live, t, d, mean, scale)
        else:
            high = tl.load(low + i64[:, None] * aligned + t[None, :], mask=(t < aligned)[None, :], other=0.0)
    col = tl.arange(0, BN)
    tiles = tl.cdiv(k, BN)
    begin = 0
    span = 0
    w = tl.full((BM,), -1, tl.int32)
    if not START:
        w = tl.load(labels + i, mask=live, other=-1)
        begin = tl.min(tl.where(live, w, 0x7FFFFFFF)) // BN
        span = tl.max(w) // BN + 1 - begin
    own = tl.zeros((BM,), tl.float32)
    packed = tl.full((BM, BN), 0x7F000000, tl.int32)
    for j in range(tiles - span):  # tiles in which no row of this program has its cluster
        tile = tl.where(j >= begin, j + span, j)
        v = tile * BN + col
        P = _products(
            X, stride, row, live, mean, scale, low, i64, high, rest, clusters, v, k, d, aligned,
            padded, BM, BN, BK, SPLIT,
        )  # fmt: skip
        s = _costs(P, xi, join, base, v, k, LENGTHS)
        packed = tl.minimum(packed, (s.to(tl.int32, bitcast=True) & (-1 << BITS)) | tile)
    for tile in range(begin, begin + span):
        v = tile * BN + col
        P = _products(
            X, stride, row, live, mean, scale, low, i64, high, rest, clusters, v, k, d, aligned,
            padded, BM, BN, BK, SPLIT,
        )  # fmt: skip
        mine = v[None, :] == w[:, None]
        own += tl.sum(tl.where(mine, P, 0.0), 1)
        s = tl.where(mine, FAR, _costs(P, xi, join, base, v, k, LENGTHS))
        packed = tl.minimum(packed, (s.to(tl.int32, bitcast=True) & (-1 << BITS)) | tile)
    costs = (packed & (-1 << BITS)).to(tl.float32, bitcast=True)
    best = tl.min(costs, 1)
    number = (packed & ((1 << BITS) - 1)) * BN + col[None, :]
    target = tl.min(tl.where(costs == best[:, None], number, 0x7FFFFFFF), 1)
    if START:
        tl.store(labels + i, target, mask=live)
        tl.store(least + i, best, mask=live)
    else:
        a = tl.load(stay + w, mask=live, other=1.0)
        if LENGTHS:
            limit = ABOVE + (a + own) / (1.0 + tl.sqrt(tl.maximum(1.0 + a * a + a * own, 0.0))) + tolerance
        else:
            f = tl.load(join + w, mask=live, other=1.0)
            limit = (xi + own + tl.load(base + w, mask=live, other=0.0) / f) * a * (1.0 + tolerance)
        candidate = live & (best < limit)
        flags = candidate.to(tl.int32)
        place = tl.cumsum(flags, 0) - 1 + tl.atomic_add(count, tl.sum(flags), sem="relaxed")
        tl.store(rows + place, i, mask=candidate)
        tl.store(targets + place, target, mask=candidate)
