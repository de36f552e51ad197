"""Looks at rows that the samples may have missed: small groups, long tails.

A look is another sample, in which a row is the more frequent the farther it is from its centre and the fewer rows its
cluster has, and counts the less.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ksums.compute.threads import in_order
from ksums.method.data.rows import Rows, gathered, listed
from ksums.method.data.sums import sq_distances_to_own
from ksums.method.fitting.records import PassRecord
from ksums.method.state.state import ClusterState
from ksums.planning.samples import NUMBERS
from ksums.rules.objectives import objective_value


class Look(NamedTuple):
    """Some of the rows, weighted, as data of their own."""

    rows: Rows
    labels: np.ndarray


def share_of_far(rows: Rows, state: ClusterState) -> tuple[float, bool]:
    """Σ w·|x − C_r|², and whether more than next to nothing of it is from rows far out."""
    centres, limit = state.composites / state.sizes[:, None], NUMBERS.far * objective_value("distortion", state)

    def sums(ids: np.ndarray | slice) -> tuple[float, float]:
        squares = sq_distances_to_own(rows.read(ids), centres, state.labels[ids])
        weighted = rows.weights_of(ids) * squares
        return float(weighted.sum()), float(weighted[squares > limit].sum())

    total, far = np.sum(list(in_order(sums, rows.active_blocks())), axis=0)
    return float(total), bool(far > NUMBERS.share_of_far * total)


def draw_looks(
    rows: Rows, state: ClusterState, total: float, counts: list[int], rng: np.random.Generator
) -> list[Look]:
    """A look with about that many active rows for each of ``counts``. Row i is drawn with a chance in proportion to

        w/W + w·|x − C_r|²/Σ + w/(k·n_r),

    W the sum of the weights and Σ (``total``) that of the squared distances, which are computed again rather than kept;
    it counts for as many as it was unlikely.
    """
    k, centres, mass = len(state.sizes), state.composites / state.sizes[:, None], float(state.sizes.sum())

    def shares(ids: np.ndarray | slice) -> tuple[np.ndarray | slice, np.ndarray, np.ndarray]:
        labels, weights = state.labels[ids], rows.weights_of(ids)
        squares = sq_distances_to_own(rows.read(ids), centres, labels)
        return ids, weights, weights * (1.0 / mass + squares / total + 1.0 / (k * state.sizes[labels]))

    drawn: list[list[np.ndarray]] = [[] for _ in counts]
    weights_of_drawn: list[list[np.ndarray]] = [[] for _ in counts]
    for ids, weights, share in in_order(shares, rows.active_blocks()):
        for at, count in enumerate(counts):
            chances = np.minimum(1.0, count / 3.0 * share)  # the shares add up to 3
            is_drawn = rng.random(len(chances)) < chances
            drawn[at].append(listed(ids)[is_drawn])
            weights_of_drawn[at].append(weights[is_drawn] / chances[is_drawn])
    looks = []
    for parts, weights_of_parts in zip(drawn, weights_of_drawn, strict=True):
        ids = np.concatenate(parts)
        looks.append(Look(replace(gathered(rows, ids), weights=np.concatenate(weights_of_parts)), state.labels[ids]))
    return looks


def gain_of_search(records: list[PassRecord]) -> float:
    """By what share merge–split lowered the objective of a run. Passes lower it on a sample, but not on all rows."""
    searched = [at for at, record in enumerate(records) if record.stage == "merge-split"]
    if not searched or searched[0] == 0 or not records[searched[0] - 1].objective > 0.0:
        return 0.0
    return 1.0 - records[searched[-1]].objective / records[searched[0] - 1].objective
