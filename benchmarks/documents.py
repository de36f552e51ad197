"""The paper's document clustering (Tab. 2a and 2b): entropy of all methods on 13 of its 15 sets, beside its figures.

    python benchmarks/documents.py             all sets; results/documents.json
    python benchmarks/documents.py --quick     three small sets, 3 runs; nothing written

Protocol: tf · ln(N/df), rows of unit length, cosine; k = 5, 10, 15, 20; of 10 runs the one with the lowest E_m (for I_s
the lowest E_s) is kept; entropy, averaged over the sets. E_m is what the method brings down: mean cosine distance to
the centroid where directions are compared, mean squared distance for k-means#, Hartigan and the released code. A
bisecting run is one tree, cut at each k. Also recorded: the mean of all runs, less noisy than the best of ten.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from common import DATA, HERE, forget_peak, peak_bytes, save, table
from scipy import sparse

from ksums import METHODS, metrics
from ksums.text import TfIdf

SETS = ["classic", "fbis", "hitech", "k1a", "k1b", "la12", "ohscal", "re0", "re1", "reviews", "tr31", "tr41", "wap"]
KS = (5, 10, 15, 20)
PAPER = {
    "k-means": (0.539, 0.443, 0.402, 0.387),
    "k-means++": (0.550, 0.441, 0.403, 0.389),
    "Mini-Batch": (0.585, 0.488, 0.469, 0.475),
    "LVQ": (0.800, 0.761, 0.681, 0.674),
    "k-means#": (0.552, 0.442, 0.388, 0.368),
    "Hartigan": (0.451, 0.358, 0.331, 0.307),
    "IKM": (0.465, 0.401, 0.366, 0.358),
    "k-sums-Im": (0.452, 0.362, 0.330, 0.312),
    "k-sums-Is": (0.445, 0.357, 0.325, 0.308),
    "bisecting k-means": (0.532, 0.438, 0.410, 0.373),
    "bisecting k-means++": (0.507, 0.422, 0.400, 0.379),
    "bisecting k-means#": (0.514, 0.388, 0.353, 0.329),
    "bisecting IKM": (0.465, 0.390, 0.353, 0.330),
    "bisecting k-sums-Im": (0.449, 0.367, 0.335, 0.311),
    "bisecting k-sums-Is": (0.494, 0.408, 0.359, 0.345),
}
"""As printed, for 15 sets."""
NAMES = (*PAPER, "k-sums-Im (released)", "ksums")


def load_set(name: str) -> tuple[sparse.csr_array, np.ndarray]:
    folder = DATA / "docs" / name
    if not folder.is_dir():
        sys.exit(f"docs/{name} is not in the data folder; set KSUMS_DATA to the folder that holds it.")
    counts = sparse.csr_array(sparse.load_npz(folder / "X.npz")).astype(np.float64)
    return TfIdf().fit_transform(counts), np.load(folder / "y.npy")


def runs_of(method: str, X: sparse.csr_array, seeds: range) -> dict[int, list[tuple[float, np.ndarray]]]:
    """For each k and run: what runs are chosen by, and the labels."""
    found: dict[int, list[tuple[float, np.ndarray]]] = {k: [] for k in KS}
    for seed in seeds:
        if method.startswith("bisecting"):
            model = METHODS[method](max(KS), "cosine", seed).fit(X)
            for k in KS:
                found[k].append((model.tree_.objectives[k - 1], model.cut(k)))
        else:
            for k in KS:
                model = METHODS[method](k, "cosine", seed).fit(X)
                found[k].append((model.objective_, model.labels_))
    return found


def run_set(name: str, runs: int, methods: tuple[str, ...]) -> list[dict]:
    X, classes = load_set(name)
    rows = []
    for method in methods:
        METHODS[method](2, "cosine", 0).fit(X[:200])  # loaded, and compiled if need be
    for method in methods:
        forget_peak()
        before, started = peak_bytes(), time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that clusters are copies of each other
            found = runs_of(method, X, range(runs))
        seconds = time.perf_counter() - started
        for k in KS:
            values = [metrics.entropy(classes, labels) for _, labels in found[k]]
            best = int(np.argmin([value for value, _ in found[k]]))
            rows.append(
                {
                    "set": name,
                    "method": method,
                    "k": k,
                    "entropy": values[best],
                    "mean of runs": float(np.mean(values)),
                    "sd of runs": float(np.std(values)),
                    "seconds": seconds / len(KS),
                    "added MB": (peak_bytes() - before) / 1e6,
                }
            )
    return rows


def summary(rows: list[dict]) -> list[dict]:
    """One line for each method: mean entropy at each k beside the paper's, time and memory beside k-means."""
    sets = sorted({row["set"] for row in rows})

    def of(method: str, value: str, **where) -> list[float]:
        fitting = (row for row in rows if row["method"] == method and all(row[key] == where[key] for key in where))
        return [row[value] for row in fitting]

    lines = []
    for method in NAMES:

        def ahead(value: str, method: str = method) -> int:
            """Sets on which the method is better than k-means, all k taken together."""
            return sum(sum(of(method, value, set=name)) < sum(of("k-means", value, set=name)) for name in sets)

        lines.append(
            {
                "method": method,
                **{f"k={k}": float(np.mean(of(method, "entropy", k=k))) for k in KS},
                **{f"paper {k}": value for k, value in zip(KS, PAPER.get(method, ()), strict=False)},
                **{f"mean {k}": float(np.mean(of(method, "mean of runs", k=k))) for k in KS},
                "sets ahead of k-means": ahead("entropy"),
                "by mean of runs": ahead("mean of runs"),
                "time / k-means": sum(of(method, "seconds")) / sum(of("k-means", "seconds")),
                "added MB": max(of(method, "added MB")),
            }
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=NAMES, help="in place of the earlier results of these methods")
    given = parser.parse_args()
    quick, methods = given.quick, tuple(given.only or NAMES)
    sets, runs = (["tr41", "re0", "tr31"], 3) if quick else (SETS, 10)
    started, rows, minutes = time.perf_counter(), [], 0.0
    if given.only:
        kept = json.loads((HERE / "results" / "documents.json").read_text())["results"]
        rows, minutes = [row for row in kept["rows"] if row["method"] not in methods], kept["minutes"]
    with ProcessPoolExecutor(2) as pool:  # sparse kernels use one thread
        by_size = sorted(sets, key=lambda name: -(DATA / "docs" / name / "X.npz").stat().st_size)
        for done in pool.map(run_set, by_size, [runs] * len(sets), [methods] * len(sets)):
            rows += done
            print(done[0]["set"], flush=True)
    minutes += (time.perf_counter() - started) / 60
    lines = summary(rows)
    print(f"\n{len(sets)} sets, {runs} runs, {minutes:.1f} minutes\n")
    table(lines, list(lines[0]), lambda value: f"{value:.3f}" if isinstance(value, float) else str(value))
    if not quick:
        save("documents", {"runs": runs, "sets": sets, "minutes": minutes, "summary": lines, "rows": rows})


if __name__ == "__main__":
    main()
