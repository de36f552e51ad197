"""Kernels that read all rows: low precision, and sums by cluster."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def scale_of(scales, i, live, BY_ROW: tl.constexpr):
    """What the rows at places i are multiplied by."""
    if BY_ROW:
        return tl.load(scales + i, mask=live, other=0.0)
    return tl.load(scales + i * 0)


@triton.jit
def weight_of(weights, i, live, WEIGHTED: tl.constexpr):
    """The weights of the rows at places i."""
    if WEIGHTED:
        return tl.load(weights + i, mask=live, other=1.0)
    return tl.load(weights + i * 0)


@triton.jit
def prepared(X, stride, row, live, t, d, mean, scale, WIDE: tl.constexpr):
    """(x − mean)·scale for some rows and columns, zeros beyond them; WIDE: in float64.

    The mean of float64 rows is float64, so that a large offset costs no digits.
    """
    there = live[:, None] & (t[None, :] < d)
    x = tl.load(X + row[:, None] * stride + t[None, :], mask=there, other=0.0)
    m = tl.load(mean + t, mask=t < d, other=0.0)
    if WIDE:
        y = (x.to(tl.float64) - m.to(tl.float64)[None, :]) * scale.to(tl.float64)[:, None]
    else:
        y = ((x.to(m.dtype) - m[None, :]) * scale.to(m.dtype)[:, None]).to(tl.float32)
    return tl.where(there, y, 0.0)


@triton.jit
def column_moments(
    X, stride, places, found, n, d,
    CHUNK: tl.constexpr, BR: tl.constexpr, BD: tl.constexpr, SOME: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """(4, chunks, d) For chunks of rows: sums of values and of their squares, least and minus largest value.

    SOME: of the rows ``places``.
    """
    t = tl.program_id(1) * BD + tl.arange(0, BD)
    total = tl.zeros((BR, BD), tl.float64)
    power = tl.zeros((BR, BD), tl.float64)
    low = tl.full((BR, BD), float("inf"), tl.float64 if WIDE else tl.float32)
    high = tl.full((BR, BD), float("-inf"), tl.float64 if WIDE else tl.float32)
    for first in range(0, CHUNK, BR):
        row = tl.program_id(0).to(tl.int64) * CHUNK + first + tl.arange(0, BR)
        there = (row < n)[:, None] & (t < d)[None, :]
        if SOME:
            row = tl.load(places + row, mask=row < n, other=0)
        x = tl.load(X + row[:, None] * stride + t[None, :], mask=there, other=0.0).to(low.dtype)
        total += x.to(tl.float64)
        power += x.to(tl.float64) * x.to(tl.float64)
        low = tl.where(there & (x < low), x, low)
        high = tl.where(there & (x > high), x, high)
    at = tl.program_id(0).to(tl.int64) * d + t
    one = tl.num_programs(0).to(tl.int64) * d
    tl.store(found + at, tl.sum(total, 0), mask=t < d)
    tl.store(found + one + at, tl.sum(power, 0), mask=t < d)
    tl.store(found + 2 * one + at, tl.min(low, 0).to(tl.float64), mask=t < d)
    tl.store(found + 3 * one + at, -tl.max(high, 0).to(tl.float64), mask=t < d)


@triton.jit(do_not_specialize=["seed"])
def scrambled_keys(keys, n, seed, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, BLOCK: tl.constexpr):
    """The numbers of ``gpu/rows.py``: three rounds of multiplication by A, B and C."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    key = at + (at * 0 + seed << 32)
    key = (key ^ ((key >> 31) & 0x1FFFFFFFF)) * A
    key = (key ^ ((key >> 31) & 0x1FFFFFFFF)) * B
    key = (key ^ ((key >> 31) & 0x1FFFFFFFF)) * C
    tl.store(keys + at, key, mask=at < n)


@triton.jit
def lower_rows(
    X, stride, places, mean, scales, order, by, low, low_squares, squares, n, d, aligned,
    BR: tl.constexpr, BD: tl.constexpr, BY_ROW: tl.constexpr, SPLIT: tl.constexpr, IN_ORDER: tl.constexpr,
    BY: tl.constexpr,
):  # fmt: skip
    """Rows in low precision, in random order, and their squared norms. SPLIT: only the norms, of high part and rest.

    IN_ORDER: only the places order[:n], and ``low`` in this order. BY: they are read in the order ``by``.
    """
    at = tl.program_id(0) * BR + tl.arange(0, BR)
    live = at < n
    if BY:
        at = tl.load(by + at, mask=live, other=0)
    i = at
    if IN_ORDER:
        i = tl.load(order + at, mask=live, other=0)
    row = tl.load(places + i, mask=live, other=0)
    scale = scale_of(scales, i, live, BY_ROW)
    total = tl.zeros((BR,), tl.float64)
    total_low = tl.zeros((BR,), tl.float32)
    for c0 in range(0, aligned, BD):
        t = c0 + tl.arange(0, BD)
        x = prepared(X, stride, row, live, t, d, mean, scale, False)
        total += tl.sum(x.to(tl.float64) * x.to(tl.float64), 1)
        y = x.to(tl.float16)
        z = y.to(tl.float32)
        if SPLIT:
            z += (x - z).to(tl.float16).to(tl.float32)
        else:
            tl.store(
                low + at.to(tl.int64)[:, None] * aligned + t[None, :], y, mask=live[:, None] & (t[None, :] < aligned)
            )
        total_low += tl.sum(z * z, 1)
    tl.store(squares + i, total, mask=live)
    tl.store(low_squares + i, total_low, mask=live)


