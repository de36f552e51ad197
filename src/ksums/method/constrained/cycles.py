"""Cycles through several clusters: samples that change places where size limits let none of them move alone.

Each sample costs what the objective would change by if it moved alone. The cheapest assignment at these costs
(``transport.py``) proposes moves, which are taken apart into cycles, and into paths between clusters whose sizes may
change. Each cycle is made move by move on the present state and undone unless the objective falls, so the objective
never rises. Then, for squared distances, all pairs of samples whose exchange could pay are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ksums.compute.arrays import as_dense
from ksums.method.constrained.costs import costs_of_moves, costs_of_scatter
from ksums.method.constrained.transport import cheapest_assignment
from ksums.method.data.rows import Rows
from ksums.method.data.sums import members_by_cluster
from ksums.method.state.constraints import Constraints
from ksums.method.state.limits import no_limits
from ksums.method.state.state import ClusterState, reallocate, renew_sq_composites
from ksums.rules.kinds import PAIRS, SQUARES, Rule
from ksums.rules.plain import gain_factors, plain_form

_PAIRS = 1024
"""Entries of a table of exchanges that are looked at before the table is made again."""
_NEAR = 256
"""Of a pair of clusters at most this many samples of each are compared with one another, those that lose least."""


def cycle_pass(
    rows: Rows, state: ClusterState, rule: Rule, constraints: Constraints, prices: np.ndarray | None
) -> tuple[int, np.ndarray]:
    """Cycles, then exchanges; returns the number of samples that moved, and the prices of the assignment."""
    ids = constraints.unlinked(rows.active)
    low, high = limits_for_rows(rows, state.labels, ids, constraints, len(state.sizes))
    wanted, prices = cheapest_assignment(ids, costs_of_moves(rows, state, rule), low, high, prices)
    moved = sum(
        make_moves(rows, state, rule, cycle) for cycle in cycles_in(ids, state.labels[ids], wanted, state.counts)
    )
    if rule.kind in (SQUARES, PAIRS):
        renew_sq_composites(state)
        moved += _exchange_pairs(rows, state, rule, ids)
    return moved, prices


def limits_for_rows(
    rows: Rows, labels: np.ndarray, ids: np.ndarray, constraints: Constraints, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Limits for some of the rows, if all others stay where they are. No cluster may be empty."""
    limits = no_limits(k) if constraints.limits is None else constraints.limits
    weights = np.ones(rows.n) if rows.weights is None or constraints.limits is None else rows.weights
    others = np.ones(rows.n, bool)
    others[ids] = False
    held = rows.active[others[rows.active]]
    sizes = np.bincount(labels[held], weights[held], minlength=k)
    least = np.maximum(limits.low, weights[rows.active].min())
    if np.count_nonzero(sizes == 0) > len(ids):  # too few rows for all clusters that have none yet
        least = limits.low
    return np.maximum(least - sizes, 0.0), limits.high - sizes


Move = tuple[int, int, int]
"""Row, the cluster it leaves, the cluster it joins."""


def cycles_in(ids: np.ndarray, before: np.ndarray, after: np.ndarray, counts: np.ndarray) -> Iterator[list[Move]]:
    """Moves from labels to others, taken apart into paths and cycles that visit each cluster once.

    A cycle begins with a cluster of many samples, since the first cluster gives one away before it gets one.
    """
    changed = np.flatnonzero(before != after)
    leaving: dict[int, list[Move]] = {}
    surplus: dict[int, int] = {}
    for at in changed:
        src, dst = int(before[at]), int(after[at])
        leaving.setdefault(src, []).append((int(ids[at]), src, dst))
        surplus[src], surplus[dst] = surplus.get(src, 0) + 1, surplus.get(dst, 0) - 1
    starts = [r for r, extra in sorted(surplus.items()) for _ in range(max(extra, 0))]
    for start in [*starts, *(r for r in sorted(leaving) for _ in leaving[r])]:
        walk: list[Move] = []
        place = {start: 0}
        at_cluster = start
        while leaving.get(at_cluster):
            move = leaving[at_cluster].pop()
            walk.append(move)
            at_cluster = move[2]
            if at_cluster in place:  # a cycle is closed
                first = place[at_cluster]
                cycle, walk = walk[first:], walk[:first]
                place = {start: 0, **{made[2]: number for number, made in enumerate(walk, 1)}}
                largest = max(range(len(cycle)), key=lambda number: (counts[cycle[number][1]], -number))
                yield cycle[largest:] + cycle[:largest]
            else:
                place[at_cluster] = len(walk)
        if walk:
            yield walk


def make_moves(rows: Rows, state: ClusterState, rule: Rule, moves: list[Move]) -> int:
    """Make moves one after the other, and undo them unless they pay together; returns how many were made."""
    if state.counts[moves[0][1]] < 2:
        return 0  # a cluster never gives up its last sample
    ids = np.array([move[0] for move in moves])
    block = as_dense(rows.read(ids, np.float64))
    profit = 0.0
    for (i, src, dst), x in zip(moves, block, strict=True):
        profit += profit_of(rows, rule, i, x, state, src, dst)
        move_row(rows, state, i, x, src, dst)
    if profit > 0:
        return len(moves)
    for (i, src, dst), x in zip(reversed(moves), block[::-1], strict=True):
        move_row(rows, state, i, x, dst, src)
    return 0


def move_row(rows: Rows, state: ClusterState, i: int, x: np.ndarray, src: int, dst: int) -> None:
    """Move row i, and its scatter with it if it stands for several."""
    reallocate(state, i, x, 1.0 if rows.weights is None else float(rows.weights[i]), src, dst)
    if rows.inner is not None:
        state.norm_sums[src] -= rows.inner[i]
        state.norm_sums[dst] += rows.inner[i]


