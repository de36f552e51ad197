"""Helpers for all benchmarks: load data, measure memory, print tables and save results."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

HERE = Path(__file__).parent
"""The folder of the benchmarks."""
DATA = Path(os.environ.get("KSUMS_DATA", HERE.parents[1] / "shared" / "data"))
"""The benchmarks read their data sets from this folder."""


def load(name: str) -> np.ndarray:
    """Load a data set by its path in the data folder; ``file.npz:array`` is one array of an archive."""
    path, _, part = name.partition(":")
    if not (DATA / path).exists():
        sys.exit(f"{path} is not in the data folder; set KSUMS_DATA to the folder that holds it.")
    loaded = np.load(DATA / path)
    return loaded[part] if part else loaded


def sgemm_rate(n_threads: int, size: int = 2048) -> float:
    """Measure the speed of this machine's float32 matrix product in GFLOP/s; the best of five runs counts."""
    a = np.ones((size, size), np.float32)
    best = np.inf
    with threadpool_limits(n_threads):
        for _ in range(5):
            started = time.perf_counter()
            _ = a @ a
            best = min(best, time.perf_counter() - started)
    return 2 * size**3 / best / 1e9


def reset_peak() -> None:
    """Reset the peak memory on Linux; on other systems it counts from the start of the process.

    Memory that earlier work freed is returned to the system first: a run that takes it again would seem to add none.
    """
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_bytes() -> int:
    """Return the peak memory of this process since ``reset_peak``."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024)


def in_new_process(script: str, *arguments: str) -> dict[str, Any]:
    """Run a benchmark script in a new process, so that it starts with little memory; its last line must be JSON."""
    finished = subprocess.run(
        [sys.executable, HERE / script, *arguments], stdout=subprocess.PIPE, text=True, check=True
    )
    return json.loads(finished.stdout.splitlines()[-1])


def save(name: str, results: Any) -> None:
    """Write results to the results folder, with a description of the machine and versions."""
    from ksums.compute.machine import description  # imported here because first_call.py times the import

    path = HERE / "results" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"machine": description(), "results": results}, indent=1) + "\n")
    print(f"written to benchmarks/results/{path.name}")


def print_table(rows: list[dict[str, Any]], columns: list[str], form: Callable[[Any], str] = str) -> None:
    """Print these columns of the rows as an aligned table."""
    cells = [columns] + [[form(row.get(column, "")) for column in columns] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    for line in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def short(value: Any) -> str:
    """Format a value for a table, a number with about four digits."""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    return str(value)
