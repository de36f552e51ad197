"""Ctrl-C in the middle of a fit: the model holds the best found so far, and a warning of its own kind says so."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.exceptions import ConvergenceWarning


class FitInterrupted(ConvergenceWarning):
    """The fit was interrupted; the model holds the best that was found."""


@contextmanager
def whole_fits() -> Iterator[list[warnings.WarningMessage]]:
    """Fits that are worth nothing unless they ran to their end: Ctrl-C ends all, as it does elsewhere.

    Gives the list in which other warnings are collected.
    """
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warnings.simplefilter("error", FitInterrupted)
        try:
            yield told
        except FitInterrupted as error:
            raise KeyboardInterrupt from error
