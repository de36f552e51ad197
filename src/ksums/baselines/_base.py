"""What the baselines share: parameters, and how a rule, a start and an engine make a method."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ksums import state as states
from ksums.drivers import Driver, driver_for
from ksums.engines import ENGINES, EngineMaker
from ksums.estimators._base import Clusterer, Task
from ksums.estimators.bisecting import Bisecting
from ksums.fitting import fit
from ksums.plan import Plan, Run
from ksums.rows import Rows
from ksums.seeding import fill_empty
from ksums.state import ClusterState


class _Method:
    """A rule (see ``drivers.py``), a start (see ``seeding.py``), and whatever else than Algorithm 1 makes a pass."""

    rule: ClassVar[str]
    start: ClassVar[str]

    def _driver(self) -> Driver:
        return driver_for("distortion", self.metric, self.rule)  # type: ignore[attr-defined]

    def _engine(self) -> EngineMaker:
        return ENGINES["exact"]

    def _check(self, X, weights) -> str:
        return self.start


class Baseline(_Method, Clusterer):
    """A flat baseline. Parameters and attributes are those of :class:`ksums.KSums`."""

    def __init__(
        self,
        n_clusters=8,
        *,
        metric="l2",
        n_init=1,
        max_iter=100,
        tol=1e-5,
        n_threads=None,
        random_state=None,
        callbacks=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_threads = n_threads
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def _run(self, rows: Rows, task: Task) -> Run:
        plan = Plan(
            k=int(self.n_clusters),
            driver=self._driver(),
            metric=self.metric,
            init=task.init,
            make_engine=self._engine(),
            max_iter=int(self.max_iter),
            tol=float(getattr(self, "tol", 0.0)),
            n_threads=task.n_threads,
        )
        return fit(rows, plan, task.seeds, task.listener)


class BisectingBaseline(_Method, Bisecting):
    """A bisecting baseline. Parameters and attributes are those of :class:`ksums.BisectingKSums`."""

    def __init__(
        self,
        n_clusters=8,
        *,
        metric="l2",
        strategy="largest",
        n_init=1,
        max_iter=100,
        tol=1e-5,
        n_threads=None,
        random_state=None,
        callbacks=None,
        verbose=0,
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.strategy = strategy
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_threads = n_threads
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose


def take_labels(rows: Rows, state: ClusterState, labels: np.ndarray) -> int:
    """Give all samples that pull new labels at once; returns how many changed. No cluster is left empty.

    Which sample an empty cluster gets is random, but the same each time: it is no part of the method.
    """
    before, k = state.labels.copy(), len(state.sizes)
    state.labels[rows.pulling] = labels
    fill_empty(state.labels, rows.pulling, k, np.random.default_rng(0))
    fresh = states.build(rows, state.labels, k)
    for sums, now in zip(state, fresh, strict=True):
        sums[...] = now
    return int(np.count_nonzero(before != state.labels))
