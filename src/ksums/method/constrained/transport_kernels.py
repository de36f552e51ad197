"""Cheapest paths in the graph of the clusters: how an assignment is brought within size limits at the least cost.

The arc a → b is the row of cluster a that loses least by going to b, so the graph has k² arcs however many rows there
are. Of each arc the next few rows are known, too, so that a cluster is rarely looked through again. Node k stands for
the limits themselves: an arc r → k lets cluster r grow within its limits, k → r lets it shrink. With prices λ (λ_k = 0)
the reduced cost of an arc is its cost + λ_head − λ_tail. As long as none is negative, the assignment is the cheapest
one for its sizes; a path of least reduced cost keeps it so (successive shortest paths).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.compute.jit import helper, kernel

_LISTED, _ENTRIES = 12, 1 << 22
"""Rows that are listed for each arc, at most, and for all arcs together: 50 MB. At least two are."""


class Graph(NamedTuple):
    """The graph of the clusters for some of the rows. All other rows keep their clusters."""

    costs: np.ndarray  # (m, k)  what each row costs in each cluster; infinite where it must not go
    labels: np.ndarray  # (m,)    int32
    sizes: np.ndarray  # (k + 1,)  int64  rows of each cluster, and minus the sum of the flows: the rest is imbalance
    low: np.ndarray  # (k,)    int64
    high: np.ndarray  # (k,)    int64
    flows: np.ndarray  # (k,)    int64  what each cluster counts against its limits
    prices: np.ndarray  # (k + 1,)  λ
    arcs: np.ndarray  # (k, k, listed)  the least values of costs[i, b] − costs[i, a] over the rows i of a, in order
    movers: np.ndarray  # (k, k, listed)  int32  the rows that have them
    listed: np.ndarray  # (k, k)  int32  how many of these there are
    bounds: np.ndarray  # (k, k)  rows of a that are not listed have no smaller value
    first: np.ndarray  # (k,)    int32  first row of each cluster; −1: none
    after: np.ndarray  # (m,)    int32  next row of the same cluster
    before: np.ndarray  # (m,)    int32  the one before
    distance: np.ndarray  # (k + 1,)  work space of the search for a path
    parent: np.ndarray  # (k + 1,)  int32
    done: np.ndarray  # (k + 1,)  bool


def make_graph(costs: np.ndarray, low: np.ndarray, high: np.ndarray, prices: np.ndarray) -> Graph:
    """A graph without rows in its lists; ``low`` and ``high`` are limits for these rows alone."""
    m, k = costs.shape
    listed = min(_LISTED, max(2, _ENTRIES // k**2))
    return Graph(
        costs,
        np.empty(m, np.int32),
        np.zeros(k + 1, np.int64),
        low,
        high,
        np.zeros(k, np.int64),
        np.append(prices, 0.0),
        np.empty((k, k, listed)),
        np.empty((k, k, listed), np.int32),
        np.zeros((k, k), np.int32),
        np.full((k, k), np.inf),
        np.full(k, -1, np.int32),
        np.empty(m, np.int32),
        np.empty(m, np.int32),
        np.empty(k + 1),
        np.empty(k + 1, np.int32),
        np.empty(k + 1, np.bool_),
    )


@helper
def _insert(graph, i, r):
    """Put row i into the list of cluster r."""
    graph.before[i] = -1
    graph.after[i] = graph.first[r]
    if graph.first[r] >= 0:
        graph.before[graph.first[r]] = i
    graph.first[r] = i
    graph.labels[i] = r


@helper
def _remove(graph, i, r):
    """Take row i out of the list of cluster r."""
    if graph.before[i] >= 0:
        graph.after[graph.before[i]] = graph.after[i]
    else:
        graph.first[r] = graph.after[i]
    if graph.after[i] >= 0:
        graph.before[graph.after[i]] = graph.before[i]


@helper
def _list(graph, a, b, i, cost):
    """Put row i of cluster a into the list of its arc to b, if it belongs there."""
    if not cost < graph.bounds[a, b]:
        return
    arcs, movers, count = graph.arcs, graph.movers, graph.listed[a, b]
    if count == arcs.shape[2]:  # the last one makes room
        count -= 1
        if not cost < arcs[a, b, count]:
            graph.bounds[a, b] = cost
            return
        graph.bounds[a, b] = arcs[a, b, count]
    at = count
    while at > 0 and cost < arcs[a, b, at - 1]:
        arcs[a, b, at], movers[a, b, at] = arcs[a, b, at - 1], movers[a, b, at - 1]
        at -= 1
    arcs[a, b, at], movers[a, b, at] = cost, i
    graph.listed[a, b] = count + 1


@helper
def _offer(graph, i, a):
    """Row i has come to cluster a."""
    own = graph.costs[i, a]
    for b in range(graph.listed.shape[0]):
        if b != a:
            _list(graph, a, b, i, graph.costs[i, b] - own)


@helper
def _withdraw(graph, i, a):
    """Row i has left cluster a; where no row is listed any more, the cluster is looked through."""
    arcs, movers = graph.arcs, graph.movers
    for b in range(graph.listed.shape[0]):
        count, at = graph.listed[a, b], 0
        while at < count and movers[a, b, at] != i:
            at += 1
        if at == count:
            continue
        for later in range(at + 1, count):
            arcs[a, b, later - 1], movers[a, b, later - 1] = arcs[a, b, later], movers[a, b, later]
        graph.listed[a, b] = count - 1
        if count == 1 and graph.bounds[a, b] < np.inf:
            graph.bounds[a, b] = np.inf
            row = graph.first[a]
            while row >= 0:
                _list(graph, a, b, row, graph.costs[row, b] - graph.costs[row, a])
                row = graph.after[row]


@helper
def _imbalance(graph, r):
    """What is in node r beyond what flows out of it."""
    k = graph.flows.shape[0]
    if r < k:
        return graph.sizes[r] - graph.flows[r]
    total = graph.sizes[k]
    for b in range(k):
        total += graph.flows[b]
    return total


@kernel
def build_graph(graph):
    """Labels of least cost + price, sizes and arcs; flows are at a limit where the price says so."""
    m, k = graph.costs.shape
    graph.sizes[:] = 0
    graph.first[:] = -1
    graph.listed[:] = 0
    graph.bounds[:] = np.inf
    for i in range(m):
        best, least = 0, np.inf
        for r in range(k):
            cost = graph.costs[i, r] + graph.prices[r]
            if cost < least:
                best, least = r, cost
        _insert(graph, i, best)
        graph.sizes[best] += 1
        _offer(graph, i, best)
    for r in range(k):
        if graph.prices[r] > 0.0:
            graph.flows[r] = graph.high[r]
        elif graph.prices[r] < 0.0:
            graph.flows[r] = graph.low[r]
        else:
            graph.flows[r] = min(max(graph.sizes[r], graph.low[r]), graph.high[r])
    graph.sizes[k] = -m


@helper
def _cheapest_path(graph, source):
    """Dijkstra's search from ``source`` to the nearest node that lacks rows; returns it, or −1. Prices follow."""
    k = graph.flows.shape[0]
    distance, parent, done, prices = graph.distance, graph.parent, graph.done, graph.prices
    for r in range(k + 1):
        distance[r], parent[r], done[r] = np.inf, -1, False
    distance[source] = 0.0
    sink = -1
    while True:
        a, least = -1, np.inf
        for r in range(k + 1):
            if not done[r] and distance[r] < least:
                a, least = r, distance[r]
        if a < 0:
            break
        done[a] = True
        if _imbalance(graph, a) < 0:
            sink = a
            break
        if a < k:
            shift = least - prices[a]
            for b in range(k):
                if not done[b] and graph.listed[a, b] > 0:
                    there = max(shift + graph.arcs[a, b, 0] + prices[b], least)
                    if there < distance[b]:
                        distance[b], parent[b] = there, a
            if not done[k] and graph.flows[a] < graph.high[a]:
                there = max(shift, least)
                if there < distance[k]:
                    distance[k], parent[k] = there, a
        else:
            for b in range(k):
                if not done[b] and graph.flows[b] > graph.low[b]:
                    there = max(least + prices[b], least)
                    if there < distance[b]:
                        distance[b], parent[b] = there, k
    if sink >= 0:
        reach = distance[sink]
        fixed = min(distance[k], reach)
        for r in range(k):
            prices[r] += fixed - min(distance[r], reach)  # the price of node k stays 0
    return sink


