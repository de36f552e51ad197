"""Compiled loops over the cells of a table: sums, distances to centres, and the pass that moves rows.

All arrays of clusters are (columns, k): what a cell costs in every cluster lies side by side, and a gap skips them all.
"""

from __future__ import annotations

from ksums.compute.jit import helper, helper_reordering, kernel

_MEMBERS_PER_RELAXATION = 8.0
"""The twin of ``rules/annealing.py``: a cluster of m cells is relaxed by at most m/8."""

_ROUNDING = 1e-12
"""The twin of ``rules/kinds.py``: a row moves if it gains more than this share of the terms of its cost. Less may be
rounding, because the cost is a small difference of large terms where rows are duplicates."""


@kernel
def add_rows(
    cells,  # IN     Cells
    sums,  # INOUT  CellSums; its labels say where each row goes
):
    """Add all rows to the sums of their clusters."""
    for row in range(len(sums.labels)):
        _add(cells, sums, row, sums.labels[row], _weight_of(cells, row))
    for column in range(len(sums.sq_counts)):
        for category in range(cells.offsets[column], cells.offsets[column + 1]):
            for r in range(len(sums.sizes)):
                sums.sq_counts[column, r] += sums.counts[category, r] ** 2


@helper
def _weight_of(cells, row):
    return cells.weights[row] if len(cells.weights) else 1.0


@helper
def _add(
    cells,  # IN     Cells
    sums,  # INOUT  CellSums
    row,  # IN
    r,  # IN     cluster
    w,  # IN     weight; below 0: the row is taken away
):
    """Add a row to a cluster; sums of squared counts are left to the caller."""
    a = cells.numbers.shape[1]
    sums.members[r] += 1 if w > 0 else -1
    sums.sizes[r] += w
    for j in range(a):
        x = cells.numbers[row, j]
        if x == x:
            sums.observed[j, r] += w
            sums.composites[j, r] += w * x
            sums.norm_sums[j, r] += w * x * x
    for j in range(cells.codes.shape[1]):
        category = cells.codes[row, j]
        if category >= 0:
            sums.observed[a + j, r] += w
            sums.counts[category, r] += w


@kernel
def distances_to(
    cells,  # IN   Cells
    centres,  # IN   CellCentres
    distances,  # OUT  (n, k)
):
    """Sums over the observed cells of the squared distances to centres."""
    for row in range(len(cells.numbers)):
        out = distances[row]
        out[:] = 0.0
        for j in range(cells.numbers.shape[1]):
            x = cells.numbers[row, j]
            if x == x:
                _add_squares(x, centres.numbers[j], out)
        for j in range(cells.codes.shape[1]):
            category = cells.codes[row, j]
            if category >= 0:
                weight, shares, squares = cells.column_weights[j], centres.shares[category], centres.sq_shares[j]
                for r in range(len(out)):
                    out[r] += weight * (1.0 - 2.0 * shares[r] + squares[r])


@helper_reordering
def _add_squares(x, centres, out):
    for r in range(len(out)):
        e = x - centres[r]
        out[r] += e * e


@kernel
def visit_cells(
    cells,  # IN     Cells
    order,  # IN     (m,)  the rows to visit
    relaxation,  # IN     p
    pairs,  # IN     whether the objective is E_s
    sums,  # INOUT  CellSums
    prices,  # INOUT  Prices; filled in here
    costs,  # OUT    (k,)
):
    """Move each row to the cluster where it costs least; returns the number of moves."""
    moves = 0
    k = len(sums.sizes)
    weighted = len(cells.weights) > 0 and not pairs
    for r in range(k):
        for column in range(len(sums.observed)):
            _renew(cells, sums, prices, column, r, relaxation, pairs)
    for row in order:
        src = sums.labels[row]
        if sums.members[src] <= 1:
            continue
        w = _weight_of(cells, row)
        stay, terms = _stay_cost(cells, sums, row, src, w, relaxation, pairs)
        if weighted:
            _weighted_join_costs(cells, sums, prices, row, w, relaxation, costs)
        else:
            _join_costs(cells, sums, prices, row, costs)
        if pairs:
            _relax_pairs(sums.members, relaxation, costs)
        dst, least = src, stay - _ROUNDING * terms
        for r in range(k):
            if costs[r] < least and r != src:
                dst, least = r, costs[r]
        if dst != src:
            _move(cells, sums, prices, row, src, dst, w, relaxation, pairs)
            moves += 1
    return moves


@helper
def _counted_as(n, w, relaxation):
    """The weight that a row is counted as: p rows, but no more than an eighth of what is there."""
    return w * min(relaxation, max(1.0, n / (w * _MEMBERS_PER_RELAXATION)))


@helper
def _renew(cells, sums, prices, column, r, relaxation, pairs):
    """What a cell of this column costs in cluster r: F·(x − c)² + V for a number, V − B·count for a category."""
    a = cells.numbers.shape[1]
    n = sums.observed[column, r]
    join = n if pairs else n / (n + _counted_as(n, 1.0, relaxation))
    if column < a:
        centre = sums.composites[column, r] / n if n > 0 else 0.0
        prices.centres[column, r] = centre
        prices.factors[column, r] = join
        prices.constants[column, r] = sums.norm_sums[column, r] - sums.composites[column, r] * centre if pairs else 0.0
        return
    scale = cells.column_weights[column - a]
    if pairs:
        prices.constants[column, r] = 2.0 * scale * n
        prices.slopes[column - a, r] = 2.0 * scale
    elif n > 0:
        prices.constants[column, r] = scale * join * (1.0 + sums.sq_counts[column - a, r] / (n * n))
        prices.slopes[column - a, r] = 2.0 * scale * join / n


