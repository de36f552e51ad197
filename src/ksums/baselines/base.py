"""What the baselines share: their parameters, and how a rule, a start and an engine make a method."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ksums.estimators.base import Clusterer
from ksums.estimators.bisecting import Bisecting
from ksums.method.data.centres import Centres
from ksums.method.data.rows import Rows
from ksums.method.fitting.fit import fit
from ksums.method.nearest.centres import nearest_centres
from ksums.method.starts.first_labels import fill_empty
from ksums.method.state.state import ClusterState, build_state
from ksums.planning.flat import plan_single
from ksums.planning.plan import EnginePlan, Plan, Stop
from ksums.planning.shape import Shape
from ksums.rules.kinds import Rule, rule_for


class _MethodParts:
    """A rule (``rules/kinds.py``), a start (``planning/starts.py``), and an engine if a pass is not Algorithm 1."""

    rule: ClassVar[str]
    start: ClassVar[str]
    engine: ClassVar[str] = "exact"

    def _rule(self) -> Rule:
        return rule_for("distortion", self.metric, self.rule)  # type: ignore[attr-defined]

    def _engine(self) -> EnginePlan:
        return EnginePlan(self.engine, self._options())

    def _options(self) -> dict[str, Any]:
        """Options of the engine."""
        return {}

    def _check(self, X, weights) -> str:
        """Refuse bad parameters; returns the name of the start."""
        return self.start


class Baseline(_MethodParts, Clusterer):
    """A flat baseline. Its parameters and attributes are those of :class:`ksums.KSums`."""

    _method = staticmethod(fit)

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

    def _plan(self, shape: Shape, init: str) -> Plan:
        stop = Stop(int(self.max_iter), float(getattr(self, "tol", 0.0)))
        return plan_single(shape, self._rule(), init, self._engine(), stop, int(self.n_init))


class BisectingBaseline(_MethodParts, Bisecting):
    """A bisecting baseline. Its parameters and attributes are those of :class:`ksums.BisectingKSums`."""

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


def assign_to_nearest(rows: Rows, state: ClusterState, centres: Centres) -> int:
    """Assign all active samples to their nearest centres at once; returns the number of labels that changed.

    An empty cluster gets a sample of the largest one. The choice is random, but the same in every run: it is not
    part of the method.
    """
    before, k = state.labels.copy(), len(state.sizes)
    state.labels[rows.active] = nearest_centres(rows, rows.active, centres)
    fill_empty(state.labels, rows.active, k, np.random.default_rng(0))
    for old, new in zip(state, build_state(rows, state.labels, k), strict=True):
        old[...] = new
    return int(np.count_nonzero(before != state.labels))
