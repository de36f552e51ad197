"""``ksums info``: versions, threads, engines and folders."""

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
    "faiss-cpu", "onnx", "torch", "triton",
)  # fmt: skip
"""Packages whose versions matter for results, speed or optional features."""


def info(as_json: AsJson = False) -> None:
    """Show versions, threads, engines and folders."""
    from numba import config

    from ksums.compute import vectors
    from ksums.datasets import cache_folder
    from ksums.planning.engines import ENGINE_NAMES

    folder, size, functions = compiled_code()
    facts: dict[str, Any] = {
        "python": platform.python_version(),
        **{package: _version(package) for package in _PACKAGES},
        "threads": int(config.NUMBA_NUM_THREADS),
        "vectors": f"{vectors.VECTOR_BITS} bits" if vectors.USE_VECTORS else "unknown CPU, so plain loops are used",
        "engines": list(ENGINE_NAMES),
        "graphics card": graphics_card(),
        "compiled": functions or "nothing yet; the first fit compiles, or run: ksums compile",
        "compiled size": f"{size / 1e6:.1f} MB",
        "compiled code": str(folder),
        "data folder": f"{cache_folder()}" + ("" if Path(cache_folder()).is_dir() else " (does not exist yet)"),
    }
    if as_json:
        typer.echo(json.dumps(facts))
        return
    for name, value in facts.items():
        typer.echo(f"{name:>14}  {', '.join(value) if isinstance(value, list) else value}")


def compiled_code() -> tuple[Path, int, list[str]]:
    """The folder where Numba stores the compiled code of this package, its size in bytes, and the functions."""
    from ksums.compute.compat import numba_cache_folder
    from ksums.method.data.sum_kernels import add_rows

    folder = Path(numba_cache_folder(add_rows))
    package = Path(__file__).parents[1]
    root = package if package in folder.parents else folder
    size = sum(file.stat().st_size for file in root.rglob("*.nb[ic]"))
    return root, size, sorted({file.name.partition("-")[0] for file in root.rglob("*.nbi")})


def graphics_card() -> str:
    """What torch says of the CUDA devices of this machine."""
    if _version("torch") == "not installed":
        return "none that can be used: pip install 'ksums[gpu]'"
    import torch

    if not torch.cuda.is_available():
        return "none that torch sees"
    numbers = range(torch.cuda.device_count())
    cards = [torch.cuda.get_device_properties(number) for number in numbers]
    return ", ".join(f"cuda:{at} {card.name} ({card.total_memory / 1e9:.0f} GB)" for at, card in enumerate(cards))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
