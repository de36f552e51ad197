"""Fig. 3(c, d): methods that see each sample once; both measures as the samples arrive."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import numpy as np

from ksums.datasets import Dataset
from ksums.methods import METHODS
from ksums.reproduce.experiment import Result, Size, Unit
from ksums.reproduce.significance import Significance

SEQUENTIAL = ("Sequential k-means", "Sequential k-sums-Im", "Sequential k-sums-Is")
_PARTS = 20


class Sequential:
    """See ``Experiment``."""

    name, title, at_once = "sequential", "Sequential (Fig. 3c, d)", False
    methods = SEQUENTIAL

    def data(self, size: Size) -> list[Dataset]:
        """That of the significance test."""
        return Significance().data(size)

    def settings(self, size: Size) -> Result:
        """k as in the significance test."""
        return {"k": Significance().settings(size)["k"], "parts": _PARTS}

    def warm_up(self, size: Size, data: list[Dataset]) -> None:
        """See ``Experiment``."""
        k = self.settings(size)["k"]
        for method in SEQUENTIAL:
            _stream(method, np.asarray(data[0].X[: 4 * k], np.float32), k, 0)

    def units(self, size: Size, data: list[Dataset]) -> Iterator[Unit]:
        """One random order each, all methods in turn."""
        X, k = np.asarray(data[0].X, np.float32), self.settings(size)["k"]
        for seed in size.seeds(size.runs):
            for method in SEQUENTIAL:
                yield f"{method}|{seed}", partial(_stream, method, X, k, seed)


def _stream(method: str, X: np.ndarray, k: int, seed: int) -> Result:
    """Both measures of what has arrived, part by part."""
    order = np.random.default_rng(seed).permutation(len(X))
    model = METHODS[method](k)
    result: Result = {"arrived": [], "E_m": [], "E_s": []}
    seconds = 0.0
    for part in np.array_split(order, _PARTS):
        rows = X[part]
        began = time.perf_counter()
        model.partial_fit(rows)
        seconds += time.perf_counter() - began
        result["arrived"].append(len(part) + (result["arrived"][-1] if result["arrived"] else 0))
        result["E_m"].append(model.distortion_)
        result["E_s"].append(model.pairwise_)
    return {**result, "seconds": round(seconds, 3)}
