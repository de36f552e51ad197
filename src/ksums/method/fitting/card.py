"""A fit on a graphics card: annealing passes, passes at p = 1, then moves made apart until nothing moves.

A fit of many rows begins with a sample, the first of a random order, on which annealing is cheap, and grows.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import torch

from ksums.method.data.measures import measure_clusters
from ksums.method.data.rows import prepare
from ksums.method.engines.gpu.card import Layout, Table, layout_for
from ksums.method.engines.gpu.merge_split import merge_split
from ksums.method.engines.gpu.operations import Operations
from ksums.method.engines.gpu.passes import Numbers, Options, Outcome, Passes
from ksums.method.engines.gpu.rows import Rows, scrambled
from ksums.method.fitting.budget import Budget
from ksums.method.fitting.fit import fit
from ksums.method.fitting.job import Job
from ksums.method.fitting.listener import Listener, OfSample
from ksums.method.fitting.records import PassRecord, passes_of
from ksums.planning.gpu import LISTS, are_short, blocks_for, groups_for, is_pushed, products_are_split
from ksums.planning.plan import CardPlan, Plan
from ksums.planning.tiles import WHOLE_SPLIT_ROWS, rows_are_whole


class CardJob(NamedTuple):
    """What a fit on a card is handed."""

    rows: Rows
    plan: CardPlan
    operations: Operations
    listener: Listener
    budget: Budget
    centres: torch.Tensor | None = None  # (k, d)  a start that the user gave, prepared as rows are but for the scale
    graphs: bool = False  # whether passes may be recorded as CUDA graphs
    chunk: int = 0  # rows that are on the card at a time; 0: all


class CardRun:
    """One run under way."""

    passes: Passes  # over all rows, once ``go`` has made first labels; given back in the end
    layout: Layout
    table: Table

    def __init__(self, job: CardJob, seed: int) -> None:
        self.job, self.plan, self.k, self._seed = job, job.plan, job.plan.k, seed
        self.started = time.perf_counter()
        self.records: list[PassRecord] = []
        self.converged = self.interrupted = self.stopped = False
        self.value, self._best = float("inf"), torch.empty(0, dtype=torch.int32)
        self._deadline = job.budget.end_of_run(self.started)
        self._order = scrambled(job.operations, job.rows.n, seed, job.rows.device)
        self._split = False
        self._age = 0  # passes since lists were made

    @property
    def labels_of_places(self) -> torch.Tensor:
        """(n,) The best labels, in the random order of the card."""
        return self._best if len(self._best) else self.passes.card.state.labels

    @property
    def labels(self) -> torch.Tensor:
        """(N,) The best labels; 0 for rows that are not active."""
        labels = torch.zeros(len(self.job.rows.X), dtype=torch.int32, device=self.job.rows.device)
        labels[self.table.places] = self.labels_of_places
        return labels

    def go(self) -> CardRun:
        """All of the plan. Interrupted before all rows have labels, it leaves nothing."""
        sizes = (*self.plan.samples, self.plan.shape.n)
        self.job.listener.show("preparing rows on the card")
        self._begin(sizes[0])
        for rows, more in pairwise(sizes):
            if not self.stopped:
                self._pass_over_sample(rows, anneal=rows == sizes[0])
                self._grow_to(sizes[-1] if self.stopped else more)
        try:
            self._repair()
            if self.plan.samples or self.stopped:
                self.job.listener.pass_begins()
                self._record("samples" if self.plan.samples else "start", 1.0)
            else:
                self._anneal()
            self._improve()
            self._settle()
            if not self.plan.samples:
                self._search()
                self._settle()
        except KeyboardInterrupt:  # the labels of the best whole pass
            self.interrupted = True
        self._give_back()
        return self

    def _give_back(self) -> None:
        """Keep only what results are made of: other runs need the memory of the passes."""
        self._best = self.labels_of_places
        nothing = self.table.low_squares.new_empty(0)
        self.table = self.table._replace(low=nothing, low_squares=nothing)
        del self.passes

    # ------------------------------------------------------------------------------------ start
    def _begin(self, n: int) -> None:
        """First labels of the first n rows, from products of the precision that they need."""
        self._use(self._started(n))
        numbers = self.passes.numbers()
        if products_are_split(self._measures(numbers)[0], self._variance(numbers), self.plan.shape.d):
            del self.passes, self.table  # the copy of the rows is not needed any more
            self._split = True
            if not rows_are_whole(self.plan.shape.d, split=True) and not self.job.rows.X.is_cuda:
                raise MemoryError(
                    "KSums: X does not fit on the card (or into max_memory), and its clusters are so small beside the "
                    f"data that rows are needed in full precision; this is offered for up to {WHOLE_SPLIT_ROWS} "
                    f"columns, and X has {self.plan.shape.d}. Fit a sample of the rows, or leave device=None."
                )
            self._use(self._started(n))

    def _use(self, passes: Passes) -> None:
        self.passes, self.layout, self.table = passes, passes.card.layout, passes.card.table

    def _started(self, n: int) -> Passes:
        job, passes = self.job, self._passes(n)
        if job.centres is not None:
            passes.start_from((job.centres * passes.card.layout.sigma).float())
        elif self.plan.sample is not None:
            passes.start_from(self._centres_of_sample(passes, self.plan.sample))
        elif self.plan.lists:
            passes.start_from_groups(self._centres_of_groups())
        else:
            passes.start_from_rows()
        return passes

    def _passes(self, n: int, k: int | None = None) -> Passes:
        """Passes over the first n rows, which have no labels yet."""
        rows, shape = self.job.rows, replace(self.plan.shape, n=n, k=k or self.k)
        layout = layout_for(
            n, shape.d, shape.k, kind=self.plan.rule.kind, directed=rows.lengths is not None, sigma=rows.sigma,
            split=self._split, weighted=rows.weights is not None, squares=rows.squares,
        )  # fmt: skip
        chunk = self.job.chunk if n > self.job.chunk else 0
        short = not chunk and are_short(shape, self.plan.lists or shape.k)
        graphs = short and self.job.graphs
        options = Options(blocks_for(shape, layout.pairs), is_pushed(shape, layout.pairs), short, graphs, chunk)
        return Passes(self.job.operations, rows, layout, self._order, options)

    def _centres_of_sample(self, passes: Passes, plan: Plan) -> torch.Tensor:
        """The centres that the CPU finds for the first rows."""
        job, card = self.job, passes.card
        job.listener.show("searching a sample")
        at = torch.arange(plan.shape.n, device=job.rows.device)
        X = job.operations.prepared_rows(card.table, card.layout, at).cpu().numpy()
        weights = card.table.weights[at].double().cpu().numpy() if card.layout.weighted else None
        metric = "cosine" if card.layout.directed else "l2"
        listener = OfSample(job.listener, "searching a sample")
        run = fit(Job(prepare(X, metric, weights), plan, listener, Budget(self._deadline)), [self._seed])
        if run.interrupted:  # there is no first state yet
            raise KeyboardInterrupt
        centres = measure_clusters(X, run.labels, self.k, metric, weights).centres
        return self._directed(torch.from_numpy(centres).to(job.rows.device))

    def _centres_of_groups(self) -> torch.Tensor:
        """Centres of a few coarse clusters."""
        groups = groups_for(self.k)
        passes = self._passes(min(self.job.rows.n, LISTS.members * groups), groups)
        passes.start_from_rows()
        for _ in range(LISTS.passes):
            passes.one_pass()
        return self._directed(passes.centres())

    def _directed(self, centres: torch.Tensor) -> torch.Tensor:
        """Centres as rows are compared with them: of unit length under cosine."""
        if self.job.rows.lengths is not None:
            centres = centres / torch.linalg.vector_norm(centres, dim=1, keepdim=True).clamp(min=1e-30)
        return centres.float()

    # ------------------------------------------------------------------------------------ samples
    def _pass_over_sample(self, rows: int, anneal: bool) -> None:
        """Passes over a sample; Ctrl-C and time limits end them, and the fit after it has labelled all rows."""
        self.job.listener.show(f"passes over a sample of {rows:,} rows")
        value = float("inf")
        try:
            if anneal:
                self._repair()
            for relaxation in self.plan.relaxations if anneal else ():
                self._one_pass(relaxation)
                if self._must_stop():
                    return
            for _ in range(self.plan.passes_of_sample):
                self._one_pass(1.0)
                before, value = value, self.passes.objective()
                if self._must_stop() or before - value <= self.plan.tol * value:
                    break
            if anneal and self.plan.search is not None and not self.stopped:
                for _ in merge_split(self.passes, self.plan.search, self._seed, self.plan.lists):
                    if self._must_stop():
                        return
        except KeyboardInterrupt:
            self.interrupted = self.stopped = True

    def _grow_to(self, n: int) -> None:
        """From the centres of a sample to labels of more rows."""
        centres = self._directed(self.passes.centres())
        self._age = 0  # there are no lists yet
        del self.passes, self.table
        self._use(self._passes(n))
        self.passes.start_from(centres)

    def _must_stop(self) -> bool:
        self.stopped |= self.job.listener.wants_to_stop() or time.perf_counter() > self._deadline
        return self.stopped

    # ------------------------------------------------------------------------------------ stages
    def _repair(self) -> None:
        """Move centres to clusters that the start missed."""
        if not self.plan.repair or self.stopped:
            return
        self.job.listener.show("moving centres to clusters that the start missed")
        if self.plan.sample is None:  # so that centres are means, and merging costs what it is said to cost
            self._one_pass(1.0)
        for _ in merge_split(self.passes, self.plan.repair, self._seed, self.plan.lists):
            if self._must_stop():
                break
        self._age = 0

    def _anneal(self) -> None:
        """Passes with falling relaxation.

        Where passes are short, one begins before the one before it is recorded, so that the card does not wait for the
        host. It does not count if that record stops the fit.
        """
        waiting: deque[tuple[float, Outcome]] = deque()
        for relaxation in self.plan.relaxations:
            if self.stopped:
                return
            self._one_pass(relaxation)
            waiting.append((relaxation, self.passes.outcome()))
            if len(waiting) > self.passes.options.short:
                self._record_annealing(*waiting.popleft())
        while waiting and not self.stopped:
            self._record_annealing(*waiting.popleft())

    def _record_annealing(self, relaxation: float, outcome: Outcome) -> None:
        self.job.listener.pass_begins()
        self._record("annealing", relaxation, outcome=outcome)

    def _improve(self) -> None:
        """Passes at p = 1 while they gain; continues from the best labels so far."""
        value = float("inf")
        for _ in range(self.plan.passes):
            if self.stopped:
                break
            self.job.listener.pass_begins()
            self._one_pass(1.0)
            self._record("pass", 1.0)
            before, value = value, self.records[-1].objective
            self.converged = self.records[-1].moves == 0 or before - value <= self.plan.tol * value
            if self.converged:
                break
        if not torch.equal(self.passes.card.state.labels, self._best):
            self.passes.continue_from(self._best)
            self.passes.measure()

    def _search(self) -> None:
        """Merge–split, a record for each round."""
        if self.plan.search is None or self.stopped:
            return
        left = (self.plan.max_iter - passes_of(self.records)) // self.plan.search.passes
        search = replace(self.plan.search, rounds=min(left, self.plan.search.rounds))
        for tried, kept in merge_split(self.passes, search, self._seed, self.plan.lists):
            self.job.listener.pass_begins()  # only now is it known that there was a round
            self._record("merge-split", 1.0, tried, kept)
            if self.stopped:
                break
        self._age = 0

    def _settle(self) -> None:
        """Moves made apart until nothing moves: against lists, if there are any; when they are quiet, against all."""
        self.passes.relax(1.0)
        while self.plan.settling and not self.stopped and passes_of(self.records) < self.plan.max_iter:
            self.job.listener.pass_begins()
            self.passes.settling_pass(self.plan.settling)
            self._record("pass", 1.0)
            quiet, asked_all = self.records[-1].moves == 0, self.passes.lists is None
            self.converged = quiet and asked_all
            if self.converged:
                return
            if asked_all or quiet:
                self.passes.renew_lists(self.plan.lists if asked_all else 0)

    def _one_pass(self, relaxation: float) -> None:
        if self.plan.lists and self._age % LISTS.renewed == 0:
            self.passes.renew_lists(self.plan.lists)
        self._age += 1
        self.passes.relax(relaxation)
        self.passes.one_pass()

    # ------------------------------------------------------------------------------------ records
    def _variance(self, numbers: Numbers) -> float:
        """Mean square of the rows around their mean; 1 under cosine."""
        layout = self.layout
        return 1.0 if layout.directed else numbers.norms / layout.n / layout.sigma / layout.sigma

    def _measures(self, numbers: Numbers) -> tuple[float, float, float]:
        """The objective, E_m and E_s in the units of the data."""
        layout = self.layout
        squares, pairs = (value / layout.sigma / layout.sigma for value in (numbers.squares, numbers.pairs))
        distortion, pairwise = squares / layout.n, pairs / layout.n
        if layout.pairs:
            return pairwise, distortion, pairwise
        return 1.0 - numbers.lengths / layout.n if layout.lengths else distortion, distortion, pairwise

    def _record(
        self, stage: str, relaxation: float, trials: int = 0, kept: int = 0, outcome: Outcome | None = None
    ) -> None:
        """Make a record, remember the best labels, and tell whoever listens. ``outcome``: of a pass; None: the last."""
        outcome = outcome or self.passes.outcome()
        numbers = outcome.numbers()
        objective, distortion, pairwise = self._measures(numbers)
        if objective < self.value:
            self.value, self._best = objective, outcome.labels
        self.records.append(
            PassRecord(
                index=len(self.records) + 1,
                stage=stage,
                objective=objective,
                distortion=distortion,
                pairwise=pairwise,
                moves=int(numbers.moved),
                comparisons=self.plan.shape.n * (self.k if self.passes.lists is None else self.plan.lists),
                relaxation=relaxation,
                smallest=numbers.smallest,
                largest=numbers.largest,
                seconds=time.perf_counter() - self.started,
                trials=trials,
                kept=kept,
            )
        )
        self.stopped |= self.job.listener.pass_ends(self) or time.perf_counter() > self._deadline


def fit_on_card(job: CardJob, seeds: list[int]) -> CardRun:
    """The best of several runs, one for each seed."""
    best: CardRun | None = None
    for seed in seeds:
        job.listener.run_begins()
        try:
            run = CardRun(job, seed).go()
        except KeyboardInterrupt:  # before there was a first state
            if best is None:
                raise
            best.interrupted = True
            break
        if best is None or run.value < best.value:
            best = run
        if job.listener.run_ends() or run.interrupted or job.budget.is_over():
            best.interrupted |= run.interrupted
            break
    assert best is not None
    return best
