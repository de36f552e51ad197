"""Blocks in this process: one after the other, each on all threads, the next one read meanwhile."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ksums.compute.threads import read_ahead
from ksums.io.sources import Source
from ksums.method.data.centres import Centres
from ksums.method.data.measures import ClusterMeasures
from ksums.method.data.rows import Rows
from ksums.method.shards.blocks import Blocks, Place
from ksums.method.shards.frame import Frame, Moments, frame_of, moments_of
from ksums.method.shards.kept import KeptEngines
from ksums.method.shards.measures import added_measures, centres_in_data, measure_block
from ksums.method.shards.orders import Order
from ksums.method.shards.start import drawn, sample_counts, sample_of_block
from ksums.method.shards.steps import Step, first_labels, make_pass, sums_of, taken_back, with_lists
from ksums.method.shards.sums import Sums, changes

_Result = TypeVar("_Result")
_Summand = TypeVar("_Summand", Sums, Step)


class Reader:
    """Reads the blocks of a source, some of which stay in memory."""

    def __init__(self, source: Source, places: list[Place], weights: np.ndarray | None, memory: float) -> None:
        self.source, self.places, self.weights = source, places, weights
        self.kept: dict[int, np.ndarray] = {}
        self.room = memory
        self._rooms: list[np.ndarray] = []  # for blocks that are not kept: one in work, one read ahead
        self.check: Callable[[np.ndarray, int], None] | None = None
        """Called with the rows of each block and the number of its first row, until it is None."""

    def block(self, number: int, room: int = 0) -> np.ndarray:
        """The rows of a block, in one of two rooms if they are not kept."""
        if number in self.kept:
            return self.kept[number]
        place = self.places[number]
        part = self.source.parts[place.part]
        size = place.length * self.source.d * part.dtype.itemsize
        keeps = not part.in_memory and size <= self.room
        X = part.read(place.rows) if keeps or part.in_memory else part.read_into(self._room(room), place.rows)
        if self.check is not None:
            self.check(X, place.first)
        if keeps:
            self.room -= size
            self.kept[number] = X
        return X

    def _room(self, number: int) -> np.ndarray:
        """Room for a block, which the block before the last may have used, but not the last."""
        if not self._rooms:
            widest = max(self.source.parts[place.part].dtype.itemsize * place.length for place in self.places)
            self._rooms = [np.empty(widest * self.source.d, np.uint8) for _ in range(2)]
        return self._rooms[number]

    def weights_of(self, number: int) -> np.ndarray | None:
        place = self.places[number]
        return None if self.weights is None else self.weights[place.first : place.first + place.length]

    def each(self, work: Callable[[int, np.ndarray], _Result], only: Sequence[int] | None = None) -> Iterator[_Result]:
        """Work on each block in turn, or on some of them; a thread reads the next one meanwhile."""
        numbers = range(len(self.places)) if only is None else only
        for number, X in zip(numbers, read_ahead(self._reader(numbers), len(numbers)), strict=True):
            yield work(number, X)

    def _reader(self, numbers: Sequence[int]) -> Callable[[int], np.ndarray]:
        return lambda at: self.block(numbers[at], at % 2)


class LocalBlocks(Blocks):
    """All blocks of a source, in this process."""

    def __init__(
        self,
        reader: Reader,
        cosine: bool,
        dtype: np.dtype[Any],
        k: int,
        *,
        folder: Path | None,  # for labels that are kept in files
        room: float,  # for bounds
        with_digest: bool,  # of the values, to tell them from others
    ) -> None:
        self.kept = KeptEngines(room)
        self.reader, self.count, self.k, self.weighted = reader, len(reader.places), k, reader.weights is not None
        n = sum(place.length for place in reader.places)
        self._labels, self.before = _two_arrays(n, folder)
        found: list[Moments] = list(
            reader.each(lambda number, X: moments_of(X, reader.weights_of(number), cosine, dtype, with_digest))
        )
        reader.check = None  # all blocks have been checked
        self.moments = found
        self.frame: Frame = frame_of(found, cosine, dtype)

    @property
    def labels(self) -> np.ndarray:
        return self._labels

    def gather_labels(self) -> np.ndarray:
        return self._labels

    def restore_labels(self, read: Callable[[np.ndarray], None]) -> None:
        read(self._labels)

    def measure(self, sums: Sums) -> ClusterMeasures:
        centres = centres_in_data(self.frame, sums)

        def work(number: int, X: np.ndarray) -> ClusterMeasures:
            labels = np.array(self.labels[self.span(number)])
            return measure_block(X, self.reader.weights_of(number), labels, centres, self.frame.cosine)

        return added_measures(self.reader.each(work), *centres.shape)

    def span(self, number: int) -> slice:
        """The rows of a block, among all rows."""
        place = self.reader.places[number]
        return slice(place.first, place.first + place.length)

    def _over_all(self, work: Callable[[int, Rows], _Result], only: Sequence[int] | None = None) -> Iterator[_Result]:
        def prepared(number: int, X: np.ndarray) -> _Result:
            result = work(number, self.frame.rows(X, self.reader.weights_of(number)))
            self.show(number + 1)
            return result

        return self.reader.each(prepared, only)

    def _total(self, work: Callable[[int, Rows], Sums]) -> Sums:
        return _added(self._over_all(work))

    # ------------------------------------------------------------------------------------ what the rounds ask
    def sample(self, count: int, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
        active = [moments.n for moments in self.moments]
        counts = sample_counts(active, count)

        def work(number: int, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            ids = drawn(active[number], counts[number], seed, number)
            return sample_of_block(X, self.reader.weights_of(number), ids, self.frame)

        rows, weights = (np.concatenate(one) for one in zip(*self.reader.each(work), strict=True))
        return rows, weights if self.weighted else None

    def assign(self, centres: Centres) -> Sums:
        def work(number: int, rows: Rows) -> Sums:
            labels = first_labels(rows, centres)
            self.labels[self.span(number)] = labels
            return sums_of(rows, labels, self.k, self.frame.units)

        return self._total(work)

    def counts(self) -> np.ndarray:
        def work(number: int, rows: Rows) -> np.ndarray:
            return np.bincount(self.labels[self.span(number)][rows.active], minlength=self.k)

        return np.array(list(self._over_all(work)))

    def give_away(self, block: int, src: int, dst: int) -> Sums:
        rows = self.frame.rows(self.reader.block(block), self.reader.weights_of(block))
        labels = self.labels[self.span(block)]
        before = labels.copy()
        labels[rows.active[np.flatnonzero(labels[rows.active] == src)[0]]] = dst
        return changes(rows, before, labels, self.k, self.frame.units)

    def step(self, order: Order) -> Step:
        order = with_lists(order, self.frame.dtype)
        self.before[:] = self.labels
        self.is_open = True

        def work(number: int, rows: Rows) -> Step:
            after, found = make_pass(rows, np.array(self.before[self.span(number)]), order, number, self.kept)
            self.labels[self.span(number)] = after
            return found

        some = [number for number in range(self.count) if order.is_for(number)]
        return _added(self._over_all(work, some))

    def take_back(self, emptied: np.ndarray) -> Sums:
        def work(number: int, rows: Rows) -> Sums:
            span = self.span(number)
            before, after = self.before[span], np.array(self.labels[span])
            self.labels[span] = taken_back(before, after, emptied)
            return changes(rows, after, self.labels[span], self.k, self.frame.units)

        return self._total(work)

    def changes_of_every(self, stride: int) -> Sums:
        def work(number: int, rows: Rows) -> Sums:
            if number % stride:
                return Sums.zero(self.k, rows.d)
            before, after = self.before[self.span(number)], self.labels[self.span(number)]
            return changes(rows, before, after, self.k, self.frame.units)

        return self._total(work)

    def keep(self, stride: int) -> None:
        for number in range(self.count):
            if stride == 0 or number % stride:
                self.labels[self.span(number)] = self.before[self.span(number)]
        self.is_open = False

    def close(self) -> None:
        self.kept = KeptEngines(0.0)


def _added(found: Iterator[_Summand]) -> _Summand:
    return reduce(lambda total, more: total.plus(more), found)


def _two_arrays(n: int, folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Labels of all rows, twice: in files if a folder for them is given, which are deleted with the first array."""
    if folder is None:
        return np.zeros(n, np.int32), np.zeros(n, np.int32)
    own = Path(tempfile.mkdtemp(prefix="ksums-", dir=folder))
    labels, before = (np.memmap(own / name, np.int32, "w+", shape=(n,)) for name in ("labels", "before"))
    weakref.finalize(labels, shutil.rmtree, own, ignore_errors=True)
    return labels, before