@helper
def _send(graph, sink):
    """Move one row along each arc of the path that ends in ``sink``."""
    k = graph.flows.shape[0]
    b = sink
    while graph.parent[b] >= 0:
        a = graph.parent[b]
        if b == k:
            graph.flows[a] += 1
        elif a == k:
            graph.flows[b] -= 1
        else:
            i = graph.movers[a, b, 0]  # the list of a → b is not touched before: a path visits a cluster once
            _remove(graph, i, a)
            _insert(graph, i, b)
            graph.sizes[a] -= 1
            graph.sizes[b] += 1
            _withdraw(graph, i, a)
            _offer(graph, i, b)
        b = a


@kernel
def send_along_paths(
    graph,  # INOUT
    most,  # IN     paths
):
    """Cheapest paths until every cluster is within its limits, or ``most`` are made.

    Returns the number of paths made, and whether there is a cluster left that no path leads out of.
    """
    k = graph.flows.shape[0]
    for made in range(most):
        source, largest = -1, 0
        for r in range(k + 1):
            excess = _imbalance(graph, r)
            if excess > largest:
                source, largest = r, excess
        if source < 0:
            return made, False
        sink = _cheapest_path(graph, source)
        if sink < 0:
            return made, True
        _send(graph, sink)
    return most, False


@kernel
def two_best(
    costs,  # IN   (b, k)
    prices,  # IN   (k,)
    given,  # IN   (b,)  int32  the clusters that count as best; −1: those of least cost + price
    best,  # OUT  (b,)  int32
    second,  # OUT  (b,)  int32  the best of the others
    least,  # OUT  (b,)  cost + price of the best
    gap,  # OUT  (b,)  how much more the second costs
):
    """The two cheapest clusters of each row; the lowest index on ties."""
    m, k = costs.shape
    for i in range(m):
        first, low, next_first, next_low = -1, np.inf, -1, np.inf
        for r in range(k):
            cost = costs[i, r] + prices[r]
            if cost < low:
                next_first, next_low = first, low
                first, low = r, cost
            elif cost < next_low:
                next_first, next_low = r, cost
        if given[i] >= 0 and given[i] != first:
            next_first, next_low = first, low
            first = given[i]
            low = costs[i, first] + prices[first]
        best[i], second[i], least[i], gap[i] = first, next_first, low, next_low - low
