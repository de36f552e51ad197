"""Plans in plain English: one line for logs, a few lines for a person who asks."""

from __future__ import annotations

import numpy as np

from ksums.planning.constraints import SIZES
from ksums.planning.gpu import blocks_for
from ksums.planning.plan import (
    CardPlan,
    ConstrainedPlan,
    PartitionPlan,
    Plan,
    SamplePlan,
    ShardPlan,
    StartPlan,
    Stop,
    TreePlan,
)
from ksums.planning.shape import Shape
from ksums.planning.starts import SAMPLE_PER_CELL, coarse_clusters
from ksums.planning.timing import is_limited
from ksums.rules.kinds import PAIRS

_STARTS = {
    "k-means++": "k-means++ seeds",
    "random-points": "random rows as centres",
    "random-labels": "random labels",
    "labels": "the given labels",
    "centres": "the given centres",
    "two-seeds": "two k-means++ seeds",
}
_LARGE = 100
"""Relaxations from here on are written as whole numbers."""


def summary(plan: Plan) -> str:
    """A flat plan in one line."""
    parts = _before_passes(plan) if plan.samples is None else [_samples(plan.samples)]
    parts.append(f"then {_passes(plan)}{_until(plan.stop)}")
    if plan.constrained is not None:
        parts.append(f"then under constraints ({_kinds(plan.constrained)})")
    runs = f"; the best of {plan.runs} runs" if plan.runs > 1 else ""
    limit = f"; at most {plan.seconds:g} s" if is_limited(plan.seconds) else ""
    return ", ".join(parts) + runs + limit


def lines(plan: Plan) -> list[str]:
    """A flat plan in a few lines."""
    found = [_title(plan.shape)]
    if plan.samples is None:
        found.append(_line("start", _start(plan.start, plan.shape)))
    else:
        found += _sample_lines(plan.samples)
    if (annealing := _annealing(plan)) is not None and plan.annealing is not None:
        passes = annealing.replace(" annealing", "")
        hottest = first_relaxation(plan)
        start = f"{hottest:.3g}" if hottest < _LARGE else f"{hottest:,.0f}"
        found.append(_line("annealing", f"{passes}, relaxation from {start} down to 1"))
    if plan.search is not None:
        found.append(_line("search", f"merge–split, {_comparisons(plan)}"))
    found.append(_line("passes", f"{_of_passes(plan)}{_until(plan.stop)}; at most {plan.stop.max_iter} in all"))
    if plan.constrained is not None:
        found += _constrained_lines(plan.constrained)
    if plan.polish is not None:
        last = "one pass over all clusters" if plan.polish == "pass" else "the nearest centre for every row"
        found.append(_line("polish", last))
    if plan.runs > 1:
        found.append(_line("runs", f"{plan.runs}, of which the best is kept"))
    if is_limited(plan.seconds):
        found.append(_line("time", f"at most {plan.seconds:g} s, so labels depend on the machine"))
    return found + [_line("note", note) for note in plan.notes]


def _constrained_lines(plan: ConstrainedPlan) -> list[str]:
    """What is done under constraints."""
    exactly = "at the least cost" if plan.assignment == "exact" else "at a low cost"
    found = [_line("then", f"under constraints: {_kinds(plan)}")]
    trials = plan.trials
    if plan.sample is not None:
        found.append(_line("sample", f"{plan.sample.rows:,} rows under limits in proportion: the same steps as below"))
        trials = plan.sample.plan.trials
    found.append(_line("assigning", f"rows to the centres found so far, {exactly}; again while that helps"))
    exchanges = ", and cycles of rows that change places" if plan.cycles and SIZES in plan.kinds else ""
    found.append(_line("passes", f"of single moves{exchanges}{_until(plan.stop)}; at most {plan.stop.max_iter}"))
    if trials:
        where = "on the sample: " if plan.sample is not None else ""
        found.append(_line("trials", f"{where}one cluster dissolved, another one split, until {trials} fail in a row"))
    return found


def _kinds(plan: ConstrainedPlan) -> str:
    return ", ".join(plan.kinds)


