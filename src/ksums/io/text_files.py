"""Text files with one item per line."""

from __future__ import annotations

from pathlib import Path

from ksums.io.paths import existing_file


def read_lines(path: str | Path, errors: str = "strict") -> list[str]:
    """Lines of a UTF-8 text file, without their line ends.

    Only line feeds end a line. ``str.splitlines`` also splits at other characters, which may be part of a name.

    Parameters
    ----------
    path : str or Path
    errors : {"strict", "replace"}, default="strict"
        What to do with bytes that are not UTF-8: raise an error, or replace them.
    """
    path = existing_file(path, "a text file")
    try:
        text = path.read_text("utf-8-sig", errors=errors)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not a UTF-8 text file: {error}.") from error
    return text.removesuffix("\n").split("\n") if text else []