@helper
def _join_costs(cells, sums, prices, row, costs):
    """(k,) What the row would cost in each cluster, for a weight of 1; for E_s for any weight, as a multiple of it."""
    a = cells.numbers.shape[1]
    costs[:] = 0.0
    for j in range(a):
        x = cells.numbers[row, j]
        if x == x:
            _add_costs(x, prices.centres[j], prices.factors[j], prices.constants[j], costs)
    for j in range(cells.codes.shape[1]):
        category = cells.codes[row, j]
        if category >= 0:
            _add_code_costs(sums.counts[category], prices.slopes[j], prices.constants[a + j], costs)


@helper_reordering
def _add_costs(x, centres, factors, constants, costs):
    for r in range(len(costs)):
        e = x - centres[r]
        costs[r] += factors[r] * e * e + constants[r]


@helper_reordering
def _add_code_costs(counts, slopes, constants, costs):
    for r in range(len(costs)):
        costs[r] += constants[r] - slopes[r] * counts[r]


@helper
def _weighted_join_costs(cells, sums, prices, row, w, relaxation, costs):
    """The same for a row of weight w: its factor n/(n + w) is not that of a row of weight 1."""
    a = cells.numbers.shape[1]
    costs[:] = 0.0
    for j in range(a):
        x = cells.numbers[row, j]
        if x == x:
            for r in range(len(costs)):
                n, e = sums.observed[j, r], x - prices.centres[j, r]
                costs[r] += n / (n + _counted_as(n, w, relaxation)) * e * e
    for j in range(cells.codes.shape[1]):
        category = cells.codes[row, j]
        if category >= 0:
            scale = cells.column_weights[j]
            for r in range(len(costs)):
                n, count = sums.observed[a + j, r], sums.counts[category, r]
                distance = 1.0 - 2.0 * count / n + sums.sq_counts[j, r] / (n * n)
                costs[r] += scale * n / (n + _counted_as(n, w, relaxation)) * distance


@helper
def _stay_cost(cells, sums, row, src, w, relaxation, pairs):
    """What the row costs in its cluster, whose sums include it; divided by its weight, as the costs of joining are.

    And the sum of the terms that this is a difference of.
    """
    a = cells.numbers.shape[1]
    total, terms = 0.0, 0.0
    for j in range(a):
        x = cells.numbers[row, j]
        if x == x:
            n = sums.observed[j, src]
            c = sums.composites[j, src] / n
            e = x - c
            if pairs:
                total += n * e * e + sums.norm_sums[j, src] - sums.composites[j, src] * c
                terms += n * x * x + sums.norm_sums[j, src]
            else:
                total += n / _without(n, w, relaxation) * e * e
                terms += x * x + c * c
    for j in range(cells.codes.shape[1]):
        category = cells.codes[row, j]
        if category >= 0:
            n, count, scale = sums.observed[a + j, src], sums.counts[category, src], cells.column_weights[j]
            if pairs:
                total += 2.0 * scale * (n - count)
                terms += 2.0 * scale * n
            else:
                squares = sums.sq_counts[j, src] / (n * n)
                total += scale * n / _without(n, w, relaxation) * (1.0 - 2.0 * count / n + squares)
                terms += scale * (1.0 + squares)
    if pairs:
        m = float(sums.members[src])
        total *= m / (m - _counted_as(m, 1.0, relaxation) + 1.0)
    return total, terms


@helper
def _without(n, w, relaxation):
    """What is left of n without the row; the only row of a column leaves nothing, and costs nothing."""
    left = n - _counted_as(n, w, relaxation)
    return left if left > 1e-9 * n else n


@helper
def _relax_pairs(members, relaxation, costs):
    for r in range(len(costs)):
        m = float(members[r])
        costs[r] *= m / (m + _counted_as(m, 1.0, relaxation) - 1.0)


@helper
def _move(cells, sums, prices, row, src, dst, w, relaxation, pairs):
    """The one place that moves a row."""
    a = cells.numbers.shape[1]
    for j in range(cells.codes.shape[1]):
        category = cells.codes[row, j]
        if category >= 0:
            before, after = sums.counts[category, src], sums.counts[category, dst]
            sums.sq_counts[j, src] -= w * (2.0 * before - w)
            sums.sq_counts[j, dst] += w * (2.0 * after + w)
    _add(cells, sums, row, src, -w)
    _add(cells, sums, row, dst, w)
    sums.labels[row] = dst
    for j in range(a):
        if cells.numbers[row, j] == cells.numbers[row, j]:
            _renew(cells, sums, prices, j, src, relaxation, pairs)
            _renew(cells, sums, prices, j, dst, relaxation, pairs)
    for j in range(cells.codes.shape[1]):
        if cells.codes[row, j] >= 0:
            _renew(cells, sums, prices, a + j, src, relaxation, pairs)
            _renew(cells, sums, prices, a + j, dst, relaxation, pairs)
