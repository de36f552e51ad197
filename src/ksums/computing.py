"""What surrounds every computation: the number of threads, and a line for the user when Numba compiles."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

logger = logging.getLogger("ksums")


@cache
def _pools() -> ThreadpoolController:
    """The thread pools of BLAS and OpenMP, looked up once: that takes milliseconds."""
    return ThreadpoolController()


@contextmanager
def computing(n_threads: int | None) -> Iterator[int]:
    """Keep BLAS to one thread, and restore it; gives the number of threads for our own kernels to use.

    How BLAS rounds may depend on its number of threads, and our labels must not; what takes time are the kernels.
    """
    from numba import config
    from numba.core import event

    from ksums._compile_notice import CompileNotice  # like Numba itself, loaded by the first fit

    available = config.NUMBA_NUM_THREADS  # the cores this process may use, or what its environment says
    wanted = available if n_threads is None else n_threads
    if wanted > available:
        logger.info("n_threads=%d is more than the %d this process may use; taking those.", wanted, available)
        wanted = available
    notice = CompileNotice()
    with _pools().limit(limits=1), event.install_listener("numba:compile", notice):
        yield wanted
    if notice.seconds:
        logger.info("Compiling took %.1f s.", notice.seconds)