@triton.jit
def gather_rows(
    X, stride, places, mean, scales, order, found, n, d,
    BR: tl.constexpr, BD: tl.constexpr, BY_ROW: tl.constexpr,
):  # fmt: skip
    """(x − mean)·scale of the rows at the places order[:n], in float32."""
    at = tl.program_id(0) * BR + tl.arange(0, BR)
    live = at < n
    i = tl.load(order + at, mask=live, other=0)
    row = tl.load(places + i, mask=live, other=0)
    scale = scale_of(scales, i, live, BY_ROW)
    for c0 in range(0, d, BD):
        t = c0 + tl.arange(0, BD)
        x = prepared(X, stride, row, live, t, d, mean, scale, False)
        tl.store(found + at.to(tl.int64)[:, None] * d + t[None, :], x, mask=live[:, None] & (t[None, :] < d))


@triton.jit
def add_by_cluster(
    X, stride, places, mean, scales, weights, squares, order, labels, composites, counts, sizes, norm_sums, n, d,
    fixed, fixed_weight, fixed_square,
    CHUNK: tl.constexpr, BD: tl.constexpr, BY_ROW: tl.constexpr, WEIGHTED: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """D_r += Σ w x and so on, for rows sorted by cluster: a run of one cluster is added up before it goes to memory."""
    start = tl.program_id(0) * CHUNK
    end = tl.minimum(start + CHUNK, n)
    t = tl.program_id(1) * BD + tl.arange(0, BD)
    one = tl.zeros((1,), tl.int64)
    always = one == 0
    first = tl.load(order + start)
    current = tl.load(labels + first)
    total = tl.zeros((BD,), tl.int64)
    count = 0
    size = tl.zeros((1,), tl.int64)
    norm = tl.zeros((1,), tl.int64)
    for at in range(start, end):
        i = one + tl.load(order + at)
        r = tl.load(labels + tl.load(order + at))
        if r != current:
            tl.atomic_add(composites + current.to(tl.int64) * d + t, total, mask=t < d, sem="relaxed")
            if tl.program_id(1) == 0:
                tl.atomic_add(counts + current, count, sem="relaxed")
                tl.atomic_add(sizes + current + one, size, sem="relaxed")
                tl.atomic_add(norm_sums + current + one, norm, sem="relaxed")
            total = tl.zeros((BD,), tl.int64)
            count = 0
            size = tl.zeros((1,), tl.int64)
            norm = tl.zeros((1,), tl.int64)
            current = r
        weight = weight_of(weights, i, always, WEIGHTED)
        x = prepared(X, stride, tl.load(places + i), always, t, d, mean, scale_of(scales, i, always, BY_ROW), WIDE)
        total += tl.sum((x * weight[:, None] * fixed).to(tl.int64), 0)
        count += 1
        size += (weight * fixed_weight).to(tl.int64)
        norm += (tl.load(squares + i) * weight * fixed_square).to(tl.int64)
    tl.atomic_add(composites + current.to(tl.int64) * d + t, total, mask=t < d, sem="relaxed")
    if tl.program_id(1) == 0:
        tl.atomic_add(counts + current, count, sem="relaxed")
        tl.atomic_add(sizes + current + one, size, sem="relaxed")
        tl.atomic_add(norm_sums + current + one, norm, sem="relaxed")


@triton.jit
def squares_to_own(
    X, stride, places, mean, scales, labels, centres, squares, n, d,
    BR: tl.constexpr, BD: tl.constexpr, BY_ROW: tl.constexpr,
):  # fmt: skip
    """|x − C|² of each row and the centre of its cluster, in float64."""
    i = tl.program_id(0) * BR + tl.arange(0, BR)
    live = i < n
    row = tl.load(places + i, mask=live, other=0)
    r = tl.load(labels + i, mask=live, other=0).to(tl.int64)
    scale = scale_of(scales, i, live, BY_ROW)
    total = tl.zeros((BR,), tl.float64)
    for c0 in range(0, d, BD):
        t = c0 + tl.arange(0, BD)
        x = prepared(X, stride, row, live, t, d, mean, scale, True)
        c = tl.load(centres + r[:, None] * d + t[None, :], mask=live[:, None] & (t[None, :] < d), other=0.0)
        total += tl.sum((x - c) * (x - c), 1)
    tl.store(squares + i, total, mask=live)
