"""Compare PairwiseKSums with FasterPAM: distances of all kinds, and time from 1,000 to 20,000 samples.

    python benchmarks/distances.py             about seven minutes; results/distances.json
    python benchmarks/distances.py quality     only the part with the data sets
    python benchmarks/distances.py time        only the part with the times

FasterPAM (Schubert and Rousseeuw, 2021) is that of the package kmedoids, with its default start and all threads; it
minimises the mean distance to the nearest medoid. Both get the same matrix of float32. Ours checks it first, and that
is part of its time.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any, NamedTuple

import kmedoids
import numpy as np
from common import DATA, HERE, load, peak_bytes, print_table, reset_peak, save, short
from numba import njit
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from ksums import PairwiseKSums

SEEDS = (0, 1, 2)
SIZES = (1_000, 5_000, 10_000, 20_000)
CLUSTERS = (10, 100)
CATEGORICAL = ("mushroom", "soybean", "vote", "zoo", "dermatology", "splice")
LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Case(NamedTuple):
    """Samples with a distance."""

    name: str
    square: np.ndarray
    classes: np.ndarray | None
    k: int


def cases() -> Iterator[Case]:
    """All data sets of the comparison."""
    X, y = load_digits(return_X_y=True)
    for metric in ("l1", "cosine", "l2"):
        yield Case(f"digits, {metric}", by_name(X, metric), y, 10)
    yield Case("s2, l1", by_name(load("franti/s2.npz:X").astype(float), "l1"), load("franti/s2.npz:labels"), 15)
    for name in CATEGORICAL:
        y = load(f"categorical/{name}.npz:y")
        yield Case(f"{name}, Hamming", hamming(load(f"categorical/{name}.npz:X")), y, len(np.unique(y)))
    lines = (DATA / "glove100" / "words60k.txt").read_text("utf-8").split()
    words = [word for word in lines if word.isascii() and word.isalpha() and len(word) >= 4]
    yield Case("2,000 words, edits", edit_distances(words[:2000]), None, 50)
    rng = np.random.default_rng(0)
    spelt, y = misspelt([words[i] for i in rng.permutation(5000)[:100]], 20, 2, rng)
    yield Case("100 words, 20 spellings each, edits", edit_distances(spelt), y, 100)
    yield Case("the same, Jaccard of letter pairs", jaccard_of_pairs(spelt), y, 100)


def by_name(X: np.ndarray, metric: str) -> np.ndarray:
    """Return the distances that scikit-learn computes."""
    square = pairwise_distances(X, metric=metric).astype(np.float32)
    return np.maximum(square, square.T)


def hamming(X: np.ndarray) -> np.ndarray:
    """Return the share of attributes that differ, of those known in both rows; 0.5 if there is none."""
    differ, both = np.zeros((2, len(X), len(X)), np.float32)
    for column in X.T:
        known = np.outer(column >= 0, column >= 0)
        both += known
        differ += known & (column[:, None] != column)
    share = np.divide(differ, both, out=np.full_like(differ, 0.5), where=both > 0)
    np.fill_diagonal(share, 0.0)
    return share


def jaccard_of_pairs(words: list[str]) -> np.ndarray:
    """Return the Jaccard distances of the sets of neighbouring letters."""
    pairs = [{f"^{word}$"[i : i + 2] for i in range(len(word) + 1)} for word in words]
    column = {pair: at for at, pair in enumerate(sorted(set().union(*pairs)))}
    members = np.zeros((len(words), len(column)), np.float32)
    for row, own in zip(members, pairs, strict=True):
        row[[column[pair] for pair in own]] = 1
    common, sizes = members @ members.T, members.sum(axis=1)
    return 1 - common / (sizes[:, None] + sizes - common)


def misspelt(words: list[str], copies: int, changes: int, rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """Return each word several times with random edits, and which word it was."""
    found = []
    for word in np.repeat(words, copies):
        letters = list(word)
        for _ in range(changes):
            at, letter, kind = rng.integers(len(letters)), LETTERS[rng.integers(26)], rng.integers(3)
            if kind == 0:
                letters[at] = letter
            elif kind == 1:
                letters.insert(at, letter)
            elif len(letters) > 2:
                del letters[at]
        found.append("".join(letters))
    return found, np.repeat(np.arange(len(words)), copies)


def edit_distances(words: list[str]) -> np.ndarray:
    """Return the Levenshtein distances of all pairs."""
    codes = np.zeros((len(words), max(map(len, words))), np.int32)
    for row, word in zip(codes, words, strict=True):
        row[: len(word)] = [ord(letter) for letter in word]
    return _edits(codes, np.array([len(word) for word in words]))


@njit(cache=True)
def _edits(codes: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    n, longest = codes.shape
    square, row = np.zeros((n, n), np.float32), np.zeros(longest + 1, np.int64)
    for a in range(n):
        for b in range(a):
            for j in range(lengths[b] + 1):
                row[j] = j
            for i in range(1, lengths[a] + 1):
                diagonal, row[0] = row[0], i
                for j in range(1, lengths[b] + 1):
                    change = diagonal + (codes[a, i - 1] != codes[b, j - 1])
                    diagonal = row[j]
                    row[j] = min(change, row[j] + 1, row[j - 1] + 1)
            square[a, b] = square[b, a] = row[lengths[b]]
    return square


def figures(square: np.ndarray, labels: np.ndarray, k: int) -> dict[str, float]:
    """Return all measures of some labels, in float64, for whichever method made them."""
    normalised = pairs = own_medoid = 0.0
    medoids = []
    for r in range(k):
        members = np.flatnonzero(labels == r)
        if len(members):
            sums = square[np.ix_(members, members)].sum(axis=1, dtype=np.float64)
            pairs += sums.sum() / 2
            normalised += sums.sum() / 2 / len(members)
            own_medoid += sums.min()
            medoids.append(members[sums.argmin()])
    nearest = float(square[medoids].min(axis=0).mean(dtype=np.float64))
    n = len(labels)
    return {"normalised": normalised / n, "pairs": pairs / n, "own medoid": own_medoid / n, "nearest medoid": nearest}


def ours(**parameters: Any) -> Callable[[np.ndarray, int, int], np.ndarray]:
    def fit(square: np.ndarray, k: int, seed: int) -> np.ndarray:
        return PairwiseKSums(k, metric="precomputed", random_state=seed, **parameters).fit(square).labels_

    return fit


def fasterpam(square: np.ndarray, k: int, seed: int) -> np.ndarray:
    return np.asarray(kmedoids.fasterpam(square, k, random_state=seed).labels).astype(np.int64)


METHODS = {
    "ksums": ours(),
    "ksums, pairwise": ours(objective="pairwise"),
    "ksums, medoids": ours(polish="medoids"),
    "FasterPAM": fasterpam,
}


def measured(method: str, square: np.ndarray, classes: np.ndarray | None, k: int) -> dict[str, Any]:
    """Run a method with all seeds; measures are means, time is the median."""
    runs, seconds = [], []
    reset_peak()
    before = peak_bytes()
    for seed in SEEDS:
        started = time.perf_counter()
        labels = METHODS[method](square, k, seed)
        seconds.append(time.perf_counter() - started)
        runs.append(labels)
    row: dict[str, Any] = {"method": method, "MB": (peak_bytes() - before) / 1e6, "s": float(np.median(seconds))}
    found = [figures(square, labels, k) for labels in runs]
    row |= {name: float(np.mean([measures[name] for measures in found])) for name in found[0]}
    row["normalised of each seed"] = [measures["normalised"] for measures in found]
    if classes is not None:
        row["ARI"] = float(np.mean([adjusted_rand_score(classes, labels) for labels in runs]))
    return row


COLUMNS = ["method", "normalised", "pairs", "own medoid", "nearest medoid", "ARI", "s", "MB"]


def quality() -> list[dict[str, Any]]:
    found = []
    for case in cases():
        print(f"{case.name}: n = {len(case.square):,}, k = {case.k}")
        rows = [
            {"data": case.name, "n": len(case.square), "k": case.k, **measured(method, *case[1:])} for method in METHODS
        ]
        print_table(rows, COLUMNS, short)
        found += rows
    return found


def timing() -> list[dict[str, Any]]:
    """Measure on rows of MNIST, 16 random projections each, by their l1 distances."""
    images, rng, found = load("mnist/mnist.npz:X"), np.random.default_rng(0), []
    basis = rng.standard_normal((784, 16))
    for n in SIZES:
        points = (images[rng.permutation(len(images))[:n]] @ basis / 1000).astype(np.float32)
        square = np.empty((n, n), np.float32)
        for first in range(0, n, 1000):
            square[first : first + 1000] = pairwise_distances(points[first : first + 1000], points, metric="l1")
        for k in CLUSTERS:
            rows = [{"n": n, "k": k, **measured(method, square, None, k)} for method in ("ksums", "FasterPAM")]
            print_table(rows, ["n", "k", *COLUMNS], short)
            found += rows
    return found


def main() -> None:
    wanted = sys.argv[1:] or ["quality", "time"]
    small = np.abs(np.arange(60.0)[:, None] - np.arange(60.0)).astype(np.float32)
    for method in METHODS.values():
        method(small, 3, 0)  # compile the kernels
    path = HERE / "results" / "distances.json"
    results = json.loads(path.read_text())["results"] if path.exists() else {}
    results["kmedoids"] = version("kmedoids")
    for part, run in {"quality": quality, "time": timing}.items():
        if part in wanted:
            results[part] = run()
    save("distances", results)


if __name__ == "__main__":
    main()
