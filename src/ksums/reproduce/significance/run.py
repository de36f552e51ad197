"""The runs of Fig. 3(a, b): many runs of each method on one data set, both measures after each pass."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ksums.datasets import Dataset
from ksums.reproduce import curves
from ksums.reproduce.experiment import RunOptions, Unit
from ksums.reproduce.method_names import OURS, OURS_HIGH_EFFORT, PUBLISHED_CODE
from ksums.reproduce.store import Record

PAPER_METHODS = ("k-means", "k-means++", "k-means#", "Hartigan", "k-sums-Im", "k-sums-Is")
METHODS = (*PAPER_METHODS, PUBLISHED_CODE, OURS, OURS_HIGH_EFFORT)


def settings(options: RunOptions) -> Record:
    """k = 1,024 as in the paper."""
    return {"k": 64, "passes": 12} if options.quick else {"k": 1024, "passes": 30}


def warm_up(options: RunOptions, data: list[Dataset]) -> None:
    """Compile the code of all methods."""
    curves.warm_up(METHODS, data[0].X, settings(options)["k"])


def units(options: RunOptions, data: list[Dataset]) -> Iterator[Unit]:
    """One run per seed and method."""
    X, k, passes = np.asarray(data[0].X, np.float32), settings(options)["k"], settings(options)["passes"]
    for seed in options.seeds(options.runs):
        for method in METHODS:
            yield Unit(f"{method}|{seed}", partial(curves.curve, method, X, k, seed, passes))
