"""The pieces of a page, independent of how they are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Heading:
    """A heading; ``level`` 1 is the title of the page."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Text, with ``**bold**``, ``*italic*``, ````code```` and links to headings."""

    text: str


@dataclass(frozen=True)
class Image:
    """A drawn picture with its title and caption."""

    path: Path
    title: str
    caption: str = ""


@dataclass(frozen=True)
class Table:
    """A table of text."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""


Piece = Heading | Paragraph | Image | Table


def anchor(heading: str) -> str:
    """The target of links to a heading, as GitHub and MyST name it.

    >>> anchor("Significance test (Fig. 3a, b)")
    'significance-test-fig-3a-b'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def link(text: str, heading: str) -> str:
    """A link to a heading of the same page."""
    return f"[{text}](#{anchor(heading)})"
