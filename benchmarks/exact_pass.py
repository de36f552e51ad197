"""Time a pass of the exact engine, compared with the machine's matrix product and scikit-learn's Lloyd.

    python benchmarks/exact_pass.py            everything, some minutes; results/exact_pass.json
    python benchmarks/exact_pass.py --quick    fewer cases; writes no results

A pass compares n samples with k clusters in d dimensions, which takes at least 2·n·k·d floating-point operations. For
each case, all times are measured in one process within the same minutes, and memory in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings

import numpy as np
from common import in_new_process, load, peak_bytes, print_table, reset_peak, save, sgemm_rate, short
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from ksums import KSums, metrics

LARGE = [("sift/sift100k_learn.npy", 128, 1024, 10), ("sift/sift100k_learn.npy", 128, 10_000, 5)]
"""Each case is a data set, d, k and the number of passes; it runs with one and with two threads."""
SMALL = [
    ("mnist/mnist.npz:X", 784, 100),
    ("mnist/mnist.npz:X", 784, 10),
    ("sift/sift100k_learn.npy", 64, 8),
    ("sift/sift100k_learn.npy", 18, 1000),
    ("sift/sift100k_learn.npy", 18, 100),
    ("magic/magic.npz:X", 10, 50),
    ("susy10k/susy10k.npz:X", 8, 100),
    ("franti/birch1.npz:X", 2, 100),
    ("franti/s1.npz:X", 2, 15),
]
"""Each case is a data set, d and k; it runs with one thread."""


def data(name: str, d: int) -> np.ndarray:
    """Return the first d columns of a data set."""
    return np.ascontiguousarray(load(name)[:, :d], dtype=np.float32)


class Stopwatch:
    """A scikit-learn callback that measures how long each pass takes."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def setup(self, estimator, context) -> None:
        pass

    def teardown(self, estimator, context) -> None:
        pass

    def on_fit_task_begin(self, estimator, context) -> None:
        self.started = time.perf_counter()

    def on_fit_task_end(self, estimator, context) -> None:
        if context.task_name == "pass":
            self.seconds.append(time.perf_counter() - self.started)


def fit(X: np.ndarray, k: int, passes: int, n_threads: int, **more) -> KSums:
    options = {"rule": "hartigan", "init": "random-labels", "max_iter": passes, "tol": 0, "random_state": 0}
    return KSums(k, n_threads=n_threads, **options, **more).fit(X)


def lloyd_seconds(X: np.ndarray, k: int, n_threads: int) -> float:
    """Return the time of one Lloyd iteration of scikit-learn: fits of eleven iterations less fits of one."""
    init = X[np.random.default_rng(0).choice(len(X), k, replace=False)]

    def seconds(iterations: int) -> tuple[float, int]:
        model = KMeans(k, init=init, n_init=1, max_iter=iterations, tol=0, algorithm="lloyd")
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # The fit need not converge.
            model.fit(X)
        return time.perf_counter() - started, model.n_iter_

    with threadpool_limits(n_threads):
        times = 3 if seconds(1)[0] > 0.1 else 40  # Short fits are noisy.
        one = min(seconds(1)[0] for _ in range(times))
        many, iterations = min(seconds(11) for _ in range(times))
    return (many - one) / (iterations - 1)


def measure(name: str, d: int, k: int, passes: int, n_threads: int) -> dict:
    """Time passes, Lloyd iterations and matrix products on one case."""
    X = data(name, d)
    fit(X[: max(3000, 2 * k)], k, 1, n_threads)  # Compile the kernels, or load them from disk.
    watches = [Stopwatch(), Stopwatch()]  # The faster of two fits counts.
    model = [fit(X, k, passes, n_threads, callbacks=[watch]) for watch in watches][-1]
    seconds = np.minimum(*(watch.seconds for watch in watches)).tolist()
    flops = 2.0 * len(X) * k * d
    rate = sgemm_rate(n_threads)
    lloyd = lloyd_seconds(X, k, n_threads)
    later = float(np.median(seconds[2:]))
    return {
        "data": name.split("/")[0],
        "n": len(X),
        "d": d,
        "k": k,
        "threads": n_threads,
        "pass 1 s": seconds[0],
        "pass 3+ s": later,
        "lloyd s": lloyd,
        "pass 1 / lloyd": seconds[0] / lloyd,
        "pass 3+ / lloyd": later / lloyd,
        "sgemm GFLOP/s": rate,
        "pass 1 of sgemm": flops / seconds[0] / 1e9 / rate,
        "pass 3+ of sgemm": flops / later / 1e9 / rate,
        "passes": passes,
        "E_m": metrics.distortion(X, model.labels_),
        "all seconds": seconds,
    }


def speed_up(one: dict, two: dict) -> dict:
    """Compare a fit with one thread and a fit with two: ratios of time, and whether E_m is the same."""
    return {
        "k": one["k"],
        "pass 1": one["pass 1 s"] / two["pass 1 s"],
        "pass 3+": one["pass 3+ s"] / two["pass 3+ s"],
        "all passes": sum(one["all seconds"]) / sum(two["all seconds"]),
        "same E_m": one["E_m"] == two["E_m"],
    }


def memory(name: str, d: int, k: int) -> None:
    """Print the memory that a fit adds to a process that holds the data and has compiled the kernels."""
    X = data(name, d)
    fit(X[:3000].copy(), min(k, 1500), 1, 1)
    reset_peak()
    before = peak_bytes()
    model = fit(X, k, 2, 1)
    added = peak_bytes() - before
    allowed = 0.25 * X.nbytes + 12 * k * d + 200e6
    print(
        json.dumps(
            {
                "data": name.split("/")[0],
                "n": len(X),
                "d": d,
                "k": k,
                "X MB": X.nbytes / 1e6,
                "added MB": added / 1e6,
                "allowed MB": allowed / 1e6,
                "E_m": model.distortion_,
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="run fewer cases and write no results")
    parser.add_argument("--memory", nargs=3, metavar=("DATA", "D", "K"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory:
        memory(arguments.memory[0], int(arguments.memory[1]), int(arguments.memory[2]))
        return
    large, small = (LARGE[:1], SMALL[:4]) if arguments.quick else (LARGE, SMALL)
    rows = [measure(name, d, k, passes, t) for name, d, k, passes in large for t in (1, 2)]
    rows += [measure(name, d, k, 10, 1) for name, d, k in small]
    columns = ["data", "n", "d", "k", "threads", "pass 1 s", "pass 3+ s", "lloyd s", "pass 1 / lloyd",
               "pass 3+ / lloyd", "pass 1 of sgemm", "pass 3+ of sgemm", "E_m"]  # fmt: skip
    print_table(rows, columns, short)
    print("\nSpeed-up of two threads over one:")
    gains = [speed_up(one, two) for one, two in zip(rows[: 2 * len(large) : 2], rows[1::2], strict=False)]
    print_table(gains, list(gains[0]), short)
    print("\nMemory that a fit adds, each measured in a new process:")
    used = [in_new_process("exact_pass.py", "--memory", name, str(d), str(k)) for name, d, k, _ in large]
    print_table(used, ["data", "n", "d", "k", "X MB", "added MB", "allowed MB", "E_m"], short)
    if not arguments.quick:
        save("exact_pass", {"time": rows, "threads": gains, "memory": used})


if __name__ == "__main__":
    sys.exit(main())
