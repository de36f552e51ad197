"""Candidates are verified in float32, then moved; sums follow in whole numbers, so the order of moves is of no account.

Two ways to agree on moves that are made at the same time. *Together*: everybody who gains moves, but the last row of a
cluster, if all want to leave: the one that gains least stays. *Apart*: a cluster takes part in one move at most, that
of the largest gain, so gains add up and, at p = 1, the objective cannot rise.
"""

from __future__ import annotations

import triton
import triton.language as tl

from ksums.method.engines.gpu.kernels.rows import prepared, scale_of, weight_of

ROUNDING = tl.constexpr(1e-6)


@triton.jit
def _claim(gain, i, APART: tl.constexpr):
    """A number by which moves compete: the least one wins. Ties go to the first row."""
    bits = gain.to(tl.int32, bitcast=True).to(tl.int64)
    if APART:
        bits = 0x7F800000 - bits
    return (bits << 32) | i.to(tl.int64)


@triton.jit
def _power(n, other, relaxation, per_size):
    """(n / other)^p with p at most per_size·n, and at least 1."""
    p = tl.minimum(relaxation, tl.maximum(1.0, n * per_size))
    return tl.exp(p * tl.log(n / other))


@triton.jit
def verify(
    X, stride, places, mean, scales, weights, labels, counts, vectors, join, stay, sizes, scatter, relaxation, leavers,
    claims, rows, targets, sources, gains, count, d, per_size,
    BR: tl.constexpr, BD: tl.constexpr, BY_ROW: tl.constexpr, LENGTHS: tl.constexpr, PAIRS: tl.constexpr,
    WEIGHTED: tl.constexpr, APART: tl.constexpr,
):  # fmt: skip
    """The gain of each candidate against the present state, and its claims on both clusters."""
    m = tl.load(count)
    p = tl.load(relaxation)
    for at0 in range(tl.program_id(0) * BR, m, tl.num_programs(0) * BR):
        at = at0 + tl.arange(0, BR)
        live = at < m
        i = tl.load(rows + at, mask=live, other=0)
        v = tl.load(targets + at, mask=live, other=0)
        w = tl.load(labels + i, mask=live, other=0)
        row = tl.load(places + i, mask=live, other=0)
        scale = scale_of(scales, i, live, BY_ROW)
        here = tl.zeros((BR,), tl.float32)
        there = tl.zeros((BR,), tl.float32)
        for c0 in range(0, d, BD):
            t = c0 + tl.arange(0, BD)
            known = live[:, None] & (t[None, :] < d)
            x = prepared(X, stride, row, live, t, d, mean, scale, False)
            a = tl.load(vectors + w.to(tl.int64)[:, None] * d + t[None, :], mask=known, other=0.0)
            b = tl.load(vectors + v.to(tl.int64)[:, None] * d + t[None, :], mask=known, other=0.0)
            if LENGTHS:
                here += tl.sum(x * a, 1)
                there += tl.sum(x * b, 1)
            else:
                here += tl.sum((x - a) * (x - a), 1)
                there += tl.sum((x - b) * (x - b), 1)
        mass = weight_of(weights, i, live, WEIGHTED)
        if LENGTHS:
            a = tl.load(stay + w, mask=live, other=1.0) * mass
            b = tl.load(join + v, mask=live, other=1.0) * mass
            remain = (a - 2.0 * here) / (1.0 + tl.sqrt(tl.maximum(1.0 + a * a - 2.0 * a * here, 0.0)))
            leave = -(b + 2.0 * there) / (1.0 + tl.sqrt(tl.maximum(1.0 + b * b + 2.0 * b * there, 0.0)))
            least = ROUNDING
        else:
            if PAIRS:
                here += tl.load(scatter + w, mask=live, other=0.0)
                there += tl.load(scatter + v, mask=live, other=0.0)
            if WEIGHTED and not PAIRS:
                n = tl.load(sizes + w, mask=live, other=2.0)
                remain = here * _power(n, tl.maximum(n - mass, 1e-6 * n), p, per_size)
                n = tl.load(sizes + v, mask=live, other=2.0)
                leave = there * _power(n, n + mass, p, per_size)
            else:
                remain = here * tl.load(stay + w, mask=live, other=0.0)
                leave = there * tl.load(join + v, mask=live, other=0.0)
            least = ROUNDING * (remain + leave)
        gain = remain - leave
        gains_enough = live & (gain > least) & (v != w) & (tl.load(counts + w, mask=live, other=0) > 1)
        gain *= mass
        tl.store(sources + at, w, mask=live)
        tl.store(gains + at, tl.where(gains_enough, gain, -1.0), mask=live)
        claim = _claim(gain, i, APART)
        tl.atomic_min(claims + w, claim, mask=gains_enough, sem="relaxed")
        if APART:
            tl.atomic_min(claims + v, claim, mask=gains_enough, sem="relaxed")
        else:
            tl.atomic_add(leavers + w, 1, mask=gains_enough, sem="relaxed")


