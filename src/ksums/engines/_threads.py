"""Threads that share the work of a kernel: Python's own, each inside the kernel, which has released the GIL.

The work comes in rounds of pieces. Thread 0 opens a round, and every thread claims one piece after the other from a
board of counters, its own share first; thread 0 goes on when all pieces are done. The share of a thread that has no
core to run on is done by the others: one waits at most for a piece that has been begun. (With barriers, a busy machine
could make a fit many times slower; ``benchmarks/busy.py`` shows what is left of that.) Numba's parallel loops start and
end a parallel region for each round, which costs more than the few tens of microseconds of work in one here, take twice
as long to compile, and bring a threading layer that does not survive a fork.
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

from ksums._jit import helper

_SPINS = 4000  # looks at the board, some microseconds, before a thread lets another process have its core
_WORTH_SHARING = 3e7  # operations, a third of a millisecond: less is done before another thread has begun
_POSIX = os.name == "posix"
_sched_yield: Any = types.ExternalFunction("sched_yield", types.intc())

_LINE = 8  # counters in a line of cache: each counter has one to itself
_DONE, _CLOSED, _TICKETS = 0, _LINE, 2 * _LINE  # on the board: pieces done, end of the work, then one ticket per thread
_ROUND = 32  # a ticket is round << 32 | next piece
PIECE = (1 << _ROUND) - 1


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


@intrinsic
def _atomic_store(typingctx, array, index, value):
    def codegen(context, builder, signature, args):
        place = _element(context, builder, signature.args[0], args[0], args[1])
        builder.store_atomic(args[2], place, "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), codegen


@helper
def open_round(
    number,  # IN     of the round, from 1
    pieces,  # IN     in the round
    threads,  # IN
    board,  # INOUT
):
    """Thread 0 alone: put the pieces of a round on the board, a share for each thread."""
    _atomic_store(board, _DONE, 0)
    for thread in range(threads):
        _atomic_store(board, _TICKETS + _LINE * thread, (number << _ROUND) | (thread * pieces // threads))


@helper
def next_piece(
    thread,  # IN
    threads,  # IN
    pieces,  # IN     in each round
    board,  # INOUT
):
    """Claim a piece, of the own share or else of another's: round << 32 | piece, or −1 if there is none."""
    for step in range(threads):
        share = (thread + step) % threads
        place, end = _TICKETS + _LINE * share, (share + 1) * pieces // threads
        ticket = _atomic_load(board, place)
        if ticket >> _ROUND == 0 or ticket & PIECE >= end:
            continue
        ticket = _atomic_add(board, place, 1)
        if ticket & PIECE < end:
            return ticket
    return np.int64(-1)


@helper
def finish_piece(board):
    """Say that a claimed piece is done."""
    _atomic_add(board, _DONE, 1)


@helper
def pause(spins):
    """Called when there is nothing to do: now and then lets another process have the core."""
    if _POSIX and spins % _SPINS == 0:
        _sched_yield()


@helper
def wait_for_round(
    pieces,  # IN
    board,  # IN
):
    """Thread 0 alone: until all pieces of the round are done."""
    spins = 0
    while _atomic_load(board, _DONE) < pieces:
        spins += 1
        pause(spins)


@helper
def close(board):
    """Thread 0 alone: there will be no other round."""
    _atomic_store(board, _CLOSED, 1)


@helper
def is_closed(board):
    return _atomic_load(board, _CLOSED) != 0


@contextmanager
def thread_pool(n_threads: int, operations: float) -> Iterator[ThreadPoolExecutor | None]:
    """Threads beside the present one for calls of so many operations; None where one alone is faster."""
    if n_threads == 1 or operations < _WORTH_SHARING:
        yield None
        return
    with ThreadPoolExecutor(n_threads - 1) as pool:
        yield pool


def share(pool: ThreadPoolExecutor | None, n_threads: int, kernel: Callable[..., Any], *arguments: Any) -> Any:
    """Call ``kernel(thread, n_threads, board, *arguments)`` on each thread; what thread 0 returns.

    The kernel must be compiled already. A thread that begins only after thread 0 has closed the board finds that and
    touches nothing, so it need not be waited for.
    """
    threads = n_threads if pool is not None else 1
    board = np.zeros(_TICKETS + _LINE * threads, np.int64)
    try:
        for thread in range(1, threads):
            assert pool is not None
            pool.submit(kernel, thread, threads, board, *arguments)
        return kernel(0, threads, board, *arguments)
    finally:
        board[_CLOSED] = 1  # also after Ctrl-C between two of these lines