def profit_of(rows: Rows, rule: Rule, i: int, x: np.ndarray, state: ClusterState, src: int, dst: int) -> float:
    """What moving row i is worth, less what may be rounding."""
    form, joined = plain_form(rule), state.of_clusters(slice(dst, dst + 1))
    weight = 1.0 if rows.weights is None else float(rows.weights[i])
    stay, join = costs_of_scatter(rows, rule, np.array([i]), joined.sizes, state.sizes[[src]])
    profit = form.stay_cost(rule, x, weight, state, src) + float(stay[0])
    profit -= float(form.join_costs(rule, x, weight, joined)[0]) + float(join[0, 0])
    return float(gain_factors(rule, np.float64(weight)) * (profit - form.rounding_margin(x, state, src)))


def _exchange_pairs(rows: Rows, state: ClusterState, rule: Rule, ids: np.ndarray) -> int:
    """Exchange pairs of samples as long as that pays; returns the number of samples that moved.

    With f_r = 1 (n_r for pairs) an exchange of x in a for y in b changes the objective by

        f_b |x − C_b|² − f_a |x − C_a|²  +  f_a |y − C_a|² − f_b |y − C_b|²  −  (f_a/n_a + f_b/n_b) |x − y|².

    Since |x − y|² ≤ 2 |x − C_a|² + 2 |y − C_a|², a sum of one bound for x and one for y rules out most pairs.
    """
    k, factors = len(state.sizes), state.sizes if rule.kind is PAIRS else np.ones(len(state.sizes))
    members = members_by_cluster(ids, state.labels[ids], k)
    bounds = np.full((k, k), np.inf)
    for a, own in enumerate(members):
        for part in rows.blocks_of(own, k):
            bounds[a] = np.minimum(bounds[a], _bounds(rows, state, factors, part, a).min(axis=0))
    np.fill_diagonal(bounds, np.inf)
    moved = 0
    for a, b in np.argwhere(np.triu(bounds + bounds.T < 0)):
        moved += _exchange_between(rows, state, rule, factors, members, int(a), int(b))
    return moved


def _losses(rows: Rows, state: ClusterState, factors: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """(len(ids), k) f_r |x − C_r|²."""
    products = np.asarray(rows.read(ids, np.float64) @ state.composites.T)
    n = state.sizes
    return factors * (rows.sq_norms[ids, None] - 2 * products / n + state.sq_composites / n**2)


def _bounds(rows: Rows, state: ClusterState, factors: np.ndarray, ids: np.ndarray, a: int) -> np.ndarray:
    """(len(ids), k) The least that an exchange of each row of cluster a for one of b can add to the objective."""
    losses, shares = _losses(rows, state, factors, ids), factors / state.sizes
    distances = losses / factors
    # Both samples of a pair must be compared with the same centre: that of the lower number.
    common = np.where(np.arange(len(factors)) > a, distances[:, [a]], distances)
    return losses - losses[:, [a]] - 2 * (shares + shares[a]) * common


def _exchange_between(
    rows: Rows,
    state: ClusterState,
    rule: Rule,
    factors: np.ndarray,
    members: list[np.ndarray],
    a: int,
    b: int,
) -> int:
    """The best exchanges of two clusters, as long as they pay."""
    moved = 0
    both = np.array([a, b])
    here = np.concatenate([members[a], members[b]])
    here = here[np.isin(state.labels[here], both)]
    for _ in range(len(here)):
        own_a, own_b = here[state.labels[here] == a], here[state.labels[here] == b]
        if min(len(own_a), len(own_b)) == 0 or min(state.counts[a], state.counts[b]) < 2:
            break
        share = float((factors / state.sizes)[both].sum())
        losses = [_losses(rows, state.of_clusters(both), factors[both], own) for own in (own_a, own_b)]
        change = [losses[0][:, 1] - losses[0][:, 0], losses[1][:, 0] - losses[1][:, 1]]
        bound = [each - 2 * share * loss[:, 0] / factors[a] for each, loss in zip(change, losses, strict=True)]
        near = [bound[side] + bound[1 - side].min() < 0 for side in (0, 1)]
        if not (near[0].any() and near[1].any()):
            break
        for side in (0, 1):
            chosen = np.flatnonzero(near[side])
            near[side] = chosen[np.argsort(bound[side][chosen], kind="stable")[:_NEAR]]
        x, y = own_a[near[0]], own_b[near[1]]
        products = rows.read(x, np.float64) @ rows.read(y, np.float64).T
        distances = rows.sq_norms[x][:, None] + rows.sq_norms[y] - 2 * as_dense(products)
        total = change[0][near[0]][:, None] + change[1][near[1]] - share * distances
        made = 0
        for i, j in _best_pairs(total):
            made += make_moves(rows, state, rule, [(int(x[i]), a, b), (int(y[j]), b, a)])
        if not made:
            break
        moved += made
        renew_sq_composites(state)
    return moved


def _best_pairs(total: np.ndarray) -> Iterator[tuple[int, int]]:
    """Pairs of negative entries, the least first, no row and no column twice."""
    at = np.flatnonzero(total.ravel() < 0)
    taken_rows, taken_columns = set(), set()
    for entry in at[np.argsort(total.ravel()[at], kind="stable")][:_PAIRS]:
        i, j = divmod(int(entry), total.shape[1])
        if i not in taken_rows and j not in taken_columns:
            taken_rows.add(i)
            taken_columns.add(j)
            yield i, j
