"""The cheapest assignment of rows to clusters under size limits, exactly: a transportation problem.

Each cluster r has a price λ_r, and each row goes to the cluster of least cost + price. Then the assignment is the
cheapest one for its sizes, whatever the prices are, so it is left to find prices that give sizes within the limits.

1. The prices of a sample of the rows are found by cheapest paths (``transport_kernels.py``), and a few of Newton's
   steps on the sizes of all rows make them nearly right.
2. Cheapest paths bring the sizes within their limits. They use the *border*: the rows whose best and second-best
   clusters differ least. Only for these are all costs held in memory.
3. With the new prices all rows are looked at again. Those outside the border that now prefer another cluster join the
   border, and 2 is repeated until there are none. Then the assignment is optimal for all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ksums.compute.arrays import blocks
from ksums.compute.threads import in_order

Costs = Callable[[np.ndarray], np.ndarray]
"""(len(ids), k) What each of some rows costs in each cluster, in float64; infinite where it must not go."""

_BORDER_ENTRIES = 1 << 23
"""Costs that are held at a time, 64 MB of them: with 100 clusters those of 83,886 rows."""
_NEWTON_STEPS = 12
_HALVINGS = 4
"""Newton's steps that do not raise the dual objective are shortened this often."""
_SETTLED = 20
"""Newton's steps end when the excess is below this many rows for each cluster: paths are as fast then."""
_BLOCK = 1 << 16
"""Costs that are computed together."""


class Assignment(NamedTuple):
    """Who goes where, and at which prices."""

    labels: np.ndarray  # (len(ids),)  int32
    prices: np.ndarray  # (k,)


class InfeasibleError(ValueError):
    """No assignment keeps within the limits."""


class _Choices(NamedTuple):
    """The best cluster of each row at given prices, the second best, and how much worse that is."""

    best: np.ndarray
    second: np.ndarray
    least: np.ndarray  # cost + price of the best
    gap: np.ndarray


