"""What is allowed where data comes in parts."""

from __future__ import annotations

import re
from typing import Any

_SIZES = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "ki": 2.0**10, "mi": 2.0**20, "gi": 2.0**30, "ti": 2.0**40}


def bytes_of(size: Any) -> float:
    """Bytes from a number, or from words such as ``"2GB"`` and ``"512 MiB"``; 0 if they make no sense.

    >>> bytes_of("2GB"), bytes_of("1.5 KiB"), bytes_of(4096), bytes_of("much")
    (2000000000.0, 1536.0, 4096.0, 0.0)
    """
    if isinstance(size, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", size.lower())
        return float(found[1]) * _SIZES[found[2] or ""] if found else 0.0
    return float(size)


def check_estimator(estimator: Any) -> None:
    """Refuse what is not offered for data in parts."""
    name = type(estimator).__name__
    for parameter in ("size_min", "size_max", "fixed_centers", "polish"):
        if getattr(estimator, parameter, None) is not None:
            raise ValueError(
                f"{name}: {parameter} is not offered for data in parts, because no part knows what the others do; "
                f"leave {parameter}=None, or load the rows into one array."
            )
    if estimator.device not in (None, "cpu"):
        raise ValueError(f"{name}: device={estimator.device!r} is for arrays; data in parts is clustered on the CPU.")
    if not isinstance(estimator.init, str):
        raise ValueError(f"{name}: init must be a name for data in parts; got an array. Load the rows into one array.")


def check_memory(estimator: Any, memory: float, least: float) -> None:
    """Refuse a limit that the smallest pieces of work exceed."""
    if memory < least:
        raise ValueError(
            f"{type(estimator).__name__}: max_memory must be at least {least / 1e6:,.0f} MB for data of this shape "
            f"(the sample, a few blocks of rows, the sums of the clusters); got {memory / 1e6:,.0f} MB."
        )
