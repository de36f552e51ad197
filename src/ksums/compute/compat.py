"""Every use of another library's private names, in one place. ``tests/test_compat.py`` says which one broke.

Nothing is imported here at module level, so that a light user of one name does not load the other libraries.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

NO_REFERENCE_COUNTS = {"_nrt": False}
"""Numba: the flag of ``njit`` that compiles a function without the runtime that counts references to arrays."""


def numba_code_generation() -> Any:
    """Numba: the module with the building blocks for LLVM code, such as loops and pointers into arrays."""
    from numba.core import cgutils

    return cgutils


def numba_listener() -> type:
    """Numba: the base class of objects that are notified when something is compiled."""
    from numba.core import event

    return event.Listener


def listening_to_numba(listener: Any) -> AbstractContextManager[Any]:
    """Numba: a context in which ``listener`` is notified when a compilation starts and ends."""
    from numba.core import event

    return event.install_listener("numba:compile", listener)


def numba_external_function(name: str) -> Any:
    """Numba: a C function without arguments that returns an int, callable from compiled code."""
    from numba import types

    return types.ExternalFunction(name, types.intc())


def numba_cache_folder(kernel: Any) -> str:
    """Numba: the folder in which the machine code of a kernel is kept."""
    return kernel.stats.cache_path


@contextmanager
def _with_callbacks(estimator: Any, callbacks: list[Any]) -> Iterator[None]:
    """scikit-learn: ``callbacks`` added to those of ``set_callbacks``, for as long as the context lasts."""
    before = estimator.__dict__.get("_skl_callbacks")
    if callbacks:
        estimator._skl_callbacks = [*(before or []), *callbacks]
    try:
        yield
    finally:
        if before is not None:
            estimator._skl_callbacks = before
        else:
            estimator.__dict__.pop("_skl_callbacks", None)


def set_callbacks_of(estimator: Any) -> list[Any]:
    """scikit-learn: the callbacks that ``set_callbacks`` gave to an estimator."""
    return list(estimator.__dict__.get("_skl_callbacks") or [])


def callback_context(estimator: Any, callbacks: list[Any], subtasks: int) -> Any:
    """scikit-learn: the root task of a fit, with ``callbacks`` in addition to those of ``set_callbacks``."""
    with _with_callbacks(estimator, callbacks):
        return estimator._init_callback_context(max_subtasks=subtasks)


def typer_usage_error() -> type[Exception]:
    """typer: the class of all usage errors. It belongs to the Click that typer brings along and does not export."""
    import typer

    return typer.BadParameter.__mro__[1]
