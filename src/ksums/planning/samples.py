"""Searches on samples of the rows: when they replace annealing and search over all rows, and how large they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from ksums.planning.effort import is_timed
from ksums.planning.plan import Plan, Round, SamplePlan, StartPlan, Stop
from ksums.planning.shape import Shape

LEAST_ROWS = 50_000
"""From 50,000 rows on, searches on samples and passes with bounds over all rows end as low as annealing and search over
all rows, in a fraction of the time (``benchmarks/common_case.py``)."""
MOST_CLUSTERS = 512
"""For more clusters the samples would be nearly all of the rows, and neighbour lists are faster."""
_ROWS, _ROWS_PER_CLUSTER = 5000, 200
"""A sample has 5,000 rows, or 200 for each cluster if that is more: larger ones bring nothing
(``benchmarks/common_case.py``)."""
_MANY_ROWS = 100_000
"""From 100,000 rows on, a fit must not take longer than k-means, so samples are made smaller where they would."""
_SAMPLES_OF_FEWER_ROWS = 4
"""Below 100,000 rows at least four samples are searched at a time: two of them ended higher on GloVe with 60,000 rows
and k = 10 (``benchmarks/common_case.py``)."""
_LEAST_SAMPLE, _LEAST_PER_CLUSTER = 2500, 50
"""No sample has fewer rows than 2,500, or than 50 for each cluster."""
_FEW_CLUSTERS = 8
"""Up to 8 clusters a search is short, and which optimum it finds matters most: there may be more samples."""
_LEAST_LARGER, _MOST_LARGER, _MOST_LONGER = 2.0, 4.0, 6.0
"""For more clusters, the time that k-means would take buys samples of twice to four times as many rows, and searches up
to six times as long. One batch of these ends lower than two batches of smaller ones: 0.6 % with k = 100 on a million
rows in 300 groups (``benchmarks/common_case.py``, ``command_line.py``)."""
_SHORTEST = 0.4
"""Where not even one batch fits into the time that k-means would take with so few clusters, there is one, and searches
are shorter, down to this share."""
_PLANE, _LEAST_IN_THE_PLANE, _LEAST_OF_CLUSTER = 3, 5_000, 50
"""In up to three dimensions the means of patches stand for the rows, if there are more than a few clusters. This pays
from 5,000 rows on, if there are 50 for each cluster; high effort searches all rows of fewer than 50,000."""
_PATCHES, _PATCHES_PER_CLUSTER = 4096, 100
"""There are 4,096 patches, or 100 for each cluster if that is more. Searches of them end lower than searches of samples
with three times as many rows, in half of the time (birch1, ``benchmarks/common_case.py``)."""
_LEAST_ROWS_OF_PATCH, _ROWS_OF_PATCH, _ROWS_OF_PATCHES = 4, 8, 200_000
"""A patch has at least 4 rows on average. Patches are made of at most 200,000 rows, which takes some 15 ms, or of 8
rows for each if that is more."""
_LONGER_ON_PATCHES = 1.5
"""A search of patches is this much longer than a search of as many rows, unless k-means would take less time."""
_MIDDLE, _MIDDLE_PER_SAMPLE = 50_000, 10
"""The stage in the middle has ten times the rows of a sample, and at least 50,000, so that the best sample is told from
the others by more than chance."""
_SHARE_OF_LARGER = 4
"""These larger samples have at most a quarter of the rows."""
_SHARE_OF_MIDDLE = 8
"""There is no stage in the middle unless it is at most an eighth of the rows; all rows are then soon read."""
_TOL = 1e-6
"""Passes over all rows end when one of them gains less than this share of the objective."""
_EXACT_PASSES = 32
"""With few clusters the first 32 passes ignore the tolerance, because most fits settle completely within them."""
_MANY_CLUSTERS = 64
"""For k ≥ 64 the tolerance holds from the first pass on, because the last passes take long
(``benchmarks/common_case.py``)."""
_TOL_OF_LOOKS = 1e-2
"""Passes after the search of a look end when one gains less than this: they would gain little on all rows."""
_SHARE_OF_SAMPLES, _LOOKS_OF_TIMED = 0.5, 2
"""With a time limit, the samples may take half of the time; a look takes as much as a sample."""


class _Level(NamedTuple):
    at_a_time: int  # samples that are searched before they are compared
    batches: int  # how often samples are drawn, at most
    batches_of_few: int  # the same for few clusters
    looks: int  # further samples with more of the rows far out
    larger: float  # times as many rows in a sample
    effort: str  # of the search of a sample


_LEVELS = {
    "low": _Level(2, 1, 1, 2, 0.5, "default"),
    "default": _Level(2, 2, 3, 3, 1.0, "default"),
    "high": _Level(4, 3, 4, 6, 2.0, "high"),
}
"""Low effort on samples is not reliable, so the levels differ in their number and size
(``benchmarks/common_case.py``)."""


def _level(effort: str | float) -> _Level:
    """The level of an effort; with a number of seconds the highest."""
    return _LEVELS[effort] if isinstance(effort, str) else _LEVELS["high"]


def uses_samples(shape: Shape, effort: str | float) -> bool:
    """Whether searching samples, or patches, pays for data of this shape."""
    if shape.sparse or not 1 < shape.k <= MOST_CLUSTERS:
        return False
    return shape.n >= LEAST_ROWS or _searches_patches(shape, effort)


def _searches_patches(shape: Shape, effort: str | float) -> bool:
    """Whether patches are searched in place of samples."""
    if shape.d > _PLANE or shape.k <= _FEW_CLUSTERS:
        return False
    enough = effort in ("low", "default") and shape.n >= max(_LEAST_IN_THE_PLANE, _LEAST_OF_CLUSTER * shape.k)
    return enough or shape.n >= LEAST_ROWS


class Sizes(NamedTuple):
    """How much is searched."""

    rows: int  # of a sample, or those that patches are made of
    at_a_time: int  # samples
    batches: int  # of samples, at most
    middle: int  # rows of the stage in the middle; 0: none
    longer: float  # times as long a search of each sample
    patches: int = 0  # stand for the rows, which are searched themselves if there are none


def sample_sizes(shape: Shape, effort: str | float) -> Sizes:
    """How much is searched for data of this shape."""
    level, n, k = _level(effort), shape.n, shape.k
    if _searches_patches(shape, effort):
        return _sizes_of_patches(n, k, effort)
    rows, count, longer = max(_ROWS, _ROWS_PER_CLUSTER * k), level.at_a_time, 1.0
    batches = level.batches_of_few if k <= _FEW_CLUSTERS else level.batches
    if n < _MANY_ROWS:
        count = max(count, _SAMPLES_OF_FEWER_ROWS)
    else:
        affordable = _affordable_rows(n, k)
        spare = affordable / (count * rows)
        if effort in ("low", "default") and k <= _FEW_CLUSTERS and spare < 1.0:
            batches, longer = 1, max(_SHORTEST, spare)
        if effort == "default" and k > _FEW_CLUSTERS and spare >= _LEAST_LARGER:
            larger, batches = min(_MOST_LARGER, spare), 1
            longer = max(1.0, min(_MOST_LONGER, spare / larger))
            rows = max(rows, min(n // _SHARE_OF_LARGER, int(larger * rows)))
        rows = min(rows, max(_LEAST_SAMPLE, _LEAST_PER_CLUSTER * k, int(affordable / 2)))
    rows = int(min(n, max(_LEAST_PER_CLUSTER * k, min(n // 2, level.larger * rows))))
    middle = max(_MIDDLE, _MIDDLE_PER_SAMPLE * rows)
    return Sizes(rows, count, batches, middle if middle <= n // _SHARE_OF_MIDDLE else 0, longer)


def _sizes_of_patches(n: int, k: int, effort: str | float) -> Sizes:
    """The same if patches are searched."""
    level = _level(effort)
    patches = min(n // _LEAST_ROWS_OF_PATCH, int(level.larger * max(_PATCHES, _PATCHES_PER_CLUSTER * k)))
    rows, longer, batches = min(n, max(_ROWS_OF_PATCHES, _ROWS_OF_PATCH * patches)), _LONGER_ON_PATCHES, level.batches
    if effort in ("low", "default"):
        longer, batches = level.larger * longer, 1
        if n >= _MANY_ROWS:
            longer = max(_SHORTEST, longer * min(1.0, _affordable_rows(n, k) / (level.at_a_time * patches)))
    return Sizes(rows, level.at_a_time, batches, rows if rows <= n // _SHARE_OF_MIDDLE else 0, longer, patches)


def _affordable_rows(n: int, k: int) -> float:
    """Rows of all samples of a batch together whose search takes about a fifth of the time of k-means.

    A search compares each row of its sample with a cluster some 800 + 40 k times. k-means compares each row some
    40 (1 + k/32) times with all k clusters, at about three times the speed.
    """
    return 0.065 * 40.0 * (1.0 + k / 32.0) * n * k / (800.0 + 40.0 * k)


def effort_of_samples(effort: str | float, count: int) -> str | float:
    """The effort of the search of each sample."""
    if is_timed(effort):
        return _SHARE_OF_SAMPLES * float(effort) / count
    return _LEVELS[effort].effort if isinstance(effort, str) else effort


class SampleNumbers(NamedTuple):
    """How samples are drawn and compared."""

    heavy: float = 4.0  # a row with this many times its share of the sum of squares of a sample is in all samples
    first_passes: int = 5  # passes of each candidate in the middle, before they are compared
    middle_tol: float = 1e-5  # the passes in the middle end here: the last digits come from all rows anyway
    far: float = 10.0  # a row with this many times the mean squared distance to its centre is far out
    share_of_far: float = 2e-3  # of the sum of squares, from which on there are looks
    passes_of_look: int = 3  # over all rows, before they are looked at, and after
    tol_of_look: float = 1e-4  # of these passes
    least_gain_of_look: float = 3e-4  # of a search on it, so that all rows are asked
    last_gain_of_look: float = 5e-4  # on all rows, up to which no further look would bring anything
    agree: float = 5e-4  # if the best two candidates differ by more than this share, further samples are drawn


NUMBERS = SampleNumbers()


def sample_plan(shape: Shape, effort: str | float, plan_of: Callable[[Shape, str | float], Plan]) -> SamplePlan:
    """The samples for data of this shape; ``plan_of`` makes the plan of a sample from its shape and effort."""
    sizes = sample_sizes(shape, effort)
    few, weighted = sizes.patches or sizes.rows, shape.weighted or sizes.patches > 0
    small = Shape(few, shape.d, shape.k, shape.dtype, weighted=weighted, memory=shape.memory, threads=1)
    plan = plan_of(small, effort_of_samples(effort, sizes.at_a_time))
    rounds = tuple(replace(work, comparisons=sizes.longer * work.comparisons) for work in plan.rounds)
    plan = replace(plan, rounds=rounds)
    found = SamplePlan(sizes.rows, sizes.at_a_time, sizes.batches, sizes.middle, plan, patches=sizes.patches)
    if plan.search is None or (sizes.patches and sizes.rows == shape.n):
        return found
    look = replace(plan, start=StartPlan("labels"), annealing=None, rounds=(Round(0, rounds[-1].comparisons),))
    looks = _LOOKS_OF_TIMED if is_timed(effort) else _level(effort).looks
    return replace(found, looks=looks, look=replace(look, stop=replace(plan.stop, tol=_TOL_OF_LOOKS)))


def stop_of_passes(k: int, max_iter: int, tol: float | None) -> Stop:
    """When the passes over all rows end: when nothing moves, where that is soon."""
    if tol is not None:
        return Stop(max_iter, float(tol))
    return Stop(max_iter, _TOL, _EXACT_PASSES if k < _MANY_CLUSTERS else 0)