def cheapest_assignment(
    ids: np.ndarray, costs_of: Costs, low: np.ndarray, high: np.ndarray, prices: np.ndarray | None = None
) -> Assignment:
    """Labels of least total cost with ``low`` ≤ sizes ≤ ``high`` for these rows, each of which counts 1.

    ``prices`` of a similar problem save time and change nothing but which of several optima is found.
    """
    k = len(low)
    high = np.minimum(high, len(ids)).astype(np.int64)
    low = low.astype(np.int64)
    if low.sum() > len(ids) or high.sum() < len(ids) or (low > high).any():
        raise InfeasibleError(f"{len(ids)} rows do not fit into clusters of {low.min()} … {high.max()}")
    if k == 1:
        return Assignment(np.zeros(len(ids), np.int32), np.zeros(1))
    prices = np.zeros(k) if prices is None else prices
    most = max(4 * k, _BORDER_ENTRIES // k)
    if len(ids) > most:
        return _by_border(ids, costs_of, low, high, prices, most)
    return _solve(ids, np.arange(len(ids)), costs_of, np.zeros(len(ids), np.int32), low, high, prices)


def _by_border(
    ids: np.ndarray, costs_of: Costs, low: np.ndarray, high: np.ndarray, prices: np.ndarray, most: int
) -> Assignment:
    """The same for more rows than all costs of which can be held: those of ``most`` rows, or some more."""
    prices = _prices_of_sample(ids, costs_of, low, high, most, prices)
    prices = nearly_right_prices(ids, costs_of, low, high, prices)
    choices = choices_of(ids, costs_of, prices)
    labels, border = choices.best, _narrowest(choices.gap, most)
    while True:
        try:
            labels, prices = _solve(ids, border, costs_of, labels, low, high, prices)
        except InfeasibleError:  # the border is too narrow
            if len(border) == len(ids):
                raise
            border = _narrowest(choices.gap, 2 * len(border))
            continue
        choices = choices_of(ids, costs_of, prices, labels)
        choices.gap[border] = 0.0
        others = np.flatnonzero(choices.gap < 0)
        if not len(others):
            return Assignment(labels, prices)
        border = np.union1d(border, others)


def choices_of(ids: np.ndarray, costs_of: Costs, prices: np.ndarray, labels: np.ndarray | None = None) -> _Choices:
    """The two best clusters of each row. With ``labels``, the gap is that of the label to the best other cluster."""
    from ksums.method.constrained.transport_kernels import two_best

    given = np.full(len(ids), -1, np.int32) if labels is None else labels
    choices = _Choices(*(np.empty(len(ids), kind) for kind in (np.int32, np.int32, np.float64, np.float64)))

    def look(part: slice) -> None:
        two_best(costs_of(ids[part]), prices, given[part], *(array[part] for array in choices))

    look(slice(0, 0))  # compiles, if need be, before there are threads
    for _ in in_order(look, blocks(len(ids), max(1, _BLOCK // len(prices)))):
        pass
    return choices


def _narrowest(gap: np.ndarray, most: int) -> np.ndarray:
    """The rows of least gap, in order."""
    if len(gap) <= most:
        return np.arange(len(gap))
    return np.sort(np.argpartition(gap, most)[:most])


def _prices_of_sample(
    ids: np.ndarray, costs_of: Costs, low: np.ndarray, high: np.ndarray, most: int, prices: np.ndarray
) -> np.ndarray:
    """The prices of a sample of the rows, whose limits are in proportion."""
    chosen = np.sort(np.random.default_rng(0).choice(len(ids), most // 4, replace=False))
    share = len(chosen) / len(ids)
    few, lows, highs = ids[chosen], np.floor(low * share).astype(np.int64), np.ceil(high * share).astype(np.int64)
    nobody = np.zeros(len(few), np.int32)
    try:
        return _solve(few, np.arange(len(few)), costs_of, nobody, lows, highs, prices).prices
    except InfeasibleError:  # rounding has made the limits of the sample too tight
        return prices


def nearly_right_prices(
    ids: np.ndarray,
    costs_of: Costs,
    low: np.ndarray,
    high: np.ndarray,
    prices: np.ndarray | None = None,
    loads: np.ndarray | None = None,
) -> np.ndarray:
    """Prices at which few rows are too many or too few.

    They maximise the dual objective Σ_i min_r (cost + λ_r) − Σ_r (λ_r high_r or, below 0, λ_r low_r), which is concave;
    the excess is its slope. If λ_a rises by ε, the rows of a whose second-best cluster is b and whose gap is below ε go
    to b. So the slope changes by a graph's Laplacian, whose weights are the rows in a narrow band around each border.
    With ``loads``, costs are per unit of load, and a row may be split.
    """
    k, settled = len(low), _SETTLED * len(low) if loads is None else 0.0
    loads = np.ones(len(ids)) if loads is None else loads
    total = float(loads.sum())
    high = np.minimum(high, total)
    prices = _shifted(np.zeros(k) if prices is None else prices, low, high, total)
    choices = choices_of(ids, costs_of, prices)
    value, excess = _dual(choices, loads, low, high, prices)
    for _ in range(_NEWTON_STEPS):
        wrong = np.abs(excess).sum()
        if wrong <= settled:
            break
        width = max(np.quantile(choices.gap, min(0.5, max(0.01, wrong / total))), 1e-300)
        near = choices.gap <= width
        names = choices.best[near].astype(np.int64) * k + choices.second[near]
        pairs = np.bincount(names, loads[near], minlength=k * k).reshape(k, k)
        weights = (pairs + pairs.T + 1e-3) / (2 * width)
        step = _newton_step(np.diag(weights.sum(axis=1)) - weights, excess, prices)
        for _ in range(_HALVINGS):
            tried = _shifted(prices + step, low, high, total)
            found = choices_of(ids, costs_of, tried)
            tried_value, tried_excess = _dual(found, loads, low, high, tried)
            if tried_value > value:
                break
            step /= 4
        else:
            break
        prices, choices, value, excess = tried, found, tried_value, tried_excess
    return prices


def _newton_step(laplacian: np.ndarray, excess: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """The step that takes the excess away, if prices end at 0 where they would change their sign."""
    step, moved = np.zeros(len(prices)), (prices != 0) | (excess != 0)
    while moved.any():
        free = np.flatnonzero(moved)
        slope = excess[free] - laplacian[np.ix_(free, ~moved)] @ step[~moved]
        step[free] = np.linalg.lstsq(laplacian[np.ix_(free, free)], slope, rcond=1e-12)[0]
        crossed = moved & ((prices + step) * prices < 0)
        if not crossed.any():
            break
        step[crossed] = -prices[crossed]
        moved &= ~crossed
    return step


def _shifted(prices: np.ndarray, low: np.ndarray, high: np.ndarray, n: float) -> np.ndarray:
    """The same prices less a constant, which is the best one: rows do not see it, but limits do.

    Clusters of positive price should be full and those of negative price at their least, which must be n rows in all.
    """
    order = np.argsort(-prices, kind="stable")
    before = np.concatenate([[0], np.cumsum(high[order])]) + (low.sum() - np.concatenate([[0], np.cumsum(low[order])]))
    at = int(np.searchsorted(before, n, side="left")) - 1  # that many are full, and the next one is in between
    return prices - prices[order[np.clip(at, 0, len(order) - 1)]]


def _dual(
    choices: _Choices, loads: np.ndarray, low: np.ndarray, high: np.ndarray, prices: np.ndarray
) -> tuple[float, np.ndarray]:
    """The dual objective, and (k,) what each cluster has beyond what it should have at these prices."""
    sizes = np.bincount(choices.best, loads, minlength=len(low))
    wanted = np.where(prices > 0, high, np.where(prices < 0, low, np.clip(sizes, low, high)))
    return float(choices.least @ loads - prices @ wanted), sizes - wanted


def _solve(
    ids: np.ndarray,
    border: np.ndarray,
    costs_of: Costs,
    labels: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    prices: np.ndarray,
) -> Assignment:
    """The optimum for the border rows, at limits that the other rows leave to them."""
    from ksums.method.constrained.transport_kernels import build_graph, make_graph, send_along_paths

    k, labels = len(low), labels.copy()
    costs = np.empty((len(border), k))

    def look(part: slice) -> None:
        costs[part] = costs_of(ids[border[part]])

    for _ in in_order(look, blocks(len(border), max(1, _BLOCK // k))):
        pass
    others = np.ones(len(ids), bool)
    others[border] = False
    held = np.bincount(labels[others], minlength=k)
    prices = _shifted(prices, low, high, len(ids))
    graph = make_graph(costs, low - held, high - held, prices)
    build_graph(graph)
    stuck = send_along_paths(graph, np.iinfo(np.int64).max)[1]
    if stuck:
        raise InfeasibleError("no labels keep within size_min and size_max; widen the limits.")
    labels[border] = graph.labels
    return Assignment(labels, graph.prices[:k].copy())
