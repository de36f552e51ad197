"""A line for the user when Numba compiles, because that fit takes seconds longer than the next one."""

from __future__ import annotations

import logging
import time
from typing import Any

from ksums.compute.compat import numba_listener

logger = logging.getLogger("ksums")
_Listener: Any = numba_listener()


class CompileNotice(_Listener):
    """Logs a line at the first compilation and adds up the time of all. Loading from disk does not count."""

    def __init__(self) -> None:
        self.depth, self.seconds, self.since = 0, 0.0, 0.0

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.since = time.perf_counter()
            if not self.seconds:
                logger.warning(
                    "ksums is compiling its kernels for this kind of data. This takes a few seconds and happens once."
                )
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.seconds += time.perf_counter() - self.since
