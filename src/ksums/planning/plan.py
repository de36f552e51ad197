"""The plan of a fit: a frozen record that a person can read. ``model.plan_`` is one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ksums.planning.shape import Shape
from ksums.rules.kinds import Rule

MOST_ROUNDS = 30
"""Assignments under constraints to the centres of the last one, at most; they end sooner (``constraints.py``)."""


@dataclass(frozen=True)
class StartPlan:
    """Where the first labels come from."""

    name: str
    """``"random-labels"``, ``"k-means++"``, ``"random-points"``, ``"two-level"``; ``"labels"`` or ``"centres"`` if the
    user gave them; ``"samples"`` (see ``Plan.samples``); in splits of two clusters also ``"two-seeds"`` and
    ``"sample"``."""
    sample: int = 0
    """Rows that the start is made from; 0: all rows."""
    tries: int = 1
    """Of how many tries on the sample the best is taken."""


@dataclass(frozen=True)
class EnginePlan:
    """Which engine makes the passes."""

    name: str
    """``"exact"``, ``"neighbors"``, ``"reference"``, or the engine of a baseline."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options of the engine: the length of the lists, the size of a batch."""


@dataclass(frozen=True)
class Round:
    """Annealing, then search."""

    annealing: int
    """Annealing passes that are done by the end of this round, counting those of the rounds before."""
    comparisons: float
    """Comparisons of a row with a cluster in merge–split trials; infinite: as many as there is time for."""


@dataclass(frozen=True)
class AnnealingPlan:
    """How the relaxation falls."""

    start: float
    """The relaxation of the first pass of a round."""
    passes_per_relaxation: float = 0.0
    """The start is lowered so that the relaxation takes at least this many passes to fall by 1."""


@dataclass(frozen=True)
class SearchPlan:
    """Merge–split trials."""

    heat: float
    """Temperature at the start, as a share of the mean sum of squares of a cluster; 0: only downhill."""
    records: int
    """Records that each round of the search leaves."""
    passes_before: int
    """Exact passes before each round of the search."""


@dataclass(frozen=True)
class Stop:
    """When the passes of a run end."""

    max_iter: int
    """Most passes of a run."""
    tol: float
    """The run ends when its objective falls by no more than this, relatively; 0: only when no sample moves."""
    exact_passes: int = 0
    """For the first passes, this many, the tolerance is 0."""


@dataclass(frozen=True)
class SamplePlan:
    """Searches on samples of the rows, before the passes over all rows."""

    rows: int
    """Rows of a sample, or of all patches."""
    count: int
    """Samples that are searched at a time."""
    batches: int
    """Further samples are searched while the best two disagree, up to this many times ``count``."""
    middle: int
    """Rows on which the results of the samples are compared and improved; 0: all rows."""
    plan: Plan
    """What is done with each sample."""
    looks: int = 0
    """Further samples, one after another while they bring something, with more of the rows far from their centres."""
    look: Plan | None = None
    """What is done with each of these, from the labels so far; None: there are none."""
    patches: int = 0
    """Patches of rows near each other that are searched in place of samples, at most; 0: there are none."""

    @property
    def searched(self) -> int:
        """Rows of a search: of a sample, or means of patches."""
        return self.patches or self.rows


@dataclass(frozen=True)
class SampleUnder:
    """A sample that is clustered under limits in proportion, before all rows are."""

    rows: int
    plan: ConstrainedPlan


@dataclass(frozen=True)
class ConstrainedPlan:
    """How a fit continues under its constraints, after it has been made without them."""

    kinds: tuple[str, ...]
    """The kinds of constraints, in words."""
    engine: EnginePlan
    stop: Stop
    """When the passes under constraints end."""
    sample: SampleUnder | None = None
    trials: int = 0
    """Trials in a row that may fail, in which one cluster is dissolved and another one split."""
    most_trials: int = 0
    """Trials in all, at most."""
    restarts: int = 0
    """Trials from other rows as centres, where the constraints raise the objective a lot."""
    round_gain: float = 0.0
    """Rows are assigned again, to the new centres, while that gains at least this share."""
    assignment: str = "moves"
    """How rows are assigned to centres: ``"exact"``, at the least possible cost; ``"weighted"``, at a low one, since
    rows have weights; ``"moves"``: rows that are too many move to near clusters, since there are very many clusters."""
    cycles: bool = True
    """Whether rows that cannot move alone change places."""

    @property
    def most_records(self) -> int:
        """The most records of this part of a run."""
        return MOST_ROUNDS + self.stop.max_iter + self.most_trials + self.restarts


