"""The driven functions: what it costs a sample to stay where it is, and to join another cluster.

A sample x of weight w moves to the cluster of least join cost if that is strictly below its stay cost, by more than
rounding can make it seem: else equal rows would change places for ever. With C = D/n, and D, n including x for the
cluster it is in:

=============  ==================================================  ========================================
kind           stay                                                join
=============  ==================================================  ========================================
FAMILY (l2)    (n / (n − w))^q · |x − C|²                          (n / (n + w))^p · |x − C|²
PAIRWISE       Σ_{y in S} |x − y|²  =  n x·x − 2 x·D + Q           the same (Eqns. 10–14)
COSINE         −cos(x, D)                                          −cos(x, D + w x)  (Eqns. 7–8)
ANGLE          −cos(x, D)                                          −cos(x, D)
LENGTH         (|D − q w x| − |D|) / q                             (|D| − |D + p w x|) / p
=============  ==================================================  ========================================

The exponents p, q make the named rules of the l2 family:

============  ====  ====  ==========================================================================
rule             p     q  what it is
============  ====  ====  ==========================================================================
``online``       0     0  MacQueen: distance to the centroid, no correction for size
``hartigan``     1     1  the exact change of the sum of squares, so E_m never rises
``paper``        2     0  I_m as printed (Eqns. 4–6): distance to the centroid with x counted in
``released``     2     2  I_m as in the authors' released code: over-relaxed, need not settle
a float p        p     p  relaxation p: 1 is ``hartigan``, above 1 it moves more, below 1 less
============  ====  ====  ==========================================================================

Annealing starts with p = q far above 1. There a cluster of m samples is relaxed by m/8 at most, and PAIRWISE has its
relaxation too: its costs are multiplied by (m/(m − 1))^(q−1) and (m/(m + 1))^(p−1). At p = q = 1 a move of FAMILY,
PAIRWISE or LENGTH is made if and only if it brings the objective down.

Under cosine, ``paper`` compares directions (COSINE), and what it is to bring down is the mean cosine distance to the
own centroid, 1 − Σ|D_r|/n; so does ``annealed``, by LENGTH; the others are the l2 family on unit rows, with E_m of
these. More rules serve the paper's baselines: ``nearest`` is ``online``, comparing directions under cosine (ANGLE);
``lloyd`` is the same for samples that all move together; ``ikm`` brings the mean cosine distance down with every move
(LENGTH), which is for cosine only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ksums import state as states
from ksums.annealing import MEMBERS_PER_RELAXATION
from ksums.state import ClusterState

FAMILY, PAIRWISE, COSINE, ANGLE, LENGTH = 0, 1, 2, 3, 4
WEIGHTED = 5  # FAMILY for the compiled kernels, w not all 1

VANISHED = 1e-6
"""A composite this short, relative to what was added up in it, has no direction: its cosine counts as 0."""

ROUNDING = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-6}
"""How much of the terms of a cost may be rounding, by the arithmetic it was computed in."""

UNBOUNDED = 1e300
"""Exponents are the same for clusters of any size."""

RULES = {
    "online": (0.0, 0.0),
    "hartigan": (1.0, 1.0),
    "paper": (2.0, 0.0),
    "released": (2.0, 2.0),
}


@dataclass(frozen=True)
class Driver:
    """A driven function: its kind, its exponents, and what its passes promise."""

    objective: str  # "distortion", "pairwise" or "angle"
    kind: int
    p: float = 0.0
    q: float = 0.0
    per_size: float = UNBOUNDED  # p and q of a cluster of size n are at most this times n, or 1
    lloyd: bool = False  # all samples of a pass are decided on one state, so that no pass raises the objective

    @property
    def monotone(self) -> bool:
        """Whether no single move ever raises the objective."""
        return self.kind in (PAIRWISE, LENGTH, FAMILY) and self.p == self.q == 1.0

    @property
    def steady(self) -> bool:
        """Whether no pass ever raises the objective."""
        return self.monotone or self.lloyd

    @property
    def patience(self) -> int:
        """Passes without progress after which a fit has settled; more for a rule that may go up as well as down."""
        return 1 if self.steady else 3

    def value(self, state: ClusterState) -> float:
        """The measure that this driver is to bring down."""
        return _MEASURES[self.objective](state)


_MEASURES = {"distortion": states.distortion, "pairwise": states.pairwise, "angle": states.angle}


def driver_for(objective: str, metric: str, rule: str | float) -> Driver:
    """The driver behind valid parameters of ``KSums``, or of a baseline."""
    if objective == "pairwise":
        relaxation = 1.0 if isinstance(rule, str) else float(rule)
        return Driver(objective, PAIRWISE, relaxation, relaxation)
    if rule == "ikm":
        return Driver("angle", LENGTH, 1.0, 1.0)
    if rule in ("nearest", "lloyd"):
        kind = Driver("angle", ANGLE) if metric == "cosine" else Driver(objective, FAMILY)
        return replace(kind, lloyd=rule == "lloyd")
    if rule == "annealed":
        return driver_for(objective, metric, "ikm" if metric == "cosine" else "hartigan")
    if rule == "auto":
        rule = "paper" if metric == "cosine" else "hartigan"
    if rule == "paper" and metric == "cosine":
        return Driver("angle", COSINE)
    p, q = RULES[rule] if isinstance(rule, str) else (float(rule), float(rule))
    return Driver(objective, FAMILY, p, q)


def relaxed(driver: Driver, relaxation: float, heaviest: float = 1.0) -> Driver:
    """The driver for a pass of annealing, where samples weigh so much at most."""
    return replace(driver, p=relaxation, q=relaxation, per_size=1.0 / (MEMBERS_PER_RELAXATION * heaviest))


def relaxation_of(driver: Driver, exponent: float, sizes: Any) -> Any:
    """The exponent for clusters of these sizes: min(p, max(1, per_size · n))."""
    return np.minimum(exponent, np.maximum(1.0, driver.per_size * sizes))


def shares(driver: Driver, weights: Any) -> Any:
    """What a difference of costs is multiplied by to be a fall of the objective: the weight, where costs lack it."""
    return np.ones_like(weights) if driver.kind == LENGTH else weights


def stay_cost(driver: Driver, x: np.ndarray, weight: float, state: ClusterState, src: int) -> float:
    """Cost of sample x in its own cluster ``src``, whose composite and size include it."""
    composite, n = state.composites[src], state.sizes[src]
    q = relaxation_of(driver, driver.q, n)
    if driver.kind == PAIRWISE:
        m = float(state.counts[src])
        return float((m / (m - 1)) ** (q - 1) * (n * (x @ x) - 2 * (x @ composite) + state.norm_sums[src]))
    sq_length = composite @ composite
    if driver.kind == COSINE:
        return float(-(x @ composite) / np.sqrt(sq_length)) if sq_length > VANISHED * weight**2 else 0.0
    if driver.kind == ANGLE:
        return float(-(x @ composite) / np.sqrt(sq_length)) if sq_length > (VANISHED * n) ** 2 else 0.0
    if driver.kind == LENGTH:
        return float(np.linalg.norm(composite - q * weight * x) - np.sqrt(sq_length)) / q
    return float((n / (n - weight)) ** q * np.sum((x - composite / n) ** 2))


def rounding_margin(driver: Driver, x: np.ndarray, state: ClusterState, src: int) -> float:
    """The part of the stay cost that may be rounding, in float64."""
    n, share = state.sizes[src], ROUNDING[np.dtype(np.float64)]
    if driver.kind == PAIRWISE:
        return float(share * (n * (x @ x) + state.norm_sums[src]))
    if driver.kind in (COSINE, ANGLE):
        return share
    if driver.kind == LENGTH:
        return float(share * np.sqrt(state.sq_composites[src]))
    return float(share * (x @ x + state.sq_composites[src] / n**2))


def join_costs(driver: Driver, x: np.ndarray, weight: float, state: ClusterState) -> np.ndarray:
    """Cost of sample x in each cluster, supposing it joins; the entry of its own cluster means nothing."""
    composites, n = state.composites, state.sizes
    p = relaxation_of(driver, driver.p, n)
    if driver.kind == PAIRWISE:
        m = state.counts
        return (m / (m + 1)) ** (p - 1) * (n * (x @ x) - 2 * (composites @ x) + state.norm_sums)
    if driver.kind == COSINE:
        joined = composites + weight * x
        before, after = np.sum(composites**2, axis=1) + weight**2, np.sum(joined**2, axis=1)
        cosines = (joined @ x) / np.sqrt(np.maximum(after, np.finfo(float).tiny))
        return np.where(after > VANISHED * before, -cosines, 0.0)
    if driver.kind in (ANGLE, LENGTH):
        lengths = np.linalg.norm(composites, axis=1)
        if driver.kind == LENGTH:
            return (lengths - np.linalg.norm(composites + np.outer(p, weight * x), axis=1)) / p
        return -np.divide(composites @ x, lengths, out=np.zeros(len(n)), where=lengths > VANISHED * n)
    return (n / (n + weight)) ** p * np.sum((x - composites / n[:, None]) ** 2, axis=1)


def block_costs(
    driver: Driver,
    products: np.ndarray,
    sq_norms: np.ndarray,
    weights: np.ndarray,
    own: np.ndarray,
    state: ClusterState,
) -> tuple[np.ndarray, np.ndarray]:
    """Stay costs (b,) and join costs (b, k) of many samples at once, from their products (b, k) with the composites."""
    assert driver.kind != ANGLE, "no size limits for the rules of the baselines"
    n, length_sq = state.sizes, state.sq_composites
    rows, w = np.arange(len(own)), weights[:, None]
    p, q = relaxation_of(driver, driver.p, n), relaxation_of(driver, driver.q, n[own])
    if driver.kind == PAIRWISE:
        m = state.counts
        pairs = n * sq_norms[:, None] - 2 * products + state.norm_sums
        return (m[own] / np.maximum(m[own] - 1, 1)) ** (q - 1) * pairs[rows, own], (m / (m + 1)) ** (p - 1) * pairs
    tiny = np.finfo(float).tiny
    if driver.kind == LENGTH:
        lengths, q_w, p_w = np.sqrt(length_sq), q * weights, p * w
        left = np.sqrt(np.maximum(length_sq[own] - 2 * q_w * products[rows, own] + q_w**2, 0.0))
        joined = np.sqrt(np.maximum(length_sq + 2 * p_w * products + p_w**2, 0.0))
        return (left - lengths[own]) / q, (lengths - joined) / p
    if driver.kind == COSINE:
        before = length_sq + w**2
        after = before + 2 * w * products
        join = np.where(after > VANISHED * before, -(products + w) / np.sqrt(np.maximum(after, tiny)), 0.0)
        directed = length_sq[own] > VANISHED * weights**2
        stay = np.where(directed, -products[rows, own] / np.sqrt(np.maximum(length_sq[own], tiny)), 0.0)
        return stay, join
    distances = sq_norms[:, None] - 2 * products / n + length_sq / n**2
    alone = np.maximum(n[own] - weights, tiny)  # the last of a cluster: its cost is not asked for
    return (n[own] / alone) ** q * distances[rows, own], (n / (n + w)) ** p * distances
