"""What an experiment is: data, settings, and many short pieces of work, each with a result of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from ksums.datasets import Dataset

Result = dict[str, Any]
Unit = tuple[str, Callable[[], Result]]
"""A name, and work that takes no argument: it is done if there is no result of that name yet."""


@dataclass(frozen=True)
class Size:
    """How large the experiments are."""

    quick: bool = False
    """On small data that is always there."""
    runs: int = 128
    """Of each method in the significance test, and orders in the sequential one."""
    seed: int = 0
    """The first one; the others follow it."""
    data_home: Path | None = None
    """Where the data is, if it is not the usual folder."""

    def seeds(self, count: int) -> range:
        """So many seeds."""
        return range(self.seed, self.seed + count)


class Experiment(Protocol):
    """One experiment of the paper."""

    name: str
    title: str
    at_once: bool
    """Whether pieces of work may be done at the same time: where nothing is timed, and each uses one thread."""

    @property
    def methods(self) -> tuple[str, ...]:
        """Pieces of work are named ``method|seed``, or ``set|method|seed`` where there are several data sets."""
        ...

    def data(self, size: Size) -> list[Dataset]:
        """What it is done with. Raises ``FileNotFoundError`` if that is not there."""
        ...

    def settings(self, size: Size) -> Result:
        """What determines a result beside the data and the name of the piece of work."""
        ...

    def units(self, size: Size, data: list[Dataset]) -> Iterator[Unit]:
        """The pieces of work, in an order in which those that were done first can be compared with each other."""
        ...

    def warm_up(self, size: Size, data: list[Dataset]) -> None:
        """Compile, or load what was compiled, before anything is timed."""
        ...


def identity(data: Dataset) -> Result:
    """By which data is known again."""
    X = data.X
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(np.ascontiguousarray(part).data)
    return {"name": data.name, "n": X.shape[0], "d": X.shape[1], "digest": digest.hexdigest()}
