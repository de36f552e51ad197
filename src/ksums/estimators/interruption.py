"""Ctrl-C in the middle of a fit: the model holds the best found so far, and a warning of its own kind says so."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.exceptions import ConvergenceWarning


class FitInterrupted(ConvergenceWarning):
    """The fit was interrupted; the model holds the best labels that were found."""


@contextmanager
def complete_fits() -> Iterator[list[warnings.WarningMessage]]:
    """Fits that are worth nothing unless they are complete: Ctrl-C ends them all, as it does elsewhere.

    Gives the list in which other warnings are collected.
    """
    with warnings.catch_warnings(record=True) as collected:
        warnings.simplefilter("always")
        warnings.simplefilter("error", FitInterrupted)
        try:
            yield collected
        except FitInterrupted as error:
            raise KeyboardInterrupt from error
