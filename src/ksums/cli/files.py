"""What commands read and write."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ksums.io import read_rows, whole_or_not_at_all
from ksums.io.tables import read_text
from ksums.typing import Matrix

_PICTURES = "matplotlib", "'ksums[plots]'"


def read(data: str, columns: str | None) -> Matrix:
    """The rows of a file, or of a CSV at standard input; ``columns`` are names and numbers with commas."""
    chosen = None if columns is None else [_column(word) for word in columns.split(",")]
    return read_text(None, ",", chosen) if data == "-" else read_rows(data, chosen)


def remember_columns(estimator: Any, columns: str | None) -> None:
    """Let a model know the names of the columns that it was fitted to, if they were named."""
    chosen = [] if columns is None else [_column(word) for word in columns.split(",")]
    if chosen and all(isinstance(column, str) for column in chosen):
        estimator.feature_names_in_ = np.array(chosen, object)


def read_for(model: Any, data: str, columns: str | None) -> Matrix:
    """Rows for a fitted model: by default those columns that it was fitted to, and never in another order."""
    known = getattr(model, "feature_names_in_", None)
    if known is None:
        return read(data, columns)
    if columns is not None and [word.strip() for word in columns.split(",")] != known.tolist():
        raise ValueError(f"--columns: the model was fitted to {','.join(known)}, in this order; got {columns}.")
    return read(data, ",".join(known))


def _column(word: str) -> int | str:
    word = word.strip()
    return int(word) if word.isdigit() else word


def read_lines(path: Path) -> list[str]:
    """The lines of a text."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder; a text file is needed.")
    try:
        return path.read_text("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8: {error}.") from error


def check_output(option: str, path: Path | None, suffixes: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse a file that cannot be written, before any work begins."""
    if path is None:
        return
    if option in suffixes and path.suffix not in suffixes[option]:
        raise ValueError(f"{option}: {path} must end in {', '.join(suffixes[option])}.")
    if path.is_dir():
        raise ValueError(f"{option}: {path} is a folder; a file is needed.")
    if not path.parent.is_dir():
        raise ValueError(f"{option}: {path} cannot be written: there is no folder {path.parent}.")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"{option}: {path} cannot be written: no permission in {path.parent}.")
    needed = {".parquet": ("pyarrow", "pyarrow"), ".png": _PICTURES, ".svg": _PICTURES, ".pdf": _PICTURES}
    module, package = needed.get(path.suffix, ("os", ""))
    if find_spec(module) is None:
        raise ImportError(f"{option}: for {path.suffix} files {module} is needed: pip install {package}.")


def write_labels(path: Path, labels: np.ndarray) -> None:
    """One label for each row: an array, or a column called ``label``."""
    if path.suffix == ".npy":
        with whole_or_not_at_all(path) as file:
            np.save(file, labels)
    else:
        write_table(path, {"label": labels})


def write_history(path: Path, estimator: Any) -> None:
    """A line for each record."""
    from dataclasses import asdict

    records = [asdict(record) for record in estimator.history_]
    write_table(path, {name: [record[name] for record in records] for name in records[0]})


def write_table(path: Path, columns: Mapping[str, Any]) -> None:
    """Columns as .csv or .parquet."""
    if path.suffix == ".csv":
        with whole_or_not_at_all(path, "w") as file:
            file.write(",".join(columns) + "\n")
            for row in zip(*columns.values(), strict=True):
                file.write(",".join(map(str, row)) + "\n")
        return
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError(f"{path}: parquet files are written with pyarrow, which is not installed.") from error
    with whole_or_not_at_all(path) as file:
        parquet.write_table(pyarrow.table(dict(columns)), file)
