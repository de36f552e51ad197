"""Competitive learning in compiled loops: the codebook vector nearest to a sample, the winner, moves towards it.

A codebook vector is stored as D/s. The move to (1 − α) D/s + α x then becomes D += α s/(1 − α) x and s /= 1 − α, which
is as cheap for a sparse x as a dot product. Under cosine only the direction counts, and |D| replaces s.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ksums.compute.jit import helper, kernel
from ksums.method.engines.kernels.direct import products_by_rows

_RESCALE_ABOVE = 1e12
"""Above this, s (or |D| under cosine) is scaled back to 1: it grows with every step and would overflow."""


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
    """The nearest vector: |D/s|² − 2 x·D/s is least; under cosine, the one of nearest direction."""
    best, least = 0, np.inf
    for r in range(products.shape[0]):
        s, sq = codebook.scales[r], codebook.sq_composites[r]
        cost = -products[r] / np.sqrt(sq) if cosine and sq > 0.0 else sq / (s * s) - 2.0 * products[r] / s
        if cost < least:
            best, least = r, cost
    return best


@helper
def _move_winner(
    codebook,  # INOUT  all except the composites
    cosine,  # IN
    r,  # IN     the winner
    rate,  # IN
    sq_norm,  # IN     x·x
    product,  # IN     x·D
):
    """Update s and D·D of the winner; returns the weight with which x is to be added to D."""
    size = np.sqrt(codebook.sq_composites[r]) if cosine else codebook.scales[r]
    weight = size * rate / (1.0 - rate) if size > 0.0 else 1.0
    codebook.scales[r] /= 1.0 - rate
    codebook.sq_composites[r] += weight * (2.0 * product + weight * sq_norm)
    return weight


@helper
def _rescale_if_large(
    codebook,  # INOUT
    cosine,  # IN
    r,  # IN     the winner
):
    """Scale a large vector back to size 1, and recompute D·D."""
    size = np.sqrt(codebook.sq_composites[r]) if cosine else codebook.scales[r]
    if not size >= _RESCALE_ABOVE:  # also if size is NaN, because rounding made D·D negative
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
    """Learn from all rows of an array, in order."""
    for i in range(rows.shape[0]):
        products_by_rows(rows, i, codebook.composites, products)
        r = _winner(codebook, cosine, products)
        weight = _move_winner(codebook, cosine, r, rates[i], sq_norms[i], products[r])
        for t in range(rows.shape[1]):
            codebook.composites[r, t] += weight * rows[i, t]
        _rescale_if_large(codebook, cosine, r)


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
    """Learn from all rows of a CSR array, in order."""
    for i in range(indptr.shape[0] - 1):
        for r in range(products.shape[0]):
            products[r] = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            for r in range(products.shape[0]):
                products[r] += data[at] * codebook.composites[r, indices[at]]
        r = _winner(codebook, cosine, products)
        weight = _move_winner(codebook, cosine, r, rates[i], sq_norms[i], products[r])
        for at in range(indptr[i], indptr[i + 1]):
            codebook.composites[r, indices[at]] += weight * data[at]
        _rescale_if_large(codebook, cosine, r)
