"""The driven functions as the compiled kernels see them, and how they move a sample.

For one sample and one cluster, P = x·D_v is all that depends on both. Most join costs are affine in P with
coefficients that change only when the cluster changes (``drivers.py`` has the formulas in plain form):

    FAMILY     (n/(n+1))^p |x − C|²          a = (n/(n+1))^p, b = 2a/n, c = a DD/n²     a·x·x − b·P + c
    PAIRWISE   (m/(m+1))^(p−1) Σ |x − y|²    a = f n,         b = 2f,   c = f Q         a·x·x − b·P + c
    WEIGHTED   (n/(n+w))^p |x − C|²          a = n,           b = 2/n,  c = DD/n²       (a/(a+w))^p (x·x − b·P + c)
    ANGLE      −cos(x, D)                    a = 0,           b = 1/|D|, c = 0                       −b·P
    COSINE     −cos|cos| with x counted in                               c = DD
    LENGTH     (|D| − |D + p w x|) / p       a = p,           b = |D|,  c = DD

Constants are float32 so that float32 data is never promoted; with float64 data they are promoted themselves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums._jit import helper, helper_inlined, helper_once, helper_reordering, kernel
from ksums.drivers import ANGLE, COSINE, LENGTH, PAIRWISE, VANISHED, WEIGHTED
from ksums.engines._vectors import fma

_VANISHED = np.float32(VANISHED)
_ONE = np.float32(1)


class Fast(NamedTuple):
    """What the scan over the clusters reads, in the arithmetic of the data (float32 or float64)."""

    composites: np.ndarray  # (k, d)  the state's composites, rounded
    a: np.ndarray  # (k,)    coefficients of the affine score; 0, −1, 0 where it is to be the product alone
    b: np.ndarray
    c: np.ndarray
    more: np.ndarray  # (k, 3)  a, b, c of the kinds whose score is not affine


class Block(NamedTuple):
    """Rows in visiting order, ready for arithmetic, with room behind them for whole panels."""

    rows: np.ndarray  # (count + padding, d)
    sq_norms: np.ndarray  # (count + padding,)  rounded like the rows, for the scan
    weights: np.ndarray  # (count + padding,)  the same
    exact_sq_norms: np.ndarray  # (count + padding,)  float64, for the sums
    exact_weights: np.ndarray  # (count + padding,)
    ids: np.ndarray  # (count + padding,)  which samples they are


class Rule(NamedTuple):
    """A driver as plain numbers (see ``drivers.Driver``)."""

    kind: int
    p: float
    q: float
    per_size: float  # see ``drivers.Driver``
    rounding: float  # see ``drivers.ROUNDING``
    heaviest: float  # heaviest weight where sizes have an upper limit, else 0: then no cluster is ever full


@helper_reordering
def row_dot(rows, i, composites, r):
    """rows[i]·composites[r]. Rows are named by index, here and below: a view would cost a reference count."""
    total = rows[i, 0] * composites[r, 0]
    for t in range(1, rows.shape[1]):
        total += rows[i, t] * composites[r, t]
    return total


@helper
def power(ratio, exponent):
    """ratio^exponent, without a call to pow for the rules that have a name."""
    if exponent == 1.0:
        return ratio
    if exponent == 2.0:
        return ratio * ratio
    if exponent == 0.0:
        return min(max(ratio, _ONE), _ONE)  # 1 of the same type, also for 0 and inf
    return ratio**exponent


@helper
def exponent(rule, relaxation, size):
    """The exponent p or q for a cluster of this size: see ``drivers.relaxation_of``."""
    return min(relaxation, max(1.0, rule.per_size * size))


@helper
def length(squares):
    """√ of a sum of squares that rounding may have made negative."""
    return np.sqrt(max(squares, squares - squares))


@helper
def inverse_length(n, composite_sq):
    """1/|D|, or 0 for a composite that has no direction."""
    return 1.0 / np.sqrt(composite_sq) if composite_sq > (VANISHED * n) ** 2 else 0.0


@helper
def length_score(p, composite_length, composite_sq, weight, product):
    """(|D| − |D + p w x|) / p as a quotient: as a difference of two long lengths it would lose digits."""
    more = weight * (product + product + p * weight)
    return -more / (composite_length + length(composite_sq + p * more))


@helper
def bound_in(rule, size, count, norm_sum, composite_sq, sq_norm, weight, product):
    """Stay cost of a sample in a cluster with these sums, less what may be rounding; ``product`` is x·D, x included."""
    n = size
    if rule.kind == PAIRWISE:
        terms = n * sq_norm + norm_sum
        m = np.float64(count)
        relaxed = power(m / (m - 1.0), exponent(rule, rule.q, n) - 1.0)
        return relaxed * (terms - 2.0 * product) - rule.rounding * terms
    if rule.kind == COSINE:
        if composite_sq <= VANISHED * weight * weight:
            return -rule.rounding
        return -product * abs(product) / composite_sq - rule.rounding
    if rule.kind == ANGLE:
        return -product * inverse_length(n, composite_sq) - rule.rounding
    if rule.kind == LENGTH:
        q = exponent(rule, rule.q, n)
        less = weight * (q * weight - 2.0 * product)
        return less / (length(composite_sq + q * less) + length(composite_sq)) - rule.rounding * weight
    terms = sq_norm + composite_sq / (n * n)
    return power(n / (n - weight), exponent(rule, rule.q, n)) * (terms - 2.0 * product / n) - rule.rounding * terms


@helper_inlined
def cost_to_beat(rule, src, state, sq_norm, weight, product):
    """The same for cluster ``src`` of the state. A sample that is in no cluster yet (−1) joins one at any cost."""
    if src < 0:
        return np.inf
    n, m, q, sq = state.sizes[src], state.counts[src], state.norm_sums[src], state.sq_composites[src]
    return bound_in(rule, n, m, q, sq, sq_norm, weight, product)


@helper_inlined
def join_cost(rule, dst, state, sq_norm, weight, product):
    """Cost of a sample in cluster ``dst`` if it joins; ``product`` is x·D_dst without the sample."""
    n, composite_sq = state.sizes[dst], state.sq_composites[dst]
    p = exponent(rule, rule.p, n)
    if rule.kind == PAIRWISE:
        m = np.float64(state.counts[dst])
        return power(m / (m + 1.0), p - 1.0) * (n * sq_norm - 2.0 * product + state.norm_sums[dst])
    if rule.kind == COSINE:
        inner = product + weight
        total = composite_sq + weight * weight
        joined_sq = total + 2.0 * weight * product
        return -inner * abs(inner) / joined_sq if joined_sq > VANISHED * total else 0.0
    if rule.kind == ANGLE:
        return -product * inverse_length(n, composite_sq)
    if rule.kind == LENGTH:
        return length_score(p, length(composite_sq), composite_sq, weight, product)
    distance = sq_norm - 2.0 * product / n + composite_sq / (n * n)
    return power(n / (n + weight), p) * distance


@helper_inlined
def refresh(
    rule,  # IN
    r,  # IN     cluster that changed
    state,  # IN
    fast,  # INOUT  row r
):
    """Coefficients of cluster r from the state."""
    n = state.sizes[r]
    p = exponent(rule, rule.p, n)
    if rule.kind == PAIRWISE:
        m = np.float64(state.counts[r])
        f = power(m / (m + 1.0), p - 1.0)
        fast.a[r], fast.b[r], fast.c[r] = f * n, 2.0 * f, f * state.norm_sums[r]
    elif rule.kind == COSINE:
        fast.a[r], fast.b[r], fast.c[r] = 0.0, -1.0, 0.0
        fast.more[r, 2] = state.sq_composites[r]
    elif rule.kind == LENGTH:
        fast.a[r], fast.b[r], fast.c[r] = 0.0, -1.0, 0.0
        fast.more[r, 0], fast.more[r, 1], fast.more[r, 2] = p, length(state.sq_composites[r]), state.sq_composites[r]
    elif rule.kind == ANGLE:
        fast.a[r], fast.b[r], fast.c[r] = 0.0, inverse_length(n, state.sq_composites[r]), 0.0
    elif rule.kind == WEIGHTED:
        fast.a[r], fast.b[r], fast.c[r] = 0.0, -1.0, 0.0
        fast.more[r, 0], fast.more[r, 1], fast.more[r, 2] = n, 2.0 / n, state.sq_composites[r] / (n * n)
    else:
        f = power(n / (n + 1.0), p)
        fast.a[r], fast.b[r], fast.c[r] = f, 2.0 * f / n, f * state.sq_composites[r] / (n * n)


@kernel
def refresh_all(rule, state, fast):
    """Coefficients and rounded composites of all clusters from the state."""
    k, d = state.composites.shape
    for r in range(k):
        refresh(rule, r, state, fast)
        for t in range(d):
            fast.composites[r, t] = state.composites[r, t]


@helper_inlined
def may_leave(cluster, weight, state, limits):
    """A cluster never gives up its last sample, nor one it needs for its smallest size."""
    return cluster < 0 or (state.counts[cluster] > 1 and state.sizes[cluster] - weight >= limits.low[cluster])


@helper_once
def move_sums(
    rule,  # IN
    i,  # IN     sample
    sq_norm,  # IN
    weight,  # IN
    src,  # IN     cluster it leaves; −1: none
    dst,  # IN     cluster it joins
    from_src,  # IN     x·D_src before the move
    from_dst,  # IN     x·D_dst before the move
    state,  # INOUT  all but the composites
    fast,  # INOUT  coefficients
):
    """Everything of a move but D ± w x: label, n ± w, Q ± w x·x, |D ± w x|²."""
    state.labels[i] = dst
    state.counts[dst] += 1
    state.sizes[dst] += weight
    state.norm_sums[dst] += weight * sq_norm
    state.sq_composites[dst] += weight * (weight * sq_norm + 2.0 * from_dst)
    refresh(rule, dst, state, fast)
    if src >= 0:
        state.counts[src] -= 1
        state.sizes[src] -= weight
        state.norm_sums[src] -= weight * sq_norm
        state.sq_composites[src] += weight * (weight * sq_norm - 2.0 * from_src)
        refresh(rule, src, state, fast)


@helper_once
def reallocate_if_better(
    rule,  # IN
    to_beat,  # IN     stay cost, less rounding
    block,  # IN
    row,  # IN     the sample's row in the block
    src,  # IN     its cluster; −1: none yet
    dst,  # IN     the cluster of least score
    from_src,  # IN     x·D_src
    from_dst,  # IN     x·D_dst
    state,  # INOUT
    fast,  # INOUT
):
    """Move a sample and bring both clusters up to date, if that really is a gain; says whether it moved.

    The scan that found ``dst`` rounds as its data type does. Here both costs are taken alike, in float64.
    """
    weight, sq_norm = block.exact_weights[row], block.exact_sq_norms[row]
    if not join_cost(rule, dst, state, sq_norm, weight, from_dst) < to_beat:
        return False
    rows = block.rows
    for t in range(rows.shape[1]):
        joined = state.composites[dst, t] + weight * rows[row, t]
        state.composites[dst, t] = joined
        fast.composites[dst, t] = joined
    if src >= 0:
        for t in range(rows.shape[1]):
            left = state.composites[src, t] - weight * rows[row, t]
            state.composites[src, t] = left
            fast.composites[src, t] = left
    move_sums(rule, block.ids[row], sq_norm, weight, src, dst, from_src, from_dst, state, fast)
    return True


@helper
def cosine_score(composite_sq, weight, product):
    inner = product + weight
    total = fma(weight, weight, composite_sq)
    joined_sq = fma(weight + weight, product, total)
    score = -inner * abs(inner) / joined_sq
    return score if joined_sq > _VANISHED * total else total - total


@helper
def weighted_score(a, b, c, p, sq_norm, weight, product):
    return power(a / (a + weight), p) * fma(-b, product, sq_norm + c)


@helper
def finish_score(
    rule,  # IN
    state,  # IN
    fast,  # IN
    limits,  # IN
    r,  # IN     cluster
    weights,  # IN     of the block's samples
    sq_norms,  # IN     of the block's samples
    first,  # IN     first sample concerned
    scores,  # INOUT  (lanes,)  products, or affine scores where the rule has them
):
    """What the affine form leaves to do for one cluster: cosine, weights, and a cluster that is full."""
    lanes = scores.shape[0]
    a, b, c = fast.more[r, 0], fast.more[r, 1], fast.more[r, 2]
    if rule.kind == COSINE:
        for j in range(lanes):
            scores[j] = cosine_score(c, weights[first + j], scores[j])
    elif rule.kind == LENGTH:
        for j in range(lanes):
            scores[j] = length_score(a, b, c, weights[first + j], scores[j])
    elif rule.kind == WEIGHTED:
        for j in range(lanes):
            scores[j] = fma(-b, scores[j], sq_norms[first + j] + c)
        # One loop for each rule that has a name: with the choice inside, LLVM makes no vectors of it.
        p = exponent(rule, rule.p, state.sizes[r])
        if p == 1.0:
            for j in range(lanes):
                scores[j] = a / (a + weights[first + j]) * scores[j]
        elif p == 2.0:
            for j in range(lanes):
                ratio = a / (a + weights[first + j])
                scores[j] = ratio * ratio * scores[j]
        elif p != 0.0:
            for j in range(lanes):
                scores[j] = power(a / (a + weights[first + j]), p) * scores[j]
    room = limits.high[r] - state.sizes[r]
    if room < rule.heaviest:
        for j in range(lanes):
            if weights[first + j] > room:
                scores[j] = np.inf
