"""``ksums info``: what is installed, and what it will use."""

from __future__ import annotations

import json
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

import typer

_PACKAGES = ("ksums", "numpy", "scipy", "scikit-learn", "numba", "matplotlib", "pyarrow", "faiss-cpu")


def info(as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False) -> None:
    """Show versions, threads, engines and folders."""
    from numba import config

    from ksums.datasets import cache_folder
    from ksums.engines import ENGINES, _vectors

    facts: dict[str, Any] = {
        "python": platform.python_version(),
        **{package: _version(package) for package in _PACKAGES},
        "threads": int(config.NUMBA_NUM_THREADS),
        "vectors": f"{_vectors.VECTOR_BITS} bits" if _vectors.USE_VECTORS else "not known for this CPU: plain loops",
        "engines": list(ENGINES),
        "compiled code": str(config.CACHE_DIR or "beside the package, or in the user's cache"),
        "data folder": str(cache_folder()),
    }
    if as_json:
        typer.echo(json.dumps(facts))
        return
    for name, value in facts.items():
        typer.echo(f"{name:>14}  {', '.join(value) if isinstance(value, list) else value}")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
