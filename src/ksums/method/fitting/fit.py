"""A fit: runs from several starts, of which the best is kept."""

from __future__ import annotations

import numpy as np

from ksums.method.fitting.job import Job
from ksums.method.fitting.run import Run
from ksums.method.search.ahead import compiling_ahead
from ksums.planning.plan import Plan


def fit(job: Job[Plan], seeds: list[int]) -> Run:
    """The best of several runs, one for each seed. After the deadline, or after Ctrl-C, no further run starts."""
    best: Run | None = None
    with compiling_ahead(job.rows.dtype, _searches(job.plan)):
        for seed in seeds:
            try:
                job.listener.run_begins()
                run = Run(job, np.random.default_rng(seed)).go()
                if best is None or run.best.value < best.best.value:
                    best = run
                stop = job.listener.run_ends()
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
