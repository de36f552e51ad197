"""Compare the rules of I_m with each other and with k-means: E_m after 30 passes, mean of three seeds.

    python benchmarks/rules.py            GloVe 60K, k = 600; results/rules.json
    python benchmarks/rules.py --quick    scikit-learn's digits, k = 50; writes no results

Each rule starts from random labels, as in the paper. Expected: released < hartigan ≈ paper < Lloyd k-means++ < online.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from common import load, peak_bytes, print_table, reset_peak, save, short
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from ksums import KSums, metrics

SEEDS, PASSES = (0, 1, 2), 30
"""Each method runs with these seeds and makes this many passes."""
RULES = ("released", "hartigan", "paper", "online")
"""These rules of I_m are compared."""


def methods(k: int) -> dict:
    """Map each name to a function of a seed that returns an unfitted model."""
    options = {"init": "random-labels", "max_iter": PASSES, "tol": 0}
    models = {
        f"k-sums I_m, {rule}": (lambda seed, rule=rule: KSums(k, rule=rule, random_state=seed, **options))
        for rule in RULES
    }
    models["k-sums I_s"] = lambda seed: KSums(k, objective="pairwise", rule="paper", random_state=seed, **options)
    for init in ("k-means++", "random"):
        models[f"scikit-learn Lloyd, {init}"] = lambda seed, init=init: KMeans(
            k, init=init, n_init=1, max_iter=PASSES, tol=0, random_state=seed
        )
    return models


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="use a small data set and write no results")
    quick = parser.parse_args().quick
    X, k, name = (load_digits().data, 50, "digits") if quick else (load("glove100/glove60k.npy"), 600, "GloVe 60K")
    KSums(k, max_iter=1).fit(X[: 2 * k])  # Compile the kernels, or load them from disk.
    rows = []
    for method, make in methods(k).items():
        reset_peak()
        before, values, pairs, seconds = peak_bytes(), [], [], []
        for seed in SEEDS:
            started = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # The fit need not converge.
                labels = make(seed).fit(X).labels_
            seconds.append(time.perf_counter() - started)
            values.append(metrics.distortion(X, labels))
            pairs.append(metrics.pairwise(X, labels))
        rows.append(
            {
                "method": method,
                "E_m": float(np.mean(values)),
                "sd": float(np.std(values)),
                "E_s": float(np.mean(pairs)),
                "seconds": float(np.mean(seconds)),
                "added MB": (peak_bytes() - before) / 1e6,
            }
        )
        print_table(rows[-1:], list(rows[-1]), short)
    print(f"\n{name}, {X.shape[0]} × {X.shape[1]}, k = {k}, {PASSES} passes, mean of {len(SEEDS)} seeds, 2 threads\n")
    rows.sort(key=lambda row: row["E_m"])
    print_table(rows, list(rows[0]), short)
    if not quick:
        save("rules", {"data": name, "n": X.shape[0], "d": X.shape[1], "k": k, "passes": PASSES, "rows": rows})


if __name__ == "__main__":
    main()
