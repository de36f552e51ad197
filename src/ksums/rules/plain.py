"""The plain form of every kind: costs in NumPy float64, with the paper's equation numbers. This is what they mean.

The reference engine and the exchanges under size limits use these; the compiled form (``compiled.py``) must equal them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ksums.rules.kinds import COSINE, DIRECTION, KINDS, LENGTH, PAIRS, ROUNDING, SQUARES, VANISHED, Kind, Rule
from ksums.rules.objectives import Sums

_ROUNDING = ROUNDING[np.dtype(np.float64)]
_TINY = np.finfo(float).tiny


class PlainForm(ABC):
    """The costs of one kind. A kind is complete when it has all of these."""

    @abstractmethod
    def stay_cost(self, rule: Rule, x: np.ndarray, weight: float, sums: Sums, src: int) -> float:
        """Cost of sample x in its cluster ``src``, whose composite and size include it."""

    @abstractmethod
    def join_costs(self, rule: Rule, x: np.ndarray, weight: float, sums: Sums) -> np.ndarray:
        """(k,) Cost of sample x in each cluster if it joined; the entry of its own cluster means nothing."""

    @abstractmethod
    def rounding_margin(self, x: np.ndarray, sums: Sums, src: int) -> float:
        """The part of the stay cost that may be rounding."""

    @abstractmethod
    def block_costs(
        self, rule: Rule, products: np.ndarray, sq_norms: np.ndarray, weights: np.ndarray, own: np.ndarray, sums: Sums
    ) -> tuple[np.ndarray, np.ndarray]:
        """Stay costs (b,) and join costs (b, k) of many samples, from their products (b, k) with the composites."""

    @abstractmethod
    def coefficients(self, sums: Sums) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """a, b, c of a·|C|² − b·(C·C_r) + c: what it would cost a centre C to join cluster r, relaxation aside."""


class _Squares(PlainForm):
    def stay_cost(self, rule, x, weight, sums, src):
        n = sums.sizes[src]
        q = rule.exponent_for(rule.q, n)
        return float((n / (n - weight)) ** q * np.sum((x - sums.composites[src] / n) ** 2))

    def join_costs(self, rule, x, weight, sums):
        n = sums.sizes
        p = rule.exponent_for(rule.p, n)
        return (n / (n + weight)) ** p * np.sum((x - sums.composites / n[:, None]) ** 2, axis=1)

    def rounding_margin(self, x, sums, src):
        return float(_ROUNDING * (x @ x + sums.sq_composites[src] / sums.sizes[src] ** 2))

    def block_costs(self, rule, products, sq_norms, weights, own, sums):
        n, rows = sums.sizes, np.arange(len(own))
        p, q = rule.exponent_for(rule.p, n), rule.exponent_for(rule.q, n[own])
        distances = sq_norms[:, None] - 2 * products / n + sums.sq_composites / n**2
        alone = np.where(
            n[own] > weights, n[own] - weights, n[own]
        )  # nobody asks for the cost of a cluster's last sample
        stay = (n[own] / alone) ** q * distances[rows, own]
        return stay, (n / (n + weights[:, None])) ** p * distances

    def coefficients(self, sums):
        ones = np.ones(len(sums.sizes))
        return ones, 2 * ones, sums.sq_composites / sums.sizes**2


class _Pairs(PlainForm):
    """Eqns. 10–14. The relaxation goes by the number of samples m, as the costs themselves do."""

    def stay_cost(self, rule, x, weight, sums, src):
        n, m = sums.sizes[src], float(sums.counts[src])
        q = rule.exponent_for(rule.q, n)
        pairs = n * (x @ x) - 2 * (x @ sums.composites[src]) + sums.norm_sums[src]
        return float((m / (m - 1)) ** (q - 1) * pairs)

    def join_costs(self, rule, x, weight, sums):
        n, m = sums.sizes, sums.counts
        p = rule.exponent_for(rule.p, n)
        return (m / (m + 1)) ** (p - 1) * (n * (x @ x) - 2 * (sums.composites @ x) + sums.norm_sums)

    def rounding_margin(self, x, sums, src):
        return float(_ROUNDING * (sums.sizes[src] * (x @ x) + sums.norm_sums[src]))

    def block_costs(self, rule, products, sq_norms, weights, own, sums):
        n, m, rows = sums.sizes, sums.counts, np.arange(len(own))
        p, q = rule.exponent_for(rule.p, n), rule.exponent_for(rule.q, n[own])
        pairs = n * sq_norms[:, None] - 2 * products + sums.norm_sums
        stay = (m[own] / np.maximum(m[own] - 1, 1)) ** (q - 1) * pairs[rows, own]
        return stay, (m / (m + 1)) ** (p - 1) * pairs

    def coefficients(self, sums):
        return sums.sizes, 2 * sums.sizes, sums.norm_sums


class _Directions(PlainForm):
    """What the kinds that compare directions share."""

    def rounding_margin(self, x, sums, src):
        return _ROUNDING

    def coefficients(self, sums):
        ones = np.ones(len(sums.sizes))
        return 0 * ones, ones, ones


class _Cosine(_Directions):
    """Eqns. 7–8."""

    def stay_cost(self, rule, x, weight, sums, src):
        composite = sums.composites[src]
        sq_length = composite @ composite
        return float(-(x @ composite) / np.sqrt(sq_length)) if sq_length > VANISHED * weight**2 else 0.0

    def join_costs(self, rule, x, weight, sums):
        joined = sums.composites + weight * x
        before, after = np.sum(sums.composites**2, axis=1) + weight**2, np.sum(joined**2, axis=1)
        cosines = (joined @ x) / np.sqrt(np.maximum(after, _TINY))
        return np.where(after > VANISHED * before, -cosines, 0.0)

    def block_costs(self, rule, products, sq_norms, weights, own, sums):
        sq_lengths, rows, w = sums.sq_composites, np.arange(len(own)), weights[:, None]
        before = sq_lengths + w**2
        after = before + 2 * w * products
        join = np.where(after > VANISHED * before, -(products + w) / np.sqrt(np.maximum(after, _TINY)), 0.0)
        directed = sq_lengths[own] > VANISHED * weights**2
        stay = np.where(directed, -products[rows, own] / np.sqrt(np.maximum(sq_lengths[own], _TINY)), 0.0)
        return stay, join


class _Direction(_Directions):
    def stay_cost(self, rule, x, weight, sums, src):
        composite = sums.composites[src]
        sq_length = composite @ composite
        directed = sq_length > (VANISHED * sums.sizes[src]) ** 2
        return float(-(x @ composite) / np.sqrt(sq_length)) if directed else 0.0

    def join_costs(self, rule, x, weight, sums):
        lengths = np.linalg.norm(sums.composites, axis=1)
        directed = lengths > VANISHED * sums.sizes
        return -np.divide(sums.composites @ x, lengths, out=np.zeros(len(lengths)), where=directed)

    def block_costs(self, rule, products, sq_norms, weights, own, sums):
        lengths = np.sqrt(sums.sq_composites)
        directed = lengths > VANISHED * sums.sizes
        join = -np.divide(products, lengths, out=np.zeros_like(products), where=directed)
        return join[np.arange(len(own)), own], join


class _Length(_Directions):
    """Differences of two lengths as quotients, which lose no digits where the lengths are large."""

    def stay_cost(self, rule, x, weight, sums, src):
        composite = sums.composites[src]
        q, sq_length = rule.exponent_for(rule.q, sums.sizes[src]), composite @ composite
        less = weight * (q * weight * (x @ x) - 2 * (x @ composite))
        return float(less / (np.sqrt(max(sq_length + q * less, 0.0)) + np.sqrt(sq_length)))

    def join_costs(self, rule, x, weight, sums):
        sq_lengths = np.sum(sums.composites**2, axis=1)
        p = rule.exponent_for(rule.p, sums.sizes)
        more = weight * (2 * (sums.composites @ x) + p * weight * (x @ x))
        return -more / (np.sqrt(sq_lengths) + np.sqrt(np.maximum(sq_lengths + p * more, 0.0)))

    def block_costs(self, rule, products, sq_norms, weights, own, sums):
        n, sq_lengths, rows = sums.sizes, sums.sq_composites, np.arange(len(own))
        p, q, w = rule.exponent_for(rule.p, n), rule.exponent_for(rule.q, n[own]), weights[:, None]
        less = weights * (q * weights * sq_norms - 2 * products[rows, own])
        left = np.sqrt(np.maximum(sq_lengths[own] + q * less, 0.0)) + np.sqrt(sq_lengths[own])
        more = w * (2 * products + p * w * sq_norms[:, None])
        joined = np.sqrt(sq_lengths) + np.sqrt(np.maximum(sq_lengths + p * more, 0.0))
        return less / np.maximum(left, _TINY), -more / np.maximum(joined, _TINY)


_FORMS: dict[Kind, PlainForm] = {
    SQUARES: _Squares(),
    PAIRS: _Pairs(),
    COSINE: _Cosine(),
    DIRECTION: _Direction(),
    LENGTH: _Length(),
}
if missing := [kind.name for kind in KINDS if kind not in _FORMS]:
    raise ImportError(f"no plain form in ksums.rules.plain for: {', '.join(missing)}")


def plain_form(rule: Rule) -> PlainForm:
    """The plain form of a rule's kind."""
    return _FORMS[rule.kind]


def gain_factors(rule: Rule, weights: Any) -> Any:
    """What a difference of costs is multiplied by to give the fall of the objective: 1 or the weight."""
    return np.ones_like(weights) if rule.kind.cost_includes_weight else weights
