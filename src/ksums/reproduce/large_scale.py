"""Figs. 4 and 5: four kinds of data, k = 10,000, 30 passes; both measures per pass and per second."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ksums.datasets import Dataset, load_audio, load_events, load_glove, load_sift
from ksums.estimators import KSums
from ksums.reproduce.bundled import cells, digits, patients
from ksums.reproduce.curves import OURS, OURS_HIGH, RELEASED, curve, warm_up
from ksums.reproduce.experiment import Result, Size, Unit

_MOST_CLUSTERS = 10_000
_SEEDS, _LONG = 3, 5e10  # runs of each; one, where a pass takes so many multiplications


def clusters_for(n: int, members: int) -> int:
    """k = 10,000, or fewer, so that a cluster has so many samples."""
    return min(_MOST_CLUSTERS, n // members)


class LargeScale:
    """See ``Experiment``. The paper's data has 100 to 500 samples per cluster; ours is smaller."""

    at_once = False
    methods = ("k-means++", "k-means#", "Hartigan", "k-sums-Im", "k-sums-Is", RELEASED, OURS, OURS_HIGH)

    def __init__(self, name: str, members: int) -> None:
        """``members``: samples per cluster."""
        self.name, self.members = name, members
        self.title = f"Large scale (Figs. 4, 5), {members} samples per cluster"

    def data(self, size: Size) -> list[Dataset]:
        """Images, words, sounds, events."""
        if size.quick:
            return [digits(), cells(), patients()]
        return [f(size.data_home) for f in (_sift, load_glove, load_audio, load_events)]

    def settings(self, size: Size) -> Result:
        """As in the paper: 30 passes."""
        return {"passes": 12 if size.quick else 30, "members": self.members}

    def warm_up(self, size: Size, data: list[Dataset]) -> None:
        """See ``Experiment``."""
        for part in data:
            warm_up(self.methods, part.X, min(clusters_for(part.X.shape[0], self.members), 500))
            few = np.asarray(part.X[:2000], np.float32)
            KSums(50, engine="neighbors", init="two-level", random_state=0).fit(few)  # what our default is for many

    def units(self, size: Size, data: list[Dataset]) -> Iterator[Unit]:
        """One run each, set by set, all methods in turn."""
        passes = self.settings(size)["passes"]
        for part in data:
            X, k = np.asarray(part.X, np.float32), clusters_for(part.X.shape[0], self.members)
            for seed in size.seeds(1 if X.size * k > _LONG else _SEEDS):
                for method in self.methods:
                    yield (
                        f"{part.name}|{method}|{seed}",
                        partial(curve, method, X, k, seed, passes),
                    )


def _sift(data_home) -> Dataset:
    return load_sift("base", data_home)
