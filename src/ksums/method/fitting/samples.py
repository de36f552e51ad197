"""The start for few clusters and many rows: searches on samples, of which the best goes on to more rows, then to all.

In few dimensions all searches are on the same rows instead, the means of patches (``starts/patches.py``).

Rows that alone carry much of the sum of squares (outliers) are in every sample: a sample without them would have no
cluster for them, and passes over all rows could not make one. Each of them counts once; every other row of a sample
stands for n / rows of the data. Smaller groups and the rest of long tails are found by further looks (``looks.py``):
the search goes on there, from the labels of all rows, and what it finds is kept if it is an improvement on all rows,
too.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ksums.compute.threads import threads
from ksums.method.data.rows import Rows, gathered
from ksums.method.fitting.budget import Budget
from ksums.method.fitting.job import Job
from ksums.method.fitting.listener import Listener, Silence
from ksums.method.fitting.looks import Look, draw_looks, gain_of_search, share_of_far
from ksums.method.starts.first_labels import fill_empty
from ksums.method.starts.outliers import heavy_rows, stands_for
from ksums.method.starts.patches import patches_of
from ksums.method.state.limits import no_limits
from ksums.method.state.state import build_state, renew_sq_composites
from ksums.planning.plan import Plan
from ksums.planning.samples import NUMBERS
from ksums.rules.objectives import objective_value

if TYPE_CHECKING:
    from ksums.method.engines.blocks import BlockEngine


class Start(NamedTuple):
    """Where the passes over all rows begin."""

    engine: BlockEngine
    comparisons: int
    interrupted: bool


class _OfSamples(Silence):
    """Shows how the searches on samples proceed, and ends them after Ctrl-C."""

    def __init__(self, outer: Listener) -> None:
        self.outer, self.stopped = outer, False

    def wants_to_stop(self) -> bool:
        return self.stopped

    def pass_ends(self, run: Any) -> bool:
        record = run.records[-1]
        self.outer.show(f"searching samples, {record.stage} {record.index}, objective {record.objective:.6g}")
        return self.stopped


class _Sample(NamedTuple):
    ids: np.ndarray
    centres: np.ndarray  # (k, d)  in the space of the prepared rows
    comparisons: int


class SampleSearch:
    """Searches samples and brings the best result to all rows; ``run_on(job, rng)`` makes a run on a sample."""

    def __init__(self, job: Job[Plan], rng: np.random.Generator, run_on: Callable[[Job[Plan], Any], Any]) -> None:
        assert job.plan.samples is not None
        self.rows, self.plan, self.samples, self.rng, self.run_on = job.rows, job.plan, job.plan.samples, rng, run_on
        self.budget, self.listener, self.comparisons = job.budget, _OfSamples(job.listener), 0
        self.heavy = np.empty(0, np.int64)
        if self.samples.rows < job.rows.n_active:
            self.heavy = heavy_rows(job.rows, self.samples.rows)
        self._patches: Rows | None = None

    def start(self) -> Start:
        """The best of the samples, continued on more rows and brought to all rows."""
        values: list[float] = []
        best: BlockEngine | None = None
        rows = self.rows
        of_patches = self._make_patches() if self.samples.patches else None
        for batch in range(self.samples.batches):
            found = self._search_batch()
            if self.samples.middle and batch == 0:
                rows = self._middle([sample.ids for sample in found]) if of_patches is None else of_patches
            for sample in found:
                engine = self._engine(rows, sample.centres)
                if self.samples.middle:
                    self._settle(engine, NUMBERS.first_passes, 0.0)
                values.append(objective_value("distortion", engine.state))
                if values[-1] == min(values):
                    best = engine
            if self.listener.stopped or self.budget.is_over() or _agree(values):
                break
            assert best is not None
            if self.samples.look is not None and share_of_far(best.rows, best.state)[1]:
                break  # looks bring more than further samples
        assert best is not None
        if self.samples.middle:
            self._settle(best, self.plan.stop.max_iter, NUMBERS.middle_tol)
            best = self._engine(self.rows, _centres_of(best))
        best = self._after_looks(best)
        return Start(best, self.comparisons, self.listener.stopped)

    # ------------------------------------------------------------------------------------ samples
    def _search_batch(self) -> list[_Sample]:
        """Search some samples, one on each thread; after Ctrl-C they end as they are."""
        seeds = self.rng.integers(2**63, size=self.samples.count)
        count = min(threads(), len(seeds))
        found = self._search_in_turn(seeds) if count == 1 else self._search_together(seeds, count)
        self.comparisons += sum(sample.comparisons for sample in found)
        return found

    def _search_in_turn(self, seeds: np.ndarray) -> list[_Sample]:
        found: list[_Sample] = []
        for seed in seeds:
            found.append(self._search(seed))
            if self.listener.stopped:
                break
        return found

    def _search_together(self, seeds: np.ndarray, count: int) -> list[_Sample]:
        from ksums.method.engines.blocks import compile_blocks  # Numba is loaded by the first fit, not by the import

        futures: list[Future[_Sample]] = []
        with ThreadPoolExecutor(count) as pool:
            try:
                futures.extend(pool.submit(self._search, seed) for seed in seeds)
                compile_blocks(self.rows.dtype, self.plan.rule)  # the searches wait for their own kernels meanwhile
                wait(futures)
            except KeyboardInterrupt:
                self.listener.stopped = True
                for future in futures:
                    future.cancel()
            found = [future.result() for future in futures if not future.cancelled()]
        if not found:
            raise KeyboardInterrupt
        return found

    def _search(self, seed: int) -> _Sample:
        """One sample, clustered."""
        rng = np.random.default_rng(seed)
        if self._patches is not None:
            ids, part = np.empty(0, np.int64), self._patches
        else:
            ids = self._draw(rng, self.samples.rows)
            part = self._weighted(gathered(self.rows, ids), ids)
        budget = Budget(self.budget.deadline, self.samples.plan.seconds)
        run = self.run_on(Job(part, self.samples.plan, self.listener, budget), rng)
        state = build_state(part, run.labels, self.plan.k)
        self.listener.stopped |= run.interrupted
        comparisons = sum(record.comparisons for record in run.records)
        return _Sample(ids, state.composites / state.sizes[:, None], comparisons)

    def _make_patches(self) -> Rows:
        """Patches to be searched; returns the rows that they are made of. Fewer patches than clusters are of no use."""
        ids = self._draw(self.rng, self.samples.rows)
        rows = self._weighted(gathered(self.rows, ids), ids)
        patches = patches_of(rows, self.samples.patches)
        self._patches = patches if patches.n >= self.plan.k else None
        return rows

    def _draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Some active rows and all heavy ones, in storage order."""
        n = self.rows.n_active
        drawn = rng.choice(n, min(count, n), replace=False, shuffle=False)
        if self.rows.known_active is not None:
            drawn = self.rows.active[drawn]
        return self._together([drawn, self.heavy])

    def _together(self, ids: list[np.ndarray]) -> np.ndarray:
        """All of these rows once, in storage order; a mark for each row is faster than sorting."""
        marked = np.zeros(self.rows.n, np.bool_)
        for some in ids:
            marked[some] = True
        return np.flatnonzero(marked)

    def _weighted(self, part: Rows, ids: np.ndarray) -> Rows:
        """A sample in which heavy rows count once, and each other row for as many as it stands for."""
        if not len(self.heavy):
            return part
        weights = stands_for(ids, self.heavy, self.rows.n_active)
        return replace(part, weights=weights * part.weights_of(np.arange(part.n)))

    # ------------------------------------------------------------------------------------ looks
    def _after_looks(self, engine: BlockEngine) -> BlockEngine:
        """An engine for all rows, improved by looks while they bring something."""
        if self.samples.look is None:
            return engine
        self._settle(engine, NUMBERS.passes_of_look, NUMBERS.tol_of_look)
        for _ in range(self.samples.looks):
            if self.listener.stopped or self.budget.is_over():
                break
            sizes = [rows for rows in (self.samples.searched, self.samples.middle) if rows]
            total, far = share_of_far(self.rows, engine.state)
            if not far:
                break
            looks = draw_looks(self.rows, engine.state, total, sizes, self.rng)
            centres = self._search_look(looks[0], self.samples.look)
            better = None if centres is None else self._if_better(centres, engine, looks[1:])
            if better is None:
                break
            gain, engine = _gain(engine, better), better
            if gain <= NUMBERS.last_gain_of_look:
                break
        return engine

    def _search_look(self, look: Look, plan: Plan) -> np.ndarray | None:
        """The centres of a look after a search; None if the search gained next to nothing."""
        budget, rng = Budget(self.budget.deadline, plan.seconds), np.random.default_rng(self.rng.integers(2**63))
        run = self.run_on(Job(look.rows, plan, self.listener, budget, look.labels), rng)
        self.listener.stopped |= run.interrupted
        self.comparisons += sum(record.comparisons for record in run.records)
        if gain_of_search(run.records) <= NUMBERS.least_gain_of_look:
            return None
        state = build_state(look.rows, run.labels, self.plan.k)
        return state.composites / state.sizes[:, None]

    def _if_better(self, centres: np.ndarray, engine: BlockEngine, judges: list[Look]) -> BlockEngine | None:
        """An engine for all rows from these centres, if they lead lower; if rows are many, a judge is asked first."""
        rows = judges[0].rows if judges else self.rows
        before = self._settled(rows, _centres_of(engine)) if judges else engine
        other = self._settled(rows, centres)
        if judges and _is_lower(other, before):
            other = self._settled(self.rows, _centres_of(other))
            before = engine
        return other if _is_lower(other, before) else None

    def _settled(self, rows: Rows, centres: np.ndarray) -> BlockEngine:
        engine = self._engine(rows, centres)
        self._settle(engine, NUMBERS.passes_of_look, NUMBERS.tol_of_look)
        return engine

    # ------------------------------------------------------------------------------------ more rows
    def _middle(self, samples: list[np.ndarray]) -> Rows:
        """Rows for the stage in the middle. Those of the samples are among them, so that no cluster is empty."""
        ids = self._together([self._draw(self.rng, self.samples.middle), *samples])
        return self._weighted(gathered(self.rows, ids), ids)

    def _engine(self, rows: Rows, centres: np.ndarray) -> BlockEngine:
        """An engine for some rows, from centres."""
        from ksums.method.engines.blocks import BlockEngine  # Numba is loaded by the first fit, not by the import

        engine = BlockEngine.from_centres(rows, centres, self.plan.rule)
        self.comparisons += rows.n * len(centres)
        if engine.state.counts.min() == 0:
            labels, k = engine.state.labels, len(centres)
            fill_empty(labels, rows.active, k, self.rng)
            engine = BlockEngine(rows, build_state(rows, labels, k), self.plan.rule, no_limits(k))
        return engine

    def _settle(self, engine: BlockEngine, most: int, tol: float) -> None:
        """Passes until nothing moves, or until one gains little; none after Ctrl-C."""
        if self.listener.stopped:
            return
        last = objective_value("distortion", engine.state)
        for _ in range(most):
            moves = sum(engine.visit(engine.draw_order(self.rng)))
            self.comparisons += engine.comparisons
            renew_sq_composites(engine.state)
            now = objective_value("distortion", engine.state)
            if moves == 0 or last - now <= tol * last or self.budget.is_over():
                return
            last = now


def _centres_of(engine: BlockEngine) -> np.ndarray:
    return engine.state.composites / engine.state.sizes[:, None]


def _gain(before: BlockEngine, after: BlockEngine) -> float:
    """The share by which the objective fell."""
    value = objective_value("distortion", before.state)
    return 1.0 - objective_value("distortion", after.state) / value if value > 0.0 else 0.0


def _is_lower(one: BlockEngine, other: BlockEngine) -> bool:
    return objective_value("distortion", one.state) < objective_value("distortion", other.state)


def _agree(values: list[float]) -> bool:
    """Whether the best two results are about equal; a single one has nothing to agree with."""
    best, *others = sorted(values)
    return not others or others[0] - best <= NUMBERS.agree * best
