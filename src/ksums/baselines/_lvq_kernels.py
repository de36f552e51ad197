"""Competitive learning in plain loops: the winner of each sample moves towards it.

A codebook vector is kept as D/s. Moving it, (1 − α) D/s + α x, is then D += α s/(1 − α) x and s /= 1 − α: as cheap for
a sparse x as a dot product. Under cosine only the direction counts, and the length |D| takes the place of s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums._jit import helper, kernel
from ksums.engines._direct_kernels import products_by_rows

_LONG = 1e12  # D and s are brought back to ordinary size when s, or |D|, gets this large


class Codebook(NamedTuple):
    """k vectors, float64."""

    composites: np.ndarray  # (k, d)  D; contiguous along k for sparse rows
    scales: np.ndarray  # (k,)    s
    sq_composites: np.ndarray  # (k,)    D·D


@helper
def _winner(
    codebook,  # IN
    cosine,  # IN
    products,  # IN   (k,)  x·D
):
    """The vector that is nearest, |D/s|² − 2 x·D/s; under cosine nearest in direction."""
    best, least = 0, np.inf
    for r in range(products.shape[0]):
        s, sq = codebook.scales[r], codebook.sq_composites[r]
        cost = -products[r] / np.sqrt(sq) if cosine and sq > 0.0 else sq / (s * s) - 2.0 * products[r] / s
        if cost < least:
            best, least = r, cost
    return best


@helper
def _pull(
    codebook,  # INOUT  all but the composites
    cosine,  # IN
    r,  # IN     the winner
    rate,  # IN
    sq_norm,  # IN     x·x
    product,  # IN     x·D
):
    """The weight with which x is added to D."""
    size = np.sqrt(codebook.sq_composites[r]) if cosine else codebook.scales[r]
    weight = size * rate / (1.0 - rate) if size > 0.0 else 1.0
    codebook.scales[r] /= 1.0 - rate
    codebook.sq_composites[r] += weight * (2.0 * product + weight * sq_norm)
    return weight


@helper
def _shorten(
    codebook,  # INOUT
    cosine,  # IN
    r,  # IN     the winner
):
    """Bring a vector back to ordinary size, and renew D·D."""
    size = np.sqrt(codebook.sq_composites[r]) if cosine else codebook.scales[r]
    if not size >= _LONG:  # nor where rounding has made D·D negative
        return
    total = 0.0
    for t in range(codebook.composites.shape[1]):
        codebook.composites[r, t] /= size
        total += codebook.composites[r, t] ** 2
    codebook.scales[r], codebook.sq_composites[r] = 1.0, total


@kernel
def compete_dense(
    codebook,  # INOUT
    cosine,  # IN
    rates,  # IN     (count,)
    sq_norms,  # IN     (count,)
    products,  # OUT    (k,)  work space
    rows,  # IN     (count, d)
):
    """All rows in order."""
    for i in range(rows.shape[0]):
        products_by_rows(rows, i, codebook.composites, products)
        r = _winner(codebook, cosine, products)
        weight = _pull(codebook, cosine, r, rates[i], sq_norms[i], products[r])
        for t in range(rows.shape[1]):
            codebook.composites[r, t] += weight * rows[i, t]
        _shorten(codebook, cosine, r)


@kernel
def compete_sparse(
    codebook,  # INOUT
    cosine,  # IN
    rates,  # IN     (count,)
    sq_norms,  # IN     (count,)
    products,  # OUT    (k,)  work space
    data,  # IN     rows as CSR
    indices,  # IN
    indptr,  # IN
):
    """All rows in order."""
    for i in range(indptr.shape[0] - 1):
        for r in range(products.shape[0]):
            products[r] = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            for r in range(products.shape[0]):
                products[r] += data[at] * codebook.composites[r, indices[at]]
        r = _winner(codebook, cosine, products)
        weight = _pull(codebook, cosine, r, rates[i], sq_norms[i], products[r])
        for at in range(indptr[i], indptr[i + 1]):
            codebook.composites[r, indices[at]] += weight * data[at]
        _shorten(codebook, cosine, r)
