"""The folder with the data: the user's own, or a cache."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """The default folder for data: the environment variable ``KSUMS_DATA``, or ``ksums`` in the user's cache."""
    chosen = os.environ.get("KSUMS_DATA")
    if chosen:
        return Path(chosen).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(cache) if cache else Path.home() / ".cache") / "ksums"


def folder_for(data_home: str | Path | None) -> Path:
    """The given folder, or the default one."""
    return cache_folder() if data_home is None else Path(data_home).expanduser()


def find_file(names: tuple[str, ...], data_home: str | Path | None, data: str, advice: str) -> Path:
    """The first of these files that exists."""
    folder = folder_for(data_home)
    for name in names:
        if (folder / name).exists():
            return folder / name
    raise FileNotFoundError(
        f"{data} is not in {folder}: looked for {', '.join(names)}. {advice} To use another folder, pass data_home= or "
        "set the environment variable KSUMS_DATA."
    )
