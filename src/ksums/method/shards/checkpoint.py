"""A fit of blocks in a file: sums, labels, and the records of the rounds.

Sums are whole numbers and random numbers come from (seed, round, block), so a resumed fit gives the labels of one that
was never killed.
"""

from __future__ import annotations

import zipfile
from dataclasses import asdict

import numpy as np

from ksums.method.fitting.checkpoint import CheckpointFile
from ksums.method.fitting.records import PassRecord
from ksums.method.shards.blocks import Blocks
from ksums.method.shards.rounds import Standing
from ksums.method.shards.sums import Sums

_AT_A_TIME = 1 << 22
"""Labels that are read at a time."""


def save(file: CheckpointFile, standing: Standing, records: list[PassRecord], blocks: Blocks) -> None:
    """Write where a fit stands after a round."""
    about = {
        "round": standing.round,
        "turn": standing.turn,
        "value": standing.value,
        "records": [asdict(record) for record in records],
    }
    arrays = {**standing.sums._asdict(), "labels": blocks.gather_labels()}
    if standing.last is not None:
        arrays["last"] = standing.last
    file.write(about, arrays)


def load(file: CheckpointFile, blocks: Blocks) -> tuple[Standing, list[PassRecord]] | None:
    """Where the fit stands, if there is a file; the blocks get its labels."""
    about = file.read()
    if about is None:
        return None
    arrays = file.arrays(*Sums._fields, "last")
    last = arrays.pop("last", None)
    blocks.restore_labels(lambda labels: _read_labels(file, labels))
    standing = Standing(about["round"], about["turn"], Sums(**arrays), last, about["value"])
    return standing, [PassRecord(**record) for record in about["records"]]


def _read_labels(file: CheckpointFile, labels: np.ndarray) -> None:
    """Read the labels, a few at a time: they need not fit into memory."""
    with zipfile.ZipFile(file.path) as archive, archive.open("labels.npy") as stream:
        version = np.lib.format.read_magic(stream)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(stream)
        if shape != labels.shape:
            raise ValueError(f"checkpoint: {file.path} has labels for {shape[0]:,} rows; the data has {len(labels):,}.")
        for first in range(0, len(labels), _AT_A_TIME):
            part = labels[first : first + _AT_A_TIME]
            part[:] = np.frombuffer(stream.read(part.nbytes), dtype)
