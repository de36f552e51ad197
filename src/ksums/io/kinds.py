"""What is known of columns before they are read, and how messages name their cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Told(NamedTuple):
    """What the user, or a model, says about columns, by name or number."""

    texts: Sequence[int | str] = ()
    """Cells stay as they are, such as identifiers that begin with zeros."""
    words: Sequence[int | str] = ()
    """Categories: cells stay as they are, but gaps are gaps."""
    numeric: Sequence[int | str] = ()
    """Numbers or dates; other cells are missing."""
    dates: Sequence[int | str] = ()
    """Dates; other cells are missing."""
    kept: Sequence[int | str] = ()
    """Columns that are used even if they only count the rows, like the index that pandas writes."""

    def resolved(self, position_of: Callable[[int | str], Any]) -> Told:
        """The same columns as ``position_of`` gives them; one may be listed by name and by number."""
        return Told(*(list(dict.fromkeys(map(position_of, columns))) for columns in self))


class Places(NamedTuple):
    """How messages name the cells of a file."""

    file: str
    label: Callable[[Any], str]
    """A column as messages state it."""
    line: Callable[[int], str]
    """The line of a row of a text file, or the row of another file, in words."""

    def cell(self, row: int, column: Any) -> str:
        """The place of a cell in words."""
        return f"{self.file}, {self.line(row)}, column {self.label(column)}"
