"""What machine this is: free memory, and a description for results."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np


def free_memory() -> float:
    """Bytes of memory that are free; infinite where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        kibibytes = {name: value.split()[0] for name, _, value in (line.partition(":") for line in lines)}
        return float(kibibytes["MemAvailable"]) * 1024
    except (OSError, KeyError, IndexError, ValueError):
        return np.inf


@cache
def description() -> dict[str, Any]:
    """CPU and versions."""
    packages = ("ksums", "numpy", "scipy", "scikit-learn", "numba")
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    values = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    return f"{values.get('model name')} (family {values.get('cpu family')}, model {values.get('model')})"
