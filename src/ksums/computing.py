"""What surrounds every computation: the number of threads, and a line for the user when Numba compiles."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import chain, islice
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

logger = logging.getLogger("ksums")

_threads = ContextVar("_threads", default=1)
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


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
    before = _threads.set(wanted)
    try:
        with _pools().limit(limits=1), event.install_listener("numba:compile", notice):
            yield wanted
    finally:
        _threads.reset(before)
    if notice.seconds:
        logger.info("Compiling took %.1f s.", notice.seconds)


@contextmanager
def workers(most: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """``map`` on the threads of the present computation, at most so many, which are started once for many calls."""
    threads = min(_threads.get(), most)
    if threads <= 1:
        yield map
        return
    with ThreadPoolExecutor(threads) as pool:
        yield pool.map


def in_order(function: Callable[[_Item], _Result], items: Iterable[_Item]) -> Iterator[_Result]:
    """``map`` on the threads of the present computation, a few items ahead; outside of one, on the present thread."""
    threads, items = _threads.get(), iter(items)
    first = list(islice(items, 2))
    if threads == 1 or len(first) < 2:  # nothing to share: no threads are started
        yield from map(function, chain(first, items))
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[_Result]] = deque()
        for item in chain(first, items):
            waiting.append(pool.submit(function, item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
