"""Compare IVF and PQ indexes trained by ksums with those trained by faiss, on the same vectors.

    python benchmarks/ivf_recall.py            results/ivf_recall.json

For each nprobe: recall@10 of 5,000 queries that are not among the vectors, and the share of the vectors that a query is
compared with; for each index, the time and the memory of training. faiss trains twice: with its defaults (10
iterations, at most 256 vectors for each cell) and with 25 iterations on all vectors.
"""

from __future__ import annotations

import time

import faiss
import numpy as np
from common import load, peak_bytes, print_table, reset_peak, save, short

from ksums import KSums
from ksums.contrib.faiss import train_ivf, train_pq

QUERIES, NEAREST = 5000, 10
"""There are this many queries, and each asks for this many nearest vectors."""
CELLS = (256, 1024, 4096)
"""IVF indexes have these numbers of cells."""
PROBES = (1, 2, 4, 8, 16, 32, 64)
"""A query visits these numbers of cells."""
PARTS = {128: (16, 32), 100: (10, 20)}
"""For each number of dimensions, PQ codes have these numbers of bytes."""


def data() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the vectors and the queries of each data set."""
    rng = np.random.default_rng(0)
    sift = load("sift/sift200k_base.npy").astype(np.float32)
    learn = load("sift/sift100k_learn.npy").astype(np.float32)
    glove = load("glove100/glove60k.npy")
    glove = glove[rng.permutation(len(glove))]
    return {
        "sift200k": (sift, learn[rng.choice(len(learn), QUERIES, replace=False)]),
        "glove60k": (glove[QUERIES:], glove[:QUERIES]),
    }


def by_faiss(index: faiss.Index, X: np.ndarray, thorough: bool) -> faiss.Index:
    """Train an index with faiss: with its defaults, or thoroughly with 25 iterations on all vectors."""
    if thorough:
        index.cp.niter, index.cp.max_points_per_centroid = 25, len(X)
    index.train(X)
    return index


def recall(index: faiss.Index, queries: np.ndarray, truth: np.ndarray) -> float:
    """Return the mean share of the true nearest vectors that the index finds."""
    found = index.search(queries, NEAREST)[1]
    return float(np.mean([len(np.intersect1d(a, b)) / NEAREST for a, b in zip(found, truth, strict=True)]))


def timed(train) -> tuple[faiss.Index, float, float]:
    """Train an index; return it with the seconds and the megabytes that this took."""
    reset_peak()
    before, started = peak_bytes(), time.perf_counter()
    index = train()
    return index, time.perf_counter() - started, (peak_bytes() - before) / 2**20


def ivf(name: str, X: np.ndarray, queries: np.ndarray, truth: np.ndarray) -> list[dict]:
    """Compare IVF indexes for each number of cells and of probes."""
    rows, d = [], X.shape[1]
    for cells in CELLS:
        trainers = {
            "ksums, high": lambda cells=cells: train_ivf(X, cells, random_state=0),
            "ksums, default": lambda cells=cells: train_ivf(X, cells, effort="default", random_state=0),
            "faiss": lambda cells=cells: by_faiss(faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, cells), X, False),
            "faiss, 25 on all": lambda cells=cells: by_faiss(
                faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, cells), X, True
            ),
        }
        for trainer, train in trainers.items():
            index, seconds, memory = timed(train)
            index.add(X)
            for index.nprobe in PROBES:
                faiss.cvar.indexIVF_stats.reset()
                row = {"data": name, "n": len(X), "cells": cells, "trained by": trainer, "seconds": seconds}
                row |= {"memory MB": memory, "nprobe": index.nprobe, "recall@10": recall(index, queries, truth)}
                row["share compared"] = faiss.cvar.indexIVF_stats.ndis / len(queries) / len(X)
                rows.append(row)
    print_table(rows, ["data", "cells", "trained by", "seconds", "nprobe", "recall@10", "share compared"], short)
    return rows


def pq(name: str, X: np.ndarray, queries: np.ndarray, truth: np.ndarray) -> list[dict]:
    """Compare product quantisers for each number of bytes."""
    rows, d = [], X.shape[1]
    for m in PARTS[d]:
        trainers = {
            "ksums": lambda m=m: train_pq(X, m, random_state=0),
            "faiss": lambda m=m: by_faiss(faiss.IndexPQ(d, m, 8), X, False),
        }
        for trainer, train in trainers.items():
            index, seconds, memory = timed(train)
            index.add(X)
            error = float(np.square(index.pq.decode(index.pq.compute_codes(X)) - X).sum(axis=1).mean())
            row = {"data": name, "n": len(X), "bytes": m, "trained by": trainer, "seconds": seconds}
            rows.append(row | {"memory MB": memory, "error": error, "recall@10": recall(index, queries, truth)})
    print_table(rows, ["data", "bytes", "trained by", "seconds", "error", "recall@10"], short)
    return rows


def main() -> None:
    X = np.random.default_rng(0).normal(size=(3000, 8)).astype(np.float32)
    KSums(256, engine="neighbors", random_state=0).fit(X)  # Compile the kernels, or load them from disk.
    results = {"ivf": [], "pq": []}
    for name, (X, queries) in data().items():
        flat = faiss.IndexFlatL2(X.shape[1])
        flat.add(X)
        truth = flat.search(queries, NEAREST)[1]
        results["ivf"] += ivf(name, X, queries, truth)
        results["pq"] += pq(name, X, queries, truth)
    save("ivf_recall", results)


if __name__ == "__main__":
    main()
