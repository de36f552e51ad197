"""Where first labels come from, and how the start for many clusters is made.

To add a start: put its name into ``INIT_NAMES`` (flat fits and splits of trees) or into ``FLAT_INIT_NAMES`` (flat fits
only), make its labels or centres in ``method/starts/first_labels.py``, say what it is in ``words.py``, and describe it
in the docstring of ``KSums``. ``tests/test_seeding.py`` and ``tests/test_planning.py`` take the names from here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.planning.plan import StartPlan
from ksums.planning.shape import Shape

INIT_NAMES = ("auto", "random-labels", "k-means++", "random-points")
"""What the parameter ``init`` may be called."""
FLAT_INIT_NAMES = (*INIT_NAMES, "two-level")
"""What the ``init`` of ``KSums`` may be called."""

_SAMPLE = 5000
"""``"auto"`` seeds from a sample of at least 5,000 rows: more rows take longer and do not end lower, because annealing
and search follow (``benchmarks/quality.py``)."""
_SAMPLE_PER_CLUSTER = 10
"""The sample has at least 10 rows for each cluster, so that most clusters are represented in it."""
_MOST_SEEDED = 1000
"""For k > 1,000 ``"auto"`` takes random rows instead of k-means++ seeds, whose k rounds over the sample cost more than
they gain (``benchmarks/large_k.py``)."""


def start_plan(init: str | np.ndarray, lists: bool, shape: Shape) -> StartPlan:
    """The start behind a checked ``init`` parameter."""
    if isinstance(init, np.ndarray):
        return StartPlan("labels" if init.ndim == 1 else "centres")
    if init != "auto":
        return StartPlan(init)
    if lists:
        return StartPlan("two-level")
    sample = max(_SAMPLE, _SAMPLE_PER_CLUSTER * shape.k)
    name = "k-means++" if shape.k <= _MOST_SEEDED else "random-points"
    return StartPlan(name, sample if shape.n > sample else 0)


# ------------------------------------------------------------------------------------------ two-level
class CellPasses(NamedTuple):
    """The passes that cluster the rows of a cell: the relaxation of each."""

    some: tuple[float, ...]  # over some of the rows, then
    all: tuple[float, ...]  # over all of them
    share: float = 0.4  # the share of the rows that are some


COARSE = CellPasses((), (2.0, 1.5, 1.0))
"""Passes that make the coarse clusters."""
FINE = CellPasses((2.0, 2.0, 1.5), (1.0, 1.0))
"""Passes inside a coarse cluster: those over some rows are worth more than their time (``benchmarks/large_k.py``)."""
IN_HASTE = CellPasses((2.0,), (1.0,))
"""Passes inside a coarse cluster if time is short."""
SAMPLE_PER_CELL = 200
"""The sample for the coarse clusters has 200 rows for each of them (``benchmarks/large_k.py``)."""
LEAST_MEMBERS = 3
"""Of the rows of a cell, at least 3 for each of its clusters join before the others do."""
SHARE_FOR_CELLS = 0.4
"""The cells may take this share of the time left; if they would take longer, they are made in haste."""
UNEVEN = 8
"""A cell with 8 times the work of an average one is itself divided into coarse clusters."""


def coarse_clusters(k: int) -> int:
    """Number of coarse clusters for k clusters: √k makes both levels equally large."""
    return max(1, round(k**0.5))
