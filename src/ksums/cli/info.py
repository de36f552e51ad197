"""``ksums info``: what is installed, and what it will use."""

from __future__ import annotations

import json
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import typer

from ksums.cli.options import AsJson

_PACKAGES = (
    "ksums", "numpy", "scipy", "scikit-learn", "numba", "safetensors", "matplotlib", "pandas", "pyarrow",
    "faiss-cpu", "onnx",
)  # fmt: skip


def info(as_json: AsJson = False) -> None:
    """Show versions, threads, engines and folders."""
    from numba import config

    from ksums.datasets import cache_folder
    from ksums.engines import ENGINES, _vectors

    kernels, size = _compiled()
    facts: dict[str, Any] = {
        "python": platform.python_version(),
        **{package: _version(package) for package in _PACKAGES},
        "threads": int(config.NUMBA_NUM_THREADS),
        "vectors": f"{_vectors.VECTOR_BITS} bits" if _vectors.USE_VECTORS else "not known for this CPU: plain loops",
        "engines": list(ENGINES),
        "compiled code": str(kernels),
        "its size": f"{size / 1e6:.1f} MB",
        "data folder": f"{cache_folder()}" + ("" if Path(cache_folder()).is_dir() else " (not there yet)"),
    }
    if as_json:
        typer.echo(json.dumps(facts))
        return
    for name, value in facts.items():
        typer.echo(f"{name:>14}  {', '.join(value) if isinstance(value, list) else value}")


def _compiled() -> tuple[Path, int]:
    """Where Numba keeps what it has compiled of this package, and how much that is."""
    from ksums import _sum_kernels

    kernel = next(value for value in vars(_sum_kernels).values() if hasattr(value, "stats"))
    folder = Path(kernel.stats.cache_path)
    package = Path(__file__).parents[1]
    root = package if package in folder.parents else folder
    return root, sum(file.stat().st_size for file in root.rglob("*.nb[ic]"))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