@triton.jit
def move(
    X, stride, places, mean, scales, weights, labels, squares, composites, counts, sizes, norm_sums, members, leavers,
    claims, rows, targets, sources, gains, count, moved, d, fixed, fixed_weight, fixed_square,
    BR: tl.constexpr, BD: tl.constexpr, BY_ROW: tl.constexpr, WEIGHTED: tl.constexpr, APART: tl.constexpr,
):  # fmt: skip
    """Labels and sums of the candidates that may move; ``members`` are the counts of rows before all of these moves."""
    m = tl.load(count)
    for at0 in range(tl.program_id(0) * BR, m, tl.num_programs(0) * BR):
        at = at0 + tl.arange(0, BR)
        live = at < m
        gain = tl.load(gains + at, mask=live, other=-1.0)
        i = tl.load(rows + at, mask=live, other=0)
        row = tl.load(places + i, mask=live, other=0)
        scale = scale_of(scales, i, live, BY_ROW)
        mass = weight_of(weights, i, live, WEIGHTED)
        go = live & (gain > 0)  # Triton 3.6 cannot compile the loads above with this mask, which changes below
        v = tl.load(targets + at, mask=go, other=0)
        w = tl.load(sources + at, mask=go, other=0)
        claim = _claim(gain, i, APART)
        wins = claim == tl.load(claims + w, mask=go, other=0)
        if APART:
            go = go & wins & (claim == tl.load(claims + v, mask=go, other=0))
        else:
            all_leave = tl.load(leavers + w, mask=go, other=0) >= tl.load(members + w, mask=go, other=2)
            go = go & ((wins & all_leave) == 0)
        tl.store(labels + i, v, mask=go)
        tl.atomic_add(moved, tl.sum(go.to(tl.int32)), sem="relaxed")
        one = tl.full((BR,), 1, tl.int32)
        tl.atomic_add(counts + v, one, mask=go, sem="relaxed")
        tl.atomic_add(counts + w, -one, mask=go, sem="relaxed")
        size = (mass * fixed_weight).to(tl.int64)
        tl.atomic_add(sizes + v, size, mask=go, sem="relaxed")
        tl.atomic_add(sizes + w, -size, mask=go, sem="relaxed")
        norm = (tl.load(squares + i, mask=live, other=0.0) * mass * fixed_square).to(tl.int64)
        tl.atomic_add(norm_sums + v, norm, mask=go, sem="relaxed")
        tl.atomic_add(norm_sums + w, -norm, mask=go, sem="relaxed")
        # As candidates are listed, neighbours mostly leave one cluster: then their sum is subtracted at once.
        source = tl.max(tl.where(go, w, 0))
        alike = tl.where(source == tl.min(tl.where(go, w, source)), 1, 0)
        for c0 in range(0, d, BD):
            t = c0 + tl.arange(0, BD)
            there = go[:, None] & (t[None, :] < d)
            x = prepared(X, stride, row, go, t, d, mean, scale, False)
            q = (x * mass[:, None] * fixed).to(tl.int64)
            tl.atomic_add(composites + v.to(tl.int64)[:, None] * d + t[None, :], q, mask=there, sem="relaxed")
            left = composites + source.to(tl.int64) * d + t
            tl.atomic_add(left, -tl.sum(q, 0), mask=(t < d) & (t * 0 + alike == 1), sem="relaxed")
            several = there & (t * 0 + alike == 0)[None, :]
            tl.atomic_add(composites + w.to(tl.int64)[:, None] * d + t[None, :], -q, mask=several, sem="relaxed")
