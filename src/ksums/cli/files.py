"""What commands read and write."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ksums.io import read_rows, whole_or_not_at_all
from ksums.io.tables import read_text
from ksums.typing import Matrix


def read(data: str, columns: str | None) -> Matrix:
    """The rows of a file, or of a CSV at standard input; ``columns`` are names and numbers with commas."""
    chosen = None if columns is None else [_column(word) for word in columns.split(",")]
    return read_text(None, ",", chosen) if data == "-" else read_rows(data, chosen)


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
    folder = path.parent
    while not folder.exists():
        folder = folder.parent
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{option}: {path} cannot be written: no permission in {folder}.")


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
