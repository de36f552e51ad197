"""What a fit is to do, what a run has found so far, and who is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from ksums.annealing import Annealed
from ksums.drivers import Driver
from ksums.effort import Effort
from ksums.engines import EngineMaker
from ksums.history import PassRecord
from ksums.state import ClusterState, Limits


@dataclass(frozen=True)
class Plan:
    """What a fit is to do, as checked parameters."""

    k: int
    driver: Driver
    metric: str
    init: str | np.ndarray
    make_engine: EngineMaker
    max_iter: int
    tol: float
    n_threads: int
    limits: Limits | None = None
    deadline: float = np.inf  # by time.perf_counter()
    annealed: Annealed | None = None
    search: bool = False  # merge–split trials
    effort: Effort | None = None  # of both, and of lists of nearest clusters
    polish: str | None = None  # "pass": one pass over all clusters at the end; "assign": the nearest centre for all


@dataclass
class Run:
    """One run from one start: its state, its records, and the labels of its best pass."""

    state: ClusterState
    records: list[PassRecord] = field(default_factory=list)
    best_labels: np.ndarray | None = None
    best: float = np.inf
    converged: bool = False
    interrupted: bool = False

    @property
    def k(self) -> int:
        return len(self.state.sizes)

    @property
    def labels(self) -> np.ndarray:
        return self.state.labels if self.best_labels is None else self.best_labels


class Listener(Protocol):
    """Who is told what happens, and may stop it: the answers of the last two say whether to.

    The run told of is a ``Run`` or its like: with ``records``, ``labels`` and ``k``.
    """

    def run_begins(self) -> None: ...
    def pass_begins(self) -> None: ...
    def pass_ends(self, run: Any) -> bool: ...
    def run_ends(self) -> bool: ...


class Silence:
    """A listener who hears nothing and stops nothing."""

    def run_begins(self) -> None:
        pass

    def pass_begins(self) -> None:
        pass

    def pass_ends(self, run: Run) -> bool:
        return False

    def run_ends(self) -> bool:
        return False
