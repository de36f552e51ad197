"""The ways this package compiles a function, and nothing else."""

from __future__ import annotations

from numba import njit

# Division by zero gives inf or nan as in NumPy: checks would cost branches in every inner loop. No reference
# counts: the kernels allocate nothing and their callers hold every array, while counting atomically for each view
# of a row took half the time of a pass at small shapes.
_COMMON = {"error_model": "numpy", "nogil": True, "_nrt": False}

kernel = njit(cache=True, **_COMMON)
"""Called from Python; the machine code is kept on disk."""

helper = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **_COMMON)
"""Called from kernels only, and compiled into them: no wrapper for Python, no file of its own."""

helper_inlined = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True, **_COMMON)
"""A helper called for every row with tuples of many arrays: passing these would cost more than what it does."""

_REORDERING = {"reassoc", "contract", "nsz", "arcp"}

helper_reordering = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, fastmath=_REORDERING, **_COMMON)
"""A helper whose sums may be taken in any order, the same one each time."""

helper_reordering_inlined = njit(
    no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True, fastmath=_REORDERING, **_COMMON
)
"""Both."""

helper_once = njit(inline="always", **_COMMON)
"""A helper called in one place of a kernel: put there before types are inferred, so that it is compiled once, not
twice, and no tuples are passed."""
