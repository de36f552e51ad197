"""What commands print: numbers with their nouns, and warnings as one line each, without the source line."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from ksums.estimators.interruption import FitInterrupted

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 plus the number of the signal, as shells report it."""


def plural(count: int, noun: str, plural_noun: str | None = None) -> str:
    """A number with its noun: ``1 row``, ``2,000 rows``."""
    return f"{count:,} {noun if count == 1 else plural_noun or noun + 's'}"


def are(count: int) -> str:
    """``is`` or ``are``, as the number requires."""
    return "is" if count == 1 else "are"


class CollectedWarnings:
    """The warnings of a part of a command."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        """Each different message once."""
        self.interrupted = False
        """Whether one of them says that Ctrl-C interrupted a fit."""

    def show(self) -> None:
        """Print the messages to standard error."""
        for message in self.messages:
            typer.echo(f"note: {message}", err=True)


@contextmanager
def collect_warnings(silent: bool) -> Iterator[CollectedWarnings]:
    """Collect warnings instead of showing them; if ``silent``, the line that kernels are compiled is hidden, too.

    Before an error they are shown, because they may explain it.
    """
    collected, logger = CollectedWarnings(), logging.getLogger("ksums")
    level = logger.level
    logger.setLevel(logging.ERROR if silent else level)
    try:
        with warnings.catch_warnings(record=True) as raised:
            warnings.simplefilter("always")
            warnings.filterwarnings(
                "ignore", "X does not have valid feature names"
            )  # commands compare names themselves
            yield collected
    except (ValueError, OSError):
        if not silent:
            collected.messages = _each_once(raised)
            collected.show()
        raise
    finally:
        logger.setLevel(level)
        collected.messages = _each_once(raised)
        collected.interrupted = any(issubclass(warning.category, FitInterrupted) for warning in raised)


def _each_once(raised: list[warnings.WarningMessage]) -> list[str]:
    return list(dict.fromkeys(str(warning.message) for warning in raised))