def shard_summary(plan: ShardPlan) -> str:
    """A plan for blocks in one line."""
    limit = f"; at most {plan.seconds:g} s" if is_limited(plan.seconds) else ""
    return f"a sample of {plan.sample.shape.n:,} rows, then {_rounds(plan)} over {_blocks(plan)}{limit}"


def shard_lines(plan: ShardPlan) -> list[str]:
    """A plan for blocks in a few lines."""
    found = [_title(plan.shape), _line("blocks", f"{plan.blocks:,} of at most {plan.block_rows:,} rows")]
    found.append(_line("sample", f"{plan.sample.shape.n:,} rows: {plan.sample.summary}"))
    if plan.relaxations:
        hottest = f"{plan.relaxations[0]:.3g}"
        found.append(_line("annealing", f"{len(plan.relaxations)} rounds, relaxation from {hottest} down to 1"))
    turns = f"{plan.turns} turns each, " if plan.turns > 1 else ""
    found.append(_line("rounds", f"{turns}until one gains less than {plan.tol:g}; at most {plan.settling}"))
    if is_limited(plan.seconds):
        found.append(_line("time", f"at most {plan.seconds:g} s, so labels depend on the machine"))
    return found


def _rounds(plan: ShardPlan) -> str:
    annealing = f"{len(plan.relaxations)} annealing rounds and " if plan.relaxations else ""
    return f"{annealing}up to {plan.settling} more"


def _blocks(plan: ShardPlan) -> str:
    return f"{plan.blocks:,} blocks" if plan.blocks > 1 else "one block"


def card_summary(plan: CardPlan) -> str:
    """A plan for a card in one line."""
    annealing = f"{len(plan.relaxations)} annealing passes, " if plan.relaxations else ""
    if plan.samples:
        annealing += f"growing from {plan.samples[0]:,} rows, "
    lists = f" over lists of {plan.lists:,} clusters" if plan.lists else ""
    apart = ", then moves made apart until nothing moves" if plan.settling else ""
    runs = f"; the best of {plan.runs} runs" if plan.runs > 1 else ""
    return f"on the card: {_card_start(plan)}, {annealing}up to {plan.passes} passes{lists}{apart}{runs}"


def card_lines(plan: CardPlan) -> list[str]:
    """A plan for a card in a few lines."""
    blocks = blocks_for(plan.shape, plan.rule.kind is PAIRS)
    found = [_title(plan.shape), _line("start", f"{_card_start(plan)}, then on the card")]
    if plan.relaxations:
        where = f" over {plan.samples[0]:,} rows" if plan.samples else ""
        hottest = f"{plan.relaxations[0]:.3g}"
        found.append(_line("annealing", f"{len(plan.relaxations)} passes{where}, relaxation from {hottest} down to 1"))
    if plan.search:
        found.append(_line("search", f"merge–split of many clusters at a time, up to {plan.search.rounds} rounds"))
    if plan.samples:
        sizes = ", then ".join(f"{rows:,}" for rows in (*plan.samples, plan.shape.n))
        found.append(_line("samples", f"passes over {sizes} rows"))
    if plan.lists:
        found.append(_line("lists", f"rows are compared with the {plan.lists:,} clusters nearest to their own"))
    gains = f"until one gains less than {100 * plan.tol:g} %; at most {plan.passes}"
    found.append(_line("passes", f"over all rows in {f'{blocks} blocks' if blocks > 1 else 'one block'}, {gains}"))
    if plan.settling:
        found.append(_line("settling", "moves that concern no cluster twice, until nothing moves"))
    if plan.runs > 1:
        found.append(_line("runs", f"{plan.runs}, of which the best is kept"))
    if is_limited(plan.seconds):
        found.append(_line("time", f"at most {plan.seconds:g} s, so labels depend on the machine"))
    return found


def partition_summary(plan: PartitionPlan) -> str:
    """A plan for a table or for distances in one line."""
    annealing = f", {len(plan.relaxations)} annealing passes" if plan.relaxations else ""
    search = ", merge–split search" if plan.failures else ""
    runs = f"; the best of {plan.runs} runs" if plan.runs > 1 else ""
    limit = f"; at most {plan.seconds:g} s" if is_limited(plan.seconds) else ""
    return f"{plan.start}{annealing}{search}, exact passes until {_end_of_passes(plan)}{runs}{limit}"


