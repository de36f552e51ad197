"""The rules of I_m beside each other and beside k-means: E_m after 30 passes, mean of three seeds.

    python benchmarks/rules.py            GloVe 60K, k = 600; results/rules.json
    python benchmarks/rules.py --quick    scikit-learn's digits, k = 50; nothing written

Expected (method: each rule from the paper's random labels): released < hartigan ≈ paper < Lloyd k-means++ < online.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from common import forget_peak, load, peak_bytes, save, short, table
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from ksums import KSums, metrics

SEEDS, PASSES = (0, 1, 2), 30
RULES = ("released", "hartigan", "paper", "online")


def methods(k: int) -> dict:
    """Name -> function of a seed that makes an unfitted model."""
    given = {"init": "random-labels", "max_iter": PASSES, "tol": 0}
    ours = {
        f"k-sums I_m, {rule}": (lambda seed, rule=rule: KSums(k, rule=rule, random_state=seed, **given))
        for rule in RULES
    }
    ours["k-sums I_s"] = lambda seed: KSums(k, objective="pairwise", rule="paper", random_state=seed, **given)
    for init in ("k-means++", "random"):
        ours[f"scikit-learn Lloyd, {init}"] = lambda seed, init=init: KMeans(
            k, init=init, n_init=1, max_iter=PASSES, tol=0, random_state=seed
        )
    return ours


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    X, k, name = (load_digits().data, 50, "digits") if quick else (load("glove100/glove60k.npy"), 600, "GloVe 60K")
    KSums(k, max_iter=1).fit(X[: 2 * k])  # compiled, or loaded from disk
    rows = []
    for method, make in methods(k).items():
        forget_peak()
        before, values, pairs, seconds = peak_bytes(), [], [], []
        for seed in SEEDS:
            started = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it did not converge
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
        table(rows[-1:], list(rows[-1]), short)
    print(f"\n{name}, {X.shape[0]} × {X.shape[1]}, k = {k}, {PASSES} passes, mean of {len(SEEDS)} seeds, 2 threads\n")
    rows.sort(key=lambda row: row["E_m"])
    table(rows, list(rows[0]), short)
    if not quick:
        save("rules", {"data": name, "n": X.shape[0], "d": X.shape[1], "k": k, "passes": PASSES, "rows": rows})


if __name__ == "__main__":
    main()
