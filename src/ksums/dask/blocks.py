"""Blocks on the workers of a cluster.

The parts of the data are divided into groups, as many as there are workers at the start; a round is one task for each
group. The client holds the sums of the clusters and sends them to one worker, from which the others get it; totals are
added up by a tree. There are no actors and no scattered data, because neither can be made again when a worker dies.

All that is asked of the client is ``submit``, ``gather``, ``nthreads`` and ``run``, so other systems of tasks than Dask
can do the same (``docs/guide/ray.md``).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any
from uuid import uuid4

import numpy as np

from ksums.dask import tasks
from ksums.dask.tasks import Draw, Shared
from ksums.method.data.centres import Centres
from ksums.method.data.measures import ClusterMeasures
from ksums.method.shards.blocks import Blocks, Place, places_of
from ksums.method.shards.frame import frame_of
from ksums.method.shards.measures import added_measures, centres_in_data
from ksums.method.shards.orders import Order
from ksums.method.shards.start import sample_counts
from ksums.method.shards.steps import Step
from ksums.method.shards.sums import Sums

_FAN_IN = 8
"""Totals that a task adds up: with eight workers one task, with sixty-four two levels of them."""


class RemoteBlocks(Blocks):
    """All blocks of data whose parts are futures."""

    def __init__(
        self,
        client: Any,
        parts: list[Any],  # futures of tasks.Part
        lengths: list[int],
        d: int,
        most: int,  # rows of a block
        *,
        k: int,
        dtype: str,
        cosine: bool,
        weighted: bool,
        threads: int | None,
        name: str,
        with_digest: bool = False,
        room: float = 0.0,  # bytes for bounds on each worker
    ) -> None:
        self.client, self.parts, self.lengths, self.d, self.k, self.weighted = client, parts, lengths, d, k, weighted
        self.places: list[Place] = places_of(lengths, most)
        self._fit = uuid4().hex
        self.count = len(self.places)
        self._of_part: list[list[int]] = [[] for _ in parts]
        for number, place in enumerate(self.places):
            self._of_part[place.part].append(number)
        filled = [part for part, own in enumerate(self._of_part) if own]
        found = self._gather(
            [
                self._submit(tasks.moments_of_part, parts[part], self._places(part), cosine, dtype, name, with_digest)
                for part in filled
            ]
        )
        self.moments = [one for moments in found for one in moments]
        self.frame = frame_of(self.moments, cosine, np.dtype(dtype))
        workers = sorted(client.nthreads())
        self._group_parts = _divided(filled, lengths, max(1, len(workers)))
        self._shared = [self._shared_of(group, threads, room) for group in self._group_parts]
        self._rows = [
            self.client.submit(
                tasks.together,
                *(parts[part] for part in group),
                workers=[workers[at % len(workers)]],
                allow_other_workers=True,
                pure=False,
            )
            for at, group in enumerate(self._group_parts)
        ]
        """Futures of the rows of each group, on a worker of its own: they are moved once, not in every round."""
        self._groups: list[Any] = []  # futures of tasks.Group
        self._stride = 1  # which blocks kept the moves of the last round

    def _places(self, part: int) -> list[Place]:
        return [self.places[number] for number in self._of_part[part]]

    def _shared_of(self, group: list[int], threads: int | None, room: float) -> Shared:
        blocks = [
            (number, at, self.places[number].rows) for at, part in enumerate(group) for number in self._of_part[part]
        ]
        return Shared(blocks, self.frame, self.k, self.d, threads, self._fit, room)

    # ------------------------------------------------------------------------------------ tasks
    def _submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        return self.client.submit(task, *arguments, pure=False)

    def _gather(self, futures: list[Any]) -> list[Any]:
        return self.client.gather(futures)

    def _each(self, task: Callable[..., Any], *arguments: Any, of: list[Any] | None = None) -> list[Any]:
        """One task for each group: its rows, what they share, its own argument, and what is given to all."""
        return [
            self._submit(task, rows, shared, *([] if of is None else [of[at]]), *arguments)
            for at, (rows, shared) in enumerate(zip(self._rows, self._shared, strict=True))
        ]

    def _total(self, groups: list[Any]) -> Step:
        """What groups hand back, added up by a tree."""
        return self._added([self._submit(tasks.step_of, group) for group in groups])

    def _added(self, totals: list[Any]) -> Step:
        while len(totals) > 1:
            totals = [self._submit(tasks.added, *totals[at : at + _FAN_IN]) for at in range(0, len(totals), _FAN_IN)]
        return self._gather(totals)[0]

    # ------------------------------------------------------------------------------------ what the rounds ask
    def sample(self, count: int, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
        active = [moments.n for moments in self.moments]
        counts = sample_counts(active, count)
        draws = [Draw(*one) for one in zip(range(self.count), self.places, active, counts, strict=True)]
        found = self._gather(
            [
                self._submit(
                    tasks.sample_of_part, self.parts[part], [draws[number] for number in own], self.frame, seed
                )
                for part, own in enumerate(self._of_part)
                if own
            ]
        )
        self.parts = [None] * len(self.parts)  # from here on the groups hold the rows
        rows, weights = (np.concatenate(one) for one in zip(*found, strict=True))
        return rows, weights if self.weighted else None

    def assign(self, centres: Centres) -> Sums:
        self._groups, self._stride = self._each(tasks.assign, self._submit(tasks.handed, centres)), 1
        return self._total(self._groups).changes

    def counts(self) -> np.ndarray:
        found = self._gather(self._each(tasks.counts_of, of=self._groups))
        return np.array([counts for group in found for counts in group])

    def give_away(self, block: int, src: int, dst: int) -> Sums:
        for at, shared in enumerate(self._shared):
            numbers = [number for number, _, _ in shared.blocks]
            if block in numbers:
                more = self._groups[at], numbers.index(block), src, dst
                self._groups[at] = self._submit(tasks.give_away, self._rows[at], shared, *more)
                return self._total([self._groups[at]]).changes
        raise IndexError(block)

    def step(self, order: Order) -> Step:
        handed = self._submit(tasks.handed, order)
        groups = self._each(tasks.take_step, self._stride, handed, of=self._groups)
        self._groups, self._stride, self.is_open = groups, 1, True
        return self._total(self._groups)

    def take_back(self, emptied: np.ndarray) -> Sums:
        self._groups = self._each(tasks.take_back, emptied, of=self._groups)
        return self._total(self._groups).changes

    def changes_of_every(self, stride: int) -> Sums:
        return self._added(self._each(tasks.changes_of_every, stride, of=self._groups)).changes

    def keep(self, stride: int) -> None:
        self._stride, self.is_open = stride, False

    def measure(self, sums: Sums) -> ClusterMeasures:
        centres = centres_in_data(self.frame, sums)
        handed = self._submit(tasks.handed, centres)
        found = self._gather(self._each(tasks.measure_group, self._stride, handed, of=self._groups))
        return added_measures((one for group in found for one in group), *centres.shape)

    def close(self) -> None:
        self.client.run(tasks.forget, self._fit, on_error="ignore")

    # ------------------------------------------------------------------------------------ labels
    @property
    def labels(self) -> list[Any]:
        """A future for the labels of each part."""
        found: list[Any] = [None] * len(self.parts)
        for group, shared, parts in zip(self._groups, self._shared, self._group_parts, strict=True):
            for at, part in enumerate(parts):
                found[part] = self._submit(tasks.labels_of_part, shared, group, self._stride, at)
        nothing = np.empty(0, np.int32)
        return [self._submit(tasks.handed, nothing) if one is None else one for one in found]

    def gather_labels(self) -> np.ndarray:
        labels = np.concatenate(self._gather(self.labels))
        self._start_from(labels)  # what is lost from here on need not be made again from the start
        return labels

    def restore_labels(self, read: Callable[[np.ndarray], None]) -> None:
        self.parts = [None] * len(self.parts)  # there will be no sample
        labels = np.empty(sum(self.lengths), np.int32)
        read(labels)
        self._start_from(labels)

    def _start_from(self, labels: np.ndarray) -> None:
        """Groups that depend on nothing but these labels."""
        groups = []
        for shared in self._shared:
            places = [self.places[number] for number, _, _ in shared.blocks]
            own = [labels[place.first : place.first + place.length] for place in places]
            groups.append(self._submit(tasks.restored, own, self.k, self.d))
        self._groups, self._stride = groups, 1


def _divided(parts: list[int], lengths: list[int], count: int) -> list[list[int]]:
    """Parts in groups of about equally many rows, in order."""
    ends = np.cumsum([lengths[part] for part in parts])
    edges = np.searchsorted(ends, ends[-1] * np.arange(1, count) / count, "left") + 1
    bounds = [0, *np.minimum(edges, len(parts)).tolist(), len(parts)]
    return [parts[first:last] for first, last in pairwise(bounds) if last > first]
