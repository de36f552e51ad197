"""A fit: runs from several starts, of which the best is kept."""

from __future__ import annotations

import numpy as np

from ksums.method.fitting.constrained import ConstrainedRun
from ksums.method.fitting.job import Job
from ksums.method.fitting.resuming import EndedRun, SavedFit
from ksums.method.fitting.run import Run
from ksums.method.search.ahead import compiling_ahead
from ksums.planning.plan import Plan


def fit(job: Job[Plan], seeds: list[int]) -> Run | EndedRun:
    """The best of several runs, one for each seed. After the deadline, or after Ctrl-C, no further run starts."""
    saved = SavedFit(0, False, None, None) if job.checkpoint is None else job.checkpoint.load()
    best: Run | EndedRun | None = saved.best
    if saved.finished:
        assert best is not None
        return best
    kind = Run if job.constraints is None else ConstrainedRun
    with compiling_ahead(job.rows.dtype, _searches(job.plan)):
        for number, seed in enumerate(seeds[saved.done :], saved.done):
            try:
                job.listener.run_begins()
                run = kind(job, np.random.default_rng(seed), saved.run if number == saved.done else None).go()
                if best is None or run.value < best.value:
                    best = run
                stop = job.listener.run_ends()
                if job.checkpoint is not None and not (run.stopped or run.interrupted):
                    job.checkpoint.after_run(best, finished=number + 1 == len(seeds))
            except KeyboardInterrupt:  # before there was a first state
                if best is None:
                    raise
                best.interrupted = True
                break
            start_takes = run.records[0].seconds if run.records else 0.0  # a start is never cut short
            if stop or run.interrupted or job.budget.is_over(soon=start_takes):
                best.interrupted |= run.interrupted
                break
    assert best is not None
    return best


def _searches(plan: Plan) -> bool:
    return plan.search is not None or (plan.samples is not None and _searches(plan.samples.plan))
