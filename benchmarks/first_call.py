"""Time a new process until its first result: import, then compiling the kernels or loading them from disk.

    python benchmarks/first_call.py            some shapes; results/first_call.json

Each child process prints its times; the first one has an empty cache folder and must compile. All of it is done twice:
alone, and beside a process that keeps another core busy.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import Any

from common import in_new_process, peak_bytes, print_table, save, short

SHAPES = [
    (10_000, 64, 100, "float32"), (10_000, 64, 100, "float64"), (10_000, 64, 8, "float32"),
    (100_000, 16, 8, "float32"), (100_000, 2, 20, "float64"),
]  # fmt: skip
"""Each shape is n, d, k and the type of the data. The last two search samples, and patches."""


def child(n: int, d: int, k: int, dtype: str) -> None:
    """Import the package, fit twice, and print the times."""
    import json
    import time

    import numpy as np

    started = time.perf_counter()
    from ksums import KSums

    imported = time.perf_counter() - started
    X = np.random.default_rng(0).standard_normal((n, d)).astype(dtype)
    seconds = []
    for _ in range(2):
        started = time.perf_counter()
        model = KSums(k, random_state=0).fit(X)
        seconds.append(time.perf_counter() - started)
    result = {"import s": imported, "first fit s": seconds[0], "next fit s": seconds[1], "E_m": model.distortion_}
    result["peak MB"] = peak_bytes() / 1e6
    print(json.dumps(result))


def measure(other_core: str) -> list[dict[str, Any]]:
    """Each shape in two new processes: one compiles, the next one loads what it kept."""
    rows = []
    for n, d, k, dtype in SHAPES:
        with tempfile.TemporaryDirectory() as cache:
            os.environ["NUMBA_CACHE_DIR"] = cache
            for process in ("compiles", "loads from disk"):
                times = in_new_process("first_call.py", str(n), str(d), str(k), dtype)
                shape = {"n": n, "d": d, "k": k, "type": dtype}
                rows.append({**shape, "other core": other_core, "process": process, **times})
    return rows


def main() -> None:
    if len(sys.argv) > 1:
        n, d, k, dtype = sys.argv[1:]
        child(int(n), int(d), int(k), dtype)
        return
    rows = measure("free")
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        rows += measure("busy")
    finally:
        busy.kill()
    print_table(rows, list(rows[0]), short)
    save("first_call", rows)


if __name__ == "__main__":
    main()
