"""Data that is always available: documents drawn from a model."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ksums.datasets._dataset import Dataset


def make_documents(
    n: int = 600, terms: int = 2_000, classes: int = 8, length: int = 60, random_state: int = 0
) -> Dataset:
    """Term counts of random documents: each class mixes words of its own with words that all classes share.

    Parameters
    ----------
    n, terms, classes : int
        Number of documents, of different terms, and of classes. The classes have different sizes.
    length : int, default=60
        Mean number of words in a document.
    random_state : int, default=0

    Returns
    -------
    Dataset
    """
    rng = np.random.default_rng(random_state)
    shared = 1.0 / np.arange(1, terms + 1)  # as in real texts, the r-th most frequent term is r times rarer
    by_class = [rng.permutation(shared) for _ in range(classes)]
    proportions = rng.dirichlet(np.full(classes, 3.0))
    y = rng.choice(classes, n, p=proportions)
    counts = []
    for c in y:
        mixed = 0.7 * shared / shared.sum() + 0.3 * by_class[c] / by_class[c].sum()
        counts.append(rng.multinomial(1 + rng.poisson(length), mixed / mixed.sum()))
    return Dataset("documents drawn from a model", sparse.csr_array(np.array(counts, np.float64)), y)
