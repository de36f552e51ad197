"""Several files, or files that need not fit into memory: what ``fit`` and ``predict`` do with them."""

from __future__ import annotations

import glob
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer

from ksums.cli.inputs import parse_columns
from ksums.cli.messages import INTERRUPTED, collect_warnings, plural
from ksums.cli.outputs import TABLES, check_outputs, write_labels, write_records
from ksums.estimators.sharded import predicted_parts
from ksums.io import Source, open_source

_SUFFIXES = {".parquet": ".parquet", ".arrow": ".arrow", ".feather": ".feather", ".csv": ".csv", ".tsv": ".csv"}
"""The suffix of the labels of a file with this suffix; those of all others are .npy files."""


_WAIT = 10
"""Seconds to wait for a scheduler."""


def is_in_parts(data: str, *limits: Any) -> bool:
    """Whether the rows are in a folder, match a pattern, or must be read in blocks because a limit is given."""
    several = Path(data).is_dir() or (glob.has_magic(data) and not Path(data).exists())
    return data != "-" and (several or any(limit is not None for limit in limits))


def refuse_options(given: Mapping[str, Any]) -> None:
    """Refuse options that are not offered for several files."""
    for option, value in given.items():
        if value not in (None, False):
            raise ValueError(f"{option} is not offered for several files, nor with --max-memory or --dask.")


def opened(data: str, columns: list[str] | None, if_named: Sequence[str] | None = None) -> Source:
    """The files; ``if_named`` are the columns of files with names if no others are asked for."""
    return open_source(data, None if columns is None else parse_columns(columns), if_named=if_named)


def fit_parts(
    estimator: Any,
    source: Source,
    outputs: Mapping[str, Path | None],
    *,
    dask: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Cluster the rows of all files; ``dask`` is the address of a scheduler whose workers do it."""
    from ksums import save

    labels, model, history = (outputs[option] for option in ("--labels", "--model", "--history"))
    files = {"--model": (model, ()), "--history": (history, TABLES)}
    if estimator.checkpoint is not None:
        files["--checkpoint"] = Path(estimator.checkpoint), ()
    check_outputs(files, [part.name for part in source.parts])
    names = _label_names(labels, source)
    for option, (path, _) in files.items():
        if labels is not None and path is not None and path.resolve() == labels.resolve():
            raise ValueError(f"{option}: {path} is also the folder of --labels; use another name.")
    silent, started = quiet or as_json, time.perf_counter()
    if not silent:
        k = plural(estimator.n_clusters, "cluster")
        typer.echo(f"Fitting {k} to {_size_of(source)}", err=True)
        estimator.set_params(verbose=1)
    with collect_warnings(silent) as warned:
        estimator = estimator.fit(source) if dask is None else _fit_on_dask(estimator, source, dask)
    estimator.set_params(verbose=0)
    if labels is not None:
        write_label_folder(labels, names, _by_part(estimator.labels_, source))
    if model is not None:
        save(estimator, model)
    if history is not None:
        write_records(history, estimator.history_)
    seconds = time.perf_counter() - started
    if as_json:
        facts = {
            "n": source.n,
            "d": source.d,
            "files": len(source.parts),
            "k": len(estimator.sizes_),
            "plan": estimator.plan_.summary,
            "distortion": estimator.distortion_,
            "pairwise": estimator.pairwise_,
            "passes": estimator.n_iter_,
            "seconds": round(seconds, 3),
            "interrupted": warned.interrupted,
            "warnings": warned.messages,
            **{option.strip("-"): str(path) for option, path in outputs.items() if path is not None},
        }
        typer.echo(json.dumps(facts))
    elif not quiet:
        warned.show()
        smallest, largest = estimator.sizes_.min(), estimator.sizes_.max()
        typer.echo(
            f"{_size_of(source)}, {plural(len(estimator.sizes_), 'cluster')} of {smallest:,} to {largest:,} rows"
        )
        typer.echo(f"distortion E_m {estimator.distortion_:.6g}, {estimator.n_iter_} rounds, {seconds:.2f} s")
        for option, path in outputs.items():
            if path is not None:
                typer.echo(f"{option.strip('-')}: {path}")
    if warned.interrupted:
        sys.exit(INTERRUPTED)


def _fit_on_dask(estimator: Any, source: Source, address: str) -> Any:
    """The model, fitted by the workers of a cluster."""
    try:
        from distributed import Client

        from ksums.dask import KSums
    except ImportError as error:
        raise ImportError("--dask requires Dask: pip install 'ksums[dask]'.") from error
    if estimator.max_memory is not None:
        raise ValueError("--max-memory is not offered with --dask: workers read a block at a time.")
    try:
        client = Client(address, timeout=_WAIT)
    except OSError as error:
        raise OSError(f"--dask: no scheduler answers at {address}.") from error
    with client:
        if not client.nthreads():
            raise ValueError(f"--dask: the scheduler at {address} has no workers.")
        return KSums(**estimator.get_params(deep=False)).fit(source, client=client).on_one_machine()


def predict_parts(fitted: Any, source: Source, labels: Path) -> int:
    """Write the nearest cluster of each row, a file for each input; returns how many clusters there are."""
    seen: set[int] = set()

    def predicted() -> Iterator[np.ndarray]:
        for found in predicted_parts(fitted, source):
            seen.update(np.unique(found).tolist())
            yield found

    write_label_folder(labels, _label_names(labels, source), predicted())
    return len(seen)


def write_label_folder(folder: Path, names: list[str], labels: Iterable[np.ndarray]) -> None:
    """Write a file of labels for each input, all of them or none."""
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
    try:
        for name, found in zip(names, labels, strict=True):
            write_labels(made / name, found)
        made.chmod(0o755)
        if folder.is_dir():
            folder.rmdir()
        made.replace(folder)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def _label_names(folder: Path | None, source: Source) -> list[str]:
    """Names of the files of labels; refuses a folder that cannot be made."""
    if folder is None:
        return []
    if folder.suffix:
        raise ValueError(f"--labels: {folder} must be the name of a folder: each input gets a file of labels there.")
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        raise ValueError(f"--labels: {folder} exists already; give the name of a new folder.")
    if not folder.parent.is_dir():
        raise ValueError(f"--labels: {folder} cannot be made: the folder {folder.parent} does not exist.")
    paths = [Path(part.name) for part in source.parts]
    names = [path.stem + _SUFFIXES.get(path.suffix.lower(), ".npy") for path in paths]
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"--labels: several inputs would get the file {repeated}; give them different names.")
    return names


def _by_part(labels: np.ndarray, source: Source) -> Iterator[np.ndarray]:
    first = 0
    for part in source.parts:
        yield np.asarray(labels[first : first + part.rows])
        first += part.rows


def _size_of(source: Source) -> str:
    return f"{plural(source.n, 'row')} of {plural(source.d, 'column')} in {plural(len(source.parts), 'file')}"
