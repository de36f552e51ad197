"""Tab. 2(a, b): entropy of all methods on the document sets.

Protocol: tf · ln(N/df), rows of unit length, cosine; k = 5, 10, 15, 20; of 10 runs the one with the lowest objective is
kept. A bisecting run is one tree, cut at each k.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy import sparse

from ksums import metrics
from ksums.datasets import Dataset, documents_at_hand, load_documents, make_documents
from ksums.methods import METHODS
from ksums.reproduce.curves import OURS, RELEASED
from ksums.reproduce.experiment import Result, Size, Unit
from ksums.reproduce.paper import ENTROPY, KS
from ksums.text import TfIdf


class Documents:
    """See ``Experiment``."""

    name, title, at_once = "documents", "Documents (Tab. 2a, b)", True
    methods = (*ENTROPY, RELEASED, OURS)

    def data(self, size: Size) -> list[Dataset]:
        """Those of the paper's 15 sets that are there."""
        if size.quick:
            made = (make_documents(300, random_state=seed) for seed in range(3))
            return [Dataset(f"made {at}", data.X, data.y) for at, data in enumerate(made)]
        found = documents_at_hand(size.data_home)
        if not found:
            load_documents("classic", size.data_home)  # says what is missing
        return [load_documents(name, size.data_home) for name in found]

    def settings(self, size: Size) -> Result:
        """As in the paper: 10 runs."""
        return {"ks": list(KS), "runs": 3 if size.quick else 10}

    def warm_up(self, size: Size, data: list[Dataset]) -> None:
        """Before there are threads."""
        few = TfIdf().fit_transform(data[0].X[:200])
        for method in self.methods:
            METHODS[method](2, "cosine", 0, n_threads=1).fit(few)

    def units(self, size: Size, data: list[Dataset]) -> Iterator[Unit]:
        """One run each, the largest set first, all methods in turn."""
        for part in sorted(data, key=lambda part: -part.X.nnz):
            assert part.y is not None
            X = TfIdf().fit_transform(part.X)
            for seed in size.seeds(self.settings(size)["runs"]):
                for method in self.methods:
                    yield (
                        f"{part.name}|{method}|{seed}",
                        partial(_entropies, method, X, part.y, seed),
                    )


def _entropies(method: str, X: sparse.csr_array, classes: np.ndarray, seed: int) -> Result:
    """For each k what runs are chosen by, and the entropy."""
    objectives, entropies = [], []
    tree = METHODS[method](max(KS), "cosine", seed, n_threads=1).fit(X) if method.startswith("bisecting") else None
    for k in KS:
        if tree is not None:
            objective, labels = tree.tree_.objectives[k - 1], tree.cut(k)
        else:
            model = METHODS[method](k, "cosine", seed, n_threads=1).fit(X)
            objective, labels = model.objective_, model.labels_
        objectives.append(float(objective))
        entropies.append(metrics.entropy(classes, labels))
    return {"objective": objectives, "entropy": entropies}
