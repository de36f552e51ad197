"""Fig. 2: both objectives after every single step of passes 4 to 7."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from ksums import state as states
from ksums.computing import computing
from ksums.datasets import Dataset, load_sift
from ksums.drivers import driver_for
from ksums.engines import ENGINES, Engine
from ksums.reproduce.bundled import digits
from ksums.reproduce.experiment import Result, Size, Unit
from ksums.rows import prepare
from ksums.seeding import first_labels
from ksums.state import ClusterState, no_limits

DRIVEN = {
    "k-sums-Im": ("distortion", "paper"),
    "k-sums-Im (released)": ("distortion", "released"),
    "Hartigan": ("distortion", "hartigan"),
    "k-sums-Is": ("pairwise", "paper"),
}
"""What a sample moves by: objective and rule. Hartigan, for which no step can go up, is for comparison."""
FIRST, LAST = 4, 7  # the passes that are looked at
_SEEDS = 3
_POINTS = 200  # of a curve, for each pass
_ROUNDING = 1e-7  # of the mean: a smaller rise is none
_ZOOM = 1500  # steps in the enlarged part, from the middle of the first pass on


class Steps:
    """See ``Experiment``."""

    name, title, at_once = "steps", "Curves per step (Fig. 2)", False
    methods = tuple(DRIVEN)

    def data(self, size: Size) -> list[Dataset]:
        """SIFT100K."""
        return [digits() if size.quick else load_sift("learn", size.data_home)]

    def settings(self, size: Size) -> Result:
        """The paper does not say its k; that of its next experiment is taken."""
        return {"k": 32 if size.quick else 1024, "passes": [FIRST, LAST]}

    def warm_up(self, size: Size, data: list[Dataset]) -> None:
        """Nothing is timed."""

    def units(self, size: Size, data: list[Dataset]) -> Iterator[Unit]:
        """One run each."""
        X, k = np.asarray(data[0].X, np.float32), self.settings(size)["k"]
        for seed in size.seeds(_SEEDS):
            for name, (objective, rule) in DRIVEN.items():
                yield (
                    f"{name}|{seed}",
                    partial(_walk, X, k, objective, rule, seed, seed == size.seed),
                )


class _Measure(NamedTuple):
    """What the steps of a pass did to one measure."""

    values: np.ndarray  # (n,)  after each step
    changes: np.ndarray  # (moves,)  n times what each move added

    def summary(self) -> Result:
        """Counts, and the sums of what went up and what went down, in all."""
        up = self.changes[self.changes > _ROUNDING * self.values[0]]
        return {
            "first": float(self.values[0]),
            "last": float(self.values[-1]),
            "raised": len(up),
            "up": float(up.sum()),
            "down": float(-self.changes[self.changes < 0].sum()),
        }

    def curve(self) -> Result:
        """Least and largest value in equal parts of the pass."""
        parts = np.array_split(self.values, min(_POINTS, len(self.values)))
        return {"least": [float(part.min()) for part in parts], "most": [float(part.max()) for part in parts]}


def _walk(X: np.ndarray, k: int, objective: str, rule: str, seed: int, drawn: bool) -> Result:
    """Three passes as fast as may be, then four by the reference engine, which is Algorithm 1 word for word."""
    rng, driver, limits = np.random.default_rng(seed), driver_for(objective, "l2", rule), no_limits(k)
    with computing(None) as n_threads:
        rows = prepare(X, "l2")
        state = states.build(rows, first_labels("random-labels", rows, k, "l2", None, rng, n_threads), k)
        engine = ENGINES["exact"](rows, state, driver, limits, n_threads)
        for _ in range(FIRST - 1):
            for _ in engine.visit(rng.permutation(rows.n)):
                pass
            states.renew_sq_composites(state)
        engine = ENGINES["reference"](rows, state, driver, limits, 1)
        result: Result = {"passes": []}
        for number in range(FIRST, LAST + 1):
            order = rng.permutation(rows.n)
            e_m, e_s = _pass(engine, state, order, rows.measure_unit)
            states.renew_sq_composites(state)
            entry = {"pass": number, "moves": len(e_m.changes), "E_m": e_m.summary(), "E_s": e_s.summary()}
            if drawn:
                entry |= {"E_m curve": e_m.curve(), "E_s curve": e_s.curve()}
                if number == FIRST:
                    middle = slice(rows.n // 2, rows.n // 2 + _ZOOM)
                    entry |= {"E_m zoom": e_m.values[middle].tolist(), "E_s zoom": e_s.values[middle].tolist()}
            result["passes"].append(entry)
    return result


def _pass(engine: Engine, state: ClusterState, order: np.ndarray, unit: float) -> tuple[_Measure, _Measure]:
    """A pass, one sample at a time, with both measures after each."""
    n, changes = len(order), []
    within = np.stack([_within(state, r) for r in range(len(state.sizes))])
    now, values = within.sum(axis=0), np.empty((n, 2))
    for at in range(n):
        src = state.labels[order[at]]
        for _ in engine.visit(order[at : at + 1]):
            pass
        dst = state.labels[order[at]]
        if dst != src:
            new = np.stack([_within(state, src), _within(state, dst)])
            changes.append(new.sum(axis=0) - within[src] - within[dst])
            within[src], within[dst] = new
            now = now + changes[-1]
        values[at] = now
    values, moved = values * unit / n, np.reshape(changes, (-1, 2)) * unit
    return _Measure(values[:, 0], moved[:, 0]), _Measure(values[:, 1], moved[:, 1])


def _within(state: ClusterState, r: int) -> np.ndarray:
    """What a cluster adds to n E_m and to n E_s."""
    size, norms, squares = state.sizes[r], state.norm_sums[r], state.sq_composites[r]
    return np.array([norms - squares / size, size * norms - squares])
