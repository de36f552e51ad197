"""What an experiment consists of: how it runs, what the paper claims about it, and how its results are shown."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ksums.datasets import Dataset
from ksums.reproduce.claim import Claim
from ksums.reproduce.drawing import Picture
from ksums.reproduce.pieces import Table
from ksums.reproduce.store import Record, Results


@dataclass(frozen=True)
class RunOptions:
    """What the user chose for this run."""

    quick: bool = False
    """Whether to use small data that is always available, instead of the full data."""
    runs: int = 128
    """The number of runs of each method in experiments that study the variation between runs."""
    seed: int = 0
    """The first random seed; the others follow it."""
    data_home: Path | None = None
    """The folder with the data, if it is not the usual one."""

    def seeds(self, count: int) -> range:
        """The first ``count`` seeds."""
        return range(self.seed, self.seed + count)


class Unit(NamedTuple):
    """The smallest piece of work whose result is stored: usually one run of one method."""

    name: str  # ``method|seed``, or ``data set|method|seed`` where there are several data sets
    work: Callable[[], Record]


def _no_tables(results: Results) -> list[Table]:
    return []


def _no_remarks(results: Results) -> list[str]:
    return []


def _no_warm_up(options: RunOptions, data: list[Dataset]) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One experiment of the paper. Its folder makes it, and ``experiments.py`` lists it."""

    name: str
    """Its name on the command line, and that of its results file."""
    title: str
    """Its heading on the page."""
    where: str
    """Its figures or tables in the paper."""
    about: str
    """One or two sentences for the summary: what is measured, and how to read the main picture."""
    paper_data: str
    """The paper's data, from its Tab. 1."""
    methods: tuple[str, ...]
    """The methods that are compared."""

    data: Callable[[RunOptions], list[Dataset]]
    """Loads the data; raises ``FileNotFoundError`` if it is not available."""
    settings: Callable[[RunOptions], Record]
    """Everything else that determines the result of a unit of a given name."""
    units: Callable[[RunOptions, list[Dataset]], Iterator[Unit]]
    """All units of work, ordered so that a partial run has complete rounds of all methods."""
    warm_up: Callable[[RunOptions, list[Dataset]], Any] = _no_warm_up
    """Compiles the code, so that compiling is not timed."""
    parallel: bool = False
    """Whether units may run at the same time: only if nothing is timed and each unit uses one thread."""

    judge: Callable[[Results], list[Claim]]
    """The paper's claims with our verdicts. Those that have a ``headline`` are in the summary."""
    pictures: Callable[[Results], list[Picture]]
    """The figures. The first one is in the summary."""
    tables: Callable[[Results], list[Table]] = _no_tables
    """Further tables of results."""
    remarks: Callable[[Results], list[str]] = _no_remarks
    """Further observations, each only if the results support it."""


@dataclass(frozen=True)
class Outcome:
    """An experiment with its results."""

    experiment: Experiment
    results: Results

    @cached_property
    def claims(self) -> list[Claim]:
        """The paper's claims with our verdicts."""
        return self.experiment.judge(self.results)


def fingerprint(data: Dataset) -> Record:
    """Name, shape and digest of a data set, by which stored results recognise their data."""
    X = data.X
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(np.ascontiguousarray(part).data)
    return {"name": data.name, "n": X.shape[0], "d": X.shape[1], "digest": digest.hexdigest()}
