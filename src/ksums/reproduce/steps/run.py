"""The runs of Fig. 2: E_m and E_s after every single step of passes 4 to 7."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from ksums.compute.threads import computing
from ksums.datasets import Dataset
from ksums.method.data.rows import prepare
from ksums.method.engines.protocol import Engine, make_engine
from ksums.method.starts.first_labels import StartTask, first_labels
from ksums.method.state.limits import no_limits
from ksums.method.state.state import ClusterState, build_state, renew_sq_composites
from ksums.planning.plan import StartPlan
from ksums.reproduce.experiment import RunOptions, Unit
from ksums.reproduce.method_names import PUBLISHED_CODE
from ksums.reproduce.store import Record
from ksums.rules.kinds import rule_for
from ksums.rules.objectives import within_clusters

RULES = {
    "k-sums-Im": ("distortion", "paper"),
    PUBLISHED_CODE: ("distortion", "released"),
    "Hartigan": ("distortion", "hartigan"),
    "k-sums-Is": ("pairwise", "paper"),
}
"""The objective and the rule of each method. Hartigan is a control: none of its steps can raise E_m."""
FIRST, LAST = 4, 7
"""The first and the last pass that is measured step by step."""
_SEEDS = 3
_POINTS = 200
"""The curve of a pass has at most this many points."""
_ROUNDING = 1e-7
"""A smaller rise, relative to the mean, is rounding and does not count."""
_ZOOM = 1500
"""The enlarged part begins in the middle of the first measured pass and has this many steps."""


def settings(options: RunOptions) -> Record:
    """The paper does not state k for this figure; this is the k of its significance test."""
    return {"k": 32 if options.quick else 1024, "passes": [FIRST, LAST]}


def units(options: RunOptions, data: list[Dataset]) -> Iterator[Unit]:
    """One run per method and seed; only the first seed is drawn."""
    X, k = np.asarray(data[0].X, np.float32), settings(options)["k"]
    for seed in options.seeds(_SEEDS):
        for method, (objective, rule) in RULES.items():
            work = partial(measure_steps, X, k, objective, rule, seed, with_curves=seed == options.seed)
            yield Unit(f"{method}|{seed}", work)


def measure_steps(X: np.ndarray, k: int, objective: str, rule: str, seed: int, *, with_curves: bool) -> Record:
    """Run three passes with the fast engine, then four step by step with the reference engine, Algorithm 1 itself."""
    rng, driven_by, limits = np.random.default_rng(seed), rule_for(objective, "l2", rule), no_limits(k)
    with computing(None):
        rows = prepare(X, "l2")
        labels = first_labels(StartPlan("random-labels"), rows, StartTask(k, driven_by, rng))
        state = build_state(rows, labels, k)
        engine = make_engine("exact", rows, state, driven_by, limits)
        for _ in range(FIRST - 1):
            for _ in engine.visit(rng.permutation(rows.n)):
                pass
            renew_sq_composites(state)
        engine = make_engine("reference", rows, state, driven_by, limits)
        passes = []
        for number in range(FIRST, LAST + 1):
            e_m, e_s = _measure_pass(engine, state, rng.permutation(rows.n), rows.sq_unit)
            renew_sq_composites(state)
            entry = {"pass": number, "moves": len(e_m.changes), "E_m": e_m.summary(), "E_s": e_s.summary()}
            if with_curves:
                entry |= {"E_m curve": e_m.curve(), "E_s curve": e_s.curve()}
                if number == FIRST:
                    zoom = slice(rows.n // 2, rows.n // 2 + _ZOOM)
                    entry |= {"E_m zoom": e_m.values[zoom].tolist(), "E_s zoom": e_s.values[zoom].tolist()}
            passes.append(entry)
    return {"passes": passes}


class _StepValues(NamedTuple):
    """One measure during a pass."""

    values: np.ndarray  # (n,) after each step
    changes: np.ndarray  # (moves,) what each move added, times n

    def summary(self) -> Record:
        """First and last value, the number of rises, and the sums of all rises and of all falls."""
        rises = self.changes[self.changes > _ROUNDING * self.values[0]]
        return {
            "first": float(self.values[0]),
            "last": float(self.values[-1]),
            "raised": len(rises),
            "up": float(rises.sum()),
            "down": float(-self.changes[self.changes < 0].sum()),
        }

    def curve(self) -> Record:
        """The smallest and the largest value in equal parts of the pass."""
        parts = np.array_split(self.values, min(_POINTS, len(self.values)))
        return {"least": [float(part.min()) for part in parts], "most": [float(part.max()) for part in parts]}


def _measure_pass(
    engine: Engine, state: ClusterState, order: np.ndarray, unit: float
) -> tuple[_StepValues, _StepValues]:
    """Run a pass one sample at a time; E_m and E_s after each."""
    n, changes = len(order), []
    by_cluster = _measures_by_cluster(state, slice(None))
    total, values = by_cluster.sum(axis=0), np.empty((n, 2))
    for at in range(n):
        src = state.labels[order[at]]
        for _ in engine.visit(order[at : at + 1]):
            pass
        dst = state.labels[order[at]]
        if dst != src:
            new = _measures_by_cluster(state, np.array([src, dst]))
            changes.append(new.sum(axis=0) - by_cluster[src] - by_cluster[dst])
            by_cluster[src], by_cluster[dst] = new
            total = total + changes[-1]
        values[at] = total
    values, moved = values * unit / n, np.reshape(changes, (-1, 2)) * unit
    return _StepValues(values[:, 0], moved[:, 0]), _StepValues(values[:, 1], moved[:, 1])


def _measures_by_cluster(state: ClusterState, clusters: slice | np.ndarray) -> np.ndarray:
    """(clusters, 2) What each of some clusters adds to n E_m and to n E_s."""
    part = state.of_clusters(clusters)
    return np.stack([within_clusters(measure, part) for measure in ("distortion", "pairwise")], axis=1)
