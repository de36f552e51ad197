"""Hartigan's method: a sample moves when the sum of squares falls by it."""

from __future__ import annotations

from ksums.baselines._base import Baseline


class Hartigan(Baseline):
    """Hartigan's method from random labels: the rule p = q = 1 of the family in ``ksums.drivers``.

    Under cosine it works on the rows scaled to unit length.
    """

    rule, start = "hartigan", "random-labels"
