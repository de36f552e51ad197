"""A line for the user when Numba compiles, because that fit takes seconds longer than the next one."""

from __future__ import annotations

import logging
import math
import time
from typing import Any

from ksums.compute.compat import numba_listener

logger = logging.getLogger("ksums")
_AGAIN = 60.0
"""Seconds in which the line is not repeated: rows are prepared and clustered one after the other."""
_Listener: Any = numba_listener()


class CompileNotice(_Listener):
    """Logs a line at the first compilation and adds up the time of all. Loading from disk does not count."""

    last = -math.inf  # when something was compiled in this process

    def __init__(self) -> None:
        self.depth, self.seconds, self.since = 0, 0.0, 0.0

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.since = time.perf_counter()
            if not self.seconds and self.since - CompileNotice.last > _AGAIN:
                logger.warning(
                    "ksums is compiling its kernels for this kind of data. This takes a few seconds and happens once."
                )
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            CompileNotice.last = time.perf_counter()
            self.seconds += CompileNotice.last - self.since
