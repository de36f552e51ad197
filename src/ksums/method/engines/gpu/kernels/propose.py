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
def _dot(x, y, P, ACROSS: tl.constexpr):
    """Products of rows with clusters; ACROSS: of clusters with rows. Few rows fill the matrix units better so."""
    if ACROSS:
        P = tl.dot(y, tl.trans(x), P)
    else:
        P = tl.dot(x, tl.trans(y), P)
    return P


@triton.jit
def _products(
    X, stride, row, live, mean, scale, low, l64, high, rest, clusters, v, inside, total, d, aligned,
    padded: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr,
    ACROSS: tl.constexpr,
):  # fmt: skip
    """−2 x·c of the rows of a tile with the clusters v; the rests of centres lie ``total`` clusters further on."""
    some = inside[:, None]
    v64 = v.to(tl.int64)[:, None]
    if padded <= BK:
        t = tl.arange(0, padded)
        y = tl.load(clusters + v64 * padded + t[None, :], mask=some, other=0.0)
        P = _dot(high, y, None, ACROSS)
        if SPLIT:
            P = _dot(rest, y, P, ACROSS)
            y = tl.load(clusters + (total + v64) * padded + t[None, :], mask=some, other=0.0)
            P = _dot(high, y, P, ACROSS)
    else:
        P = tl.zeros((BN, BM) if ACROSS else (BM, BN), tl.float32)
        for c0 in range(0, padded, BK):
            t = c0 + tl.arange(0, BK)
            y = tl.load(clusters + v64 * padded + t[None, :], mask=some, other=0.0)
            if SPLIT:
                one, other = _halves(X, stride, row, live, t, d, mean, scale)
                P = _dot(one, y, P, ACROSS)
                P = _dot(other, y, P, ACROSS)
                y = tl.load(clusters + (total + v64) * padded + t[None, :], mask=some, other=0.0)
                P = _dot(one, y, P, ACROSS)
            else:
                P = _dot(tl.load(low + l64[:, None] * aligned + t[None, :]), y, P, ACROSS)
    return P


@triton.jit
def _of_clusters(values, ACROSS: tl.constexpr):
    """Values of clusters beside products."""
    return tl.expand_dims(values, 1 if ACROSS else 0)


@triton.jit
def _of_rows(values, ACROSS: tl.constexpr):
    """Values of rows beside products."""
    return tl.expand_dims(values, 0 if ACROSS else 1)


@triton.jit
def _costs(P, xi, join, base, v, inside, LENGTHS: tl.constexpr, ACROSS: tl.constexpr):
    """The cost of joining the clusters v, for a row of weight 1."""
    a = _of_clusters(tl.load(join + v, mask=inside, other=0.0), ACROSS)
    if LENGTHS:
        s = ABOVE - (a - P) / (1.0 + tl.sqrt(tl.maximum(1.0 + a * a - a * P, 0.0)))
        return tl.where(_of_clusters(inside, ACROSS), s, FAR)
    b = _of_clusters(tl.load(base + v, mask=inside, other=FAR), ACROSS)
    return (_of_rows(xi, ACROSS) + P) * a + b


@triton.jit
def _limit(own, xi, join, base, stay, w, live, tolerance, LENGTHS: tl.constexpr):
    """What rows pay for staying, and a little more; ``own`` are their products with the centres of their clusters."""
    a = tl.load(stay + w, mask=live, other=1.0)
    if LENGTHS:
        return ABOVE + (a + own) / (1.0 + tl.sqrt(tl.maximum(1.0 + a * a + a * own, 0.0))) + tolerance
    f = tl.load(join + w, mask=live, other=1.0)
    return (xi + own + tl.load(base + w, mask=live, other=0.0) / f) * a * (1.0 + tolerance)