def partition_lines(plan: PartitionPlan) -> list[str]:
    """A plan for a table or for distances in a few lines."""
    found = [_title(plan.shape), _line("start", plan.start)]
    if plan.relaxations:
        hottest = f"{plan.relaxations[0]:.3g}"
        found.append(_line("annealing", f"{len(plan.relaxations)} passes, relaxation from {hottest} down to 1"))
    if plan.failures:
        end = f"{plan.failures:g} trials in a row fail" if np.isfinite(plan.failures) else "the time is up"
        found.append(_line("search", f"merge–split, until {end}"))
    end = _end_of_passes(plan)
    found.append(_line("passes", f"exact over all rows until {end}; at most {plan.max_iter} in all"))
    if plan.runs > 1:
        found.append(_line("runs", f"{plan.runs}, of which the best is kept"))
    if is_limited(plan.seconds):
        found.append(_line("time", f"at most {plan.seconds:g} s, so labels depend on the machine"))
    return found + [_line("note", note) for note in plan.notes]


def _end_of_passes(plan: PartitionPlan) -> str:
    return f"one gains less than {100 * plan.tol:g} %" if plan.tol else "nothing moves"


def _card_start(plan: CardPlan) -> str:
    moved = ", moved to clusters that were missed" if plan.repair else ""
    if plan.sample is None:
        return f"random rows as centres{moved}"
    return f"the centres of a search on {plan.sample.shape.n:,} rows by the CPU{moved}"


def tree_summary(plan: TreePlan) -> str:
    """A bisecting plan in one line."""
    refine = f", then up to {plan.refine} flat passes" if plan.refine else ""
    return f"{max(0, plan.k - 1):,} splits of the {plan.strategy} cluster, each {_of_split(plan)}{refine}"


def tree_lines(plan: TreePlan) -> list[str]:
    """A bisecting plan in a few lines."""
    found = [
        _title(plan.shape),
        _line("splits", f"{max(0, plan.k - 1):,}, the {plan.strategy} cluster next"),
        _line("each split", _of_split(plan)),
    ]
    if plan.refine:
        found.append(_line("passes", f"up to {plan.refine} flat passes over all clusters at the end"))
    return found


def first_relaxation(plan: Plan) -> float:
    """The relaxation of the first annealing pass, if all planned passes are made."""
    assert plan.annealing is not None
    start, slowly = plan.annealing.start, plan.annealing.passes_per_relaxation
    return min(start, 1.0 + plan.rounds[0].annealing / slowly) if slowly else start


# ------------------------------------------------------------------------------------------ parts
def _title(shape: Shape) -> str:
    kind = "sparse rows" if shape.sparse else "rows"
    weights = ", weighted" if shape.weighted else ""
    clusters = "1 cluster" if shape.k == 1 else f"{shape.k:,} clusters"
    return f"Plan for {shape.n:,} × {shape.d:,} {kind} ({shape.dtype}{weights}), {clusters}"


def _line(name: str, text: str) -> str:
    return f"  {name:<11}{text}"


def _start(start: StartPlan, shape: Shape) -> str:
    if start.name == "two-level":
        count = coarse_clusters(shape.k)
        sample = min(shape.n, SAMPLE_PER_CELL * count)
        return f"two-level start ({count:,} coarse clusters of {sample:,} sampled rows, then clusters inside each)"
    if start.name == "sample":
        return f"the best of {start.tries} splits of {start.sample:,} sampled rows"
    drawn = f" from {start.sample:,} sampled rows" if start.sample and start.name != "random-points" else ""
    return _STARTS[start.name] + drawn


def _before_passes(plan: Plan) -> list[str]:
    """Start, annealing and search."""
    parts = [_start(plan.start, plan.shape)]
    if (annealing := _annealing(plan)) is not None:
        parts.append(annealing)
    if plan.search is not None:
        parts.append("merge–split search")
    return parts


