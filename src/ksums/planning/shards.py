"""Plans for data in blocks: how large blocks and the sample are, and how many rounds there are.

None of this depends on memory, threads or workers, so that labels do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ksums.planning import effort as efforts
from ksums.planning.blocks import bytes_of_bounds
from ksums.planning.engines import reason_for_lists
from ksums.planning.flat import flat_rule, plan_flat, schedule_of
from ksums.planning.plan import EnginePlan, ShardPlan
from ksums.planning.samples import MOST_CLUSTERS
from ksums.planning.shape import Shape
from ksums.rules.annealing import Annealed, relaxations
from ksums.rules.kinds import SQUARES

_BLOCK_BYTES = 64 << 20
"""A block has 64 MiB of rows: some of them fit into any memory, and reading one takes longer than opening a file."""
_ROWS_PER_CLUSTER = 1024
"""The first centres come from a sample of 1,024 rows for each cluster: the larger the sample, the lower a fit ends
(``benchmarks/shards.py``)."""
_LEAST_SAMPLE = 50_000
_SAMPLE_BYTES = 256 << 20
"""The sample takes at most 256 MiB, so that it fits beside the blocks; at least 32 rows for each cluster, though."""
_LEAST_PER_CLUSTER = 32
_BLOCKS_IN_A_TURN = 2
"""Blocks that move at once where E_s is minimised: a fit then ends within 0.2 % of one in memory
(``benchmarks/shards.py``). In a trial with rows sorted by content, eight at once ended a third higher."""
_TOL = 1e-5
"""Rounds at p = 1 end when one of them gains less than this share of the objective."""
_SHARE_OF_SAMPLE = 0.4
"""With a time limit, the sample may take two fifths of the time."""
_COPIES_OF_SAMPLE, _COPIES_OF_SUMS, _BLOCKS_AT_ONCE = 2.2, 8, 4
"""The sample is held twice while it is searched, sums some times over in a round; blocks are one in work with the copy
that lists make, one read ahead, and one that is being read."""
_SHARE_OF_LABELS = 0.25
"""Labels that would take more than a quarter of the memory are kept in a file."""
_MEMBERS_PER_RELAXATION = 64
"""Annealing starts at a relaxation of n/k/64, because the sample has found the large structure already; it is at least
3 and at most 30, and less where clusters are small (method.md, "Shards")."""


class _Level(NamedTuple):
    annealing: int  # rounds
    settling: int  # rounds at p = 1, at most


_LEVELS = {"low": _Level(3, 2), "default": _Level(10, 3), "high": _Level(20, 12)}
"""Rounds of each level (``benchmarks/shards.py``)."""


def rows_per_block(d: int, dtype: str) -> int:
    """Rows of a block, at most."""
    return max(1, _BLOCK_BYTES // (max(1, d) * np.dtype(dtype).itemsize))


def plan_shards(parameters: Mapping[str, Any], shape: Shape, block_rows: int, blocks: int) -> ShardPlan:
    """The plan for checked parameters of ``KSums`` and data in blocks."""
    effort, annealed = parameters["effort"], schedule_of(parameters["rule"])
    level = _LEVELS[effort] if isinstance(effort, str) else _LEVELS["high"]
    rows = sample_rows(shape)
    seconds = np.inf if parameters["time_budget"] is None else float(parameters["time_budget"])
    if efforts.is_timed(effort):
        seconds = min(seconds, float(effort))
        effort = _SHARE_OF_SAMPLE * float(effort)
    small = Shape(rows, shape.d, shape.k, shape.dtype, weighted=shape.weighted, memory=shape.memory)
    max_iter = int(parameters["max_iter"])
    planned = level.annealing if annealed is None or annealed.passes is None else annealed.passes
    passes = min(planned, max_iter - 1) if annealed is not None and rows < shape.n else 0
    settling = level.settling if parameters["tol"] is None else max_iter
    return ShardPlan(
        shape=shape,
        rule=flat_rule(parameters),
        blocks=blocks,
        block_rows=block_rows,
        sample=plan_flat({**parameters, "effort": effort, "time_budget": None}, small),
        relaxations=tuple(relaxations(_hottest(shape, annealed), passes)),
        settling=min(settling, max_iter - passes),
        tol=_TOL if parameters["tol"] is None else float(parameters["tol"]),
        engine=_engine(parameters, shape),
        turns=-(-blocks // _BLOCKS_IN_A_TURN) if parameters["objective"] == "pairwise" else 1,
        seconds=seconds,
    )


class Needs(NamedTuple):
    """Memory that a fit takes at least, and what it does with more."""

    least: float  # bytes
    bounds: float  # bytes for bounds that are kept from round to round
    rows: float  # bytes for rows that are kept
    labels_in_file: bool


def memory_for(shape: Shape, blocks: int) -> Needs:
    """What a fit needs: the sample, which its search copies; a few blocks; sums; labels, twice, if there is room.

    After the sample is done its memory serves the rounds: for sums, and for bounds, which save more time than rows that
    need not be read again.
    """
    sample = _COPIES_OF_SAMPLE * sample_rows(shape) * shape.d * np.dtype(shape.dtype).itemsize
    block = min(_BLOCK_BYTES, shape.bytes // max(1, blocks))
    sums = _COPIES_OF_SUMS * shape.k * (shape.d + 3) * 8
    in_file = 8 * shape.n > _SHARE_OF_LABELS * shape.memory
    always = _BLOCKS_AT_ONCE * block + (0 if in_file else 8 * shape.n)
    bounds = 0.0
    if shape.k <= MOST_CLUSTERS:
        wanted = bytes_of_bounds(shape.n, shape.d, shape.k, np.dtype(shape.dtype).itemsize)
        bounds = max(0.0, min(wanted, shape.memory - always - sums))
    least = always + max(sample, sums)
    return Needs(least, bounds, max(0.0, shape.memory - max(least, always + sums + bounds)), in_file)


def sample_rows(shape: Shape) -> int:
    """Rows of the sample."""
    most = _SAMPLE_BYTES // (shape.d * np.dtype(shape.dtype).itemsize)
    wanted = min(max(_LEAST_SAMPLE, _ROWS_PER_CLUSTER * shape.k), most)
    return min(shape.n, max(wanted, _LEAST_PER_CLUSTER * shape.k))


def _hottest(shape: Shape, annealed: Annealed | None) -> float:
    if annealed is not None and annealed.start is not None:
        return float(annealed.start)
    members = shape.members
    start = float(np.clip(members / _MEMBERS_PER_RELAXATION, min(3.0, members / 8), 30.0))
    return max(start, min(6.0, members / 16), 1.0)


def _engine(parameters: Mapping[str, Any], shape: Shape) -> EnginePlan:
    """The engine of a block: lists for many clusters, bounds for few, otherwise all clusters."""
    if parameters["engine"] not in ("auto", "neighbors"):
        return EnginePlan(parameters["engine"])
    lists = parameters["engine"] == "neighbors" or parameters["n_neighbors"] is not None
    if lists or (parameters["engine"] == "auto" and reason_for_lists(shape) is not None):
        return EnginePlan("neighbors", {"length": efforts.list_length(parameters["effort"], parameters["n_neighbors"])})
    rule = flat_rule(parameters)
    bounded = rule.kind is SQUARES and rule.monotone and parameters["metric"] == "l2" and 1 < shape.k <= MOST_CLUSTERS
    return EnginePlan("blocks" if bounded else "exact")
