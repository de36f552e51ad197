"""The nearest of k centres for many rows, at the speed of a matrix product; the same for any number of threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ksums.compute.arrays import blocks
from ksums.compute.threads import threads
from ksums.method.data.centres import Centres
from ksums.method.data.norms import sq_norms
from ksums.method.data.rows import Rows, plain_rows


class _Worker:
    """One thread's work on some blocks of rows."""

    def __init__(self, rows: Rows, centres: Centres, length: int) -> None:
        from ksums.method.nearest.centre_kernels import workspace  # Numba is loaded by the first fit, not by the import

        self.rows, self.work = rows, workspace(centres.vectors, centres.squares, length)

    def run(self, ids: np.ndarray, labels: np.ndarray) -> None:
        from ksums.method.nearest.centre_kernels import nearest_block

        self.rows.read(ids, self.rows.dtype, out=self.work.rows[: len(ids)])
        nearest_block(len(ids), self.work, labels)


def nearest_centres(rows: Rows, ids: np.ndarray, centres: Centres) -> np.ndarray:
    """For each of the rows, the centre of least ``squares − 2 x·C``; the lowest index on ties."""
    labels = np.empty(len(ids), np.int32)
    if rows.is_sparse:
        first = 0
        for part in rows.blocks_of(ids, len(centres.vectors)):
            products = rows.read(part, np.float64) @ centres.vectors.T
            labels[first : first + len(part)] = np.argmin(centres.squares - 2 * products, axis=1)
            first += len(part)
        return labels
    length = rows.block_length()
    parts = list(blocks(len(ids), length))
    centres = Centres(np.ascontiguousarray(centres.vectors, rows.dtype), centres.squares)

    def work_through(parts: list[slice]) -> None:
        worker = _Worker(rows, centres, min(length, len(ids)))
        for part in parts:
            worker.run(ids[part], labels[part])

    _Worker(rows, centres, 1).run(ids[:0], labels[:0])  # compiles, if need be, before there are threads
    count = min(threads(), len(parts))
    if count <= 1:
        work_through(parts)
    else:
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(work_through, [parts[thread::count] for thread in range(count)]))
    if len(labels) and labels.min() < 0:
        raise ValueError(
            f"row {int(ids[labels.argmin()])} is so far from the centres that {rows.dtype} overflows; convert X to "
            "float64, or divide it by a constant."
        )
    return labels


def nearest_points(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The same for the rows of a dense array as they are, by squared distance."""
    return nearest_centres(plain_rows(points), np.arange(len(points)), Centres(centres, sq_norms(centres)))
