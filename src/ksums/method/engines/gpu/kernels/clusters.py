"""What the other kernels ask about a cluster, from its sums."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def coefficients(
    composites, counts, sizes, norm_sums, relaxation, push, before, vectors, low, low_squares, join, base, stay, weight,
    scatter, members, sq_composites, leavers, claims, candidates, k, d, padded, inv_fixed, inv_weight, inv_square,
    per_size, push_by, vanished, BD: tl.constexpr, LENGTHS: tl.constexpr, PAIRS: tl.constexpr, SPLIT: tl.constexpr,
    RESET: tl.constexpr, PUSHED: tl.constexpr, BEGINS: tl.constexpr,
):  # fmt: skip
    """One program for each cluster. With n its size and p the relaxation, at most ``per_size``·n and at least 1:

    ``join`` (n/(n + 1))^p, ``stay`` (n/(n − 1))^p, ``base`` join·|C|², all for a row of weight 1;
    LENGTHS: ``join`` and ``stay`` p/|D|. PAIRS, where a row costs n·(|x − C|² + S) with S the mean square around C, and
    m counts rows: ``join`` n·(m/(m + 1))^(p − 1), ``stay`` n·(m/(m − 1))^(p − 1), ``base`` join·(|C|² + S).
    RESET: there are no candidates any more. PUSHED: D is what it would be if the centre were moved by ``push``;
    ``sq_composites`` is D·D as it is. BEGINS: ``push`` becomes ``push_by``·(D/n − before), and ``before`` D/n.
    """
    r = tl.program_id(0)
    r64 = r.to(tl.int64)
    n = tl.load(sizes + r).to(tl.float64) * inv_weight
    p = tl.minimum(tl.load(relaxation).to(tl.float64), tl.maximum(1.0, n * per_size))
    square = tl.zeros((), tl.float64)
    pushed = tl.zeros((), tl.float64)
    for c0 in range(0, d, BD):
        t = c0 + tl.arange(0, BD)
        c = tl.load(composites + r64 * d + t, mask=t < d, other=0).to(tl.float64) * inv_fixed
        square += tl.sum(c * c)
        if PUSHED:
            if BEGINS:
                mean = (c / tl.maximum(n, 1e-30)).to(tl.float32)
                step = (mean - tl.load(before + r64 * d + t, mask=t < d, other=0.0)) * push_by
                tl.store(before + r64 * d + t, mean, mask=t < d)
                tl.store(push + r64 * d + t, step, mask=t < d)
            else:
                step = tl.load(push + r64 * d + t, mask=t < d, other=0.0)
            c += n * step.to(tl.float64)
            pushed += tl.sum(c * c)
    if BEGINS:
        tl.debug_barrier()  # what one thread has stored another one may load
    if LENGTHS:
        length = tl.maximum(tl.sqrt(pushed if PUSHED else square), vanished * n + 1e-30)
    else:
        length = tl.maximum(n, 1e-30)
    low_square = tl.zeros((), tl.float64)
    for c0 in range(0, padded, BD):
        t = c0 + tl.arange(0, BD)
        c = tl.load(composites + r64 * d + t, mask=t < d, other=0).to(tl.float64) * inv_fixed
        if PUSHED:
            c += n * tl.load(push + r64 * d + t, mask=t < d, other=0.0).to(tl.float64)
        vector = (c / length).to(tl.float32)
        tl.store(vectors + r64 * d + t, vector, mask=t < d)
        high = vector.to(tl.float16).to(tl.float32)
        both = high
        tl.store(low + r64 * padded + t, (high * -2.0).to(tl.float16), mask=t < padded)
        if SPLIT:
            rest = (vector - high).to(tl.float16).to(tl.float32)
            both += rest
            tl.store(low + (k + r64) * padded + t, (rest * -2.0).to(tl.float16), mask=t < padded)
        low_square += tl.sum(both.to(tl.float64) * both.to(tl.float64))
    tl.store(low_squares + r, low_square.to(tl.float32))
    if LENGTHS:
        tl.store(join + r, (p / length).to(tl.float32))
        tl.store(stay + r, (p / length).to(tl.float32))
        tl.store(base + r, 0.0)
    elif PAIRS:
        m = tl.load(counts + r).to(tl.float64)
        within = tl.load(norm_sums + r).to(tl.float64) * inv_square / length - square / (length * length)
        within = tl.maximum(within, 0.0)
        f = n * tl.exp((p - 1.0) * tl.log(m / (m + 1.0)))
        tl.store(join + r, f.to(tl.float32))
        tl.store(base + r, (f * (low_square + within)).to(tl.float32))
        tl.store(stay + r, (n * tl.exp((p - 1.0) * tl.log(m / tl.maximum(m - 1.0, 0.5 * m)))).to(tl.float32))
        tl.store(scatter + r, within.to(tl.float32))
    else:
        f = tl.exp(p * tl.log(n / (n + 1.0)))
        tl.store(join + r, f.to(tl.float32))
        tl.store(base + r, (f * low_square).to(tl.float32))
        tl.store(stay + r, tl.exp(p * tl.log(n / tl.maximum(n - 1.0, 0.5 * n))).to(tl.float32))
    tl.store(weight + r, n.to(tl.float32))
    tl.store(members + r, tl.load(counts + r))
    tl.store(sq_composites + r, square)
    tl.store(leavers + r, 0)
    tl.store(claims + r, 0x7FFFFFFFFFFFFFFF)
    if RESET:
        if r == 0:
            tl.store(candidates, 0)


@triton.jit
def given_centres(
    vectors, low, low_squares, join, base, k, d, padded, BD: tl.constexpr, LENGTHS: tl.constexpr, SPLIT: tl.constexpr
):
    """One program for each cluster: vectors (k, d) take the place of its centre, so that costs are squared distances,
    or, LENGTHS, 2 − cos."""
    r = tl.program_id(0)
    r64 = r.to(tl.int64)
    square = tl.zeros((), tl.float64)
    for c0 in range(0, padded, BD):
        t = c0 + tl.arange(0, BD)
        c = tl.load(vectors + r64 * d + t, mask=t < d, other=0.0)
        high = c.to(tl.float16).to(tl.float32)
        both = high
        tl.store(low + r64 * padded + t, (high * -2.0).to(tl.float16), mask=t < padded)
        if SPLIT:
            rest = (c - high).to(tl.float16).to(tl.float32)
            both += rest
            tl.store(low + (k + r64) * padded + t, (rest * -2.0).to(tl.float16), mask=t < padded)
        square += tl.sum(both.to(tl.float64) * both.to(tl.float64))
    tl.store(low_squares + r, square.to(tl.float32))
    tl.store(base + r, square.to(tl.float32))
    tl.store(join + r, 0.0 if LENGTHS else 1.0)


@triton.jit
def summary(sizes, norm_sums, sq_composites, moved, numbers, k, inv_weight, inv_square, BK: tl.constexpr):
    """For each problem, sums over its k clusters: squares, pairs, lengths; moves, least and largest size; norms."""
    problem = tl.program_id(0)
    squares = tl.zeros((BK,), tl.float64)
    pairs = tl.zeros((BK,), tl.float64)
    lengths = tl.zeros((BK,), tl.float64)
    norms = tl.zeros((BK,), tl.float64)
    smallest = tl.full((BK,), float("inf"), tl.float64)
    largest = tl.zeros((BK,), tl.float64)
    for first in range(0, k, BK):
        at = first + tl.arange(0, BK)
        known = at < k
        r = problem * k + at
        n = tl.load(sizes + r, mask=known, other=0).to(tl.float64) * inv_weight
        square = tl.load(sq_composites + r, mask=known, other=0.0)
        norm = tl.load(norm_sums + r, mask=known, other=0).to(tl.float64) * inv_square
        norms += norm
        within = tl.maximum(norm - square / tl.where(known, n, 1.0), 0.0)
        squares += within
        pairs += n * within
        lengths += tl.sqrt(square)
        smallest = tl.minimum(smallest, tl.where(known, n, float("inf")))
        largest = tl.maximum(largest, n)
    numbers += problem * 7
    tl.store(numbers, tl.sum(squares))
    tl.store(numbers + 1, tl.sum(pairs))
    tl.store(numbers + 2, tl.sum(lengths))
    tl.store(numbers + 3, tl.load(moved).to(tl.float64))
    tl.store(numbers + 4, tl.min(smallest))
    tl.store(numbers + 5, tl.max(largest))
    tl.store(numbers + 6, tl.sum(norms))
