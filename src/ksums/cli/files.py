"""What commands read and write."""

from __future__ import annotations

import csv
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ksums.io import Table, read_table, whole_or_not_at_all
from ksums.io.files import SUFFIXES
from ksums.io.separated import read_separated
from ksums.io.table import NoSuchColumnError, in_words
from ksums.saving import parts_of
from ksums.typing import Matrix

if TYPE_CHECKING:
    from sklearn.preprocessing import StandardScaler

TABLES = (".csv", ".parquet")
LABELS = (".npy", *TABLES)
PICTURES = (".png", ".svg", ".pdf")
PAGES = (".html", ".htm")
_NEEDED = {
    ".parquet": ("pyarrow", "pyarrow"),
    **dict.fromkeys(PICTURES, ("matplotlib", "'ksums[plots]'")),
}


# ------------------------------------------------------------------------------------------ reading
def read(
    data: str,
    columns: list[str] | None,
    header: bool | None,
    if_named: Sequence[str] | None = None,
    width: int | None = None,
) -> Table:
    """The rows of a file, or of a CSV at standard input; ``columns`` are names and numbers with commas."""
    chosen = None if columns is None else chosen_columns(columns)
    if data == "-":
        return read_separated(None, ",", chosen, if_named=if_named, header=header)
    return read_table(data, chosen, if_named=if_named, header=header, width=width)


def chosen_columns(texts: list[str]) -> list[int | str]:
    """Names and numbers with commas between them; a name with a comma stands in quotes."""
    words = [word.strip() for cells in csv.reader(texts, skipinitialspace=True) for word in cells]
    if not any(words):
        raise ValueError("--columns: no column is named; leave the option out to take all.")
    return [int(word) if word.isdecimal() else word for word in words]


def load_for(model: str, data: str, columns: list[str] | None, header: bool | None) -> tuple[Any, Table]:
    """A model and rows for it: of a file with names those columns that it knows, and never in another order."""
    from ksums import load

    try:
        fitted = load(model)
    except ValueError as error:
        if Path(model).suffix.lower() in SUFFIXES:
            raise ValueError(f"{model} is no model of ksums: the model comes first, then the data.") from error
        raise
    known = getattr(fitted, "feature_names_in_", None)
    known = None if known is None else known.tolist()
    numbers = getattr(parts_of(fitted)[1], "column_numbers_", None)
    if columns is None and numbers is not None:
        table = _read_by_number(data, header, numbers)
    else:
        table = read(data, columns, header, known, fitted.n_features_in_)
    width, needed = table.X.shape[1], int(fitted.n_features_in_)
    if known is not None and table.columns is not None and table.columns != known:
        raise ValueError(
            f"--columns: the model was fitted to {','.join(known)}, in this order; got {','.join(table.columns)}."
        )
    if width != needed:
        names = "" if known is None else f": {in_words(known)}"
        raise ValueError(f"{data} has {width} columns; the model needs {needed}{names}.")
    if known is not None and table.columns is None:
        words = f"{data} has no names; its columns are taken to be {in_words(known)}, in this order."
        warnings.warn(words, stacklevel=2)
    return fitted, table


def _read_by_number(data: str, header: bool | None, numbers: np.ndarray) -> Table:
    """The columns that a model was fitted to; of a file that has too few for that, all."""
    try:
        return read(data, [str(number) for number in numbers], header)
    except NoSuchColumnError:
        if data == "-":
            raise
        asked = in_words([str(number) for number in numbers])
        warnings.warn(f"{data} has no columns {asked}, as the model's file had; all are taken.", stacklevel=3)
        return read(data, None, header)


def remember_columns(estimator: Any, scaler: Any, names: list[str] | None, numbers: list[int] | None) -> None:
    """Let a model know the columns that it was fitted to: their names, if they have any, else the numbers chosen."""
    if names is not None and len(set(names)) == len(names):
        (estimator if scaler is None else scaler).feature_names_in_ = np.array(names, object)
    elif names is None and numbers is not None:
        estimator.column_numbers_ = np.array(numbers, np.int64)


def check_name(option: str, name: str, known: Iterable[str]) -> None:
    """Refuse a name that is none, and say which one may be meant."""
    names = list(known)
    if name in names:
        return
    by_letters = {other.lower(): other for other in names}
    near = get_close_matches(name.lower(), by_letters, 1, 0.5)
    meant = f" Did you mean {by_letters[near[0]]!r}?" if near else ""
    raise ValueError(f"{option}: there is no {name!r}.{meant} There are {', '.join(names)}.")


def scaled(X: Matrix, wanted: bool) -> tuple[Matrix, StandardScaler | None]:
    """Columns of mean 0 and standard deviation 1, if wanted; sparse ones keep their zeros, and so their mean."""
    if not wanted:
        return X, None
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(with_mean=not sparse.issparse(X))
    return scaler.fit_transform(X), scaler


# ------------------------------------------------------------------------------------------ writing
def check_outputs(outputs: Mapping[str, tuple[Path | None, tuple[str, ...]]], inputs: Iterable[str | Path]) -> None:
    """Refuse files that cannot be written, or that are written twice or read as well, before any work begins."""
    taken = {Path(name).resolve(): "the input" for name in inputs if str(name) != "-"}
    for option, (path, suffixes) in outputs.items():
        if path is None:
            continue
        _check_output(option, path, suffixes)
        place = path.resolve()
        if place in taken:
            raise ValueError(f"{option}: {path} is {taken[place]} as well; give it another name.")
        taken[place] = f"the file of {option}"


def _check_output(option: str, path: Path, suffixes: tuple[str, ...]) -> None:
    if suffixes and path.suffix not in suffixes:
        raise ValueError(f"{option}: {path} must end in {', '.join(suffixes)}.")
    if not suffixes and path.suffix.lower() in SUFFIXES:
        raise ValueError(f"{option}: {path} is a name for rows; take another ending, for instance .safetensors.")
    if path.is_dir():
        raise ValueError(f"{option}: {path} is a folder; a file is needed.")
    if not path.parent.is_dir():
        raise ValueError(f"{option}: {path} cannot be written: there is no folder {path.parent}.")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"{option}: {path} cannot be written: no permission in {path.parent}.")
    module, package = _NEEDED.get(path.suffix, ("os", ""))
    if find_spec(module) is None:
        raise ImportError(f"{option}: for {path.suffix} files {module} is needed: pip install {package}.")


def write_labels(path: Path, labels: np.ndarray) -> None:
    """One label for each row: an array, or a column called ``label``."""
    if path.suffix == ".npy":
        with whole_or_not_at_all(path) as file:
            np.save(file, labels)
    else:
        write_table(path, {"label": labels})


def write_records(path: Path, records: Iterable[Any]) -> None:
    """A line for each record, a dataclass."""
    rows = [asdict(record) for record in records]
    write_table(path, {name: [row[name] for row in rows] for name in rows[0]})


def write_table(path: Path, columns: Mapping[str, Any]) -> None:
    """Columns as .csv or .parquet."""
    if path.suffix == ".csv":
        with whole_or_not_at_all(path, "w") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        return
    import pyarrow
    from pyarrow import parquet

    with whole_or_not_at_all(path) as file:
        parquet.write_table(pyarrow.table(dict(columns)), file)
