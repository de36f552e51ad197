"""Compare the levels of ``effort`` in time and quality; check that fits find known optima and beat k-means++ on GloVe.

python benchmarks/quality_levels.py    about ten minutes; results/quality_levels.json
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from common import load, peak_bytes, print_table, reset_peak, save, short
from quality import CASES, data, warm_up
from sklearn.cluster import KMeans

from ksums import KSums, metrics

SEEDS = (0, 1, 2, 3, 4)
"""Results of the levels are means over these seeds."""
LEVELS: tuple[str | float, ...] = ("low", "default", "high", 1.0)
"""These levels of effort are compared; a number is seconds."""
SETS = ("u1060", "pcb3038", "image", "page", "magic", "letter", "sift10k", "glove10k")
"""The levels are compared on these cases of ``quality.py``."""
FRANTI = ("a1", "a2", "s1", "s2", "s4", "unbalance", "dim32", "birch1")
"""The true clusters of these data sets are known."""
FRANTI_SEEDS = range(20)
"""Each of these data sets is fitted with these seeds."""
FOUND = 1e-3
"""A fit has found the true clusters if its SSE is within this share of theirs; a wrong structure costs percents."""


def fits(X: np.ndarray, seeds, make) -> dict[str, Any]:
    """Fit once for each seed; return values, seconds, trials, and the memory that the fits add."""
    reset_peak()
    before, values, seconds, trials = peak_bytes(), [], [], []
    for seed in seeds:
        started = time.perf_counter()
        model = make(seed).fit(X)
        seconds.append(time.perf_counter() - started)
        values.append(metrics.distortion(X, model.labels_))
        trials.append(sum(record.trials for record in getattr(model, "history_", [])))
    return {
        "E_m": float(np.mean(values)),
        "sd": float(np.std(values)),
        "s": float(np.mean(seconds)),
        "MB": (peak_bytes() - before) / 1e6,
        "trials": float(np.mean(trials)),
        "values": values,
    }


def levels() -> list[dict[str, Any]]:
    """Compare each level of effort with scikit-learn's KMeans."""
    rows = []
    for case in (case for case in CASES if case.name in SETS):
        X, k = data(case), case.ks[-1]
        peer = fits(X, SEEDS, lambda seed, k=k: KMeans(k, random_state=seed))
        for level in LEVELS:
            found = fits(X, SEEDS, lambda seed, k=k, level=level: KSums(k, effort=level, random_state=seed))
            row = {"data": case.name, "n": len(X), "d": X.shape[1], "k": k, "effort": level, **found}
            rows.append(row | {"E_m / kmeans": found["E_m"] / peer["E_m"], "s / kmeans": found["s"] / peer["s"]})
            print_table(rows[-1:], ["data", "k", "effort", "E_m / kmeans", "s / kmeans", "s", "MB", "trials"], short)
    return rows


def known_optima() -> list[dict[str, Any]]:
    """Count how often fits find the true clusters of the artificial sets of Fränti and Sieranoja."""
    rows = []
    for name in FRANTI:
        X = load(f"franti/{name}.npz:X").astype(np.float64)
        truth = load(f"franti/{name}.npz:centroids")
        k = len(truth)
        true = metrics.distortion(X, KMeans(k, init=truth, n_init=1, tol=0).fit(X).labels_)
        row: dict[str, Any] = {"data": name, "n": len(X), "d": X.shape[1], "k": k, "SSE of the truth": true * len(X)}
        for method, make in (
            ("ksums", lambda seed, k=k: KSums(k, random_state=seed)),
            ("sklearn", lambda seed, k=k: KMeans(k, random_state=seed)),
        ):
            found = fits(X, FRANTI_SEEDS, make)
            hits = sum(value <= true * (1 + FOUND) for value in found["values"])
            row |= {f"{method} found": hits, f"{method} s": found["s"], f"{method} MB": found["MB"]}
            row |= {f"{method} mean above": found["E_m"] / true - 1}
        rows.append(row | {"seeds": len(FRANTI_SEEDS)})
        print_table(rows[-1:], ["data", "k", "seeds", "ksums found", "sklearn found", "ksums s", "sklearn s"], short)
    return rows


def glove() -> dict[str, Any]:
    """Compare default settings on word vectors with k-means++ of up to 300 iterations."""
    X, k = load("glove100/glove60k.npy"), 600
    peer = fits(X, (0, 1, 2), lambda seed: KMeans(k, max_iter=300, random_state=seed))
    found = fits(X, (0, 1, 2), lambda seed: KSums(k, random_state=seed))
    row = {"data": "glove60k", "n": len(X), "d": X.shape[1], "k": k, "ksums": found, "sklearn": peer}
    row |= {"below %": 100 * (1 - found["E_m"] / peer["E_m"]), "s / sklearn": found["s"] / peer["s"]}
    print_table([row], ["data", "k", "below %", "s / sklearn"], short)
    return row


def main() -> None:
    warm_up()
    save("quality_levels", {"glove": glove(), "optima": known_optima(), "levels": levels()})


if __name__ == "__main__":
    main()
