"""What a pass leaves behind."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PassRecord:
    """One pass over all samples, or a part of the merge–split search.

    Measures come from the running sums, in float64, of the active rows. Rows of weight 0, and rows of zeros under
    cosine, are not active and do not count.
    """

    index: int
    """1 for the first record."""
    objective: float
    """What the fit minimises: one of the two measures below, or, where directions are compared (``"cosine"`` with the
    rules ``"annealed"`` and ``"paper"``; some baselines), the mean cosine distance to the cluster's centroid."""
    distortion: float
    """E_m after the pass."""
    pairwise: float
    """E_s after the pass."""
    moves: int
    """Samples that changed their cluster."""
    smallest: float
    """Size of the smallest cluster."""
    largest: float
    """Size of the largest cluster."""
    seconds: float
    """Wall-clock time from the start of the run, seeding included, to the end of the pass."""
    comparisons: int = 0
    """How often a sample was compared with a cluster (and, where there are lists of nearest clusters, a cluster with
    another one to make them)."""
    stage: str = "pass"
    """``"samples"``: searches on samples of the rows, up to the first labels of all rows. ``"start"``: the first labels
    of a fit on a card whose time was over before its first pass. ``"annealing"``: a pass with relaxation above 1.
    ``"pass"``: any other. ``"merge-split"``: trials of the search for a better optimum, at most ten records, on a card
    one for each round. ``"polish"``: the last check of all clusters. Under constraints these stages come first and
    ignore them; from the first ``"assign"`` on all constraints hold after every record. ``"assign"``: rows are assigned
    to centres under the constraints. ``"trial"``: one cluster is dissolved and another one split, or all clusters begin
    elsewhere; undone unless that is better."""
    relaxation: float = 1.0
    """p of an annealing pass."""
    trials: int = 0
    """Trials made."""
    kept: int = 0
    """Trials that were not undone."""
    gain: float = 0.0
    """Fall of the objective in these trials."""


def passes_of(records: list[PassRecord]) -> int:
    """How many of the records are passes."""
    return sum(record.stage in ("annealing", "pass", "polish") for record in records)
