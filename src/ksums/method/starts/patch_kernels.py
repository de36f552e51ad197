"""Rows divided into patches, compiled."""

from __future__ import annotations

import numpy as np

from ksums.compute.jit import helper, kernel

_ENOUGH = 1024
"""Rows that tell well enough where a large patch is to be divided."""


@helper
def _measure(X, weights, patch, stride, moments, patches):
    """Some rows of a patch: how much they scatter, in which column most, and their mean there.

    Moments are about the first row: about the origin, those of a small patch far from it would be lost in rounding.
    """
    d, first = X.shape[1], patches.first[patch]
    moments[:] = 0.0
    for i in range(first, patches.stop[patch], stride):
        weight = weights[i]
        moments[0] += weight
        for t in range(d):
            x = np.float64(X[i, t]) - np.float64(X[first, t])
            moments[1 + t] += weight * x
            moments[1 + d + t] += weight * x * x
    most, scatter = -1.0, 0.0
    for t in range(d):
        square = moments[1 + t] * moments[1 + t] / moments[0]
        of_column = moments[1 + d + t] - square
        of_column = of_column if of_column > 1e-12 * square else 0.0  # else it may be rounding
        scatter += of_column
        if of_column > most:
            most = of_column
            patches.widest[patch], patches.middle[patch] = t, X[first, t] + moments[1 + t] / moments[0]
    patches.scatter[patch] = stride * scatter


@helper
def _measure_part(X, weights, patch, moments, patches):
    """The same from enough rows; from all of them where some show no scatter."""
    stride = max(1, (patches.stop[patch] - patches.first[patch]) // _ENOUGH)
    _measure(X, weights, patch, stride, moments, patches)
    if stride > 1 and not patches.scatter[patch] > 0.0:
        _measure(X, weights, patch, 1, moments, patches)


@helper
def _divide(X, weights, patch, patches):
    """Bring rows up to the mean of the widest column to the front; returns where the others begin.

    Every row is exchanged with the first of the others, whether it goes to the front or not: that is twice as fast as
    to ask, because the answer cannot be predicted.
    """
    column, middle, front = patches.widest[patch], patches.middle[patch], patches.first[patch]
    for i in range(patches.first[patch], patches.stop[patch]):
        goes = X[i, column] <= middle
        for t in range(X.shape[1]):
            X[i, t], X[front, t] = X[front, t], X[i, t]
        weights[i], weights[front] = weights[front], weights[i]
        front += np.int64(goes)
    return front


@helper
def _sink(heap, count, scatter):
    """Bring the patch at the top of the heap to its place."""
    at, patch = 0, heap[0]
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        if child + 1 < count and scatter[heap[child + 1]] > scatter[heap[child]]:
            child += 1
        if scatter[heap[child]] <= scatter[patch]:
            break
        heap[at], at = heap[child], child
    heap[at] = patch


@helper
def _rise(heap, at, scatter):
    """Bring the patch at the end of the heap to its place."""
    patch = heap[at]
    while at > 0 and scatter[heap[(at - 1) // 2]] < scatter[patch]:
        heap[at], at = heap[(at - 1) // 2], (at - 1) // 2
    heap[at] = patch


@kernel
def divide_into_patches(
    X,  # INOUT  (n, d)  prepared rows, brought into another order
    weights,  # INOUT  (n,)    brought into the same order
    patches,  # OUT  see ``patches.Patches``
    heap,  # OUT  (count,)  patches; the one that scatters most comes first
    moments,  # OUT  (1 + 2 d,)  work space
    means,  # OUT  (count, d)
    totals,  # OUT  (count,)  weights
):
    """Divide the patch that scatters most, at its mean, until there are ``count``; returns how many there are."""
    (count, d), found = means.shape, 1
    patches.first[0], patches.stop[0], heap[0] = 0, len(X), 0
    _measure_part(X, weights, 0, moments, patches)
    while found < count and patches.scatter[heap[0]] > 0.0:
        patch = heap[0]
        middle = _divide(X, weights, patch, patches)
        if middle == patches.first[patch] or middle == patches.stop[patch]:  # its rows are equal but for rounding
            patches.scatter[patch] = 0.0
            _sink(heap, found, patches.scatter)
            continue
        patches.first[found], patches.stop[found], patches.stop[patch] = middle, patches.stop[patch], middle
        _measure_part(X, weights, patch, moments, patches)
        _measure_part(X, weights, found, moments, patches)
        _sink(heap, found, patches.scatter)
        heap[found] = found
        _rise(heap, found, patches.scatter)
        found += 1
    for patch in range(found):
        _measure(X, weights, patch, 1, moments, patches)
        totals[patch] = moments[0]
        for t in range(d):
            means[patch, t] = X[patches.first[patch], t] + moments[1 + t] / moments[0]
    return found
