"""The runs of Figs. 4 and 5: both measures after each pass, and the time it took."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ksums.datasets import Dataset, load_audio, load_events, load_glove, load_sift
from ksums.estimators import KSums
from ksums.reproduce import curves
from ksums.reproduce.data_sets import breast_cancer, diabetes, digits
from ksums.reproduce.experiment import RunOptions, Unit
from ksums.reproduce.method_names import OURS, OURS_HIGH_EFFORT, PUBLISHED_CODE
from ksums.reproduce.store import Record

METHODS = (
    "k-means++",
    "k-means#",
    "Hartigan",
    "k-sums-Im",
    "k-sums-Is",
    PUBLISHED_CODE,
    OURS,
    OURS_HIGH_EFFORT,
)
_PAPER_K = 10_000
_SEEDS = 3
_EXPENSIVE = 5e10
"""A data set runs with one seed only if a pass takes more multiplications than this."""


def clusters_for(n: int, samples_per_cluster: int) -> int:
    """The paper's k, or fewer clusters if n samples would give too few per cluster."""
    return min(_PAPER_K, n // samples_per_cluster)


def data(options: RunOptions) -> list[Dataset]:
    """Images, words, sounds and events."""
    if options.quick:
        return [digits(), breast_cancer(), diabetes()]
    home = options.data_home
    return [load_sift("base", home), load_glove(home), load_audio(home), load_events(home)]


def settings(samples_per_cluster: int, options: RunOptions) -> Record:
    """30 passes as in the paper."""
    return {"passes": 12 if options.quick else 30, "members": samples_per_cluster}


def warm_up(samples_per_cluster: int, options: RunOptions, data: list[Dataset]) -> None:
    """Compile the code of all methods, and the engine that our default uses for many clusters."""
    for part in data:
        curves.warm_up(METHODS, part.X, min(clusters_for(part.X.shape[0], samples_per_cluster), 500))
        rows = np.asarray(part.X[:2000], np.float32)
        KSums(50, engine="neighbors", init="two-level", random_state=0).fit(rows)


def units(samples_per_cluster: int, options: RunOptions, data: list[Dataset]) -> Iterator[Unit]:
    """One run per data set, seed and method."""
    passes = settings(samples_per_cluster, options)["passes"]
    for part in data:
        X, k = np.asarray(part.X, np.float32), clusters_for(part.X.shape[0], samples_per_cluster)
        for seed in options.seeds(1 if X.size * k > _EXPENSIVE else _SEEDS):
            for method in METHODS:
                work = partial(curves.curve, method, X, k, seed, passes)
                yield Unit(f"{part.name}|{method}|{seed}", work)