def _samples(samples: SamplePlan) -> str:
    what = "annealing and merge–split search" if samples.plan.search is not None else "annealing"
    drawn = f"{samples.count} samples" if samples.count > 1 else "a sample"
    middle = f", the best result continued on {samples.middle:,} rows" if samples.middle else ""
    if samples.patches:
        times = f", {samples.count} times," if samples.count > 1 else ""
        return f"{what}{times} on {samples.patches:,} patches of {samples.rows:,} rows{middle}"
    return f"{what} on {drawn} of {samples.rows:,} rows{middle}"


def _sample_lines(samples: SamplePlan) -> list[str]:
    most = samples.batches * samples.count
    more = f" (up to {most} if they disagree)" if most > samples.count > 1 else ""
    what = ", ".join(_before_passes(samples.plan))
    if samples.patches:
        made = f"{samples.patches:,} of {samples.rows:,} rows, searched {samples.count} times{more}"
        found = [_line("patches", f"{made}: {what}")]
    else:
        found = [_line("samples", f"{samples.count} of {samples.rows:,} rows{more}: {what}")]
    if samples.middle:
        found.append(_line("middle", f"the best result continues on {samples.middle:,} rows"))
    if samples.looks:
        found.append(_line("looks", f"up to {samples.looks} further samples, if there are rows far from their centres"))
    return found


def _annealing(plan: Plan) -> str | None:
    passes = plan.rounds[-1].annealing if plan.rounds else 0
    if plan.annealing is None or passes == 0:
        return None
    most = "up to " if is_limited(plan.seconds) else ""
    rounds = f" in {len(plan.rounds)} rounds" if len(plan.rounds) > 1 else ""
    return f"{most}{passes} annealing passes{rounds}"


def _comparisons(plan: Plan) -> str:
    if np.isinf(plan.rounds[-1].comparisons):
        return "as many trials as there is time for"
    total = sum(work.comparisons for work in plan.rounds)
    rounds = f" in {len(plan.rounds)} rounds" if len(plan.rounds) > 1 else ""
    return f"up to {_about(total)} comparisons of a row with a cluster{rounds}"


def _about(number: float) -> str:
    """A large number as a person says it."""
    for name, size in (("billion", 1e9), ("million", 1e6)):
        if number >= size:
            return f"{number / size:.2g} {name}" if number < 100 * size else f"{number / size:,.0f} {name}"
    return f"{round(number, -3):,.0f}"


def _passes(plan: Plan) -> str:
    """The passes, as part of a sentence."""
    name = plan.engine.name
    if name == "neighbors":
        return f"passes that compare each row with the {_list_length(plan):,} nearest clusters"
    if name == "blocks":
        return "exact passes over all rows, block by block,"
    if name in ("exact", "reference"):
        return "exact passes over all rows" + (" by the slow reference engine" if name == "reference" else "")
    options = ", ".join(f"{option}={value}" for option, value in plan.engine.options.items())
    return f"{name} passes over all rows" + (f" ({options})" if options else "")


def _of_passes(plan: Plan) -> str:
    """The same after the word passes."""
    if plan.engine.name == "neighbors":
        return f"each row is compared with the {_list_length(plan):,} nearest clusters,"
    return _passes(plan).replace(" passes", "", 1)


def _list_length(plan: Plan) -> int:
    return min(plan.engine.options["length"], plan.k)


def _until(stop: Stop) -> str:
    if stop.exact_passes:
        return (
            f" until nothing moves (after {stop.exact_passes} passes: until one gains less than {100 * stop.tol:g} %)"
        )
    return " until nothing moves" if stop.tol == 0 else f" until the objective falls by less than {100 * stop.tol:g} %"


def _of_split(plan: TreePlan) -> str:
    init = plan.split.start.name
    start = "k-means++ seeds (large clusters: a split of a sample)" if init == "auto" else _STARTS[init]
    tries = f", the best of {plan.tries} tries" if plan.tries > 1 else ""
    return f"from {start}, then {_passes(plan.split)}{_until(plan.split.stop)}{tries}"
