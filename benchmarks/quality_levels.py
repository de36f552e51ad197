"""What the levels of ``effort`` cost and bring, and two promises: known optima are found, and GloVe beats k-means++.

python benchmarks/quality_levels.py    about ten minutes; results/quality_levels.json
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from common import forget_peak, load, peak_bytes, save, short, table
from quality import CASES, data, warm_up
from sklearn.cluster import KMeans

from ksums import KSums, metrics

SEEDS = (0, 1, 2, 3, 4)
LEVELS: tuple[str | float, ...] = ("low", "default", "high", 1.0)
SETS = ("u1060", "pcb3038", "image", "page", "magic", "letter", "sift10k", "glove10k")
FRANTI = ("a1", "a2", "s1", "s2", "s4", "unbalance", "dim32", "birch1")
FRANTI_SEEDS = range(20)
FOUND = 1e-3  # an SSE this close to that of the true clusters is theirs: a wrong structure costs percents


def fits(X: np.ndarray, seeds, make) -> dict[str, Any]:
    """Values and seconds of some fits, and the memory that they add."""
    forget_peak()
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
    rows = []
    for case in (case for case in CASES if case.name in SETS):
        X, k = data(case), case.ks[-1]
        peer = fits(X, SEEDS, lambda seed, k=k: KMeans(k, random_state=seed))
        for level in LEVELS:
            found = fits(X, SEEDS, lambda seed, k=k, level=level: KSums(k, effort=level, random_state=seed))
            row = {"data": case.name, "n": len(X), "d": X.shape[1], "k": k, "effort": level, **found}
            rows.append(row | {"E_m / kmeans": found["E_m"] / peer["E_m"], "s / kmeans": found["s"] / peer["s"]})
            table(rows[-1:], ["data", "k", "effort", "E_m / kmeans", "s / kmeans", "s", "MB", "trials"], short)
    return rows


def known_optima() -> list[dict[str, Any]]:
    """The artificial sets of Fränti and Sieranoja, whose true clusters are given."""
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
        table(rows[-1:], ["data", "k", "seeds", "ksums found", "sklearn found", "ksums s", "sklearn s"], short)
    return rows


def glove() -> dict[str, Any]:
    """Default settings on word vectors, beside k-means++ run to its end."""
    X, k = load("glove100/glove60k.npy"), 600
    peer = fits(X, (0, 1, 2), lambda seed: KMeans(k, max_iter=300, random_state=seed))
    found = fits(X, (0, 1, 2), lambda seed: KSums(k, random_state=seed))
    row = {"data": "glove60k", "n": len(X), "d": X.shape[1], "k": k, "ksums": found, "sklearn": peer}
    row |= {"below %": 100 * (1 - found["E_m"] / peer["E_m"]), "s / sklearn": found["s"] / peer["s"]}
    table([row], ["data", "k", "below %", "s / sklearn"], short)
    return row


def main() -> None:
    warm_up()
    save("quality_levels", {"glove": glove(), "optima": known_optima(), "levels": levels()})


if __name__ == "__main__":
    main()
