"""``ksums fit``: cluster the rows of a file."""

from __future__ import annotations

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
    check_outputs,
    chosen_columns,
    read,
    remember_columns,
    scaled,
    write_labels,
    write_records,
)
from ksums.cli.notes import Notes, noting
from ksums.cli.options import AsJson, Clusters, Columns, Data, Header, Metric, Quiet, Scale, Seed, Threads
from ksums.io import Table
from ksums.io.table import places

_MOST_NAMED = 8  # columns that are named before the work begins


def fit(
    data: Data,
    n_clusters: Clusters,
    method: Annotated[
        str, typer.Option(help="ksums, or one of the paper's methods: k-means++, Hartigan, ...")
    ] = "ksums",
    objective: Annotated[str | None, typer.Option(help="distortion or pairwise (method ksums only).")] = None,
    metric: Metric = "l2",
    effort: Annotated[str | None, typer.Option(help="low, default, high, or seconds (method ksums only).")] = None,
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
    from ksums import METHODS, save

    outputs = {"--labels": labels, "--model": model, "--history": history, "--report": report}
    suffixes = {"--labels": LABELS, "--history": TABLES, "--report": PAGES}
    check_outputs({option: (path, suffixes.get(option, ())) for option, path in outputs.items()}, [data])
    if method not in METHODS:
        raise ValueError(f"--method: there is no {method!r}; there are {', '.join(METHODS)}.")
    more: dict[str, Any] = {"n_threads": threads}
    given = {"objective": objective, "effort": None if effort is None else _effort(effort)}
    for name, value in given.items():
        if value is not None:
            if method != "ksums":
                raise ValueError(f"--{name} is for --method ksums; {method} has none.")
            more[name] = value
    estimator = METHODS[method](n_clusters, metric, seed, **more)
    table, sample_weight = _read(data, columns, header, weights)
    silent = quiet or as_json
    if not silent:
        typer.echo(f"{_words_of(table)}, {_count(n_clusters, 'cluster')}: fitting", err=True)
    X, scaler = scaled(table.X, scale)
    verbose = "verbose" in estimator.get_params() and not silent
    if verbose:
        estimator.set_params(verbose=1)
    began = time.perf_counter()
    with noting(silent) as notes:
        estimator.fit(X, sample_weight=sample_weight)
    seconds = time.perf_counter() - began
    if verbose:
        estimator.set_params(verbose=0)
    for step in (estimator, scaler):
        if step is not None:
            remember_columns(step, table.columns)
    if labels is not None:
        write_labels(labels, estimator.labels_)
    if model is not None:
        from sklearn.pipeline import make_pipeline

        save(estimator if scaler is None else make_pipeline(scaler, estimator), model)
    if history is not None:
        write_records(history, estimator.history_)
    if report is not None:
        from ksums.report import write_report

        write_report(report, estimator, X, names=table.rows)
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
        "warnings": notes.words,
        **{option.strip("-"): str(path) for option, path in outputs.items() if path is not None},
    }
    if as_json:
        typer.echo(json.dumps(facts))
    elif not quiet:
        _tell(facts, notes, weights)
    if notes.interrupted:
        sys.exit(130)


def _read(data: str, columns: str | None, header: bool | None, weights: str | None) -> tuple[Table, np.ndarray | None]:
    """The rows, and the weights out of one of their columns."""
    if weights is None:
        return read(data, columns, header), None
    table = read(data, None if columns is None else f"{columns},{weights}", header)
    (at,) = places(data, chosen_columns(weights), table.columns, table.X.shape[1]) if columns is None else (-1,)
    others = [place for place in range(table.X.shape[1]) if place != at % table.X.shape[1]]
    if not others:
        raise ValueError(f"--weights: {weights} is the only column; there must be others to cluster by.")
    names = None if table.columns is None else [table.columns[place] for place in others]
    column = table.X[:, [at]]
    found = column if isinstance(column, np.ndarray) else column.toarray()
    return Table(table.X[:, others], names, table.rows), found.ravel()


def _effort(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _words_of(table: Table) -> str:
    names = "" if table.columns is None else f" ({', '.join(table.columns[:_MOST_NAMED])}"
    if names:
        names += ", …)" if len(table.columns or ()) > _MOST_NAMED else ")"
    return f"{_count(table.X.shape[0], 'row')} of {_count(table.X.shape[1], 'column')}{names}"


def _tell(facts: dict[str, Any], notes: Notes, weights: str | None) -> None:
    notes.tell()
    of = "rows" if weights is None else "by weight"
    typer.echo(
        f"{_count(facts['n'], 'row')} of {_count(facts['d'], 'column')}, {_count(facts['k'], 'cluster')} of "
        f"{facts['smallest']:,.6g} to {facts['largest']:,.6g} {of}"
    )
    typer.echo(f"distortion E_m {facts['distortion']:.6g}, pairwise E_s {facts['pairwise']:.6g} (lower is better)")
    typer.echo(f"{facts['passes']} passes, {facts['seconds']:.2f} s")
    for name in ("labels", "model", "history", "report"):
        if name in facts:
            typer.echo(f"{name}: {facts[name]}")
