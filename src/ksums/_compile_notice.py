"""A line for the user when Numba compiles: the one time that a fit takes seconds longer than it should."""

from __future__ import annotations

import logging
import time
from typing import Any

from numba.core import event

logger = logging.getLogger("ksums")


class CompileNotice(event.Listener):
    """Speaks at the first compilation and adds up the time of all. Loading from disk is none."""

    def __init__(self) -> None:
        self.depth, self.seconds, self.since = 0, 0.0, 0.0

    def on_start(self, event: Any) -> None:
        if self.depth == 0:
            self.since = time.perf_counter()
            if not self.seconds:
                logger.warning(
                    "ksums compiles its kernels for this kind of data: a few seconds, once; they are kept on disk."
                )
        self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.seconds += time.perf_counter() - self.since