@triton.jit
def _list_candidates(best, limit, live, i, target, rows, targets, count):
    """Rows whose least cost is below the limit become candidates."""
    candidate = live & (best < limit)
    flags = candidate.to(tl.int32)
    place = tl.cumsum(flags, 0) - 1 + tl.atomic_add(count, tl.sum(flags), sem="relaxed")
    tl.store(rows + place, i, mask=candidate)
    tl.store(targets + place, target, mask=candidate)


@triton.jit(do_not_specialize=["first", "m"])
def propose(
    X, stride, places, mean, scales, low, low_squares, order, labels, clusters, join, base, stay, rows, targets, count,
    least, first, m, k, total, d, aligned, tolerance,
    padded: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BITS: tl.constexpr,
    BY_ROW: tl.constexpr, LENGTHS: tl.constexpr, SPLIT: tl.constexpr, START: tl.constexpr, IN_ORDER: tl.constexpr,
):  # fmt: skip
    """The rows order[first : first + m], sorted by cluster, each against all clusters but its own; those whose least
    cost is below what it costs to stay, or nearly, become candidates.

    Problem by problem, of which each has m rows and k clusters. START: against all clusters; ``labels``
    becomes the cluster of least cost, ``least`` that cost. IN_ORDER: ``low`` holds these rows only, in this order. The
    lowest BITS bits of a cost are replaced by the number of its tile, so that one minimum finds both: ties go to the
    first tile.
    """
    programs = tl.cdiv(m, BM)  # for each problem
    problem = tl.program_id(0) // programs
    base_cluster = problem * k
    at = tl.program_id(0) % programs * BM + tl.arange(0, BM)
    live = at < m
    i = tl.load(order + first + problem * m + at, mask=live, other=0)
    l64 = (tl.where(live, at, 0) if IN_ORDER else i).to(tl.int64)
    row = tl.load(places + i, mask=live, other=0)
    scale = scale_of(scales, i, live, BY_ROW)
    xi = tl.load(low_squares + i, mask=live, other=0.0)
    clusters += base_cluster.to(tl.int64) * padded
    join += base_cluster
    base += base_cluster
    stay += base_cluster
    high = 0
    rest = 0
    if padded <= BK:
        t = tl.arange(0, padded)
        if SPLIT:
            high, rest = _halves(X, stride, row, live, t, d, mean, scale)
        else:
            high = tl.load(low + l64[:, None] * aligned + t[None, :], mask=(t < aligned)[None, :], other=0.0)
    col = tl.arange(0, BN)
    tiles = tl.cdiv(k, BN)
    begin = 0
    span = 0
    w = tl.full((BM,), -1, tl.int32)
    if not START:
        w = tl.load(labels + i, mask=live, other=base_cluster - 1) - base_cluster
        begin = tl.min(tl.where(live, w, 0x7FFFFFFF)) // BN
        span = tl.max(w) // BN + 1 - begin
    own = tl.zeros((BM,), tl.float32)
    packed = tl.full((BM, BN), 0x7F000000, tl.int32)
    for j in range(tiles - span):  # tiles in which no row of this program has its cluster
        tile = tl.where(j >= begin, j + span, j)
        v = tile * BN + col
        P = _products(
            X, stride, row, live, mean, scale, low, l64, high, rest, clusters, v, v < k, total, d, aligned,
            padded, BM, BN, BK, SPLIT, False,
        )  # fmt: skip
        s = _costs(P, xi, join, base, v, v < k, LENGTHS, False)
        packed = tl.minimum(packed, (s.to(tl.int32, bitcast=True) & (-1 << BITS)) | tile)
    for tile in range(begin, begin + span):
        v = tile * BN + col
        P = _products(
            X, stride, row, live, mean, scale, low, l64, high, rest, clusters, v, v < k, total, d, aligned,
            padded, BM, BN, BK, SPLIT, False,
        )  # fmt: skip
        mine = v[None, :] == w[:, None]
        own += tl.sum(tl.where(mine, P, 0.0), 1)
        s = tl.where(mine, FAR, _costs(P, xi, join, base, v, v < k, LENGTHS, False))
        packed = tl.minimum(packed, (s.to(tl.int32, bitcast=True) & (-1 << BITS)) | tile)
    costs = (packed & (-1 << BITS)).to(tl.float32, bitcast=True)
    best = tl.min(costs, 1)
    number = (packed & ((1 << BITS) - 1)) * BN + col[None, :]
    target = tl.min(tl.where(costs == best[:, None], number, 0x7FFFFFFF), 1)
    if START:
        tl.store(labels + i, base_cluster + target, mask=live)
        tl.store(least + i, best, mask=live)
    else:
        limit = _limit(own, xi, join, base, stay, w, live, tolerance, LENGTHS)
        _list_candidates(best, limit, live, i, base_cluster + target, rows, targets, count)


