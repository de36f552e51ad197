"""Merge–split search on dense rows: holds the rows and the local state, and makes trials in short calls."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from ksums.method.data.rows import Rows
from ksums.method.search.local_kernels import Local, Log
from ksums.method.search.relax_kernels import Search, Work
from ksums.method.search.trial_kernels import Prospects, merge_split_trials, start_search
from ksums.method.state.state import ClusterState
from ksums.planning.search import trial_plan
from ksums.rules.objectives import objective_value

_AT_A_TIME = 1 << 29
"""Operations in one call, some tenths of a second: Ctrl-C is only heard between calls."""
_CLEARLY = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-7}
"""A trial must gain this share of the sum of squares; less may be rounding."""
_COLD = 0.9
"""The last tenth of the work is done without heat."""


class MergeSplit:
    """The search from one state on. It has its own copy of the active rows, sorted by cluster."""

    def __init__(
        self,
        rows: Rows,
        state: ClusterState,
        rng: np.random.Generator,
        wants_to_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._wants_to_stop = wants_to_stop
        k, d = state.composites.shape
        self.rows, self.k, self.tuning = rows, k, trial_plan(k, d)
        self.ids = rows.active[np.argsort(state.labels[rows.active], kind="stable")]
        n, slots, neighbours = len(self.ids), k + 1, self.tuning.neighbours
        composites = np.vstack([state.composites, np.zeros(d)])
        centroids = composites / np.append(state.sizes, 1.0)[:, None]
        self.local = Local(
            rows.read(self.ids),
            rows.weights_of(self.ids),
            state.labels[self.ids],
            composites,
            centroids.astype(rows.dtype),
            np.append(state.sizes, 0.0),
            np.append(state.counts, 0),
            np.empty(n, np.int32),
            np.empty(n, np.int32),
            np.empty(slots, np.int64),
            np.full((slots, neighbours), -1),
            np.full((slots, neighbours), np.inf),
        )
        total = objective_value("distortion", state) * float(state.sizes.sum())
        self.values = np.array([total, total])
        self.best_labels = self.local.labels.copy()
        self.seed = np.array([rng.integers(2**63)], np.uint64)
        self.prospects = Prospects(np.zeros(slots), np.zeros(slots), np.ones(slots, np.bool_))
        # Splitting and dissolving take at most two moves of a row; a relaxation that wants more ends the trial.
        self.log = Log(np.empty(3 * n, np.int32), np.empty(3 * n, np.int32), np.zeros(1, np.int64))
        self.work = Work(
            np.empty((4, d), rows.dtype),
            np.empty(d),
            np.empty(slots, np.int64),
            np.empty(slots, np.int64),
            np.zeros(slots, np.int64),
            np.zeros(slots, np.int64),
            np.zeros(2, np.int64),
            np.zeros(2, np.int64),
        )
        self.search = Search(
            rounds=self.tuning.rounds,
            changed_share=self.tuning.changed_share,
            reach=self.tuning.reach,
            hope=self.tuning.hope,
            tournament=self.tuning.tournament,
            optimism=self.tuning.optimism,
            clearly=_CLEARLY[rows.dtype],
            most_compared=self.tuning.most_rounds_of_all * n * neighbours,
        )
        self.made = 0  # trials
        self._idle_after = np.inf
        self.exhausted = False  # no new best for so long that the search has ended
        self._at_a_time = max(1, _AT_A_TIME // (8 + d))
        start_search(self.local)

    def run(self, stop_at: float, in_all: float, heat: float, deadline: float) -> tuple[int, int]:
        """Trials until ``stop_at`` of ``in_all`` comparisons are made; returns how many were made and kept.

        A trial that makes it worse by x is kept with probability exp(−x/T). The temperature T is ``heat`` times the
        mean sum of squares of a cluster, and this factor falls evenly to 0; it is 0 where few trials are expected. The
        best labels are remembered.
        """
        made = kept = 0
        self._idle_after = self.tuning.idle_share * in_all
        while (compared := float(self.work.compared[0])) < stop_at and time.perf_counter() < deadline:
            if self.exhausted or self._wants_to_stop():
                break
            until = min(stop_at, compared + self._at_a_time)
            now = heat if self._many(in_all / max(compared, 1.0)) else 0.0
            more, better = self._some(until, *(now * _left(at / in_all) for at in (compared, until)))
            made, kept = made + more, kept + better
        return made, kept

    def run_until(self, stop: float, began: float, end: float, heat: float) -> tuple[int, int]:
        """The same by the clock: until ``stop``, of the time from ``began`` to ``end``."""
        made = kept = 0
        while (now := time.perf_counter()) < stop and not self._wants_to_stop():
            compared = float(self.work.compared[0])
            length = self._at_a_time / 20
            if compared:  # then it is known how many there are in the time left
                length = min(self._at_a_time, (stop - now) * compared / (now - began))
            done = (now - began) / (end - began)
            warmth = heat * _left(done) if self._many(1.0 / max(done, 1e-3)) else 0.0
            more, better = self._some(compared + max(1.0, length), warmth, warmth)
            made, kept = made + more, kept + better
        return made, kept

    def _many(self, times: float) -> bool:
        """Whether there will be enough trials for a walk that goes uphill too, with this many times those so far."""
        return self.made * times > self.tuning.trials_per_cluster * self.k

    @property
    def comparisons(self) -> int:
        """Comparisons made so far."""
        return int(self.work.compared[0])

    @property
    def distortion(self) -> float:
        """E_m of the best labels, by the search's own sums."""
        return float(self.values[1] / self.local.sizes.sum())

    def _some(self, stop_at: float, first_heat: float, last_heat: float) -> tuple[int, int]:
        made, kept = merge_split_trials(
            self.search,
            int(np.ceil(stop_at)),
            self._idle_after,
            first_heat,
            last_heat,
            self.values,
            self.best_labels,
            self.seed,
            self.local,
            self.prospects,
            self.log,
            self.work,
        )
        self.made += made
        self.exhausted = self.work.compared[0] < stop_at
        return made, kept

    def labels(self) -> np.ndarray:
        """The best labels found, 0 … k−1."""
        best = self.local.labels if self.values[0] <= self.values[1] else self.best_labels
        free = int(np.flatnonzero(np.bincount(best, minlength=self.k + 1) == 0)[0])
        labels = np.zeros(self.rows.n, np.int32)
        labels[self.ids] = np.where(best == self.k, free, best)  # all others keep their number
        return labels


def _left(done: float) -> float:
    """The share of the heat that is left."""
    return max(0.0, 1.0 - done / _COLD)
