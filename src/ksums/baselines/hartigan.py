"""Hartigan's method: a sample moves if that lowers the sum of squares."""

from __future__ import annotations

from ksums.baselines.base import Baseline


class Hartigan(Baseline):
    """Hartigan's method, starting from random labels: the rule p = q = 1 of the family in ``ksums.rules.plain``.

    Under cosine it works on rows scaled to unit length.
    """

    rule, start = "hartigan", "random-labels"
