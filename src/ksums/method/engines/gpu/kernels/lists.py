"""Clusters against clusters: the nearest ones of each, from which lists are made."""

from __future__ import annotations

import triton
import triton.language as tl

FAR = tl.constexpr(3e38)


@triton.jit
def _product_of_centres(clusters, r, v, inside, other, total, padded, BM: tl.constexpr, BN: tl.constexpr,
                        BK: tl.constexpr, SPLIT: tl.constexpr):  # fmt: skip
    """4 c·c' of the clusters r and v; ``total`` clusters further on lie the rests of centres."""
    r64 = r.to(tl.int64)[:, None]
    v64 = v.to(tl.int64)[:, None]
    P = tl.zeros((BM, BN), tl.float32)
    for c0 in range(0, padded, BK):
        t = c0 + tl.arange(0, BK)[None, :]
        x = tl.load(clusters + r64 * padded + t, mask=inside[:, None] & (t < padded), other=0.0)
        y = tl.load(clusters + v64 * padded + t, mask=other[:, None] & (t < padded), other=0.0)
        P = tl.dot(x, tl.trans(y), P)
        if SPLIT:
            rest = tl.load(clusters + (total + r64) * padded + t, mask=inside[:, None] & (t < padded), other=0.0)
            P = tl.dot(rest, tl.trans(y), P)
            rest = tl.load(clusters + (total + v64) * padded + t, mask=other[:, None] & (t < padded), other=0.0)
            P = tl.dot(x, tl.trans(rest), P)
    return P


@triton.jit(do_not_specialize=["first"])
def nearest_in_bins(
    clusters, squares, least, which, first, count, k, bins, padded,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    """For the clusters first … first + count − 1 the nearest other one in each bin: b, b + bins, b + 2·bins …"""
    at = tl.program_id(0) * BM + tl.arange(0, BM)
    live = at < count
    r = first + at
    b = tl.program_id(1) * BN + tl.arange(0, BN)
    own = tl.load(squares + r, mask=live, other=0.0)
    best = tl.full((BM, BN), FAR, tl.float32)
    number = tl.zeros((BM, BN), tl.int32)
    for begin in range(0, k, bins):
        v = begin + b
        there = (b < bins) & (v < k)
        P = _product_of_centres(clusters, r, v, live, there, k, padded, BM, BN, BK, SPLIT)
        s = own[:, None] + tl.load(squares + v, mask=there, other=FAR)[None, :] - 0.5 * P
        s = tl.where(v[None, :] == r[:, None], FAR, s)
        better = s < best
        best = tl.where(better, s, best)
        number = tl.where(better, v[None, :], number)
    to = at.to(tl.int64)[:, None] * bins + b[None, :]
    tl.store(least + to, best, mask=live[:, None] & (b < bins)[None, :])
    tl.store(which + to, number, mask=live[:, None] & (b < bins)[None, :])