@dataclass(frozen=True)
class Plan:
    """What a flat fit will do."""

    shape: Shape
    rule: Rule
    start: StartPlan
    engine: EnginePlan
    stop: Stop
    samples: SamplePlan | None = None
    """How the start ``"samples"`` is made."""
    rounds: tuple[Round, ...] = ()
    annealing: AnnealingPlan | None = None
    search: SearchPlan | None = None
    polish: str | None = None
    """``"pass"``: one pass over all clusters at the end; ``"assign"``: the nearest centre for every row."""
    constrained: ConstrainedPlan | None = None
    """What follows if there are constraints: all of the above ignores them."""
    runs: int = 1
    """Runs from different starts, of which the best is kept."""
    seconds: float = np.inf
    """Time limit of the whole fit."""
    longer_lists: bool = False
    """Whether lists become longer where there is time for it."""
    notes: tuple[str, ...] = ()
    """Why something is done, or not done."""

    @property
    def k(self) -> int:
        return self.shape.k

    @property
    def most_records(self) -> int:
        """The most records that a run can leave."""
        search = 0 if self.search is None else self.search.records * len(self.rounds)
        under = 0 if self.constrained is None else self.constrained.most_records
        return self.stop.max_iter + search + (self.polish is not None) + (self.samples is not None) + under

    @property
    def summary(self) -> str:
        """The plan in one line."""
        from ksums.planning.words import summary

        return summary(self)

    def __repr__(self) -> str:
        from ksums.planning.words import lines

        return "\n".join(lines(self))


@dataclass(frozen=True)
class TreePlan:
    """What a bisecting fit will do."""

    shape: Shape
    split: Plan
    """The plan of each split; its start depends on the size of the cluster (``planning/trees.py``)."""
    strategy: str
    """Which cluster is split next: ``"loosest"`` or ``"largest"``."""
    tries: int
    """Tries for each split, of which the best is kept."""
    refine: int
    """Most flat passes after the last split."""
    runs: int = 1
    seconds: float = np.inf

    @property
    def rule(self) -> Rule:
        return self.split.rule

    @property
    def k(self) -> int:
        return self.shape.k

    @property
    def most_records(self) -> int:
        """The most records that a fit can leave: one for each split and each flat pass."""
        return max(1, self.k - 1) + self.refine

    @property
    def summary(self) -> str:
        """The plan in one line."""
        from ksums.planning.words import tree_summary

        return tree_summary(self)

    def __repr__(self) -> str:
        from ksums.planning.words import tree_lines

        return "\n".join(tree_lines(self))


@dataclass(frozen=True)
class ShardPlan:
    """What a fit of data in blocks will do."""

    shape: Shape
    rule: Rule
    blocks: int
    block_rows: int
    """Rows of a block, at most."""
    sample: Plan
    """What is done with the sample from which the first centres come."""
    relaxations: tuple[float, ...]
    """The relaxation of each annealing round."""
    settling: int
    """Rounds at p = 1 after them, at most."""
    tol: float
    """These end when one of them gains no more than this, relatively."""
    engine: EnginePlan
    turns: int = 1
    """Parts of a round: in each of them every ``turns``-th block moves."""
    seconds: float = np.inf
    runs: int = 1

    @property
    def k(self) -> int:
        return self.shape.k

    @property
    def most_records(self) -> int:
        """The most records that a fit can leave: one for the sample, one for each round."""
        return 1 + len(self.relaxations) + self.settling

    @property
    def summary(self) -> str:
        """The plan in one line."""
        from ksums.planning.words import shard_summary

        return shard_summary(self)

    def __repr__(self) -> str:
        from ksums.planning.words import shard_lines

        return "\n".join(shard_lines(self))


