"""Paths of files that must exist."""

from __future__ import annotations

from pathlib import Path


def existing_file(path: str | Path, expected: str = "a file") -> Path:
    """Return the path if it is a file; otherwise raise an error that says what is wrong."""
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder; expected {expected}.")
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    return path
