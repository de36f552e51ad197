"""Threads that work in step: Python's own, each inside a kernel that has released the GIL.

Numba's parallel loops start and end a parallel region each time, which costs more than the few tens of
microseconds of work between two steps here, take twice as long to compile, and bring a threading layer that does
not survive a fork. A barrier is a counter that all threads add to and wait for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from ksums.engines._jit import helper

_SPINS = 4000  # looks at the counter, some microseconds, before a thread lets another process have its core
_WORTH_SHARING = 3e7  # operations, a third of a millisecond: less is done before another thread has begun
_POSIX = os.name == "posix"
_sched_yield: Any = types.ExternalFunction("sched_yield", types.intc())


def _element(context, builder, array_type, array, index):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [index])


@intrinsic
def _atomic_add(typingctx, array, index, amount):
    def codegen(context, builder, signature, args):
        place = _element(context, builder, signature.args[0], args[0], args[1])
        return builder.atomic_rmw("add", place, args[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), codegen


@intrinsic
def _atomic_load(typingctx, array, index):
    def codegen(context, builder, signature, args):
        place = _element(context, builder, signature.args[0], args[0], args[1])
        return builder.load_atomic(place, "seq_cst", 8)

    return types.int64(array, types.int64), codegen


@helper
def wait_for_all(
    barrier,  # INOUT  arrivals so far, and whether to give up
    arrivals,  # IN     the number to wait for
):
    """Arrive at the barrier and wait for the others; False if the work is given up."""
    _atomic_add(barrier, 0, 1)
    spins = 0
    while _atomic_load(barrier, 0) < arrivals:
        if _atomic_load(barrier, 1) != 0:
            return False
        spins += 1
        if _POSIX and spins % _SPINS == 0:
            _sched_yield()
    return True


@contextmanager
def thread_pool(n_threads: int, operations: float) -> Iterator[ThreadPoolExecutor | None]:
    """Threads beside the present one for calls of so many operations; None where one alone is faster."""
    if n_threads == 1 or operations < _WORTH_SHARING:
        yield None
        return
    with ThreadPoolExecutor(n_threads - 1) as pool:
        yield pool


def run_in_step(pool: ThreadPoolExecutor | None, n_threads: int, kernel: Callable[..., Any], *arguments: Any) -> Any:
    """Call ``kernel(thread, n_threads, barrier, *arguments)`` on each thread; what thread 0 returns.

    The kernel must be compiled already: a thread that fails to arrive would keep the others waiting.
    """
    barrier = np.zeros(2, np.int64)
    if pool is None:
        return kernel(0, 1, barrier, *arguments)
    others = []
    try:
        others = [pool.submit(kernel, t, n_threads, barrier, *arguments) for t in range(1, n_threads)]
        return kernel(0, n_threads, barrier, *arguments)
    except BaseException:  # Ctrl-C between two of these lines: nobody may wait for a thread that never comes
        barrier[1] = 1
        raise
    finally:
        for other in others:
            other.result()
