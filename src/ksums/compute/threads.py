"""How many threads a computation may use, and how it uses them. This is the one place that says how many."""

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
    """The thread pools of BLAS and OpenMP. Looking them up takes milliseconds, so it is done once."""
    return ThreadpoolController()


def threads() -> int:
    """Threads that the present computation may use; 1 outside of one, and in a thread that a computation started."""
    return _threads.get()


@contextmanager
def use_threads(count: int) -> Iterator[None]:
    """A part of a computation that uses ``count`` threads."""
    before = _threads.set(count)
    try:
        yield
    finally:
        _threads.reset(before)


@contextmanager
def computing(n_threads: int | None) -> Iterator[int]:
    """A computation on at most ``n_threads`` threads (None: all cores this process may use); gives their number.

    BLAS is kept to one thread and restored afterwards. Its rounding may depend on its number of threads, and our
    labels must not; the time goes into our kernels anyway. A line is logged when Numba compiles.
    """
    from numba import config

    from ksums.compute.compat import listening_to_numba
    from ksums.compute.compile_notice import CompileNotice  # like Numba itself, loaded by the first fit

    available = config.NUMBA_NUM_THREADS  # the cores this process may use, or what its environment says
    wanted = available if n_threads is None else n_threads
    if wanted > available:
        logger.info("n_threads=%d is more than the %d this process may use; using %d.", wanted, available, available)
        wanted = available
    notice = CompileNotice()
    before = _threads.set(wanted)
    try:
        with _pools().limit(limits=1), listening_to_numba(notice):
            yield wanted
    finally:
        _threads.reset(before)
    if notice.seconds:
        logger.info("Compiling took %.1f s.", notice.seconds)


@contextmanager
def workers(most: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """``map`` on the threads of the present computation, at most ``most``. They are started once for many calls."""
    count = min(threads(), most)
    if count <= 1:
        yield map
        return
    with ThreadPoolExecutor(count) as pool:
        yield pool.map


def read_ahead(read: Callable[[int], _Result], count: int) -> Iterator[_Result]:
    """``read(0)``, ``read(1)`` … in turn; a thread reads the next one while the caller works on the last."""
    if not count:
        return
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(read, 0)
        for number in range(count):
            found = coming.result()
            if number + 1 < count:
                coming = reader.submit(read, number + 1)
            yield found


def in_order(function: Callable[[_Item], _Result], items: Iterable[_Item]) -> Iterator[_Result]:
    """``map`` on the threads of the present computation, a few items ahead; the results come in order."""
    count, items = threads(), iter(items)
    first = list(islice(items, 2))
    if count == 1 or len(first) < 2:  # nothing to share, so no threads are started
        yield from map(function, chain(first, items))
        return
    with ThreadPoolExecutor(count) as pool:
        waiting: deque[Future[_Result]] = deque()
        for item in chain(first, items):
            waiting.append(pool.submit(function, item))
            if len(waiting) > count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
