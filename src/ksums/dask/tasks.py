"""What workers do: pure functions, so that Dask can make a lost result again, with the same bits.

Nothing on a worker is changed in place. The parts of the data are divided into groups, one for each worker; the labels
of a group are the result of its last task, and stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from ksums.checking.data import check_block
from ksums.compute.threads import computing, read_ahead
from ksums.io.sources import Part as FilePart
from ksums.method.data.centres import Centres
from ksums.method.data.rows import Rows
from ksums.method.shards.blocks import Place
from ksums.method.shards.frame import Frame, Moments, moments_of
from ksums.method.shards.kept import KeptEngines
from ksums.method.shards.measures import measure_block
from ksums.method.shards.orders import Order
from ksums.method.shards.start import drawn, sample_of_block
from ksums.method.shards.steps import Step, first_labels, make_pass, sums_of, taken_back, with_lists
from ksums.method.shards.sums import Sums, changes

_ENGINES: dict[str, KeptEngines] = {}
"""The engines of the last round on this worker, by the name of the fit: bounds save work and change nothing, so it does
not matter whether the next round of a block finds them."""
_FITS = 3
"""Fits whose engines a worker keeps, at most."""


class Part(NamedTuple):
    """A part of the data: rows on a worker, or a file that a worker reads."""

    X: np.ndarray | FilePart
    weights: np.ndarray | None

    def cut(self, rows: slice) -> tuple[np.ndarray, np.ndarray | None]:
        """Some of the rows, and their weights."""
        X = self.X[rows] if isinstance(self.X, np.ndarray) else self.X.read(rows)
        return X, None if self.weights is None else self.weights[rows]


class Shared(NamedTuple):
    """What all tasks of a group need besides the rows."""

    blocks: list[tuple[int, int, slice]]  # number of each block, the part of the group it is in, its rows there
    frame: Frame
    k: int
    d: int
    threads: int | None
    fit: str  # a name for the fit, unlike that of any other
    room: float  # bytes for bounds on a worker


class Group(NamedTuple):
    """What a round leaves on a worker: labels of some blocks, those before the round, and what is to be added up."""

    labels: list[np.ndarray]
    before: list[np.ndarray]
    step: Step


# ------------------------------------------------------------------------------------------ before the first round
def as_part(X: Any, weights: Any, name: str) -> Part:
    """The rows of a partition as an array: of an array, or of a data frame."""
    rows = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
    if rows.ndim != 2 or rows.dtype.kind not in "biuf":
        raise ValueError(f"{name}: X must have rows of numbers (n, d); a partition has {rows.shape}, {rows.dtype}.")
    narrow = rows.dtype.kind in "biu" and rows.dtype.itemsize <= 2
    if not narrow and rows.dtype not in (np.float16, np.float32, np.float64):
        rows = rows.astype(np.float64)
    return Part(np.ascontiguousarray(rows), None if weights is None else checked_weights(weights))


def checked_weights(weights: Any) -> np.ndarray:
    """The weights of a part."""
    own = np.asarray(weights, np.float64)
    if not (np.isfinite(own) & (own >= 0)).all():
        raise ValueError("KSums: sample_weight must be finite and >= 0. Give a row weight 0 to leave it out.")
    return own


def part_of_file(file: FilePart, weights: Any) -> Part:
    """A file, which is read when its rows are needed."""
    return Part(file, None if weights is None else checked_weights(weights))


class Shape(NamedTuple):
    """Of a part."""

    rows: int
    columns: int
    dtype: str  # of the arithmetic
    bytes: int  # on a worker


def shape_of(X: np.ndarray | FilePart) -> Shape:
    """The shape of rows, or of a file."""
    wide = "float64" if X.dtype == np.float64 else "float32"
    if isinstance(X, np.ndarray):
        return Shape(X.shape[0], X.shape[1], wide, X.nbytes)
    return Shape(X.rows, X.d, wide, 0)


def shape_of_part(part: Part) -> Shape:
    """The same for a part on a worker."""
    return shape_of(part.X)


def moments_of_part(
    part: Part, places: Sequence[Place], cosine: bool, dtype: str, name: str, with_digest: bool
) -> list[Moments]:
    """The moments of each block of a part; its values are checked."""
    found = []
    for place in places:
        X, weights = part.cut(place.rows)
        check_block(name, X, place.first)
        found.append(moments_of(X, weights, cosine, np.dtype(dtype), with_digest))
    return found


class Draw(NamedTuple):
    """Rows of a block that are in the sample."""

    number: int  # of the block
    place: Place
    active: int  # rows
    share: int  # of them that are in the sample


def sample_of_part(part: Part, draws: Sequence[Draw], frame: Frame, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The share of a part in the sample: rows and weights."""
    found = []
    for number, place, active, share in draws:
        found.append(sample_of_block(*part.cut(place.rows), drawn(active, share, seed, number), frame))
    rows, weights = (np.concatenate(one) for one in zip(*found, strict=True))
    return rows, weights


def together(*parts: Part) -> list[Part]:
    """The rows of a group, on one worker."""
    return list(parts)


# ------------------------------------------------------------------------------------------ rounds
def assign(parts: list[Part], shared: Shared, centres: Centres) -> Group:
    """First labels."""

    def work(number: int, rows: Rows) -> tuple[np.ndarray, Sums]:
        labels = first_labels(rows, centres)
        return labels, sums_of(rows, labels, shared.k, shared.frame.units)

    found = list(_over_blocks(parts, shared, work))
    labels = [one for one, _ in found]
    return Group(labels, labels, Step(_total(shared, [sums for _, sums in found])))


