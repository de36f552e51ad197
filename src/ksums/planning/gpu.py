"""Fits on a graphics card: start, blocks, annealing and when passes end. Nothing here depends on the card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ksums.planning.effort import is_timed
from ksums.planning.flat import plan_flat
from ksums.planning.plan import CardPlan, MergeSplitPlan, Plan
from ksums.planning.shape import Shape
from ksums.planning.tiles import padded_columns
from ksums.rules.annealing import Annealed, relaxations
from ksums.rules.kinds import PAIRS, Rule

PER_SIZE = 1.0 / 8.0
"""A cluster of m rows is relaxed by at most m/8, as elsewhere (``rules/annealing.py``)."""
_BLOCK, _MOST_BLOCKS = 264 * 128, 8
"""Rows of a block, about, and the most blocks of a pass. Two tiles for each multiprocessor of an H100 or H200
keep all of them busy. Rows of a block decide on one state: one block oscillates where clusters are small, more than
eight take longer and end no lower. Large clusters are as well off with blocks of twice as many rows."""
_BLOCKS_OF_PAIRS = 64
"""The same for E_s, at any number of rows: what it costs to join a cluster grows with its size, so all rows of a large
block would flee to the same small clusters. 32 blocks swing where clusters are small, 128 end no lower."""
_STARTS = (30.0, 3.0), (200.0, 8.0), (2000.0, 24.0)
"""Rows in a cluster, on average, and the relaxation of the first pass; between them by interpolation. Hotter passes
move too many rows at a time and spoil what is there."""
_STARTS_OF_PAIRS = (20.0, 2.0), (100.0, 6.0)
"""The same for E_s."""
_SHARE_OF_ANNEALING = 0.4
"""Of ``max_iter`` passes."""
_SMALL_CLUSTERS = 100.0
"""With up to this many rows in a cluster, a fit ends with passes in which moves are made apart: passes in blocks would
leave gains."""
SETTLING_ROUNDS = 8
"""Moves are made apart this many times before all rows propose again."""
PUSH = 0.5
"""Centres are pushed by half of what the last pass moved them: fits take two thirds of the passes, and end lower. From
0.7 on they swing."""
_NOISE = 0.2
"""Products are split if E_m·√d is below this share of the variance. Numbers of 11 bits are wrong by 2^−11 of a row's
length, and by 1/√d of that in a product; the start has about twice the E_m of the end."""
_SHORT = 1e12
"""Multiplications of a pass below which the launches of its kernels would take longer than the kernels. These passes
are recorded as CUDA graphs, and begin before the host has looked at the one before. Neither changes a label."""
_GROWTH = 8
"""A fit of many rows begins with the first eighth of them, or an eighth of that …"""
_LEAST_SAMPLE, _LEAST_MEMBERS = 1 << 16, 256
"""… which has at least this many rows, in all and for each cluster, so that its centres are near those of all rows."""
_SAMPLE_PASSES = 6
"""Passes at p = 1 over a sample, at most: after annealing, or after the sample before."""
MANY_CLUSTERS = 1 << 15
"""From this many clusters on, rows are compared with the clusters nearest to their own only. With fewer, comparing with
all of them is as fast in the end, and ends lower."""
_SEARCHED = 1 << 20
"""Up to k·k·d of this the CPU searches a sample for the start, in some tenths of a second: random rows miss clusters
that lie apart, which no pass mends. That is 90 clusters in 128 dimensions, 700 in two."""


_REPAIR = MergeSplitPlan(rounds=24, margin=1.2, passes=1)
"""After the start. Where data has no groups that lie apart, no split gains enough, and nothing happens."""
_ROUNDS_ASKED = 8
"""With low effort, if merge–split is asked for."""
_MARGIN, _PASSES_OF_SEARCH, _FAILURES = 0.4, 5, 4
"""After annealing."""
LEAST_SEARCHED = 4
"""With fewer clusters there is little to choose: one is split, another one dissolved, and a third takes its rows."""


class ListPlan(NamedTuple):
    """Lists of nearest clusters: see ``engines/gpu/lists.py``."""

    renewed: int = 5  # passes after which lists are made again
    back: float = 0.25  # part of a list that is for ways back
    bins: int = 8  # bins from which a list is chosen, for each of its places
    groups: int = 8  # groups of seeds that a row is compared with at the start
    passes: int = 6  # over the rows that the groups are made of
    members: int = 256  # and how many rows for each group


LISTS = ListPlan()


class _Level(NamedTuple):
    annealing: int  # passes
    passes: int  # at p = 1 after them, at most
    tol: float
    sample: int  # rows of the sample for each cluster
    least: int  # and at least
    search: str  # effort of its search
    rounds: int  # of merge–split after annealing
    length: int  # of lists of clusters
    annealing_of_lists: int  # passes, which are cheap
    fall: float = 1.0  # of the relaxation from pass to pass, at most: there must be time to cool


_LEVELS = {
    "low": _Level(5, 10, 3e-4, 32, 1000, "low", 0, 256, 5, 0.5),
    "default": _Level(24, 32, 2e-5, 64, 2500, "default", 16, 512, 48),
    "high": _Level(80, 100, 2e-6, 256, 10_000, "default", 60, 512, 120),
}
"""The levels of effort (``benchmarks/gpu.py``)."""
_TIMED = _Level(200, 200, 2e-6, 64, 2500, "default", 60, 512, 200)
"""With a number of seconds."""


def groups_for(k: int) -> int:
    """Groups of seeds at the start: about as many as a group has seeds."""
    return 1 << max(1, (k.bit_length() - 1) // 2)


def products_are_split(distortion: Any, variance: Any, d: int) -> Any:
    """Whether numbers of 11 bits cannot tell clusters apart, judged by the first labels; of numbers or tensors."""
    return distortion * d**0.5 < _NOISE * variance


def are_short(shape: Shape, compared: int) -> bool:
    """Whether passes that compare rows with this many clusters take little longer than to start their kernels."""
    return float(shape.n) * compared * padded_columns(shape.d) < _SHORT


def plan_card(parameters: Mapping[str, Any], rule: Rule, annealed: Annealed, shape: Shape) -> CardPlan:
    """The plan for checked parameters of ``KSums`` and data of this shape on a card."""
    effort = parameters["effort"]
    level = _LEVELS[effort] if isinstance(effort, str) else _TIMED
    most = int(parameters["max_iter"])
    lists = level.length if shape.k >= MANY_CLUSTERS else 0
    annealing = level.annealing_of_lists if lists else level.annealing
    annealing = min(annealing, int(_SHARE_OF_ANNEALING * most)) if annealed.passes is None else annealed.passes
    annealing = min(annealing, most - 1)
    tol = level.tol if parameters["tol"] is None else float(parameters["tol"])
    searched = _sample_plan(parameters, shape, level)
    samples = _samples(shape, searched) if isinstance(parameters["init"], str) else ()
    members = (samples[0] if samples else shape.n) / shape.k
    pairs = rule.kind is PAIRS
    hottest = min(first_relaxation(members, pairs), 1.0 + level.fall * annealing)
    start = hottest if annealed.start is None else float(annealed.start)
    limits = [parameters["time_budget"], effort if is_timed(effort) else None]
    return CardPlan(
        shape=shape,
        rule=rule,
        samples=samples,
        passes_of_sample=_SAMPLE_PASSES,
        lists=lists,
        relaxations=tuple(relaxations(start, annealing)),
        passes=max(1, min(level.passes, most - annealing)),
        tol=tol,
        settling=SETTLING_ROUNDS if are_small(shape.members) and effort != "low" else 0,
        max_iter=most,
        sample=searched,
        repair=_REPAIR if shape.k > 1 and _is_automatic(parameters["init"]) else None,
        search=None if pairs else _search(parameters, level, shape, members, annealing, tol),
        runs=int(parameters["n_init"]),
        seconds=min([np.inf, *(float(limit) for limit in limits if limit is not None)]),
    )


def _search(
    parameters: Mapping[str, Any], level: _Level, shape: Shape, members: float, annealing: int, tol: float
) -> MergeSplitPlan | None:
    """Merge–split after annealing."""
    rounds = level.rounds or _ROUNDS_ASKED * (parameters["refine"] == "merge-split")
    rounds = min(rounds, (int(parameters["max_iter"]) - annealing) // _PASSES_OF_SEARCH)
    if rounds < 1 or not LEAST_SEARCHED <= shape.k < MANY_CLUSTERS or parameters["refine"] is None:
        return None  # with very many clusters a round takes as long as it takes to settle, and gains less
    settling = 1 if are_small(members) else 0
    return MergeSplitPlan(rounds, _MARGIN, _PASSES_OF_SEARCH, settling, _FAILURES, tol)


def _samples(shape: Shape, searched: Plan | None) -> tuple[int, ...]:
    """How many rows the samples have, the smallest first: at least those that the CPU searches."""
    found: list[int] = []
    least = max(_LEAST_SAMPLE, _LEAST_MEMBERS * shape.k, searched.shape.n if searched else 0)
    while (rows := (found[-1] if found else shape.n) // _GROWTH) >= least:
        found.append(rows)
    return tuple(found[::-1])


def is_pushed(shape: Shape, pairs: bool) -> bool:
    """Whether centres are pushed. Those of small clusters move too much by chance; pairs (E_s) overshoot anyway."""
    return not are_small(shape.members) and not pairs


def blocks_for(shape: Shape, pairs: bool) -> int:
    """Blocks of a pass."""
    if pairs:
        return min(_BLOCKS_OF_PAIRS, shape.n)
    length = _BLOCK if are_small(shape.members) else 2 * _BLOCK
    return int(min(_MOST_BLOCKS, -(-shape.n // length)))


def _sample_plan(parameters: Mapping[str, Any], shape: Shape, level: _Level) -> Plan | None:
    """What the CPU does with a sample of the rows."""
    if not _is_automatic(parameters["init"]) or shape.k == 1 or shape.k * shape.k * shape.d > _SEARCHED:
        return None
    rows = min(shape.n, max(level.least, level.sample * shape.k))
    own = {"effort": level.search, "engine": "exact", "n_init": 1, "tol": None, "time_budget": None}
    return plan_flat({**parameters, **own}, Shape(rows, shape.d, shape.k, "float32", weighted=shape.weighted))


def _is_automatic(init: Any) -> bool:
    return isinstance(init, str) and init == "auto"


def longest_lists(k: int) -> int:
    """The most clusters of a list, if there are lists for k clusters; else 0."""
    return min(k, max(level.length for level in _LEVELS.values())) if k >= MANY_CLUSTERS else 0


def are_small(members: float) -> bool:
    """Whether clusters of this many rows are small: no pushing, and moves made apart in the end."""
    return members <= _SMALL_CLUSTERS


def first_relaxation(members: float, pairs: bool = False) -> float:
    """The relaxation of the first pass, for clusters of this many rows."""
    starts = _STARTS_OF_PAIRS if pairs else _STARTS
    known = np.log([rows for rows, _ in starts])
    return float(np.interp(np.log(max(members, 1.0)), known, [start for _, start in starts]))
