"""A page as Markdown, with its pictures in separate files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ksums.reproduce.pieces import Heading, Image, Paragraph, Piece


def markdown_page(pieces: Iterable[Piece], folder: Path) -> str:
    """The text of a page in ``folder``."""
    lines: list[str] = []
    for piece in pieces:
        if isinstance(piece, Heading):
            lines += [f"{'#' * piece.level} {piece.text}", ""]
        elif isinstance(piece, Paragraph):
            lines += [piece.text, ""]
        elif isinstance(piece, Image):
            path = piece.path.relative_to(folder).as_posix()
            lines += [f"![{piece.title}]({path})", "", f"**{piece.title}.** {piece.caption}".rstrip(), ""]
        else:
            lines += [piece.caption, ""] if piece.caption else []
            lines += [_row(piece.head), "|" + "---|" * len(piece.head), *map(_row, piece.rows), ""]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
