"""Results on disk: a JSON file for each experiment, written anew, whole, after each piece of work."""

from __future__ import annotations

import json
import os
import platform
import threading
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ksums.io import whole_or_not_at_all
from ksums.reproduce.experiment import Result

_DIGITS = 8


class Store:
    """The results of one experiment so far."""

    def __init__(self, path: Path, settings: Result, data: list[Result]) -> None:
        """Go on with the file, or begin one. Results of other settings or other data are refused."""
        self.path, self._lock = path, threading.Lock()
        self.head: Result = {"settings": settings, "data": data, "machines": []}
        self.units: dict[str, Result] = {}
        if path.exists():
            kept = read(path)
            if kept["settings"] != settings or kept["data"] != data:
                raise ValueError(
                    f"{path} holds results of other settings or other data: {kept['settings']}, "
                    f"{[part['name'] for part in kept['data']]}. Name another folder with --out, or delete the file."
                )
            self.head["machines"], self.units = kept["machines"], kept["units"]

    def add(self, name: str, result: Result) -> None:
        """Keep a result; from now on it is not lost."""
        with self._lock:
            self.units[name] = _rounded(result)
            if (here := machine()) not in self.head["machines"]:
                self.head["machines"].append(here)
            with whole_or_not_at_all(self.path, "w") as file:
                json.dump({**self.head, "units": self.units}, file, separators=(",", ":"))
                file.write("\n")


def read(path: Path) -> Result:
    """A file of results."""
    try:
        kept = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}. Delete it, and its experiment is done anew.") from error
    if not isinstance(kept, dict) or not {"settings", "data", "machines", "units"} <= set(kept):
        raise ValueError(f"{path} is no file of results. Delete it, or name another folder with --out.")
    return kept


@cache
def machine() -> Result:
    """Machine and versions."""
    packages = ("ksums", "numpy", "scipy", "scikit-learn", "numba")
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    values = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return f"{values.get('model name')} (family {values.get('cpu family')}, model {values.get('model')})"


def _rounded(value: Any) -> Any:
    """Numbers with as many digits as mean something."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, (list, tuple)) else value
