"""``ksums fit``: cluster the rows of a file."""

from __future__ import annotations

import inspect
import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ksums.cli.files import (
    LABELS,
    PAGES,
    TABLES,
    check_name,
    check_outputs,
    chosen_columns,
    read,
    remember_columns,
    scaled,
    write_labels,
    write_records,
)
from ksums.cli.notes import Notes, counted, noting
from ksums.cli.options import AsJson, Clusters, Columns, Data, Header, Metric, Quiet, Scale, Seed, Threads
from ksums.io import Table
from ksums.io.table import in_words, places
from ksums.parameters import check_parameters


def fit(
    data: Data,
    n_clusters: Clusters,
    method: Annotated[
        str, typer.Option(help="ksums, or one of the paper's methods: k-means++, Hartigan, ...")
    ] = "ksums",
    objective: Annotated[str | None, typer.Option(help="distortion or pairwise (method ksums only).")] = None,
    metric: Metric = "l2",
    effort: Annotated[str | None, typer.Option(help="low, default, high, or seconds (method ksums only).")] = None,
    n_init: Annotated[
        int | None, typer.Option("--n-init", min=1, help="Runs from different starts, of which the best is kept.")
    ] = None,
    size_min: Annotated[float | None, typer.Option(help="Smallest size of a cluster (method ksums only).")] = None,
    size_max: Annotated[float | None, typer.Option(help="Largest size of a cluster (method ksums only).")] = None,
    seed: Seed = 0,
    threads: Threads = None,
    columns: Columns = None,
    header: Header = None,
    scale: Scale = False,
    weights: Annotated[str | None, typer.Option(help="A column, by name or number: how much each row counts.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Write the labels: .npy, .csv or .parquet.")] = None,
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

      cat rows.csv | ksums fit - -k 5 --labels labels.csv
    """
    from sklearn.pipeline import make_pipeline

    from ksums import METHODS, save

    outputs = {"--labels": labels, "--model": model, "--history": history, "--report": report}
    suffixes = {"--labels": LABELS, "--history": TABLES, "--report": PAGES}
    check_outputs({option: (path, suffixes.get(option, ())) for option, path in outputs.items()}, [data])
    check_name("--method", method, METHODS)
    given = {
        "objective": objective,
        "effort": None if effort is None else _effort(effort),
        "n_init": n_init,
        "size_min": size_min,
        "size_max": size_max,
    }
    more = {name: value for name, value in given.items() if value is not None}
    for name in more:
        if name not in inspect.signature(METHODS[method].estimator).parameters or name in METHODS[method].given:
            raise ValueError(f"--{name.replace('_', '-')} is not for --method {method}; it is for --method ksums.")
    estimator = METHODS[method](n_clusters, metric, seed, n_threads=threads, **more)
    check_parameters(estimator)
    silent = quiet or as_json
    with noting(silent) as read_notes:
        table, numbers, sample_weight = _read(data, columns, header, weights)
        X, scaler = scaled(table.X, scale)
    if X.shape[0] < n_clusters:
        raise ValueError(f"-k: there are {counted(X.shape[0], 'row')} in {data}, too few for {n_clusters:,} clusters.")
    if not silent:
        read_notes.tell()
        typer.echo(f"{_words_of(table)}, {counted(n_clusters, 'cluster')}: fitting", err=True)
    verbose = "verbose" in estimator.get_params() and not silent
    if verbose:
        estimator.set_params(verbose=1)
    began = time.perf_counter()
    with noting(silent) as notes:
        estimator.fit(X, sample_weight=sample_weight)
    seconds = time.perf_counter() - began
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
    facts = {
        "method": method,
        "n": X.shape[0],
        "d": X.shape[1],
        "columns": table.columns,
        "k": len(estimator.sizes_),
        "metric": metric,
        "seed": seed,
        "distortion": estimator.distortion_,
        "pairwise": estimator.pairwise_,
        "passes": estimator.n_iter_,
        "smallest": float(estimator.sizes_.min()),
        "largest": float(estimator.sizes_.max()),
        "seconds": round(seconds, 3),
        "interrupted": notes.interrupted,
        "warnings": read_notes.words + notes.words,
        **{option.strip("-"): str(path) for option, path in outputs.items() if path is not None},
    }
    if as_json:
        typer.echo(json.dumps(facts))
    elif not quiet:
        _tell(facts, notes, weights)
    if notes.interrupted:
        sys.exit(130)


def _read(
    data: str, columns: list[str] | None, header: bool | None, weights: str | None
) -> tuple[Table, list[int] | None, np.ndarray | None]:
    """The rows, the numbers of their columns if there was a choice, and the weights, which are one of the columns."""
    if weights is None:
        table = read(data, columns, header)
        return table, _numbers(columns, table), None
    if len(chosen_columns([weights])) != 1:
        raise ValueError(f"--weights: one column is needed; got {weights}. Put a name with a comma in quotes.")
    table = read(data, None if columns is None else [*columns, weights], header)
    width = table.X.shape[1]
    at = width - 1 if columns is not None else places(data, chosen_columns([weights]), table.columns, width)[0]
    others = [place for place in range(width) if place != at]
    if not others:
        raise ValueError(f"--weights: {weights} is the only column; there must be others to cluster by.")
    names = None if table.columns is None else [table.columns[place] for place in others]
    column = table.X[:, [at]]
    found = column if isinstance(column, np.ndarray) else column.toarray()
    kept = Table(table.X[:, others], names, table.rows)
    return kept, others if columns is None else _numbers(columns, table), found.ravel()


def _numbers(columns: list[str] | None, table: Table) -> list[int] | None:
    """Of a file without names only numbers can have been chosen."""
    if columns is None or table.columns is not None:
        return None
    return [int(column) for column in chosen_columns(columns)]


def _effort(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _words_of(table: Table) -> str:
    names = "" if table.columns is None else f" ({in_words(table.columns)})"
    return f"{counted(table.X.shape[0], 'row')} of {counted(table.X.shape[1], 'column')}{names}"


def _tell(facts: dict[str, Any], notes: Notes, weights: str | None) -> None:
    notes.tell()
    of = "rows" if weights is None else "by weight"
    typer.echo(
        f"{counted(facts['n'], 'row')} of {counted(facts['d'], 'column')}, {counted(facts['k'], 'cluster')} of "
        f"{facts['smallest']:,.6g} to {facts['largest']:,.6g} {of}"
    )
    typer.echo(f"distortion E_m {facts['distortion']:.6g}, pairwise E_s {facts['pairwise']:.6g} (lower is better)")
    typer.echo(f"{counted(facts['passes'], 'pass', 'passes')}, {facts['seconds']:.2f} s")
    for name in ("labels", "model", "history", "report"):
        if name in facts:
            typer.echo(f"{name}: {facts[name]}")
