"""What each row costs in each cluster: by fixed centres, or by the change of the objective if it alone moved."""

from __future__ import annotations

import numpy as np

from ksums.method.constrained.transport import Costs
from ksums.method.data.centres import centres_of
from ksums.method.data.rows import Rows
from ksums.method.state.constraints import Constraints
from ksums.method.state.state import ClusterState
from ksums.rules.kinds import PAIRS, Rule
from ksums.rules.plain import gain_factors, plain_form


def costs_of_centres(rows: Rows, state: ClusterState, rule: Rule, constraints: Constraints) -> Costs:
    """w |x − C_r|² with the centres of a state; n_r times that for pairs; w (1 − x·C_r/|C_r|) for directions.

    For clusters that keep their sizes the objective falls by at least as much as the sum of these costs does.
    """
    vectors, squares = centres_of(state.composites, state.sizes, rows.cosine and rule.kind.directions)
    factors = state.sizes if rule.kind is PAIRS else np.ones(len(state.sizes))
    if constraints.centres is not None:
        m = len(constraints.centres)
        vectors[:m] = constraints.centres
        squares[:m] = 0.0 if rule.kind.directions else np.einsum("rt,rt->r", vectors[:m], vectors[:m])

    def costs_of(ids: np.ndarray) -> np.ndarray:
        products = np.asarray(rows.read(ids, np.float64) @ vectors.T)
        if rule.kind.directions:
            costs = 1.0 - products
        else:
            costs = factors * (rows.sq_norms[ids, None] - 2.0 * products + squares)
            if rows.inner is not None and rule.kind is PAIRS:
                costs += factors * (rows.inner[ids] / rows.weights_of(ids))[:, None]
        return costs if rows.weights is None else rows.weights[ids, None] * costs

    return costs_of


def costs_of_moves(rows: Rows, state: ClusterState, rule: Rule) -> Costs:
    """What the objective gains by each row staying in its cluster, or by joining another one alone."""
    form = plain_form(rule)

    def costs_of(ids: np.ndarray) -> np.ndarray:
        own, weights = state.labels[ids], rows.weights_of(ids)
        products = np.asarray(rows.read(ids, np.float64) @ state.composites.T)
        stay, join = form.block_costs(rule, products, rows.sq_norms[ids], weights, own, state)
        stay_more, join_more = costs_of_scatter(rows, rule, ids, state.sizes, state.sizes[own])
        stay, join = stay + stay_more, join + join_more
        join[np.arange(len(ids)), own] = stay
        return gain_factors(rule, weights)[:, None] * join

    return costs_of


def costs_of_scatter(
    rows: Rows, rule: Rule, ids: np.ndarray, sizes: np.ndarray, own_sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What the scatter S of rows that stand for several adds to their costs of staying (b,) and of joining (b, k).

    Under E_s a group of weight w and its cluster without it have the pairs n |x − C|² + … + n S/w: n S/w more to join
    a cluster of size n, (n − 2 w) S/w more to stay in one of size n, which includes the group. Under E_m nothing.
    """
    if rows.inner is None or rule.kind is not PAIRS:
        return np.zeros(len(ids)), np.zeros((len(ids), 1))
    weights = rows.weights_of(ids)
    share = rows.inner[ids] / weights
    return (own_sizes - 2.0 * weights) * share, share[:, None] * sizes
