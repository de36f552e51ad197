"""The search is compiled by a second process while this one compiles the passes.

It takes more than half of what the first fit compiles, and Numba compiles one function at a time. The machine code
comes back through Numba's cache on disk. Where a second process cannot be started, or keeps nothing, this one compiles
the search when it gets there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ksums.compute.compat import listening_to_numba, numba_listener
from ksums.compute.threads import threads
from ksums.method.data.rows import plain_rows
from ksums.method.state.state import singleton_state

# An empty package stands for ours, whose __init__ would load scikit-learn: that takes a second and is not needed here.
_PROGRAM = """
import sys, types
package = sys.modules["ksums"] = types.ModuleType("ksums")
package.__path__ = [sys.argv[1]]
from ksums.method.search.ahead import compile_search
compile_search(sys.argv[2])
"""
_PACKAGE = Path(__file__).parents[2]
_processes: dict[str, subprocess.Popen[bytes] | None] = {}
"""The process that compiles for a type of data; None if it could not be started. One is tried for each type."""


@contextmanager
def compiling_ahead(dtype: np.dtype[Any], searches: bool) -> Iterator[None]:
    """A context in which the first compilation starts the second process, if there is a search and a thread for it."""

    class Starter(numba_listener()):  # type: ignore[misc]
        def on_start(self, event: Any) -> None:
            if dtype.name not in _processes:
                _processes[dtype.name] = _start(dtype.name)

        def on_end(self, event: Any) -> None:
            pass

    if not searches or threads() == 1:
        yield
        return
    with listening_to_numba(Starter()):
        yield


def wait_for_search(dtype: np.dtype[Any]) -> None:
    """Wait for the second process, if there is one."""
    process = _processes.get(dtype.name)
    if process is not None:
        process.wait()


def compile_search(dtype: str) -> None:
    """Compile the search for rows of this type, by a search that has nothing to find."""
    from ksums.method.search.merge_split import MergeSplit

    rows = plain_rows(np.eye(4, dtype=dtype))
    search = MergeSplit(rows, singleton_state(rows, rows.active), np.random.default_rng(0))
    search.run(1.0, 1.0, 0.0, np.inf)


def _start(dtype: str) -> subprocess.Popen[bytes] | None:
    nothing = subprocess.DEVNULL
    try:
        return subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, str(_PACKAGE), dtype],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
        )
    except OSError:
        return None
