"""A fit on a graphics card: annealing passes, passes at p = 1, then moves made apart until nothing moves."""

from __future__ import annotations

import time
from typing import NamedTuple

import torch

from ksums.method.data.measures import measure_clusters
from ksums.method.data.norms import unit_vectors
from ksums.method.data.rows import prepare
from ksums.method.engines.gpu.card import Card, layout_for
from ksums.method.engines.gpu.operations import Operations
from ksums.method.engines.gpu.passes import Numbers, Passes
from ksums.method.engines.gpu.repair import repair
from ksums.method.engines.gpu.rows import Rows
from ksums.method.engines.gpu.twin import prepared_rows
from ksums.method.fitting.budget import Budget
from ksums.method.fitting.fit import fit
from ksums.method.fitting.job import Job
from ksums.method.fitting.listener import Listener, OfSample
from ksums.method.fitting.records import PassRecord
from ksums.planning.gpu import products_are_split, uses_graph
from ksums.planning.plan import CardPlan, Plan


class CardJob(NamedTuple):
    """What a fit on a card is handed."""

    rows: Rows
    plan: CardPlan
    operations: Operations
    listener: Listener
    budget: Budget
    centres: torch.Tensor | None = None  # (k, d)  a start that the user gave, prepared as rows are but for the scale
    graphs: bool = False  # whether passes may be recorded as CUDA graphs


