"""Text files with one thing in a line."""

from __future__ import annotations

from pathlib import Path

from ksums.io.existing import existing


def read_lines(path: str | Path, errors: str = "strict") -> list[str]:
    """The lines of a text in UTF-8, without their ends.

    Only line feeds end a line: ``str.splitlines`` knows other signs, which may well be part of a name.
    """
    path = existing(path, "a text file")
    try:
        text = path.read_text("utf-8-sig", errors=errors)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8: {error}.") from error
    return text.removesuffix("\n").split("\n") if text else []
