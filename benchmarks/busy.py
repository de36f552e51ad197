"""What a fit costs when other processes want the cores too: one thread and two, beside scikit-learn's Lloyd.

    python benchmarks/busy.py            GloVe 20K, k = 1,000; results/busy.json
    python benchmarks/busy.py --quick    scikit-learn's digits, k = 300; nothing written

Joblib, a test run or a neighbour on the machine: threads that wait for each other suffer from that most.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings

import numpy as np
from common import forget_peak, load, peak_bytes, save, short, table
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from ksums import KSums, metrics

PASSES, TIMES = 5, 5
BUSY = "import numpy as np\na = np.ones(300)\nwhile True: sum(a)"


def methods(k: int) -> dict:
    """Name -> function of a number of threads that makes an unfitted model."""
    given = {"max_iter": PASSES, "tol": 0, "random_state": 0}
    return {
        "k-sums": lambda threads: KSums(k, rule="hartigan", init="random-labels", n_threads=threads, **given),
        "scikit-learn Lloyd": lambda threads: KMeans(k, init="random", n_init=1, algorithm="lloyd", **given),
    }


def fitted(make, threads: int, X: np.ndarray) -> tuple[float, float]:
    """Seconds of one fit, and E_m of its labels."""
    model = make(threads)
    with threadpool_limits(threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it did not converge
        started = time.perf_counter()
        model.fit(X)
        return time.perf_counter() - started, metrics.distortion(X, model.labels_)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    X, k, name = (
        (load_digits().data, 300, "digits") if quick else (load("glove100/glove60k.npy")[:20_000], 1000, "GloVe 20K")
    )
    rows = []
    for make in methods(k).values():
        fitted(make, 2, X)  # compiled, or loaded from disk
    for busy in (0, 1, 2):
        others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(busy)]
        time.sleep(1.0 if busy else 0.0)
        try:
            for method, make in methods(k).items():
                for threads in (1, 2):
                    forget_peak()
                    before = peak_bytes()
                    runs = [fitted(make, threads, X) for _ in range(TIMES)]
                    seconds = [run[0] for run in runs]
                    rows.append(
                        {
                            "method": method,
                            "busy processes": busy,
                            "threads": threads,
                            "seconds": float(np.median(seconds)),
                            "most": max(seconds),
                            "E_m": runs[0][1],
                            "added MB": (peak_bytes() - before) / 1e6,
                        }
                    )
        finally:
            for other in others:
                other.kill()
    for row in rows:
        alone = next(r for r in rows if r["method"] == row["method"] and r["threads"] == 1)
        row["time / one thread alone"] = row["seconds"] / alone["seconds"]
        row["most / one thread alone"] = row["most"] / alone["seconds"]
    print(f"\n{name}, {X.shape[0]} × {X.shape[1]}, k = {k}, {PASSES} passes, median and most of {TIMES} fits\n")
    table(rows, list(rows[0]), short)
    if not quick:
        given = {"data": name, "n": X.shape[0], "d": X.shape[1], "k": k, "passes": PASSES, "times": TIMES}
        save("busy", {**given, "rows": rows})


if __name__ == "__main__":
    main()
