"""First labels of a run, whatever its start is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ksums.compute.arrays import as_dense
from ksums.method.data.centres import Centres, centres_for_rows, centres_of
from ksums.method.data.rows import Rows, subset
from ksums.method.nearest.centres import nearest_centres
from ksums.method.starts.outliers import heavy_rows, stands_for
from ksums.method.starts.seeding import k_means_plus_plus, two_seeds
from ksums.method.starts.two_level import two_level_labels
from ksums.method.state.state import build_state
from ksums.planning.plan import StartPlan
from ksums.rules.kinds import Rule


class StartTask(NamedTuple):
    """What a start needs besides the data."""

    k: int
    rule: Rule
    rng: np.random.Generator
    given: np.ndarray | None = None  # labels (n,) or centres (k, d) of the user
    deadline: float = np.inf  # by time.perf_counter()
    cluster_sample: Callable[[Rows], tuple[float, np.ndarray]] | None = (
        None  # objective and labels of a fit of some rows
    )


def first_labels(start: StartPlan, rows: Rows, task: StartTask) -> np.ndarray:
    """Labels (n,) with an active row in every cluster."""
    active, k, rng = rows.active, task.k, task.rng
    labels = np.zeros(rows.n, np.int32)
    if start.name == "two-level":
        return two_level_labels(rows, k, task.rule, rng, task.deadline)
    if start.name == "labels":
        assert task.given is not None
        labels[active] = task.given[active]
    elif start.name == "random-labels":
        labels[active] = rng.integers(0, k, len(active))  # Algorithm 1, line 2
    elif start.name == "sample":
        labels[active] = _from_sample(start, rows, task)
    elif start.name == "two-seeds":
        labels = two_seeds(rows.X, rows.sq_norms, rows.weights_of(active), rng)
    else:
        labels[active] = nearest_centres(rows, active, _centres(start, rows, task))
    fill_empty(labels, active, k, rng)
    return labels


def fill_empty(labels: np.ndarray, active: np.ndarray, k: int, rng: np.random.Generator) -> None:
    """Give each empty cluster a random sample of the largest cluster, so that k stays k."""
    counts = np.bincount(labels[active], minlength=k)
    for cluster in np.flatnonzero(counts == 0):
        largest = int(np.argmax(counts))
        moved = rng.choice(active[labels[active] == largest])
        labels[moved] = cluster
        counts[largest] -= 1
        counts[cluster] += 1


def _centres(start: StartPlan, rows: Rows, task: StartTask) -> Centres:
    """First centres in the space of the prepared rows."""
    if start.name == "centres":
        assert task.given is not None
        return centres_for_rows(task.given, rows, "cosine" if rows.cosine else "l2")
    candidates = rows.active
    if 0 < start.sample < len(candidates):
        # random points are drawn from all rows; this is drawn before them so that seeds keep their labels
        candidates = np.sort(task.rng.choice(candidates, start.sample, replace=False))
    if start.name == "random-points":
        chosen = np.sort(task.rng.choice(rows.active, task.k, replace=False))
    elif start.name == "k-means++":
        chosen = k_means_plus_plus(*_with_outliers(rows, candidates), task.k, task.rng)
    else:
        raise ValueError(f"there is no start called {start.name!r}.")
    return Centres(as_dense(rows.read(chosen)), rows.sq_norms[chosen])


def _with_outliers(rows: Rows, sample: np.ndarray) -> tuple[Rows, np.ndarray]:
    """A sample with all heavy rows, and rows that are weighted by how many they stand for."""
    seeks = len(sample) < rows.n_active and not rows.cosine  # rows of unit length are equally heavy
    heavy = heavy_rows(rows, len(sample)) if seeks else sample[:0]
    if not len(heavy):
        return rows, sample
    sample = np.union1d(sample, heavy)
    weights = np.zeros(rows.n)
    weights[sample] = rows.weights_of(sample) * stands_for(sample, heavy, rows.n_active)
    return replace(rows, weights=weights, known_sq_norms=rows.sq_norms), sample


def _from_sample(start: StartPlan, rows: Rows, task: StartTask) -> np.ndarray:
    """A sample is clustered, the best of some tries, and every row goes to the nearest of its centres."""
    assert task.cluster_sample is not None
    chosen, labels = np.sort(task.rng.choice(rows.n, start.sample, replace=False)), np.zeros(rows.n, np.int32)
    few = subset(rows, chosen)
    _, labels[chosen] = min((task.cluster_sample(few) for _ in range(start.tries)), key=lambda found: found[0])
    state = build_state(rows.with_active(chosen), labels, task.k)
    return nearest_centres(rows, rows.active, centres_of(state.composites, state.sizes, rows.cosine))
