"""Files that should be there."""

from __future__ import annotations

from pathlib import Path


def existing(path: str | Path, needed: str = "a file") -> Path:
    """The path, if there is a file; else an error that says what is there instead."""
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; {needed} is needed.")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    return path
