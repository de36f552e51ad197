"""Time a fit with one and two threads while other processes use the cores, compared with scikit-learn's Lloyd.

    python benchmarks/busy.py            GloVe 20K, k = 1,000; results/busy.json
    python benchmarks/busy.py --quick    scikit-learn's digits, k = 300; writes no results

Threads that wait for each other suffer most from other busy processes, such as joblib workers or a test run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings

import numpy as np
from common import load, peak_bytes, print_table, reset_peak, save, short
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from ksums import KSums, metrics

PASSES, TIMES = 5, 5
"""Each fit makes this many passes and is repeated this many times."""
BUSY = "import numpy as np\na = np.ones(300)\nwhile True: sum(a)"
"""This script keeps one core busy."""


def methods(k: int) -> dict:
    """Map each name to a function of the number of threads that returns an unfitted model."""
    options = {"max_iter": PASSES, "tol": 0, "random_state": 0}
    return {
        "k-sums": lambda threads: KSums(k, rule="hartigan", init="random-labels", n_threads=threads, **options),
        "scikit-learn Lloyd": lambda threads: KMeans(k, init="random", n_init=1, algorithm="lloyd", **options),
    }


def timed_fit(make, threads: int, X: np.ndarray) -> tuple[float, float]:
    """Return the seconds of one fit and E_m of its labels."""
    model = make(threads)
    with threadpool_limits(threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The fit need not converge.
        started = time.perf_counter()
        model.fit(X)
        return time.perf_counter() - started, metrics.distortion(X, model.labels_)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="use a small data set and write no results")
    quick = parser.parse_args().quick
    X, k, name = (
        (load_digits().data, 300, "digits") if quick else (load("glove100/glove60k.npy")[:20_000], 1000, "GloVe 20K")
    )
    rows = []
    for make in methods(k).values():
        timed_fit(make, 2, X)  # Compile the kernels, or load them from disk.
    for busy in (0, 1, 2):
        others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(busy)]
        time.sleep(1.0 if busy else 0.0)
        try:
            for method, make in methods(k).items():
                for threads in (1, 2):
                    reset_peak()
                    before = peak_bytes()
                    runs = [timed_fit(make, threads, X) for _ in range(TIMES)]
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
    print(f"\n{name}, {X.shape[0]} × {X.shape[1]}, k = {k}, {PASSES} passes, median and maximum of {TIMES} fits\n")
    print_table(rows, list(rows[0]), short)
    if not quick:
        facts = {"data": name, "n": X.shape[0], "d": X.shape[1], "k": k, "passes": PASSES, "times": TIMES}
        save("busy", {**facts, "rows": rows})


if __name__ == "__main__":
    main()
