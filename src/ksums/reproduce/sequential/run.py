"""The runs of Fig. 3(c, d): both measures while the samples arrive."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import numpy as np

from ksums import methods
from ksums.datasets import Dataset
from ksums.reproduce.experiment import RunOptions, Unit
from ksums.reproduce.store import Record

K_MEANS, K_SUMS_IM, K_SUMS_IS = METHODS = ("Sequential k-means", "Sequential k-sums-Im", "Sequential k-sums-Is")
_PARTS = 20
"""The samples arrive in this many parts; both measures are computed after each."""


def settings(options: RunOptions) -> Record:
    """k = 1,024 as in the paper."""
    return {"k": 64 if options.quick else 1024, "parts": _PARTS}


def warm_up(options: RunOptions, data: list[Dataset]) -> None:
    """Compile the code of all methods."""
    k = settings(options)["k"]
    for method in METHODS:
        _stream(method, np.asarray(data[0].X[: 4 * k], np.float32), k, 0)


def units(options: RunOptions, data: list[Dataset]) -> Iterator[Unit]:
    """One random order per seed, the same for all methods."""
    X, k = np.asarray(data[0].X, np.float32), settings(options)["k"]
    for seed in options.seeds(options.runs):
        for method in METHODS:
            yield Unit(f"{method}|{seed}", partial(_stream, method, X, k, seed))


def _stream(method: str, X: np.ndarray, k: int, seed: int) -> Record:
    """Feed all samples to a method; the number of samples so far and both measures after each part."""
    order = np.random.default_rng(seed).permutation(len(X))
    model = methods.METHODS[method](k)
    arrived: list[int] = []
    e_m, e_s, seconds = [], [], 0.0
    for part in np.array_split(order, _PARTS):
        rows = X[part]
        start = time.perf_counter()
        model.partial_fit(rows)
        seconds += time.perf_counter() - start
        arrived.append(len(part) + (arrived[-1] if arrived else 0))
        e_m.append(model.distortion_)
        e_s.append(model.pairwise_)
    return {"arrived": arrived, "E_m": e_m, "E_s": e_s, "seconds": round(seconds, 3)}
