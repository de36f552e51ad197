"""What the benchmarks share: where the data is, what the machine is, how results are kept."""

from __future__ import annotations

import contextlib
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

from ksums.reproduce.store import machine

HERE = Path(__file__).parent
DATA = Path(os.environ.get("KSUMS_DATA", HERE.parents[1] / "shared" / "data"))


def load(name: str) -> np.ndarray:
    """A data set by its path below the data folder (``KSUMS_DATA``), ``file.npz:array`` for a part of one."""
    path, _, part = name.partition(":")
    if not (DATA / path).exists():
        sys.exit(f"{path} is not in the data folder; set KSUMS_DATA to the folder that holds it.")
    loaded = np.load(DATA / path)
    return loaded[part] if part else loaded


def sgemm_rate(n_threads: int, size: int = 2048) -> float:
    """This machine's own matrix product, float32, in GFLOP/s: the best of a few."""
    a = np.ones((size, size), np.float32)
    best = np.inf
    with threadpool_limits(n_threads):
        for _ in range(5):
            started = time.perf_counter()
            _ = a @ a
            best = min(best, time.perf_counter() - started)
    return 2 * size**3 / best / 1e9


def forget_peak() -> None:
    """Start the measurement of the peak anew (Linux); elsewhere it goes on from the start of the process."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_bytes() -> int:
    """Most memory this process has held since ``forget_peak``."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak * (1 if sys.platform == "darwin" else 1024)


def in_new_process(script: str, *arguments: str) -> dict[str, Any]:
    """Run a benchmark script of this folder on its own, so that its memory is its own; it prints JSON last."""
    done = subprocess.run([sys.executable, str(HERE / script), *arguments], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def save(name: str, results: Any) -> None:
    """Keep results beside the scripts, with machine and versions."""
    path = HERE / "results" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"machine": machine(), "results": results}, indent=1) + "\n")
    print(f"written to benchmarks/results/{path.name}")


def table(rows: list[dict[str, Any]], columns: list[str], form: Callable[[Any], str] = str) -> None:
    """Print some columns of rows, aligned."""
    cells = [columns] + [[form(row.get(column, "")) for column in columns] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    for line in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    return str(value)
