"""Threads that share the work of one kernel call: Python threads, all inside the kernel, which has released the GIL.

The work comes in rounds of pieces. Thread 0 opens a round. Every thread claims one piece after another from a board of
counters, from its own range first, and thread 0 continues when all pieces are done. If a thread has no core to run on,
the others do its pieces, so nobody waits longer than for one piece. (With barriers a busy machine could make a fit many
times slower; ``benchmarks/busy.py`` measures what is left of that.) Numba's parallel loops were not an option: they
start and end a parallel region for each round, which costs more than the few tens of microseconds of work in it, they
take twice as long to compile, and their threading layer does not survive a fork.
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

from ksums.compute.compat import numba_external_function
from ksums.compute.jit import helper
from ksums.compute.threads import threads

_SPINS = 4000
"""A thread without work looks at the board this often, some microseconds, before it yields its core."""
_WORTH_SHARING = 3e7
"""Fewer operations, a third of a millisecond, are done before another thread has even started."""
_POSIX = os.name == "posix"
_sched_yield: Any = numba_external_function("sched_yield")

_LINE = 8
"""Counters in a cache line: each counter has a line to itself, so that threads do not slow each other down."""
_DONE, _CLOSED, _TICKETS = 0, _LINE, 2 * _LINE
"""Positions on the board: pieces done, whether the work has ended, then one ticket for each thread."""
_ROUND = 32
"""A ticket is the number of the round, shifted by this many bits, and the next piece."""
PIECE = (1 << _ROUND) - 1
"""The bits of a ticket that hold the piece."""


def _element(context, builder, array_type, array, index):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [index])


@intrinsic
def _atomic_add(typingctx, array, index, amount):
    def codegen(context, builder, signature, args):
        pointer = _element(context, builder, signature.args[0], args[0], args[1])
        return builder.atomic_rmw("add", pointer, args[2], "seq_cst")

    return types.int64(array, types.int64, types.int64), codegen


@intrinsic
def _atomic_load(typingctx, array, index):
    def codegen(context, builder, signature, args):
        pointer = _element(context, builder, signature.args[0], args[0], args[1])
        return builder.load_atomic(pointer, "seq_cst", 8)

    return types.int64(array, types.int64), codegen


@intrinsic
def _atomic_store(typingctx, array, index, value):
    def codegen(context, builder, signature, args):
        pointer = _element(context, builder, signature.args[0], args[0], args[1])
        builder.store_atomic(args[2], pointer, "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), codegen


@helper
def open_round(
    number,  # IN     number of the round, from 1
    pieces,  # IN     pieces in the round
    threads,  # IN
    board,  # INOUT
):
    """Put the pieces of a round on the board, a range for each thread. Only thread 0 calls this."""
    _atomic_store(board, _DONE, 0)
    for thread in range(threads):
        _atomic_store(board, _TICKETS + _LINE * thread, (number << _ROUND) | (thread * pieces // threads))


@helper
def next_piece(
    thread,  # IN
    threads,  # IN
    pieces,  # IN     pieces in each round
    board,  # INOUT
):
    """Claim a piece, from the thread's own range first: round << 32 | piece, or −1 if there is none left."""
    for step in range(threads):
        owner = (thread + step) % threads
        at, end = _TICKETS + _LINE * owner, (owner + 1) * pieces // threads
        ticket = _atomic_load(board, at)
        if ticket >> _ROUND == 0 or ticket & PIECE >= end:
            continue
        ticket = _atomic_add(board, at, 1)
        if ticket & PIECE < end:
            return ticket
    return np.int64(-1)


@helper
def finish_piece(board):
    """Report that a claimed piece is done."""
    _atomic_add(board, _DONE, 1)


@helper
def pause(spins):
    """Called when there is nothing to do: yields the core every now and then."""
    if _POSIX and spins % _SPINS == 0:
        _sched_yield()


@helper
def wait_for_round(
    pieces,  # IN
    board,  # IN
):
    """Wait until all pieces of the round are done. Only thread 0 calls this."""
    spins = 0
    while _atomic_load(board, _DONE) < pieces:
        spins += 1
        pause(spins)


@helper
def close(board):
    """Announce that there is no further round. Only thread 0 calls this."""
    _atomic_store(board, _CLOSED, 1)


@helper
def is_closed(board):
    return _atomic_load(board, _CLOSED) != 0


class Team:
    """The present thread and its helpers, which share the work of kernel calls."""

    def __init__(self, pool: ThreadPoolExecutor | None, size: int) -> None:
        self._pool, self._size = pool, size if pool is not None else 1

    def run(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """Call ``kernel(thread, threads, board, *arguments)`` on each thread; returns what thread 0 returns.

        The kernel must be compiled already. A thread that starts only after thread 0 has closed the board sees that
        and touches nothing, so nobody waits for it.
        """
        board = np.zeros(_TICKETS + _LINE * self._size, np.int64)
        try:
            if self._pool is not None:
                for thread in range(1, self._size):
                    self._pool.submit(kernel, thread, self._size, board, *arguments)
            return kernel(0, self._size, board, *arguments)
        finally:
            board[_CLOSED] = 1  # also after Ctrl-C between two of these lines


ALONE = Team(None, 1)
"""The present thread alone."""


@contextmanager
def team(operations: float, most: int | None = None) -> Iterator[Team]:
    """A team for kernel calls of ``operations`` each: ``most`` threads, or all that the computation may use.

    Where helpers would only start when the work is done, the present thread works alone.
    """
    size = threads() if most is None else most
    if size == 1 or operations < _WORTH_SHARING:
        yield ALONE
        return
    with ThreadPoolExecutor(size - 1) as pool:
        yield Team(pool, size)
