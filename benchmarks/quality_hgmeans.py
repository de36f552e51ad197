"""Compare k-sums with HG-means, a genetic search for the lowest sum of squares, in the same time and in a tenth of it.

    python benchmarks/quality_hgmeans.py build     download and build HG-means (needs a C++ compiler)
    python benchmarks/quality_hgmeans.py           all sets of up to 5,000 rows; results/quality_hgmeans.json

HG-means is hgmeans 3.0 from PyPI. Its licence is the GPL; this project contains none of its code. It runs with its
defaults: at most 5,000 iterations, and it stops after 500 without an improvement. The build adds a time limit of 30
seconds to its loop and translates its .pyx again, because the C++ in its archive does not compile for recent versions
of Python. It has a fixed seed, so it runs once. k-sums gets the time of HG-means as ``effort``, then a tenth of it.
Both use one thread. Two processes share the sets on two cores.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import HERE, in_new_process, peak_bytes, print_table, reset_peak, save, short
from quality import CASES, data

from ksums import KSums, metrics

MAX_ROWS = 5_000
"""Data sets with more rows are left out."""
TIME_LIMIT = 30
"""HG-means stops after this many seconds."""
FULL_SEEDS, TENTH_SEEDS = (0, 1), (0, 1, 2)
"""k-sums runs with these seeds in the full time and in a tenth of it."""
BUILT = HERE / "build" / "hgmeans-3.0"
"""HG-means is built in this folder."""


def build() -> None:
    """Download HG-means, add the time limit, and compile it."""
    BUILT.parent.mkdir(exist_ok=True)
    pip = [sys.executable, "-m", "pip"]
    subprocess.run([*pip, "install", "--quiet", "cython", "setuptools"], check=True)
    fetch = [
        *pip,
        "download",
        "--quiet",
        "--no-deps",
        "--no-binary",
        ":all:",
        "--dest",
        str(BUILT.parent),
        "hgmeans==3.0",
    ]
    subprocess.run(fetch, check=True)
    with tarfile.open(BUILT.parent / "hgmeans-3.0.tar.gz") as archive:
        archive.extractall(BUILT.parent, filter="data")
    (BUILT / "hgmeans.cpp").unlink()
    source = BUILT / "hgmeans" / "GeneticOperations.cpp"
    text = source.read_text()
    loop, first = "while(((it-last_improvement)", "    int last_improvement = 0;\n"
    assert text.count(loop) == 1
    assert first in text
    text = text.replace(first, first + "    const clock_t began = clock();\n")
    text = text.replace(
        loop, f"while(double(clock() - began) / CLOCKS_PER_SEC < {TIME_LIMIT} && ((it-last_improvement)"
    )
    source.write_text("#include <ctime>\n" + text)
    subprocess.run([sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"], cwd=BUILT, check=True)


def hgmeans(X: np.ndarray, k: int) -> np.ndarray:
    """Return the labels of HG-means, without its output."""
    sys.path.insert(0, str(BUILT))
    import hgmeans

    quiet = os.open(os.devnull, os.O_WRONLY)
    before = os.dup(1)
    os.dup2(quiet, 1)  # HG-means prints from C++.
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            found = hgmeans.PyHGMeans().run(X.tolist(), [0] * len(X), 10, 5000, 1, [k])
    finally:
        os.dup2(before, 1)
        os.close(quiet)
        os.close(before)
    return np.array(found[0])


def ours(X: np.ndarray, k: int, seeds: tuple[int, ...], seconds: float) -> dict[str, Any]:
    """Run k-sums for this time with each seed."""
    values, times = [], []
    reset_peak()
    before = peak_bytes()
    for seed in seeds:
        started = time.perf_counter()
        model = KSums(k, effort=seconds, random_state=seed, n_threads=1).fit(X)
        times.append(time.perf_counter() - started)
        values.append(metrics.distortion(X, model.labels_))
    added = (peak_bytes() - before) / 1e6
    return {"mean": float(np.mean(values)), "worst": float(np.max(values)), "s": float(np.mean(times)), "MB": added}


def compare(name: str, k: int, X: np.ndarray) -> dict[str, Any]:
    """Run HG-means once, then k-sums in the same time and in a tenth of it."""
    reset_peak()
    before, started = peak_bytes(), time.perf_counter()
    labels = hgmeans(X, k)
    seconds = time.perf_counter() - started
    theirs = {"value": metrics.distortion(X, labels), "s": seconds, "MB": (peak_bytes() - before) / 1e6}
    return {
        "data": name,
        "n": X.shape[0],
        "d": X.shape[1],
        "k": k,
        "hgmeans": theirs,
        "its time": ours(X, k, FULL_SEEDS, seconds),
        "a tenth": ours(X, k, TENTH_SEEDS, seconds / 10),
    }


def half(number: int) -> list[dict[str, Any]]:
    """Run every second case, from case 0 or 1."""
    rng = np.random.default_rng(0)
    for k in (5, 20):
        for dtype in (np.float32, np.float64):
            KSums(k, effort=0.05, n_threads=1).fit(rng.standard_normal((300, 3)).astype(dtype))
    small = [(case.name, k, X) for case in CASES if "docs/" not in case.path for X in [data(case)] for k in case.ks
             if len(X) <= MAX_ROWS]  # fmt: skip
    return [compare(*case) for case in small[number::2]]


def main() -> None:
    if sys.argv[1:] == ["build"]:
        build()
        return
    if not BUILT.exists():
        sys.exit("HG-means is not built; run `python benchmarks/quality_hgmeans.py build` first.")
    if len(sys.argv) > 1:
        print(json.dumps(half(int(sys.argv[1]))))
        return
    from concurrent.futures import ThreadPoolExecutor

    script = Path(__file__).name
    with ThreadPoolExecutor(2) as pool:
        halves = list(pool.map(lambda number: in_new_process(script, str(number)), (0, 1)))
    rows = sorted((row for part in halves for row in part), key=lambda row: (row["data"], row["k"]))
    for row in rows:
        for share in ("its time", "a tenth"):
            row[share]["above"] = row[share]["mean"] / row["hgmeans"]["value"] - 1
            row[share]["worst above"] = row[share]["worst"] / row["hgmeans"]["value"] - 1
    shown = [
        {
            **row,
            "hgmeans s": row["hgmeans"]["s"],
            "worst above %": 100 * row["its time"]["worst above"],
            "a tenth, mean above %": 100 * row["a tenth"]["above"],
            "a tenth, s": row["a tenth"]["s"],
        }
        for row in rows
    ]
    print_table(
        shown, ["data", "n", "d", "k", "hgmeans s", "worst above %", "a tenth, s", "a tenth, mean above %"], short
    )
    save("quality_hgmeans", {"cut s": TIME_LIMIT, "rows": rows})


if __name__ == "__main__":
    main()