@triton.jit(do_not_specialize=["first", "begin", "end"])
def propose_from_lists(
    X, stride, places, mean, scales, low, low_squares, order, groups, entries, ends, labels, clusters, join, base, stay,
    rows, targets, count, least, first, begin, end, total, d, aligned, tolerance,
    padded: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BY_ROW: tl.constexpr,
    LENGTHS: tl.constexpr, SPLIT: tl.constexpr, START: tl.constexpr, IN_ORDER: tl.constexpr,
):  # fmt: skip
    """The rows of group ``first`` + program against the clusters of its list; programs of a second axis share them.

    Of these, the rows order[begin : end]. IN_ORDER: ``low`` holds only these, in this order. START: the groups are any
    groups; ``labels`` becomes the cluster of least cost, ``least`` that cost. Otherwise a group is a cluster, which is
    in its list. Ties go to the lowest cluster.
    """
    g = first + tl.program_id(0)
    skipped = begin
    begin = tl.maximum(begin, tl.load(groups + g))
    end = tl.minimum(end, tl.load(groups + g + 1))
    entry = tl.load(ends + g)
    entries_end = tl.load(ends + g + 1)
    col = tl.arange(0, BN)
    for at0 in range(begin + tl.program_id(1) * BM, end, BM * tl.num_programs(1)):
        at = at0 + tl.arange(0, BM)
        live = at < end
        i = tl.load(order + at, mask=live, other=0)
        l64 = (tl.where(live, at - skipped, 0) if IN_ORDER else i).to(tl.int64)
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
                high = tl.load(low + l64[:, None] * aligned + t[None, :], mask=(t < aligned)[None, :], other=0.0)
        own = tl.zeros((BM,), tl.float32)
        costs = tl.full((BN, BM), FAR, tl.float32)
        numbers = tl.full((BN, BM), 0x7FFFFFFF, tl.int32)
        for j0 in range(entry, entries_end, BN):
            inside = j0 + col < entries_end
            v = tl.load(entries + j0 + col, mask=inside, other=0)
            P = _products(
                X, stride, row, live, mean, scale, low, l64, high, rest, clusters, v, inside, total, d, aligned,
                padded, BM, BN, BK, SPLIT, True,
            )  # fmt: skip
            s = _costs(P, xi, join, base, v, inside, LENGTHS, True)
            if not START:
                mine = (v == g) & inside
                own += tl.sum(tl.where(mine[:, None], P, 0.0), 0)
                s = tl.where(mine[:, None], FAR, s)
            better = (s < costs) | ((s == costs) & (v[:, None] < numbers))
            costs = tl.where(better, s, costs)
            numbers = tl.where(better, v[:, None], numbers)
        best = tl.min(costs, 0)
        target = tl.min(tl.where(costs == best[None, :], numbers, 0x7FFFFFFF), 0)
        if START:
            tl.store(labels + i, target, mask=live)
            tl.store(least + i, best, mask=live)
        else:
            limit = _limit(own, xi, join, base, stay, g + i * 0, live, tolerance, LENGTHS)
            _list_candidates(best, limit, live, i, target, rows, targets, count)
