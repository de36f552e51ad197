"""Colours for the vertices of a graph so that no edge joins two of the same colour: rows that must not share a cluster.

Vertices with fewer than k neighbours can always be coloured last, so they are put aside first, again and again; where
colours have limits, none is. The others are coloured by DSATUR (the vertex with fewest colours left comes next, at
its cheapest colour) with backtracking, so that a colouring is found if there is one, or shown not to exist, within
``STEPS`` steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

_EARLY = 32
"""For the first vertices, this many, the search looks whether all others still fit into the room that is left."""
STEPS = 100_000
"""Colours that the search takes back before it gives up."""


class Graph(NamedTuple):
    """Vertices 0 … m − 1; the neighbours of i are ``partners[starts[i] : starts[i + 1]]``."""

    starts: np.ndarray
    partners: np.ndarray

    def of(self, i: int) -> np.ndarray:
        return self.partners[self.starts[i] : self.starts[i + 1]]


class Room(NamedTuple):
    """How much of each colour there may be."""

    loads: np.ndarray  # (m,)  what each vertex counts
    low: np.ndarray  # (k,)  what other things fill up where vertices leave it free …
    high: np.ndarray  # (k,)
    slack: float  # … so all colours together may exceed their ``low`` by this much at most


def room_for(
    loads: np.ndarray, low: np.ndarray, high: np.ndarray, linked: np.ndarray, fixed: np.ndarray | None
) -> Room:
    """What limits leave to linked vertices that may move, so that the others can still be placed."""
    held = np.zeros(0, np.int64) if fixed is None else np.flatnonzero(fixed >= 0)
    own = held if fixed is None else fixed[held]
    taken = np.bincount(own, loads[held], minlength=len(low))
    slack = float(loads.sum() - np.maximum(low, taken).sum())
    return Room(loads[linked], np.maximum(low - taken, 0.0), high - taken, slack)


def part_of(graph: Graph, vertices: np.ndarray) -> Graph:
    """The graph of some of the vertices, in order, numbered from 0; only edges between these count."""
    number = np.full(len(graph.starts) - 1, -1)
    number[vertices] = np.arange(len(vertices))
    neighbours = [number[graph.of(i)] for i in vertices]
    neighbours = [near[near >= 0] for near in neighbours]
    starts = np.concatenate([[0], np.cumsum([len(near) for near in neighbours])]).astype(np.int64)
    return Graph(starts, np.concatenate([*neighbours, np.zeros(0, np.int64)]).astype(np.int64))


class UncolourableError(ValueError):
    """There is no colouring, or none was found."""

    def __init__(self, vertices: np.ndarray, reason: str) -> None:
        super().__init__(reason)
        self.vertices, self.reason = vertices, reason
        """The vertices that cannot be coloured together; ``"clique"``, ``"exhausted"`` or ``"given up"``."""


def colour(graph: Graph, costs: np.ndarray, held: np.ndarray, room: Room | None = None) -> np.ndarray:
    """(m,) Colours; cheap ones where there is a choice. ``held`` (m,) are colours that are given, or −1."""
    k = costs.shape[1]
    colours = held.astype(np.int64)
    free = np.flatnonzero(held < 0)
    later: list[int] = []
    if room is None:
        free, later = _put_aside(graph, free, held, k)
    _search(graph, costs, colours, free, room)
    for i in reversed(later):
        open_to = _open_colours(graph, colours, i, k)
        colours[i] = open_to[costs[i, open_to].argmin()]
    return colours


def clique_in(graph: Graph, vertices: np.ndarray, more_than: int) -> np.ndarray | None:
    """More than this many vertices that are all joined to each other, if a greedy search finds them."""
    inside = np.zeros(len(graph.starts) - 1, bool)
    inside[vertices] = True
    degrees = np.diff(graph.starts)
    for i in vertices[np.argsort(-degrees[vertices], kind="stable")]:
        clique = [int(i)]
        common = graph.of(i)[inside[graph.of(i)]]
        while len(common):
            common = common[np.argsort(-degrees[common], kind="stable")]
            clique.append(int(common[0]))
            common = np.intersect1d(common[1:], graph.of(clique[-1]))
            if len(clique) > more_than:
                return np.sort(np.array(clique))
    return None


def _put_aside(graph: Graph, free: np.ndarray, held: np.ndarray, k: int) -> tuple[np.ndarray, list[int]]:
    """The vertices that matter, and those that can be coloured after them, the first of these last."""
    degrees = np.diff(graph.starts).astype(np.int64)
    aside = held >= 0
    later: list[int] = []
    ready = [int(i) for i in free if degrees[i] < k]
    for i in ready:
        aside[i] = True
    while ready:
        i = ready.pop()
        later.append(i)
        for j in graph.of(i):
            degrees[j] -= 1
            if not aside[j] and degrees[j] < k:
                aside[j] = True
                ready.append(int(j))
    return free[~aside[free]], later


def _open_colours(graph: Graph, colours: np.ndarray, i: int, k: int) -> np.ndarray:
    taken = colours[graph.of(i)]
    open_to = np.ones(k, bool)
    open_to[taken[taken >= 0]] = False
    return np.flatnonzero(open_to)


def _search(graph: Graph, costs: np.ndarray, colours: np.ndarray, free: np.ndarray, room: Room | None) -> None:
    """Colour these vertices; raises UncolourableError."""
    k = costs.shape[1]
    position = np.full(len(colours), -1)
    position[free] = np.arange(len(free))
    used = np.zeros((len(free), k), np.int32)  # neighbours of each colour
    for at, i in enumerate(free):
        taken = colours[graph.of(i)]
        np.add.at(used[at], taken[taken >= 0], 1)
    sizes = np.zeros(k)
    degrees = np.diff(graph.starts)[free]
    left = np.ones(len(free), bool)
    trail: list[tuple[int, list[int]]] = []  # vertex, and the colours that it has not tried yet

    def set_colour(at: int, r: int, sign: int) -> None:
        i = free[at]
        colours[i] = r if sign > 0 else -1
        left[at] = sign < 0
        sizes[r] += sign * (1.0 if room is None else room.loads[i])
        near = position[graph.of(i)]
        used[near[near >= 0], r] += sign

    def colours_for(at: int) -> list[int]:
        open_to = used[at] == 0
        if room is not None:
            load = room.loads[free[at]]
            above = np.maximum(sizes - room.low, 0.0)
            spent = np.maximum(sizes + load - room.low, 0.0) - above
            open_to &= (sizes + load <= room.high) & (above.sum() + spent <= room.slack + 1e-9)
        found = np.flatnonzero(open_to)
        return found[
            np.argsort(-costs[free[at], found], kind="stable")
        ].tolist()  # the cheapest is taken first, from the end

    def is_hopeless() -> bool:
        """Whether the vertices left do not fit into the room left, whatever edges there are between them."""
        if room is None or (room.loads != 1.0).any():
            return False
        kinds, counts = np.unique(used[left] == 0, axis=0, return_counts=True)
        return not _fits(kinds, counts, np.maximum(np.floor(room.high - sizes), 0))

    steps = 0
    while left.any():
        waiting = np.flatnonzero(left)
        choices = (used[waiting] == 0).sum(axis=1)
        at = int(waiting[np.lexsort((-degrees[waiting], choices))[0]])
        untried = [] if len(trail) <= _EARLY and is_hopeless() else colours_for(at)
        while not untried:
            if not trail:
                clique = clique_in(graph, free, k)
                raise UncolourableError(free if clique is None else clique, "exhausted" if clique is None else "clique")
            at, untried = trail.pop()
            set_colour(at, int(colours[free[at]]), -1)
            steps += 1
            if steps > STEPS:
                raise UncolourableError(free, "given up")
        set_colour(at, untried.pop(), 1)
        trail.append((at, untried))


def _fits(kinds: np.ndarray, counts: np.ndarray, room: np.ndarray) -> bool:
    """Whether things of some kinds, each of which may go to some places, fit into these: a flow."""
    m, k = kinds.shape
    source, sink = m + k, m + k + 1
    many = int(counts.sum())
    edges = [(source, kind, count) for kind, count in enumerate(counts)]
    edges += [(kind, m + place, many) for kind, place in np.argwhere(kinds)]
    edges += [(m + place, sink, min(int(there), many)) for place, there in enumerate(np.minimum(room, many))]
    start, end, capacity = np.array(edges, np.int32).T
    network = csr_array((capacity, (start, end)), shape=(m + k + 2, m + k + 2))
    return maximum_flow(network, source, sink).flow_value == many
