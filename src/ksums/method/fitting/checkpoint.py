"""A file that keeps a fit while it runs, so that a killed fit can be resumed; it is written completely or not at all.

The file is an .npz archive: arrays, and everything else as JSON. It says which data and parameters it belongs to.
"""

from __future__ import annotations

import json
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from ksums.io.atomic import atomic_write

_FORMAT = 2
_SHARE_OF_TIME = 0.05
"""Writing checkpoints takes at most a twentieth of the time of a fit: a large file is not written after every pass."""


class CheckpointFile:
    """The file of a fit; ``identity`` says which data and parameters it belongs to."""

    def __init__(self, path: str | Path, identity: dict[str, Any]) -> None:
        self.path, self.identity = Path(path), identity
        self._next = -np.inf  # when the file may be written again, by time.perf_counter()

    def is_due(self) -> bool:
        """Whether it is time to write the file again."""
        return time.perf_counter() >= self._next

    def write(self, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Replace the file."""
        began = time.perf_counter()
        text = json.dumps({"format": _FORMAT, "identity": self.identity, **about})
        everything: dict[str, Any] = {"about": np.frombuffer(text.encode(), np.uint8), **arrays}
        with atomic_write(self.path) as file:
            np.savez(file, **everything)
        now = time.perf_counter()
        self._next = now + (now - began) / _SHARE_OF_TIME

    def read(self) -> dict[str, Any] | None:
        """What the file says of the fit; None if there is no file. Other data and parameters are refused."""
        if not self.path.exists():
            return None
        about = read_about(self.path)
        if about["format"] != _FORMAT:
            raise ValueError(
                f"checkpoint: {self.path} was written by another version of ksums; delete it to start again."
            )
        for name, value in self.identity.items():
            if about["identity"].get(name) != value:
                raise ValueError(
                    f"checkpoint: {self.path} belongs to a fit with {name}={about['identity'].get(name)!r}; this one "
                    f"has {name}={value!r}. Use another file, or delete this one to start again."
                )
        return about

    def arrays(self, *names: str) -> dict[str, np.ndarray]:
        """Some of the arrays of the file: those that it has; all if no names are given."""
        with np.load(self.path, allow_pickle=False) as archive:
            return {name: archive[name] for name in (names or archive.files) if name in archive.files}


def read_about(path: Path) -> dict[str, Any]:
    """What a checkpoint says of itself."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return json.loads(archive["about"].tobytes())
    except (ValueError, OSError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"checkpoint: {path} is not a checkpoint of ksums ({error}); use another file.") from error
