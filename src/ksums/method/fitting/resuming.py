"""Runs that are resumed from a checkpoint, with the labels of runs that were never killed.

A checkpoint holds the state of the run under way after a pass or after a search: labels, sums as they are (added up
from moves, they differ in the last digits from sums of the rows), the position in the random sequence, the best labels,
and the records. What a run does next depends on nothing else, so a resumed run walks through its plan again and
takes the records instead of making the passes; with the last of them it gets the state. Searches, of samples and of
all rows, are not interrupted by a checkpoint: one that was under way begins again.
"""

from __future__ import annotations

from collections import deque
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ksums.method.fitting.checkpoint import CheckpointFile
from ksums.method.fitting.records import PassRecord
from ksums.method.state.state import ClusterState

if TYPE_CHECKING:
    from ksums.method.fitting.run import Run

_SUMS = ClusterState._fields


@dataclass
class EndedRun:
    """What is left of a run: a ``run.Run`` to whoever reads results."""

    labels: np.ndarray
    k: int
    records: list[PassRecord]
    converged: bool
    value: float
    interrupted: bool = False


class SavedRun(NamedTuple):
    """A run under way."""

    about: dict[str, Any]
    arrays: dict[str, np.ndarray]

    def records(self) -> deque[PassRecord]:
        """Of the passes that are done."""
        return deque(PassRecord(**record) for record in self.about["records"])

    def state(self) -> ClusterState:
        return ClusterState(**{name: self.arrays[name] for name in _SUMS})

    def engine(self) -> dict[str, np.ndarray]:
        """What the engine remembers."""
        return {name[len("engine.") :]: array for name, array in self.arrays.items() if name.startswith("engine.")}


class SavedFit(NamedTuple):
    """A fit of several runs."""

    done: int  # runs
    finished: bool
    best: EndedRun | None  # of the runs that are done
    run: SavedRun | None  # the next one


class FitCheckpoint:
    """Writes and reads the checkpoint of a fit."""

    def __init__(self, file: CheckpointFile, k: int) -> None:
        self.file, self.k = file, k
        self.done, self.best = 0, None  # type: int, EndedRun | None

    def load(self) -> SavedFit:
        """Where the fit stands; at its beginning if there is no file."""
        about = self.file.read()
        if about is None:
            return SavedFit(0, False, None, None)
        arrays = self.file.arrays()
        self.done = about["done"]
        if about["best"] is not None:
            own = {**about["best"], "records": [PassRecord(**record) for record in about["best"]["records"]]}
            self.best = EndedRun(labels=arrays["best of all"], k=self.k, **own)
        run = None if about["run"] is None else SavedRun(about["run"], arrays)
        return SavedFit(self.done, about["finished"], self.best, run)

    def after_pass(self, run: Run, last: bool = False) -> None:
        """Write the file if it is time to, or if this was the last pass for now."""
        if last or self.file.is_due():
            self.save(run)

    def save(self, run: Run) -> None:
        """Write the file: a run under way."""
        about = {
            "rng": run.rng.bit_generator.state,
            "records": [asdict(record) for record in run.records],
            "search_ends": run.search_ends,
            "value": run.best.value,
            "last": run.last,
            "list_length": run.schedule.list_length,
        }
        arrays = {**run.state._asdict(), **{f"engine.{name}": array for name, array in run.engine_memory().items()}}
        if run.best.labels is not None:
            arrays["best"] = run.best.labels
        self._write(about, arrays, finished=False)

    def after_run(self, best: Run | EndedRun, finished: bool) -> None:
        """Write the file: a run has ended, and this is the best of those that have."""
        self.done += 1
        self.best = EndedRun(best.labels, self.k, best.records, best.converged, best.value)
        self._write(None, {}, finished)

    def _write(self, run: dict[str, Any] | None, arrays: dict[str, np.ndarray], finished: bool) -> None:
        best = None
        if self.best is not None:
            records = [asdict(record) for record in self.best.records]
            best = {"records": records, "converged": self.best.converged, "value": self.best.value}
            arrays["best of all"] = self.best.labels
        self.file.write({"done": self.done, "finished": finished, "best": best, "run": run}, arrays)
