"""Centres and rows in the same space, so that they can be compared.

The nearest centre of x is the one of least ``sq_centres − 2 x·C``. Under cosine centres are unit vectors whose squared
norms count as 0, so that this is the one of largest cosine, whatever the lengths of the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ksums.compute.arrays import Matrix, arithmetic_of
from ksums.method.data.norms import sq_norms, unit_vectors
from ksums.method.data.rows import Rows, largest_entry, power_of_two_near, prepare


class Centres(NamedTuple):
    """Centres in the space of prepared rows."""

    vectors: np.ndarray  # (k, d)
    squares: np.ndarray  # (k,)  squared norms, or 0 under cosine


def centres_of(composites: np.ndarray, sizes: np.ndarray, cosine: bool) -> Centres:
    """The centres D/n of clusters; under cosine D/|D|."""
    lengths = np.linalg.norm(composites, axis=1) if cosine else sizes
    vectors = np.ascontiguousarray(composites) / np.where(lengths > 0, lengths, 1.0)[:, None]
    return Centres(vectors, np.zeros(len(vectors)) if cosine else sq_norms(vectors))


def centres_for_rows(centres: np.ndarray, rows: Rows, metric: str) -> Centres:
    """Centres from the space of the data to that of prepared rows."""
    centres = centres.astype(np.float64)
    dtype = np.float64 if rows.is_sparse else rows.dtype
    if metric == "cosine":
        return Centres(unit_vectors(centres).astype(dtype), np.zeros(len(centres)))
    if rows.shift is not None:
        centres = centres - rows.shift
    centres = centres * rows.scales[0]
    return Centres(centres.astype(dtype), sq_norms(centres))


def prepare_with_centres(X: Matrix, centres: np.ndarray, metric: str) -> tuple[Rows, Centres]:
    """Rows prepared for a comparison with given centres: nothing is measured on the rows themselves."""
    dtype, shift, scales = arithmetic_of(X), None, np.ones(1)
    if metric == "l2":
        if not sparse.issparse(X):
            shift = centres.mean(axis=0, dtype=np.float64).astype(dtype)
        scales[0] = power_of_two_near(largest_entry(centres if shift is None else centres - shift), dtype)
    rows = Rows(X, dtype, shift, scales, None)
    return rows, centres_for_rows(centres, rows, metric)


def prepare_with_distances(X: Matrix, centres: np.ndarray, metric: str) -> tuple[Rows, Centres]:
    """The same where |x − C|² itself is needed: under cosine, rows and centres both get unit length."""
    if metric == "cosine":
        rows = prepare(X, metric)
        return rows, Centres(centres_for_rows(centres, rows, metric).vectors, np.ones(len(centres)))
    return prepare_with_centres(X, centres, metric)
