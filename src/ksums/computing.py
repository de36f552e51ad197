"""What surrounds every computation: the number of threads, and a line for the user when Numba compiles."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

logger = logging.getLogger("ksums")


@contextmanager
def computing(n_threads: int | None) -> Iterator[int]:
    """Limit the threads of BLAS, OpenMP and Numba, and restore them; gives the number to use."""
    import numba
    from numba.core import event

    from ksums._compile_notice import CompileNotice  # like Numba itself, loaded by the first fit

    available, before = numba.config.NUMBA_NUM_THREADS, numba.get_num_threads()
    wanted = before if n_threads is None else n_threads
    if wanted > available:
        logger.info("n_threads=%d is more than the %d this process may use; taking those.", wanted, available)
        wanted = available
    notice = CompileNotice()
    with threadpool_limits(limits=wanted), event.install_listener("numba:compile", notice):
        numba.set_num_threads(wanted)
        try:
            yield wanted
        finally:
            numba.set_num_threads(before)
    if notice.seconds:
        logger.info("Compiling took %.1f s.", notice.seconds)