def take_step(parts: list[Part], shared: Shared, last: Group, stride: int, order: Order) -> Group:
    """A round; ``stride`` says which blocks kept the moves of the round before."""
    before = kept(shared, last, stride)
    after = list(before)
    total = Step(Sums.zero(shared.k, shared.d))
    engines = _engines_of(shared)
    with computing(shared.threads):
        order = with_lists(order, shared.frame.dtype)

    def work(number: int, rows: Rows) -> tuple[int, np.ndarray, Step]:
        return number, *make_pass(rows, before[numbers[number]], order, number, engines)

    numbers = {number: at for at, (number, _, _) in enumerate(shared.blocks)}
    for number, labels, found in _over_blocks(parts, shared, work, order.is_for):
        after[numbers[number]] = labels
        total = total.plus(found)
    return Group(after, before, total)


def take_back(parts: list[Part], shared: Shared, group: Group, emptied: np.ndarray) -> Group:
    """The same without the moves out of clusters that would be empty; its changes are only what that changes."""
    labels = [taken_back(*pair, emptied) for pair in zip(group.before, group.labels, strict=True)]
    found = _changes(parts, shared, group.labels, labels)
    return Group(labels, group.before, group.step._replace(changes=_total(shared, found)))


def give_away(parts: list[Part], shared: Shared, group: Group, at: int, src: int, dst: int) -> Group:
    """The first row of a cluster in one block moves to another cluster."""
    labels = [one.copy() for one in group.labels]

    def work(number: int, rows: Rows) -> np.ndarray:
        return rows.active

    active = list(_over_blocks(parts, shared, work))[at]
    labels[at][active[np.flatnonzero(labels[at][active] == src)[0]]] = dst
    found = _changes(parts, shared, group.labels, labels)
    return Group(labels, labels, Step(_total(shared, found)))


def changes_of_every(parts: list[Part], shared: Shared, group: Group, stride: int) -> Step:
    """What changes if only every ``stride``-th block keeps its moves."""
    return Step(_total(shared, _changes(parts, shared, group.before, kept(shared, group, stride))))


def counts_of(parts: list[Part], shared: Shared, group: Group) -> list[np.ndarray]:
    """Rows of each cluster in each block."""
    labels = iter(group.labels)
    return list(
        _over_blocks(parts, shared, lambda number, rows: np.bincount(next(labels)[rows.active], minlength=shared.k))
    )


def measure_group(parts: list[Part], shared: Shared, group: Group, stride: int, centres: np.ndarray) -> list[Any]:
    """Measures of each block, in the space of the data."""
    labels, found = kept(shared, group, stride), []
    for (_, at, span), own in zip(shared.blocks, labels, strict=True):
        found.append(measure_block(*parts[at].cut(span), own, centres, shared.frame.cosine))
    return found


# ------------------------------------------------------------------------------------------ results
def step_of(group: Group) -> Step:
    """A task of its own, so that labels do not travel with what is added up."""
    return group.step


def added(*steps: Step) -> Step:
    """Whole numbers: it does not matter who adds what, or when."""
    return reduce(Step.plus, steps)


def handed(order: Any) -> Any:
    """Something that the client sends to one worker, from which the others get it."""
    return order


def labels_of_part(shared: Shared, group: Group, stride: int, part: int) -> np.ndarray:
    """The labels of a part of a group."""
    found = [own for (_, at, _), own in zip(shared.blocks, kept(shared, group, stride), strict=True) if at == part]
    return np.concatenate(found) if found else np.empty(0, np.int32)


def restored(labels: list[np.ndarray], k: int, d: int) -> Group:
    """A group with these labels, as if they came from a round."""
    return Group(labels, labels, Step(Sums.zero(k, d)))


def kept(shared: Shared, group: Group, stride: int) -> list[np.ndarray]:
    """The labels of the blocks, of which every ``stride``-th kept its moves; 0: none of them."""
    return [
        after if stride and number % stride == 0 else before
        for (number, _, _), before, after in zip(shared.blocks, group.before, group.labels, strict=True)
    ]


def forget(fit: str) -> None:
    """Let go of the engines of a fit."""
    _ENGINES.pop(fit, None)


# ------------------------------------------------------------------------------------------ helpers
def _engines_of(shared: Shared) -> KeptEngines:
    if shared.fit not in _ENGINES:
        for name in list(_ENGINES)[: 1 - _FITS]:  # of fits that were not ended, or of tasks that were repeated later
            _ENGINES.pop(name, None)
    return _ENGINES.setdefault(shared.fit, KeptEngines(shared.room))


def _over_blocks(
    parts: list[Part],
    shared: Shared,
    work: Callable[[int, Rows], Any],
    chosen: Callable[[int], bool] = lambda number: True,
) -> Iterator[Any]:
    """What ``work`` says of each block, or of some of them; the next one is read meanwhile."""
    some = [block for block in shared.blocks if chosen(block[0])]

    def read(position: int) -> tuple[np.ndarray, np.ndarray | None]:
        _, at, span = some[position]
        return parts[at].cut(span)

    with computing(shared.threads):
        for (number, _, _), found in zip(some, read_ahead(read, len(some)), strict=True):
            yield work(number, shared.frame.rows(*found))


def _changes(parts: list[Part], shared: Shared, before: list[np.ndarray], after: list[np.ndarray]) -> list[Sums]:
    pairs = iter(zip(before, after, strict=True))
    return list(
        _over_blocks(parts, shared, lambda number, rows: changes(rows, *next(pairs), shared.k, shared.frame.units))
    )


def _total(shared: Shared, found: list[Sums]) -> Sums:
    total = Sums.zero(shared.k, shared.d)
    for sums in found:
        total = total.plus(sums)
    return total
