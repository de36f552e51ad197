"""``ksums fit``: cluster the rows of a file."""

from __future__ import annotations

import inspect
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from ksums.checking.parameters import check_parameters
from ksums.cli.constraints import refuse_constraints, refuse_two_limits, row_constraints
from ksums.cli.inputs import (
    check_name,
    parse_column,
    parse_columns,
    read_input_with_texts,
    remember_columns,
    scale_columns,
)
from ksums.cli.messages import INTERRUPTED, collect_warnings, plural
from ksums.cli.options import AsJson, Clusters, Columns, Data, Header, Metric, Quiet, Scale, Seed, Threads
from ksums.cli.outputs import LABELS, PAGES, TABLES, check_outputs, write_labels, write_records
from ksums.cli.parts import fit_parts, is_in_parts, opened, refuse_options
from ksums.compute.arrays import Matrix
from ksums.io import Table
from ksums.io.table import column_positions, joined


class _Input(NamedTuple):
    """What a command reads from its file."""

    table: Table
    """The rows to cluster, without weights and texts."""
    numbers: list[int] | None
    """Numbers of their columns, if only some are used and the columns have no names."""
    weights: np.ndarray | None  # (n,)
    texts: list[list[str]]
    """The values of each column that was requested as text."""


def fit(
    data: Data,
    n_clusters: Clusters,
    method: Annotated[str, typer.Option(help="ksums, or a method of the paper: k-means++, Hartigan, ...")] = "ksums",
    objective: Annotated[str | None, typer.Option(help="distortion or pairwise (method ksums only).")] = None,
    metric: Metric = "l2",
    effort: Annotated[
        str | None, typer.Option(help="low, default, high, or a time in seconds (method ksums only).")
    ] = None,
    n_init: Annotated[
        int | None, typer.Option("--n-init", min=1, help="Runs from different starts; the best is kept.")
    ] = None,
    size_min: Annotated[float | None, typer.Option(help="Smallest size of a cluster (method ksums only).")] = None,
    size_max: Annotated[float | None, typer.Option(help="Largest size of a cluster (method ksums only).")] = None,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Make all clusters equally large, to within one row (method ksums only).")
    ] = False,
    link_column: Annotated[
        str | None,
        typer.Option(help="Column of groups: rows with the same value share a cluster (method ksums only)."),
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option(help="Column of known labels; rows without one are free (method ksums only)."),
    ] = None,
    seed: Seed = 0,
    threads: Threads = None,
    columns: Columns = None,
    header: Header = None,
    scale: Scale = False,
    weights: Annotated[str | None, typer.Option(help="Column with the weights of the rows, by name or number.")] = None,
    max_memory: Annotated[
        str | None, typer.Option(help="Memory to use, such as 2GB; rows that do not fit are read again and again.")
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler whose workers read the files, such as tcp://host:8786."),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(help="File from which an interrupted or killed fit resumes (method ksums only)."),
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="Where to fit: cpu, cuda or cuda:N (method ksums only); by default the CPU.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="Write the labels: .npy, .csv or .parquet; a new folder for several files.")
    ] = None,
    model: Annotated[Path | None, typer.Option(help="Write the model, for ksums predict and ksums.load.")] = None,
    history: Annotated[Path | None, typer.Option(help="Write a record of every pass: .csv or .parquet.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page about the clusters: .html.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Cluster the rows of a file.

    Examples:

      ksums fit vectors.npy -k 100 --labels labels.npy

      ksums fit survey.csv -k 8 --columns age,income --scale --model survey.safetensors

      ksums fit texts.npz -k 20 --metric cosine --labels labels.csv --json

      ksums fit customers.csv -k 4 --link-column household --label-column tier --balanced

      cat rows.csv | ksums fit - -k 5 --labels labels.csv

      ksums fit 'vectors/*.parquet' -k 1000 --max-memory 2GB --checkpoint run.ckpt --labels labels

    With --dask the workers read the files; they must see them under the same names.
    """
    from sklearn.pipeline import make_pipeline

    from ksums import save

    refuse_two_limits(balanced, {"--size-min": size_min, "--size-max": size_max})
    constraints = {"--balanced": balanced, "--link-column": link_column, "--label-column": label_column}
    if is_in_parts(data, max_memory, dask):
        refuse_options({"--scale": scale, "--weights": weights, "--report": report, "--header": header, **constraints})
        options = {"effort": effort, "objective": objective, "n_init": n_init, "size_min": size_min}
        options |= {"size_max": size_max, "max_memory": max_memory, "checkpoint": checkpoint, "device": device}
        estimator = _estimator(method, n_clusters, metric, seed, threads, options)
        if method != "ksums":
            raise ValueError(f"--method {method} reads a single file; several files are for --method ksums.")
        paths = {"--labels": labels, "--model": model, "--history": history}
        fit_parts(estimator, opened(data, columns), paths, dask=dask, as_json=as_json, quiet=quiet)
        return
    outputs = {"--labels": labels, "--model": model, "--history": history, "--report": report}
    suffixes = {"--labels": LABELS, "--history": TABLES, "--report": PAGES}
    files = {**outputs, "--checkpoint": None if checkpoint is None else Path(checkpoint)}
    check_outputs({option: (path, suffixes.get(option, ())) for option, path in files.items()}, [data])
    options = {
        "objective": objective,
        "effort": effort,
        "n_init": n_init,
        "size_min": size_min,
        "size_max": "balanced" if balanced else size_max,
        "checkpoint": checkpoint,
        "device": device,
    }
    refuse_constraints(constraints, method, device)
    estimator = _estimator(method, n_clusters, metric, seed, threads, options)
    silent = quiet or as_json
    given = {"--link-column": link_column, "--label-column": label_column}
    text_columns = {option: parse_column(option, column) for option, column in given.items() if column is not None}
    with collect_warnings(silent) as read_warnings:
        table, numbers, sample_weight, texts = _read(data, columns, header, weights, list(text_columns.values()))
        X, scaler = scale_columns(table.X, scale)
    if X.shape[0] < n_clusters:
        raise ValueError(f"-k: {data} has {plural(X.shape[0], 'row')}, too few for {n_clusters:,} clusters.")
    known = row_constraints(dict(zip(text_columns, texts, strict=True)), n_clusters)
    if not silent:
        read_warnings.show()
        names = "" if table.columns is None else f" ({joined(table.columns)})"
        typer.echo(f"Fitting {plural(n_clusters, 'cluster')} to {_size_of(X)}{names}", err=True)
    verbose = "verbose" in estimator.get_params() and not silent
    if verbose:
        estimator.set_params(verbose=1)  # prints the plan, then progress
    started = time.perf_counter()
    with collect_warnings(silent) as fit_warnings:
        estimator.fit(X, sample_weight=sample_weight, **known.arguments)
    seconds = time.perf_counter() - started
    if verbose:
        estimator.set_params(verbose=0)
    remember_columns(estimator, scaler, table.columns, numbers)
    fitted = estimator if scaler is None else make_pipeline(scaler, estimator)
    if labels is not None:
        write_labels(labels, estimator.labels_)
    if model is not None:
        save(fitted, model)
    if history is not None:
        write_records(history, estimator.history_)
    if report is not None:
        from ksums.report import write_report

        write_report(report, fitted, table.X, names=table.rows, title=None if data == "-" else Path(data).name)
    if as_json:
        facts = {
            "method": method,
            "n": X.shape[0],
            "d": X.shape[1],
            "columns": table.columns,
            "k": len(estimator.sizes_),
            "metric": metric,
            "seed": seed,
            "plan": estimator.plan_.summary if hasattr(estimator, "plan_") else None,
            "distortion": estimator.distortion_,
            "pairwise": estimator.pairwise_,
            "passes": estimator.n_iter_,
            "smallest": float(estimator.sizes_.min()),
            "largest": float(estimator.sizes_.max()),
            "label_values": known.values,
            "seconds": round(seconds, 3),
            "interrupted": fit_warnings.interrupted,
            "warnings": read_warnings.messages + fit_warnings.messages,
            **{option.strip("-"): str(path) for option, path in outputs.items() if path is not None},
        }
        typer.echo(json.dumps(facts))
    elif not quiet:
        fit_warnings.show()
        _show_result(estimator, X, seconds, is_weighted=weights is not None)
        if known.in_words is not None:
            typer.echo(known.in_words)
        for option, path in outputs.items():
            if path is not None:
                typer.echo(f"{option.strip('-')}: {path}")
    if fit_warnings.interrupted:
        sys.exit(INTERRUPTED)


def _estimator(
    method: str, n_clusters: int, metric: str, seed: int, threads: int | None, options: dict[str, Any]
) -> Any:
    """The unfitted estimator, with those options that are given; refuses options that the method does not have."""
    from ksums import METHODS

    check_name("--method", method, METHODS)
    given = {name: value for name, value in options.items() if value is not None}
    for name in given:
        allowed = inspect.signature(METHODS[method].estimator).parameters
        if name not in allowed or name in METHODS[method].parameters:
            raise ValueError(f"--{name.replace('_', '-')} is not an option of --method {method}; use --method ksums.")
    if "effort" in given:
        given["effort"] = _parse_effort(given["effort"])
    estimator = METHODS[method](n_clusters, metric, seed, n_threads=threads, **given)
    check_parameters(estimator)
    return estimator


def _parse_effort(text: str) -> str | float:
    """Seconds as a number, or the name of a level."""
    try:
        return float(text)
    except ValueError:
        return text


def _read(
    data: str, columns: list[str] | None, header: bool | None, weights: str | None, texts: Sequence[int | str]
) -> _Input:
    if weights is None:
        table, found = read_input_with_texts(data, columns, header, texts)
        return _Input(table, _chosen_numbers(columns, table), None, found)
    column_of_weights = parse_column("--weights", weights)
    table, found = read_input_with_texts(data, None if columns is None else [*columns, weights], header, texts)
    width = table.X.shape[1]
    if columns is not None:
        position = width - 1
    elif texts and str(column_of_weights) not in (table.columns or ()):  # numbers would not count columns of text
        raise ValueError(
            f"--weights: with --link-column or --label-column, give the name of another column; got {weights}."
        )
    else:
        position = column_positions(data, [column_of_weights], table.columns, width)[0]
    others = [at for at in range(width) if at != position]
    if not others:
        raise ValueError(f"--weights: {weights} is the only column; clustering requires at least one other column.")
    names = None if table.columns is None else [table.columns[at] for at in others]
    column = table.X[:, [position]]
    sample_weight = column if isinstance(column, np.ndarray) else column.toarray()
    rows = table._replace(X=table.X[:, others], columns=names)
    numbers = others if columns is None else _chosen_numbers(columns, table)
    return _Input(rows, numbers, sample_weight.ravel(), found)


def _chosen_numbers(columns: list[str] | None, table: Table) -> list[int] | None:
    """Numbers of the chosen columns of a file without names; None if all are used, or if they have names."""
    if columns is None or table.columns is not None:
        return None
    return [int(column) for column in parse_columns(columns)]


def _size_of(X: Matrix) -> str:
    return f"{plural(X.shape[0], 'row')} of {plural(X.shape[1], 'column')}"


def _show_result(estimator: Any, X: Matrix, seconds: float, *, is_weighted: bool) -> None:
    """Print what a person wants to know first."""
    smallest, largest = estimator.sizes_.min(), estimator.sizes_.max()
    sizes = f"weight {smallest:,.6g} to {largest:,.6g}" if is_weighted else f"{smallest:,.6g} to {largest:,.6g} rows"
    typer.echo(f"{_size_of(X)}, {plural(len(estimator.sizes_), 'cluster')} of {sizes}")
    typer.echo(f"distortion E_m {estimator.distortion_:.6g}, pairwise E_s {estimator.pairwise_:.6g} (lower is better)")
    typer.echo(f"{plural(estimator.n_iter_, 'pass', 'passes')}, {seconds:.2f} s")
