"""What commands write: labels, tables, plots, pages and models, each file completely or not at all."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ksums.io import atomic_write
from ksums.io.readers import SUFFIXES

TABLES = (".csv", ".parquet")
"""Suffixes of files with named columns."""

LABELS = (".npy", *TABLES)
"""Suffixes of files with labels: a plain array is enough for them."""

PLOTS = (".png", ".svg", ".pdf")
"""Suffixes of plots: one for screens, and two for print."""

PAGES = (".html", ".htm")
"""Suffixes of report pages."""

_REQUIRED = {
    ".parquet": ("pyarrow", "pyarrow"),
    **dict.fromkeys(PLOTS, ("matplotlib", "'ksums[plots]'")),
}
"""The module that a suffix requires, and what to install for it: they are optional dependencies."""


def check_outputs(outputs: Mapping[str, tuple[Path | None, tuple[str, ...]]], inputs: Iterable[str | Path]) -> None:
    """Before any work, refuse files that cannot be written, or that would overwrite an input or another output.

    ``outputs`` maps an option to its file and the allowed suffixes; no suffixes: any but those of data files.
    """
    used = {Path(name).resolve(): "the input" for name in inputs if str(name) != "-"}
    for option, (path, suffixes) in outputs.items():
        if path is None:
            continue
        _check_output(option, path, suffixes)
        resolved = path.resolve()
        if resolved in used:
            raise ValueError(f"{option}: {path} is also {used[resolved]}; use another name.")
        used[resolved] = f"the file of {option}"


def _check_output(option: str, path: Path, suffixes: tuple[str, ...]) -> None:
    if suffixes and path.suffix not in suffixes:
        raise ValueError(f"{option}: {path} must end in {', '.join(suffixes)}.")
    if not suffixes and path.suffix.lower() in SUFFIXES:
        raise ValueError(f"{option}: {path} has the suffix of a data file; use another one, for example .safetensors.")
    if path.is_dir():
        raise ValueError(f"{option}: {path} is a folder; expected a file.")
    if not path.parent.is_dir():
        raise ValueError(f"{option}: {path} cannot be written: the folder {path.parent} does not exist.")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"{option}: {path} cannot be written: no permission in {path.parent}.")
    module, package = _REQUIRED.get(path.suffix, ("os", ""))
    if find_spec(module) is None:
        raise ImportError(f"{option}: {path.suffix} files require {module}: pip install {package}.")


def check_labels_with_ids(path: Path | None, ids: Mapping[str, Sequence[Any]], report: Path | None = None) -> None:
    """Refuse names of rows where they cannot be written."""
    if ids and path is None and report is None:
        raise ValueError("--id: names of rows are written beside the labels; use --labels or --report, too.")
    if ids and path is not None and path.suffix == ".npy":
        raise ValueError(f"--id: names of rows cannot be written to {path}; use a file that ends in .csv or .parquet.")


def write_labels(path: Path, labels: np.ndarray, ids: Mapping[str, Sequence[Any]] | None = None) -> None:
    """Write one label for each row: an array, or a column called ``label``, after the names of the rows.

    If these are called ``label`` themselves, the column is called ``cluster``.
    """
    if path.suffix == ".npy":
        with atomic_write(path) as file:
            np.save(file, labels)
    else:
        name = "cluster" if "label" in (ids or {}) else "label"
        write_table(path, {**(ids or {}), name: labels})


def write_records(path: Path, records: Iterable[Any]) -> None:
    """Write a line for each record; records are dataclasses."""
    rows = [asdict(record) for record in records]
    write_table(path, {name: [row[name] for row in rows] for name in rows[0]})


def write_table(path: Path, columns: Mapping[str, Any]) -> None:
    """Write columns as .csv, .parquet, .arrow or .feather."""
    if path.suffix == ".csv":
        with atomic_write(path, "w") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        return
    import pyarrow
    from pyarrow import ipc, parquet

    table = pyarrow.table(dict(columns))
    with atomic_write(path) as file:
        if path.suffix == ".parquet":
            parquet.write_table(table, file)
        else:
            with ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
