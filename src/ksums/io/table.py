"""What a reader gives: rows of numbers, and the names that came with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from ksums.typing import Matrix


class NoSuchColumnError(ValueError):
    """A column was asked for that the file does not have."""


class Table(NamedTuple):
    """Rows of a file."""

    X: Matrix
    """(n, d)"""
    columns: list[str] | None = None
    """Names of the d columns, where the file has any."""
    rows: list[str] | None = None
    """Names of the n rows, where the file has any."""


def places(name: str, columns: Sequence[int | str], names: Sequence[str] | None, count: int) -> list[int]:
    """The numbers of the columns that are wanted. What is a name in the file is meant as a name, else as a number."""
    found = []
    often, place = Counter(names), {called: at for at, called in enumerate(names or ())}
    for column in columns:
        if str(column) in place:
            if often[str(column)] > 1:
                raise ValueError(f"{name} has {often[str(column)]} columns called {column!r}; take one by its number.")
            found.append(place[str(column)])
        elif isinstance(column, int) and 0 <= column < count:
            found.append(column)
        else:
            known = "they have no names, only" if names is None else f"its columns are {in_words(names)}, or"
            raise NoSuchColumnError(f"{name} has no column {column!r}; {known} the numbers 0 to {count - 1}.")
    twice = [column for column, count in Counter(found).items() if count > 1]
    if twice:
        raise ValueError(f"column {twice[0] if names is None else repr(names[twice[0]])} of {name} is asked for twice.")
    return found


def in_words(names: Sequence[str], most: int = 20) -> str:
    """Names with commas between them, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")
