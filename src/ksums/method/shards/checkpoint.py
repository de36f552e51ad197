"""A fit under way in a file, written whole or not at all: a killed fit goes on from its last round.

The file is an .npz archive: sums and labels, and everything else as JSON. Sums are whole numbers and random numbers
come from (seed, round, block), so a fit that goes on gives the labels of one that was never killed.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ksums.io.atomic import atomic_write
from ksums.method.fitting.records import PassRecord
from ksums.method.shards.blocks import Blocks
from ksums.method.shards.course import Standing
from ksums.method.shards.sums import Sums

_FORMAT = 1
_AT_A_TIME = 1 << 22
"""Labels that are read at a time."""


class Checkpoint:
    """The file of a fit; ``identity`` says which data and parameters it belongs to."""

    def __init__(self, path: str | Path, identity: dict[str, Any]) -> None:
        self.path, self.identity = Path(path), identity

    def save(self, standing: Standing, records: list[PassRecord], blocks: Blocks) -> None:
        """Replace the file."""
        about = {
            "format": _FORMAT,
            "identity": self.identity,
            "round": standing.round,
            "value": standing.value,
            "records": [asdict(record) for record in records],
        }
        arrays = {**standing.sums._asdict(), "labels": blocks.gather_labels()}
        if standing.last is not None:
            arrays["last"] = standing.last
        text = np.frombuffer(json.dumps(about).encode(), np.uint8)
        with atomic_write(self.path) as file:
            np.savez(file, about=text, **arrays)

    def load(self, blocks: Blocks) -> tuple[Standing, list[PassRecord]] | None:
        """Where the fit stands, if there is a file; the blocks get its labels."""
        if not self.path.exists():
            return None
        about = read_about(self.path)
        if about["format"] != _FORMAT:
            raise ValueError(
                f"checkpoint: {self.path} was written by another version of ksums; delete it to start anew."
            )
        for name, value in self.identity.items():
            if about["identity"].get(name) != value:
                raise ValueError(
                    f"checkpoint: {self.path} belongs to a fit with {name}={about['identity'].get(name)!r}; this one "
                    f"has {name}={value!r}. Use another file, or delete this one to start anew."
                )
        with np.load(self.path, allow_pickle=False) as archive:
            sums = Sums(*(archive[name] for name in Sums._fields))
            last = archive["last"] if "last" in archive.files else None
        blocks.restore_labels(lambda labels: _read_labels(self.path, labels))
        standing = Standing(about["round"], sums, last, about["value"])
        return standing, [PassRecord(**record) for record in about["records"]]


def read_about(path: Path) -> dict[str, Any]:
    """What a checkpoint says of itself."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            return json.loads(archive["about"].tobytes())
    except (ValueError, OSError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"checkpoint: {path} is not a checkpoint of ksums ({error}); use another file.") from error


def _read_labels(path: Path, labels: np.ndarray) -> None:
    """Read the labels of an archive, a few at a time."""
    with zipfile.ZipFile(path) as archive, archive.open("labels.npy") as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)
        if shape != labels.shape:
            raise ValueError(f"checkpoint: {path} has labels for {shape[0]:,} rows; the data has {len(labels):,}.")
        for first in range(0, len(labels), _AT_A_TIME):
            part = labels[first : first + _AT_A_TIME]
            part[:] = np.frombuffer(file.read(part.nbytes), dtype)