class CardRun:
    """One run under way."""

    def __init__(self, job: CardJob, seed: int) -> None:
        self.job, self.plan, self.k, self._seed = job, job.plan, job.plan.k, seed
        self.started = time.perf_counter()
        self.records: list[PassRecord] = []
        self.converged = self.interrupted = self.stopped = False
        self.value, self._best = float("inf"), torch.empty(0, dtype=torch.int32)
        self._sampled: torch.Tensor | None = None  # (k, d)  centres of the sample
        self.passes = self._begin(seed, split=False)
        found = self._measures(self.passes.numbers())[0]
        if products_are_split(found, self._variance(), job.plan.shape.d):
            del self.passes  # its copy of the rows is not needed any more
            self.passes = self._begin(seed, split=True)

    @property
    def labels_of_places(self) -> torch.Tensor:
        """(n,) The best labels, in the random order of the card."""
        return self._best if self.records else self.passes.card.state.labels

    @property
    def labels(self) -> torch.Tensor:
        """(N,) The best labels; 0 for rows that are not active."""
        places = self.passes.card.table.places
        labels = torch.zeros(len(self.job.rows.X), dtype=torch.int32, device=places.device)
        labels[places] = self.labels_of_places
        return labels

    def go(self) -> CardRun:
        """All passes of the plan."""
        try:
            if self.plan.repairs:
                self.job.listener.show("moving centres to clusters that the start missed")
                if self.plan.sample is None:  # so that centres are means, and merging costs what it is said to cost
                    self.passes.relax(1.0)
                    self.passes.one_pass()
                repair(self.passes, self._seed, self.plan.repairs)
            self._anneal()
            self._settle()
        except KeyboardInterrupt:  # the labels of the best whole pass
            self.interrupted = True
        return self

    # ------------------------------------------------------------------------------------ stages
    def _begin(self, seed: int, split: bool) -> Passes:
        """First labels."""
        rows, shape = self.job.rows, self.plan.shape
        self.job.listener.show("preparing rows on the card")
        lengths = rows.lengths is not None
        layout = layout_for(
            rows.n, shape.d, shape.k, sigma=rows.sigma, lengths=lengths, split=split,
            weighted=rows.weights is not None,
        )  # fmt: skip
        graphs = self.job.graphs and uses_graph(shape)
        passes = Passes(self.job.operations, rows, layout, seed, self.plan.blocks, graphs)
        if self.job.centres is not None:
            passes.start_from((self.job.centres * layout.sigma).float())
        elif self.plan.sample is not None:
            if self._sampled is None:
                self._sampled = self._centres_of_sample(passes.card, self.plan.sample, seed)
            passes.start_from(self._sampled)
        else:
            passes.start_from_rows()
        return passes

    def _centres_of_sample(self, card: Card, plan: Plan, seed: int) -> torch.Tensor:
        """The centres that the CPU finds for the first rows, which are in random order."""
        self.job.listener.show("searching a sample")
        at = torch.arange(plan.shape.n, device=card.table.places.device)
        X = prepared_rows(card.table, at).cpu().numpy()
        weights = card.table.weights[at].double().cpu().numpy() if card.layout.weighted else None
        metric = "cosine" if card.layout.lengths else "l2"
        listener = OfSample(self.job.listener, "searching a sample")
        run = fit(Job(prepare(X, metric, weights), plan, listener, Budget(self.job.budget.deadline)), [seed])
        if run.interrupted:  # there is no first state yet
            raise KeyboardInterrupt
        centres = measure_clusters(X, run.labels, self.k, metric, weights).centres
        found = torch.from_numpy(unit_vectors(centres) if metric == "cosine" else centres)
        return found.float().to(at.device)

    def _anneal(self) -> None:
        """Passes with falling relaxation, then at p = 1; continues from the best of all of them."""
        stages = [("annealing", p) for p in self.plan.relaxations] + [("pass", 1.0)] * self.plan.passes
        for stage, relaxation in stages:
            if self.stopped:
                return
            self.job.listener.pass_begins()
            self.passes.relax(relaxation)
            self.passes.one_pass()
            self._record(stage, relaxation)
            exact = [record for record in self.records if record.stage == "pass"]
            if exact and (exact[-1].moves == 0 or _gained_little(exact, self.plan.tol)):
                self.converged = True
                break
        if not torch.equal(self.passes.card.state.labels, self._best):
            self.passes.continue_from(self._best)

    def _settle(self) -> None:
        """Moves made apart, until nothing moves."""
        self.passes.relax(1.0)
        while self.plan.settling and not self.stopped and len(self.records) < self.plan.max_iter:
            self.job.listener.pass_begins()
            self.passes.settling_pass(self.plan.settling)
            self._record("pass", 1.0)
            self.converged = self.records[-1].moves == 0
            if self.converged:
                return

    # ------------------------------------------------------------------------------------ records
    def _variance(self) -> float:
        """Mean square of the rows around their mean; 1 under cosine."""
        card = self.passes.card
        if card.layout.lengths:
            return 1.0
        return float(card.table.squares.mean(dtype=torch.float64)) / card.layout.sigma / card.layout.sigma

    def _measures(self, numbers: Numbers) -> tuple[float, float, float]:
        """The objective, E_m and E_s in the units of the data."""
        layout = self.passes.card.layout
        squares, pairs = (value / layout.sigma / layout.sigma for value in (numbers.squares, numbers.pairs))
        distortion = squares / layout.n
        objective = 1.0 - numbers.lengths / layout.n if layout.lengths else distortion
        return objective, distortion, pairs / layout.n

    def _record(self, stage: str, relaxation: float) -> None:
        """Leave a record, remember the best labels, and tell whoever listens."""
        numbers = self.passes.numbers()
        objective, distortion, pairwise = self._measures(numbers)
        if objective < self.value:
            self.value, self._best = objective, self.passes.card.state.labels.clone()
        self.records.append(
            PassRecord(
                index=len(self.records) + 1,
                stage=stage,
                objective=objective,
                distortion=distortion,
                pairwise=pairwise,
                moves=int(numbers.moved),
                comparisons=self.plan.shape.n * self.k,
                relaxation=relaxation,
                smallest=numbers.smallest,
                largest=numbers.largest,
                seconds=time.perf_counter() - self.started,
            )
        )
        self.stopped = self.job.listener.pass_ends(self) or self.job.budget.is_over()


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


def _gained_little(records: list[PassRecord], tol: float) -> bool:
    return len(records) > 1 and records[-2].objective - records[-1].objective <= tol * records[-1].objective
