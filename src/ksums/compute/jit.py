"""The ways this package compiles a function, and nothing else."""

from __future__ import annotations

from numba import njit

from ksums.compute.compat import NO_REFERENCE_COUNTS

# Division by zero gives inf or nan as in NumPy, because checks would cost a branch in every inner loop. Reference
# counts are off, because counting atomically for each view of a row took half the time of a pass at small shapes.
# That is safe: kernels allocate nothing, and their callers hold every array.
_COMMON = {"error_model": "numpy", "nogil": True, **NO_REFERENCE_COUNTS}
_NO_WRAPPERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_REORDERING = {"reassoc", "contract", "nsz", "arcp"}

kernel = njit(cache=True, no_cfunc_wrapper=True, **_COMMON)
"""A function called from Python. Its machine code is kept on disk."""

helper = njit(**_NO_WRAPPERS, **_COMMON)
"""A function called from kernels only and compiled into them: it needs no Python wrapper and no file."""

helper_inlined = njit(forceinline=True, **_NO_WRAPPERS, **_COMMON)
"""A helper called for every row with tuples of many arrays: passing these would cost more than its work."""

helper_reordering = njit(fastmath=_REORDERING, **_NO_WRAPPERS, **_COMMON)
"""A helper whose sums may be reordered. The order is the same in every call."""

helper_reordering_inlined = njit(forceinline=True, fastmath=_REORDERING, **_NO_WRAPPERS, **_COMMON)
"""A helper that is both inlined and reordering."""

helper_once = njit(inline="always", **_COMMON)
"""A helper with a single call site. It is inlined before types are inferred, so it is compiled once instead of twice
and no tuples are passed."""
