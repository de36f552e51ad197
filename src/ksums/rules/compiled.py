"""The compiled form of every kind: costs as the kernels compute them, one sample and one cluster at a time.

P = x·D_r is all that depends on both sample and cluster. Most join costs are affine in P, with coefficients that change
only when the cluster does (``kinds.py`` has the formulas, ``plain.py`` the same in NumPy):

    SQUARES    (n/(n+1))^p |x − C|²          a = (n/(n+1))^p, b = 2a/n, c = a DD/n²     a·x·x − b·P + c
      weighted (n/(n+w))^p |x − C|²          a = n,           b = 2/n,  c = DD/n²       (a/(a+w))^p (x·x − b·P + c)
    PAIRS      (m/(m+1))^(p−1) Σ |x − y|²    a = f n,         b = 2f,   c = f Q         a·x·x − b·P + c
    COSINE     −cos|cos| with x counted in                               c = DD
    DIRECTION  −cos(x, D)                    a = 0,           b = 1/|D|, c = 0                       −b·P
    LENGTH     (|D| − |D + p w x|) / p       a = p,           b = |D|,  c = DD

Constants are float32 so that float32 data is never promoted; with float64 data the constants are promoted themselves.
A kind that a function below does not know gets NaN, which is never below a bound, so its samples do not move.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ksums.compute.jit import helper, helper_inlined
from ksums.compute.vectors import fma
from ksums.rules import kinds
from ksums.rules.kinds import ROUNDING, VANISHED, Rule

SQUARES, PAIRS, COSINE = kinds.SQUARES.code, kinds.PAIRS.code, kinds.COSINE.code
DIRECTION, LENGTH = kinds.DIRECTION.code, kinds.LENGTH.code

_VANISHED = np.float32(VANISHED)
_ONE = np.float32(1)


class RuleNumbers(NamedTuple):
    """A rule as plain numbers (see ``kinds.Rule``)."""

    kind: int
    p: float
    q: float
    relaxation_per_size: float
    rounding: float  # share of a cost that may be rounding
    heaviest: float  # heaviest weight where sizes have an upper limit, else 0: then no cluster is ever full
    weighted: bool  # whether samples have weights other than 1
    affine: bool  # whether all join costs are affine in x·D


class Scan(NamedTuple):
    """What the scan over the clusters reads, in the arithmetic of the data (float32 or float64)."""

    composites: np.ndarray  # (k, d)  the state's composites, rounded
    a: np.ndarray  # (k,)    coefficients of the affine score; 0, −1, 0 where it shall be the product alone
    b: np.ndarray
    c: np.ndarray
    more: np.ndarray  # (k, 3)  a, b, c of the kinds whose score is not affine


class Clusters(NamedTuple):
    """What kernels know of the clusters. Every kernel takes this first."""

    rule: RuleNumbers
    state: Any  # a ``ClusterState``
    scan: Scan
    limits: Any  # ``Limits`` on their sizes


def numbers_of(rule: Rule, dtype: np.dtype, weighted: bool, heaviest: float) -> RuleNumbers:
    """A rule for kernels that compute in ``dtype``; ``heaviest`` is 0 where sizes have no upper limit."""
    return RuleNumbers(
        rule.kind.code,
        rule.p,
        rule.q,
        rule.relaxation_per_size,
        ROUNDING[dtype],
        heaviest,
        weighted,
        rule.kind.affine_with_weights if weighted else rule.kind.affine,
    )


# ------------------------------------------------------------------------------------------ parts of formulas
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
def exponent_for(rule, relaxation, size):
    """The exponent p or q for a cluster of this size: see ``kinds.Rule.exponent_for``."""
    return min(relaxation, max(1.0, rule.relaxation_per_size * size))


@helper
def length(squares):
    """√ of a sum of squares that rounding may have made negative."""
    return np.sqrt(max(squares, squares - squares))


@helper
def inverse_length(n, composite_sq):
    """1/|D|, or 0 for a composite that has no direction."""
    return 1.0 / np.sqrt(composite_sq) if composite_sq > (VANISHED * n) ** 2 else 0.0


@helper
def length_score(p, composite_length, composite_sq, sq_norm, weight, product):
    """(|D| − |D + p w x|) / p as a quotient: as a difference of two long lengths it would lose digits."""
    more = weight * (product + product + p * weight * sq_norm)
    return -more / (composite_length + length(composite_sq + p * more))


@helper
def cosine_score(composite_sq, weight, product):
    """−cos|cos| with x counted in: it sorts like −cos and needs no root."""
    inner = product + weight
    total = fma(weight, weight, composite_sq)
    joined_sq = fma(weight + weight, product, total)
    score = -inner * abs(inner) / joined_sq
    return score if joined_sq > _VANISHED * total else total - total


@helper
def weighted_score(a, b, c, p, sq_norm, weight, product):
    return power(a / (a + weight), p) * fma(-b, product, sq_norm + c)


# ------------------------------------------------------------------------------------------ costs, in float64
@helper
def stay_bound(rule, size, count, norm_sum, composite_sq, sq_norm, weight, product):
    """Stay cost of a sample in a cluster with these sums, less what may be rounding; ``product`` is x·D, x included."""
    n = size
    if rule.kind == PAIRS:
        terms = n * sq_norm + norm_sum
        m = np.float64(count)
        relaxed = power(m / (m - 1.0), exponent_for(rule, rule.q, n) - 1.0)
        return relaxed * (terms - 2.0 * product) - rule.rounding * terms
    if rule.kind == COSINE:
        if composite_sq <= VANISHED * weight * weight:
            return -rule.rounding
        return -product * abs(product) / composite_sq - rule.rounding
    if rule.kind == DIRECTION:
        return -product * inverse_length(n, composite_sq) - rule.rounding
    if rule.kind == LENGTH:
        q = exponent_for(rule, rule.q, n)
        less = weight * (q * weight * sq_norm - 2.0 * product)
        return less / (length(composite_sq + q * less) + length(composite_sq)) - rule.rounding * weight
    if rule.kind == SQUARES:
        terms = sq_norm + composite_sq / (n * n)
        q = exponent_for(rule, rule.q, n)
        return power(n / (n - weight), q) * (terms - 2.0 * product / n) - rule.rounding * terms
    return np.nan


@helper_inlined
def cost_to_beat(clusters, src, sq_norm, weight, product):
    """The same for cluster ``src``. A sample that is in no cluster yet (−1) joins one at any cost."""
    if src < 0:
        return np.inf
    state = clusters.state
    n, m, q, sq = state.sizes[src], state.counts[src], state.norm_sums[src], state.sq_composites[src]
    return stay_bound(clusters.rule, n, m, q, sq, sq_norm, weight, product)


@helper_inlined
def join_cost(clusters, dst, sq_norm, weight, product):
    """Cost of a sample in cluster ``dst`` if it joined; ``product`` is x·D_dst without the sample."""
    rule, state = clusters.rule, clusters.state
    n, composite_sq = state.sizes[dst], state.sq_composites[dst]
    p = exponent_for(rule, rule.p, n)
    if rule.kind == PAIRS:
        m = np.float64(state.counts[dst])
        return power(m / (m + 1.0), p - 1.0) * (n * sq_norm - 2.0 * product + state.norm_sums[dst])
    if rule.kind == COSINE:
        inner = product + weight
        total = composite_sq + weight * weight
        joined_sq = total + 2.0 * weight * product
        return -inner * abs(inner) / joined_sq if joined_sq > VANISHED * total else 0.0
    if rule.kind == DIRECTION:
        return -product * inverse_length(n, composite_sq)
    if rule.kind == LENGTH:
        return length_score(p, length(composite_sq), composite_sq, sq_norm, weight, product)
    if rule.kind == SQUARES:
        distance = sq_norm - 2.0 * product / n + composite_sq / (n * n)
        return power(n / (n + weight), p) * distance
    return np.nan


@helper
def objective_value(clusters):
    """The objective of the state: the twin of ``objectives.objective_value``."""
    rule, state, total, size = clusters.rule, clusters.state, 0.0, 0.0
    for r in range(state.sizes.shape[0]):
        n, composite_sq = state.sizes[r], state.sq_composites[r]
        size += n
        if rule.kind == PAIRS:
            total += n * state.norm_sums[r] - composite_sq
        elif rule.kind == COSINE or rule.kind == DIRECTION or rule.kind == LENGTH:
            total += n - np.sqrt(composite_sq)
        elif rule.kind == SQUARES:
            total += state.norm_sums[r] - composite_sq / n
        else:
            total = np.nan
    return max(total, 0.0) / size


# ------------------------------------------------------------------------------------------ scores of the scan
@helper_inlined
def refresh(
    clusters,  # INOUT  row r of the scan
    r,  # IN     cluster that changed
):
    """Coefficients of cluster r from the state."""
    rule, state, scan = clusters.rule, clusters.state, clusters.scan
    n = state.sizes[r]
    p = exponent_for(rule, rule.p, n)
    if rule.kind == PAIRS:
        m = np.float64(state.counts[r])
        f = power(m / (m + 1.0), p - 1.0)
        scan.a[r], scan.b[r], scan.c[r] = f * n, 2.0 * f, f * state.norm_sums[r]
    elif rule.kind == COSINE:
        scan.a[r], scan.b[r], scan.c[r] = 0.0, -1.0, 0.0
        scan.more[r, 2] = state.sq_composites[r]
    elif rule.kind == LENGTH:
        scan.a[r], scan.b[r], scan.c[r] = 0.0, -1.0, 0.0
        scan.more[r, 0], scan.more[r, 1], scan.more[r, 2] = p, length(state.sq_composites[r]), state.sq_composites[r]
    elif rule.kind == DIRECTION:
        scan.a[r], scan.b[r], scan.c[r] = 0.0, inverse_length(n, state.sq_composites[r]), 0.0
    elif rule.kind == SQUARES and rule.weighted:
        scan.a[r], scan.b[r], scan.c[r] = 0.0, -1.0, 0.0
        scan.more[r, 0], scan.more[r, 1], scan.more[r, 2] = n, 2.0 / n, state.sq_composites[r] / (n * n)
    elif rule.kind == SQUARES:
        f = power(n / (n + 1.0), p)
        scan.a[r], scan.b[r], scan.c[r] = f, 2.0 * f / n, f * state.sq_composites[r] / (n * n)
    else:
        scan.a[r], scan.b[r], scan.c[r] = np.nan, np.nan, np.nan


@helper_inlined
def is_finished(rule):
    """Whether the affine scores are the join costs as they are: nothing to add, and no cluster can be full."""
    return rule.affine and rule.heaviest == 0.0


@helper
def finish_score(
    clusters,  # IN
    r,  # IN     cluster
    weights,  # IN     of the block's samples
    sq_norms,  # IN     of the block's samples
    first,  # IN     first sample concerned
    scores,  # INOUT  (lanes,)  products, or affine scores where the rule has them
):
    """What the affine form leaves to do for one cluster and many samples: cosine, weights, a cluster that is full."""
    rule, state, scan = clusters.rule, clusters.state, clusters.scan
    lanes = scores.shape[0]
    a, b, c = scan.more[r, 0], scan.more[r, 1], scan.more[r, 2]
    if rule.kind == COSINE:
        for j in range(lanes):
            scores[j] = cosine_score(c, weights[first + j], scores[j])
    elif rule.kind == LENGTH:
        for j in range(lanes):
            scores[j] = length_score(a, b, c, sq_norms[first + j], weights[first + j], scores[j])
    elif rule.kind == SQUARES and rule.weighted:
        for j in range(lanes):
            scores[j] = fma(-b, scores[j], sq_norms[first + j] + c)
        # One loop for each rule that has a name: with the choice inside, LLVM does not vectorise.
        p = exponent_for(rule, rule.p, state.sizes[r])
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
    elif not rule.affine:
        for j in range(lanes):
            scores[j] = np.nan
    room = clusters.limits.high[r] - state.sizes[r]
    if room < rule.heaviest:
        for j in range(lanes):
            if weights[first + j] > room:
                scores[j] = np.inf


@helper_inlined
def score_all(
    clusters,  # IN
    sq_norm,  # IN
    weight,  # IN
    products,  # IN   (≥ k,)
    scores,  # OUT  (padded k,)  infinite beyond k
):
    """Join costs of one sample for all clusters."""
    rule, state, scan = clusters.rule, clusters.state, clusters.scan
    k = scan.a.shape[0]
    if rule.affine:
        for r in range(k):
            scores[r] = fma(-scan.b[r], products[r], fma(scan.a[r], sq_norm, scan.c[r]))
    elif rule.kind == COSINE:
        for r in range(k):
            scores[r] = cosine_score(scan.more[r, 2], weight, products[r])
    elif rule.kind == LENGTH:
        for r in range(k):
            a, b, c = scan.more[r, 0], scan.more[r, 1], scan.more[r, 2]
            scores[r] = length_score(a, b, c, sq_norm, weight, products[r])
    elif rule.kind == SQUARES:
        for r in range(k):
            p = exponent_for(rule, rule.p, state.sizes[r])
            scores[r] = weighted_score(
                scan.more[r, 0], scan.more[r, 1], scan.more[r, 2], p, sq_norm, weight, products[r]
            )
    else:
        for r in range(k):
            scores[r] = np.nan
    if rule.heaviest > 0.0:
        for r in range(k):
            if weight > clusters.limits.high[r] - state.sizes[r]:
                scores[r] = np.inf
