"""Where data is: a folder of the user's, or a cache."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Where downloads are put unless a folder is named: ``KSUMS_DATA``, or ``ksums`` in the user's cache."""
    named = os.environ.get("KSUMS_DATA")
    if named:
        return Path(named).expanduser()
    above = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(above) if above else Path.home() / ".cache") / "ksums"


def folder_for(data_home: str | Path | None) -> Path:
    """The folder that was named, or the usual one."""
    return cache_folder() if data_home is None else Path(data_home).expanduser()


def find(names: tuple[str, ...], data_home: str | Path | None, what: str, cure: str) -> Path:
    """The first of these files that is there."""
    folder = folder_for(data_home)
    for name in names:
        if (folder / name).exists():
            return folder / name
    raise FileNotFoundError(
        f"{what} is not in {folder}: looked for {', '.join(names)}. {cure} Another folder can be named with data_home= "
        "or in the environment variable KSUMS_DATA."
    )
