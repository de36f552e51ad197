"""Fig. 3(a, b): many runs of each method on one set, both measures after each pass."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ksums.datasets import Dataset, load_sift
from ksums.reproduce.bundled import digits
from ksums.reproduce.curves import OURS, OURS_HIGH, RELEASED, curve, warm_up
from ksums.reproduce.experiment import Result, Size, Unit

METHODS_OF_PAPER = ("k-means", "k-means++", "k-means#", "Hartigan", "k-sums-Im", "k-sums-Is")


class Significance:
    """See ``Experiment``."""

    name, title, at_once = "significance", "Significance (Fig. 3a, b)", False
    methods = (*METHODS_OF_PAPER, RELEASED, OURS, OURS_HIGH)

    def data(self, size: Size) -> list[Dataset]:
        """SIFT100K."""
        return [digits() if size.quick else load_sift("learn", size.data_home)]

    def settings(self, size: Size) -> Result:
        """As in the paper: k = 1,024."""
        return {"k": 64, "passes": 12} if size.quick else {"k": 1024, "passes": 30}

    def warm_up(self, size: Size, data: list[Dataset]) -> None:
        """See ``Experiment``."""
        warm_up(self.methods, data[0].X, self.settings(size)["k"])

    def units(self, size: Size, data: list[Dataset]) -> Iterator[Unit]:
        """One run each, all methods in turn."""
        k, passes = self.settings(size)["k"], self.settings(size)["passes"]
        X = np.asarray(data[0].X, np.float32)
        for seed in size.seeds(size.runs):
            for method in self.methods:
                yield f"{method}|{seed}", partial(curve, method, X, k, seed, passes)
