"""Merge–split search for clusterings that are not made of rows and centres: tables with gaps, matrices of distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from ksums.method.state.partition import Partition

_PAIRS_PER_CLUSTER, _SPLITS = 4, 3
"""Merges and splits that are combined to find the next trial: the 4k cheapest merges, the three best splits."""

LEAST_GAIN = 1e-9
"""A trial, or a further run, is kept if the objective is lower by more than this, relatively; less may be rounding."""


AnyPartition = TypeVar("AnyPartition", bound=Partition)


class Trials(NamedTuple):
    """What a search did."""

    made: int
    kept: int
    moves: int
    gain: float


def merge_split(
    partition: AnyPartition,
    failures: float,
    rng: np.random.Generator,
    settle: Callable[[AnyPartition], int],
    keep: Callable[[AnyPartition], None],
    is_over: Callable[[], bool],
) -> Trials:
    """Merge the two clusters that cost least, split the one that saves most, settle; undone unless that is better.

    Ends after this number of ``failures`` in a row, or when nothing is left to try. ``settle`` makes exact passes and
    returns their moves; ``keep`` is told of every trial that is kept.
    """
    value, begun = partition.measures().objective, partition.measures().objective
    known: dict[int, tuple[np.ndarray, float]] = {}  # the halves of clusters that have not changed since
    tried: set[tuple[int, int, int]] = set()
    made = kept = moves = failed = 0
    while failed < failures and not is_over():
        for cluster in range(partition.k):
            if cluster not in known:
                known[cluster] = partition.halves(cluster, rng)
        chosen = _best_trial(partition.merge_costs(), np.array([known[r][1] for r in range(partition.k)]), tried)
        if chosen is None:
            break
        a, b, split = chosen
        trial = partition.exchanged(a, b, split, known[split][0])
        moves_of_trial = settle(trial)
        reached = trial.measures().objective
        made += 1
        if reached < value - LEAST_GAIN * abs(value):
            moved = trial.labels != partition.labels
            for cluster in np.unique([partition.labels[moved], trial.labels[moved]]):
                known.pop(int(cluster), None)
            partition, value, failed = trial, reached, 0
            kept, moves = kept + 1, moves + moves_of_trial
            tried.clear()
            keep(partition)
        else:
            failed += 1
            tried.add(chosen)
            if len(tried) == partition.k:  # other halves, since these have been tried often
                known.clear()
                tried.clear()
    return Trials(made, kept, moves, begun - value)


def _best_trial(costs: np.ndarray, gains: np.ndarray, tried: set[tuple[int, int, int]]) -> tuple[int, int, int] | None:
    """The merge and the split that promise most together, among those that were not tried."""
    k = len(gains)
    upper = np.where(np.tri(k, dtype=bool), np.inf, costs)
    best, chosen = -np.inf, None
    splits = [int(r) for r in np.argsort(-gains, kind="stable")[: _SPLITS + 2] if gains[r] > 0]  # two may be merged
    if not splits:
        return None
    for pair in _cheapest(upper.ravel(), _PAIRS_PER_CLUSTER * k):
        a, b = divmod(int(pair), k)
        if not gains[splits[0]] - upper[a, b] > best:  # nor do the pairs after it, which cost more
            break
        for split in [r for r in splits if r not in (a, b)][:_SPLITS]:
            promise = gains[split] - upper[a, b]
            if promise > best and (a, b, split) not in tried:
                best, chosen = promise, (a, b, split)
    return chosen


def _cheapest(costs: np.ndarray, count: int) -> np.ndarray:
    """The positions of the lowest costs, the lowest first."""
    found = np.arange(len(costs)) if count >= len(costs) else np.sort(np.argpartition(costs, count)[:count])
    return found[np.argsort(costs[found], kind="stable")]
