"""Results on disk: one JSON file per experiment, rewritten atomically after each unit of work."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any, TypedDict, cast

from ksums.compute.machine import description
from ksums.io import atomic_write

Record = dict[str, Any]
"""A JSON object."""

_DIGITS = 8
"""Numbers are stored with this many significant digits."""


class Results(TypedDict):
    """What a results file holds."""

    settings: Record
    data: list[Record]  # name, n, d and digest of each data set
    machines: list[Record]  # every machine that computed some of the units
    units: dict[str, Record]  # the result of each unit of work, by its name


class Store:
    """The results of one experiment so far."""

    def __init__(self, path: Path, settings: Record, data: list[Record]) -> None:
        """Open an existing results file, or start a new one. Results for other settings or data are refused."""
        self._path, self._lock = path, threading.Lock()
        self._results = Results(settings=settings, data=data, machines=[], units={})
        if path.exists():
            stored = read_results(path)
            if stored["settings"] != settings or stored["data"] != data:
                raise ValueError(
                    f"{path} holds results for other settings or other data: {stored['settings']}, "
                    f"{[part['name'] for part in stored['data']]}. Choose another folder with --out, or delete the "
                    "file."
                )
            self._results = stored

    @property
    def units(self) -> dict[str, Record]:
        """The results so far, by the name of the unit."""
        return self._results["units"]

    def add(self, name: str, result: Record) -> None:
        """Add the result of a unit and write the file."""
        with self._lock:
            self.units[name] = _rounded(result)
            if (machine := description()) not in self._results["machines"]:
                self._results["machines"].append(machine)
            with atomic_write(self._path, "w") as file:
                json.dump(self._results, file, separators=(",", ":"))
                file.write("\n")


def results_path(out: Path, name: str) -> Path:
    """The results file of an experiment."""
    return out / "results" / f"{name}.json"


def read_results(path: Path) -> Results:
    """Read a results file."""
    try:
        stored = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}. Delete it to run its experiment again.") from error
    if not isinstance(stored, dict) or not Results.__required_keys__ <= set(stored):
        raise ValueError(f"{path} is not a results file. Delete it, or choose another folder with --out.")
    return cast(Results, stored)


def _rounded(value: Any) -> Any:
    """A JSON value, with all its numbers rounded."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, (list, tuple)) else value
