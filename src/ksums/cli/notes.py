"""What a command says on the way: warnings as lines of their own, without the lines of source that caused them."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from ksums.interruption import FitInterrupted


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """So many of something, in words."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


class Notes:
    """What was warned of, each only once."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.interrupted = False

    def tell(self) -> None:
        for words in self.words:
            typer.echo(f"note: {words}", err=True)


@contextmanager
def noting(silent: bool) -> Iterator[Notes]:
    """Collect warnings; where there should be silence, also keep back that kernels are compiled."""
    notes, logger = Notes(), logging.getLogger("ksums")
    level = logger.level
    logger.setLevel(logging.ERROR if silent else level)
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            warnings.filterwarnings("ignore", "X does not have valid feature names")  # the columns were compared
            yield notes
    finally:
        logger.setLevel(level)
        notes.words = list(dict.fromkeys(str(warning.message) for warning in told))
        notes.interrupted = any(issubclass(warning.category, FitInterrupted) for warning in told)