@dataclass(frozen=True)
class MergeSplitPlan:
    """Rounds on a card in which many clusters are dissolved and as many split (``engines/gpu/merge_split.py``)."""

    rounds: int
    """At most."""
    margin: float
    """A split must gain this many times what the merger costs."""
    passes: int
    """Passes after the splits of a round."""
    settling: int = 0
    """Passes with moves made apart after these."""
    failures: int = 0
    """Rounds that may fail before the search ends. After each, rounds have a quarter of its splits."""
    tol: float = 0.0
    """A round fails if it gains no more than this, relatively; if it gains nothing, it is undone."""
    near: int = 32
    """Clusters with which merging is tried."""
    steps: int = 3
    """Steps of k-means that split a cluster."""


@dataclass(frozen=True)
class CardPlan:
    """What a fit on a graphics card will do."""

    shape: Shape
    rule: Rule
    relaxations: tuple[float, ...]
    """The relaxation of each annealing pass."""
    passes: int
    """Passes over all rows at p = 1, at most."""
    tol: float
    """These end when one of them gains no more than this, relatively."""
    settling: int
    """Rounds of each pass in which a cluster takes part in at most one move at a time, until nothing moves. If 0,
    there are no such passes and the best pass is kept."""
    max_iter: int
    """Most passes of a run."""
    sample: Plan | None = None
    """What the CPU does with a sample, whose centres are the start; None: the start is random rows as centres."""
    samples: tuple[int, ...] = ()
    """Rows of the samples with which a fit of many rows begins, the smallest first. Annealing and search are done on
    the first."""
    passes_of_sample: int = 0
    """Passes at p = 1 over each sample, at most."""
    lists: int = 0
    """Clusters that rows are compared with, those nearest to their own; 0: all of them."""
    repair: MergeSplitPlan | None = None
    """Merge–split rounds after the start, which find clusters that it missed; None: there are none."""
    search: MergeSplitPlan | None = None
    """Merge–split rounds after annealing; None: there are none."""
    runs: int = 1
    seconds: float = np.inf

    @property
    def k(self) -> int:
        return self.shape.k

    @property
    def most_records(self) -> int:
        """The most records that a run can leave."""
        return self.max_iter + bool(self.samples) + (0 if self.search is None else self.search.rounds)

    @property
    def summary(self) -> str:
        """The plan in one line."""
        from ksums.planning.words import card_summary

        return card_summary(self)

    def __repr__(self) -> str:
        from ksums.planning.words import card_lines

        return "\n".join(card_lines(self))


@dataclass(frozen=True)
class PartitionPlan:
    """What a fit without composite vectors of all columns will do: a table with gaps or words, or distances."""

    shape: Shape
    objective: str
    """``"distortion"`` or ``"pairwise"``."""
    start: str
    """Where the first labels come from, in words."""
    relaxations: tuple[float, ...]
    """The relaxation of each annealing pass."""
    failures: float
    """Merge–split trials in a row that may fail before the search ends; 0: no search, infinite: until time is up."""
    passes_of_trial: int
    """Exact passes that settle a trial, at most."""
    max_iter: int
    """Most passes of a run, without the search."""
    tol: float = 0.0
    """Exact passes end when one of them gains no more than this, relatively; 0: when nothing moves."""
    sample: PartitionPlan | None = None
    """What is done with a sample of the rows, whose clusters are the start; None: all rows from the start on."""
    filled: Plan | None = None
    """What is done with rows of numbers whose gaps are filled in, whose clusters the first run starts from; None:
    nothing."""
    runs: int = 1
    seconds: float = np.inf
    notes: tuple[str, ...] = ()

    @property
    def k(self) -> int:
        return self.shape.k

    @property
    def most_records(self) -> int:
        """The most records that a run can leave."""
        return self.max_iter + (self.failures > 0)

    @property
    def summary(self) -> str:
        """The plan in one line."""
        from ksums.planning.words import partition_summary

        return partition_summary(self)

    def __repr__(self) -> str:
        from ksums.planning.words import partition_lines

        return "\n".join(partition_lines(self))
