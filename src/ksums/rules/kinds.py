"""Every kind of driven function, described once: its formulas, what it minimises, and what its passes promise.

A sample x of weight w moves to the cluster of least join cost if that cost is strictly below its stay cost, by more
than rounding can explain; otherwise equal rows would swap clusters indefinitely. With C = D/n, where D and n include x
for the cluster it is in:

=============  ==================================================  ========================================
kind           stay                                                join
=============  ==================================================  ========================================
SQUARES (l2)   (n / (n − w))^q · |x − C|²                          (n / (n + w))^p · |x − C|²
PAIRS          Σ_{y in S} |x − y|²  =  n x·x − 2 x·D + Q           the same (Eqns. 10–14)
COSINE         −cos(x, D)                                          −cos(x, D + w x)  (Eqns. 7–8)
DIRECTION      −cos(x, D)                                          −cos(x, D)
LENGTH         (|D − q w x| − |D|) / q                             (|D| − |D + p w x|) / p
=============  ==================================================  ========================================

The exponents p and q of SQUARES make the rules that have a name:

============  ====  ====  ==========================================================================
rule             p     q  what it is
============  ====  ====  ==========================================================================
``online``       0     0  MacQueen: distance to the centroid, no correction for size
``hartigan``     1     1  the exact change of the sum of squares, so E_m never rises
``paper``        2     0  I_m as printed (Eqns. 4–6): distance to the centroid with x counted in
``released``     2     2  I_m as in the authors' released code: over-relaxed, need not settle
a float p        p     p  relaxation p: 1 is ``hartigan``, above 1 it moves more, below 1 less
============  ====  ====  ==========================================================================

Annealing (``annealing.py``) starts with p = q far above 1. There a cluster of m samples is relaxed by at most m/8, and
PAIRS is relaxed too: its costs are multiplied by (m/(m − 1))^(q−1) and (m/(m + 1))^(p−1). At p = q = 1 a sample under
SQUARES, PAIRS or LENGTH moves if and only if the objective falls.

Under cosine, ``paper`` compares directions (COSINE) and minimises the mean cosine distance to the cluster's centroid,
1 − Σ|D_r|/n. So does ``annealed``, by LENGTH. The other rules are SQUARES on unit rows and minimise their E_m. Three
more rules serve the paper's baselines: ``nearest`` is ``online``, comparing directions under cosine (DIRECTION);
``lloyd`` is the same for samples that all move together; ``ikm``, for cosine only, lowers the mean cosine distance with
every move (LENGTH).

To add a kind: describe it here and add it to ``KINDS``, then write its plain form (``plain.py``; the import fails until
it is complete) and its compiled form, six branches and a constant in ``compiled.py`` (``tests/test_rules.py`` names
what is missing). Numba's cache does not notice changes in ``compiled.py``: ``make clean-kernels``.

To add a name for users: put it into ``RULE_NAMES`` (and into ``EXPONENTS`` if it is of kind SQUARES), return its rule
from ``rule_for``, and describe it in the docstring of ``KSums`` and in ``docs/guide/method.md``. Parameter checks and
tests take the names from here.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Kind:
    """A kind of driven function."""

    name: str
    code: int
    """The number by which compiled kernels know it."""
    stay: str
    join: str
    """The formulas of both costs."""
    objective: str
    """What a rule of this kind minimises; see ``objectives.py``."""
    _: KW_ONLY
    affine: bool
    """Whether, with all weights 1, the join cost is affine in x·D with coefficients that depend on the cluster only."""
    affine_with_weights: bool
    """Whether that still holds when samples have weights."""
    exact: bool
    """Whether, at p = q = 1, a sample moves if and only if the objective falls."""
    directions: bool = False
    """Whether costs compare directions, so that a cluster counts by D/|D| instead of by D/n."""
    cost_includes_weight: bool = False
    """Whether a difference of costs is the fall of the objective itself; otherwise it is that per unit of weight."""


SQUARES = Kind(
    "SQUARES", 0, "(n/(n−w))^q |x − C|²", "(n/(n+w))^p |x − C|²", "distortion",
    affine=True, affine_with_weights=False, exact=True,
)  # fmt: skip
PAIRS = Kind(
    "PAIRS", 1, "n x·x − 2 x·D + Q", "n x·x − 2 x·D + Q", "pairwise",
    affine=True, affine_with_weights=True, exact=True,
)  # fmt: skip
COSINE = Kind(
    "COSINE", 2, "−cos(x, D)", "−cos(x, D + w x)", "cosine_distance",
    affine=False, affine_with_weights=False, exact=False, directions=True,
)  # fmt: skip
DIRECTION = Kind(
    "DIRECTION", 3, "−cos(x, D)", "−cos(x, D)", "cosine_distance",
    affine=True, affine_with_weights=True, exact=False, directions=True,
)  # fmt: skip
LENGTH = Kind(
    "LENGTH", 4, "(|D − q w x| − |D|)/q", "(|D| − |D + p w x|)/p", "cosine_distance",
    affine=False, affine_with_weights=False, exact=True, directions=True, cost_includes_weight=True,
)  # fmt: skip

KINDS = (SQUARES, PAIRS, COSINE, DIRECTION, LENGTH)
"""All kinds. Both forms and the tests go through this list."""

VANISHED = 1e-6
"""A composite this short, relative to what was added up in it, has no direction: its cosine counts as 0."""

ROUNDING = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-6}
"""The share of the terms of a cost that may be rounding, by the arithmetic the cost was computed in."""

UNLIMITED = 1e200
"""A relaxation limit so high that clusters of all sizes have the same exponents."""

EXPONENTS = {
    "online": (0.0, 0.0),
    "hartigan": (1.0, 1.0),
    "paper": (2.0, 0.0),
    "released": (2.0, 2.0),
}
"""The exponents p and q of the named rules of kind SQUARES."""

RULE_NAMES = ("auto", *EXPONENTS)
"""What the parameter ``rule`` of an estimator may be called; ``KSums`` also knows ``"annealed"``."""
PAIRWISE_RULE_NAMES = ("auto", "paper")
"""Of these, the ones that mean something for the objective ``"pairwise"``."""

_PATIENCE = 3
"""Passes without progress after which a rule that may also raise its objective has settled."""


@dataclass(frozen=True)
class Rule:
    """When a sample moves: a kind, its exponents, and what its passes promise."""

    kind: Kind
    p: float = 0.0
    q: float = 0.0
    relaxation_per_size: float = UNLIMITED
    """In a cluster of size n, p and q are at most this times n, or 1 if that is more."""
    all_at_once: bool = False
    """Whether all samples of a pass are decided on one state (Lloyd), so that no pass raises the objective."""

    @property
    def objective(self) -> str:
        """What the rule minimises."""
        return self.kind.objective

    @property
    def monotone(self) -> bool:
        """Whether no single move ever raises the objective."""
        return self.kind.exact and self.p == self.q == 1.0

    @property
    def steady(self) -> bool:
        """Whether no pass ever raises the objective, so that the last labels are the best."""
        return self.monotone or self.all_at_once

    @property
    def patience(self) -> int:
        """Passes without progress after which a fit has settled."""
        return 1 if self.steady else _PATIENCE

    def exponent_for(self, exponent: float, sizes: Any) -> Any:
        """The exponent for clusters of these sizes: min(p, max(1, relaxation_per_size · n))."""
        return np.minimum(exponent, np.maximum(1.0, self.relaxation_per_size * sizes))


def rule_for(objective: str, metric: str, rule: str | float) -> Rule:
    """The rule behind valid parameters of an estimator."""
    if objective == "pairwise":
        relaxation = 1.0 if isinstance(rule, str) else float(rule)
        return Rule(PAIRS, relaxation, relaxation)
    if rule == "ikm":
        return Rule(LENGTH, 1.0, 1.0)
    if rule in ("nearest", "lloyd"):
        return Rule(DIRECTION if metric == "cosine" else SQUARES, all_at_once=rule == "lloyd")
    if rule == "annealed":
        return rule_for(objective, metric, "ikm" if metric == "cosine" else "hartigan")
    if rule == "auto":
        rule = "paper" if metric == "cosine" else "hartigan"
    if rule == "paper" and metric == "cosine":
        return Rule(COSINE)
    p, q = EXPONENTS[rule] if isinstance(rule, str) else (float(rule), float(rule))
    return Rule(SQUARES, p, q)
