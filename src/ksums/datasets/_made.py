"""Data that is always there: documents drawn from a model."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ksums.datasets._types import Dataset


def make_documents(
    n: int = 600, terms: int = 2_000, classes: int = 8, length: int = 60, random_state: int = 0
) -> Dataset:
    """Term counts of documents drawn from a model: each class has words of its own beside those that all share.

    Parameters
    ----------
    n, terms, classes : int
        Documents, different terms, and classes, which are of unequal size.
    length : int
        Mean number of words in a document.
    random_state : int, default=0
    """
    rng = np.random.default_rng(random_state)
    common = 1.0 / np.arange(1, terms + 1)  # as in real texts, the r-th most frequent term is r times rarer
    own = [rng.permutation(common) for _ in range(classes)]
    shares = rng.dirichlet(np.full(classes, 3.0))
    y = rng.choice(classes, n, p=shares)
    words = []
    for c in y:
        mixed = 0.7 * common / common.sum() + 0.3 * own[c] / own[c].sum()
        words.append(rng.multinomial(1 + rng.poisson(length), mixed / mixed.sum()))
    return Dataset("documents drawn from a model", sparse.csr_array(np.array(words, np.float64)), y)
