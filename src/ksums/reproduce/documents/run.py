"""The runs of Tab. 2(a, b): the entropy of all methods on the document sets.

As in the paper: tf · ln(N/df), rows of unit length, cosine; k = 5, 10, 15, 20; 10 runs, of which only the one with the
lowest objective counts. A bisecting run grows one tree and cuts it at each k.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy import sparse

from ksums import methods, metrics
from ksums.datasets import Dataset, documents_at_hand, load_documents, make_documents
from ksums.reproduce.documents.paper import KS, PAPER_ENTROPY, is_bisecting
from ksums.reproduce.experiment import RunOptions, Unit
from ksums.reproduce.method_names import OURS, PUBLISHED_CODE
from ksums.reproduce.store import Record
from ksums.text import TfIdf

METHODS = (*PAPER_ENTROPY, PUBLISHED_CODE, OURS)


def data(options: RunOptions) -> list[Dataset]:
    """Those of the paper's document sets that are available."""
    if options.quick:
        made = (make_documents(300, random_state=seed) for seed in range(3))
        return [Dataset(f"made {at}", data.X, data.y) for at, data in enumerate(made)]
    found = documents_at_hand(options.data_home)
    if not found:
        load_documents("classic", options.data_home)  # Its error says what is missing.
    return [load_documents(name, options.data_home) for name in found]


def settings(options: RunOptions) -> Record:
    """10 runs as in the paper."""
    return {"ks": list(KS), "runs": 3 if options.quick else 10}


def warm_up(options: RunOptions, data: list[Dataset]) -> None:
    """Compile the code of all methods before several threads run it."""
    rows = TfIdf().fit_transform(data[0].X[:200])
    for method in METHODS:
        methods.METHODS[method](2, "cosine", 0, n_threads=1).fit(rows)


def units(options: RunOptions, data: list[Dataset]) -> Iterator[Unit]:
    """One run per data set, seed and method, the largest data set first."""
    for part in sorted(data, key=lambda part: -part.X.nnz):
        assert part.y is not None
        X = TfIdf().fit_transform(part.X)
        for seed in options.seeds(settings(options)["runs"]):
            for method in METHODS:
                yield Unit(f"{part.name}|{method}|{seed}", partial(_entropies, method, X, part.y, seed))


def _entropies(method: str, X: sparse.csr_array, classes: np.ndarray, seed: int) -> Record:
    """For each k, the objective, by which the best run is chosen, and the entropy."""
    objectives, entropies = [], []
    make = partial(methods.METHODS[method], metric="cosine", random_state=seed, n_threads=1)
    tree = make(max(KS)).fit(X) if is_bisecting(method) else None
    for k in KS:
        if tree is not None:
            objective, labels = tree.tree_.objectives[k - 1], tree.cut(k)
        else:
            model = make(k).fit(X)
            objective, labels = model.objective_, model.labels_
        objectives.append(float(objective))
        entropies.append(metrics.entropy(classes, labels))
    return {"objective": objectives, "entropy": entropies}
