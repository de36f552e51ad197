"""Bounds that tell which rows of a block cannot gain by a move, so that they need not be looked at.

Let W be the largest weight of a row (1 without weights), a_v² = (n_v/(n_v + W))^p and b_w² = (n_w/(n_w − W))^p with the
relaxation p of the cluster (1 but for annealing). A row x of cluster w cannot gain while

    slack  =  min over v ≠ w of a_v |x − C_v|  −  b_w |x − C_w|  >  0

because its join costs are at least a_v² |x − C_v|² and its stay cost is at most b_w² |x − C_w|². When centroids have
moved by δ_r and the factors have changed from a, b to a', b', the slack of a row of w has fallen by at most

    spent[w]  =  max over v ≠ w of (δ_v + (1 − a'_v/a_v)⁺ far)  +  b'_w δ_w + (b'_w/b_w − 1)⁺ far

where ``far`` is at least the first term of the slack of every row of the block, and so at least the second term as long
as the slack is positive. Each block keeps the centroids of its last visit: δ is the distance from there, not the length
of the path.

Rounding
--------
Let u be half a unit in the last place of the arithmetic of the rows, c_r the centroid C_r rounded to it, and x a
prepared row, which is exact by definition.

* |C_r − c_r| ≤ u |C_r|. The distances that are computed are those to c_r, and so are the δ_r; the latter add up from
  visit to visit, so the error of rounding enters once for each of the two clusters of a slack, whatever the number of
  visits: at most (a_v + b_w) u |C| ≤ 2.74 u |C|, as a_v < 1, and b_w² ≤ 3 where n_w ≥ 1.5 W. (With p > 1 it is less:
  a cluster is relaxed by at most n/(8 W), and (n/(n − W))^(n/(8 W)) ≤ 8/7 where that exceeds 1.) ``margin`` is 6 u R
  with R the length of the longest centroid when it was set. It holds as long as |C| ≤ 2 R; if a centroid becomes
  longer, the engine forgets all bounds.
* A computed squared distance is a chain of d fused multiply-adds of differences, all terms positive, so its relative
  error is at most (d + 2) u (1 + d u), its root's half of that, plus a few u for factor, product and root. ``rel`` is
  (d + 8) u, twice what is needed.
* Differences below √tiny of the type vanish when squared; that is an absolute error of at most √(d tiny), part of
  ``margin``.
* Slack is kept as float32, rounded down by more than float32 rounds. ``spent`` is float64; what it loses is far less
  than that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.compute.jit import helper, helper_reordering
from ksums.rules.compiled import exponent_for, power

TIGHT = 1.5
"""In a cluster smaller than this many of the heaviest rows, every row is looked at: b_w has no useful bound there."""
_DOWN = 1.2e-7
"""More than float32 rounds, relatively."""


class Bounds(NamedTuple):
    """What each block and each of its rows remembers."""

    slack: np.ndarray  # (n,)  float32: slack of the row plus what its cluster had spent then
    low: np.ndarray  # (pieces in all, groups, rows of a piece)  float32: bounds by groups of clusters, in the same way
    groups: np.ndarray  # (groups + 1,)  first cluster of each group, and k
    spent: np.ndarray  # (blocks, k)
    sunk: np.ndarray  # (blocks, groups)  what the bounds of a group have lost
    far: np.ndarray  # (blocks, pieces)  at least the largest bound that a row of the piece has
    centroids: np.ndarray  # (blocks, k, d)  of the block's last visit
    sizes: np.ndarray  # (blocks, k)     of the block's last visit
    relaxed: np.ndarray  # (blocks, 2)  p and relaxation_per_size of the block's last visit
    seen: np.ndarray  # (blocks,)  the clock at the block's last visit


class Relaxation(NamedTuple):
    """The numbers behind the factors a and b (see ``rules/kinds.py``)."""

    heaviest: float  # W
    p: float
    relaxation_per_size: float


class Drift(NamedTuple):
    """Work space: what has changed since a block's last visit."""

    changed: np.ndarray  # (k,)  bool
    moved: np.ndarray  # (k,)  δ_r


@helper
def rounded_down(value):
    """A float32 number that is not above ``value``."""
    return np.float32(value - abs(value) * _DOWN)


@helper
def join_factor(n, weight, relaxation):
    """(n/(n + w))^p: a² if w is the largest weight."""
    return power(n / (n + weight), exponent_for(relaxation, relaxation.p, n))


@helper
def stay_factor(n, weight, relaxation):
    """(n/(n − w))^p: b² if w is the largest weight, as far as it is used; all rows of tight clusters are looked at."""
    return power(n / max(n - weight, (TIGHT - 1.0) * weight), exponent_for(relaxation, relaxation.p, n))


@helper_reordering
def _distance_between(first, r, second):
    total = 0.0
    for t in range(second.shape[1]):
        away = np.float64(first[r, t]) - np.float64(second[r, t])
        total += away * away
    return np.sqrt(total)


@helper
def spend(
    b,  # IN     block
    centroids,  # IN
    state,  # IN
    relaxation,  # IN
    bounds,  # INOUT
    drift,  # OUT
):
    """Add to ``spent`` and ``sunk`` what rows of block b may have lost since its last visit, and note the visit."""
    k, before, sizes = len(state.sizes), bounds.centroids[b], bounds.sizes[b]
    any_changed, step = False, 0.0
    for r in range(k):
        drift.changed[r] = centroids.stamps[r] > bounds.seen[b]
        drift.moved[r] = 0.0
        if drift.changed[r]:
            any_changed = True
            drift.moved[r] = _distance_between(centroids.vectors, r, before)
            step = max(step, drift.moved[r])
    bounds.seen[b] = centroids.clock[0]
    if not any_changed:
        return
    far, heaviest = 0.0, relaxation.heaviest
    earlier = Relaxation(heaviest, bounds.relaxed[b, 0], bounds.relaxed[b, 1])
    bounds.relaxed[b, 0] = relaxation.p
    bounds.relaxed[b, 1] = relaxation.relaxation_per_size
    for piece in range(bounds.far.shape[1]):
        far = max(far, bounds.far[b, piece])
    most, runner_up, at_most = 0.0, 0.0, -1
    g, most_of_group = 0, 0.0
    for r in range(k):
        lost = 0.0
        if drift.changed[r]:
            now = join_factor(state.sizes[r], heaviest, relaxation)
            then = join_factor(sizes[r], heaviest, earlier)
            lost = drift.moved[r] + max(0.0, 1.0 - np.sqrt(now / then)) * far
        while r >= bounds.groups[g + 1]:
            bounds.sunk[b, g] += most_of_group
            g, most_of_group = g + 1, 0.0
        most_of_group = max(most_of_group, lost)
        if lost > most:
            most, runner_up, at_most = lost, most, r
        elif lost > runner_up:
            runner_up = lost
    bounds.sunk[b, g] += most_of_group
    for r in range(k):
        own = 0.0
        if drift.changed[r]:
            now = stay_factor(state.sizes[r], heaviest, relaxation)
            then = stay_factor(sizes[r], heaviest, earlier)
            own = np.sqrt(now) * drift.moved[r] + max(0.0, np.sqrt(now / then) - 1.0) * far
            sizes[r] = state.sizes[r]
            for t in range(before.shape[1]):
                before[r, t] = centroids.vectors[r, t]
        bounds.spent[b, r] += own + (runner_up if r == at_most else most)
