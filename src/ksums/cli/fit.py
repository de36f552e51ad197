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

from ksums.checking.parameters import check_parameters
from ksums.cli.constraints import refuse_constraints, refuse_two_limits, row_constraints
from ksums.cli.inputs import check_name, parse_column, remember_columns, scale_columns
from ksums.cli.messages import INTERRUPTED, collect_warnings, plural
from ksums.cli.options import (
    AsJson,
    Categorical,
    Clusters,
    Columns,
    Data,
    DropMissing,
    Header,
    Id,
    Ignore,
    Metric,
    Missing,
    Numeric,
    Quiet,
    Scale,
    Seed,
    Threads,
    Weights,
)
from ksums.cli.outputs import (
    LABELS,
    PAGES,
    TABLES,
    check_labels_with_ids,
    check_outputs,
    write_labels,
    write_records,
)
from ksums.cli.parts import fit_parts, is_in_parts, opened, refuse_options
from ksums.cli.rows import read_fit_input
from ksums.cli.tables import options_of, table_estimator
from ksums.io.table import NotNumericError, joined
from ksums.tables.columns import LEFT_OUT

_MOST_PROFILES = 12
"""Clusters of a table that are described in a line each."""


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
    weights: Weights = None,
    numeric: Numeric = None,
    categorical: Categorical = None,
    ignore: Ignore = None,
    missing: Missing = "ignore",
    drop_missing: DropMissing = False,
    id_column: Id = None,
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

      ksums fit answers.csv -k 8 --id person --labels labels.csv --report answers.html

      ksums fit survey.csv -k 8 --columns age,income --scale --model survey.safetensors

      ksums fit texts.npz -k 20 --metric cosine --labels labels.csv --json

      ksums fit customers.csv -k 4 --link-column household --label-column tier --balanced

      cat rows.csv | ksums fit - -k 5 --labels labels.csv

      ksums fit 'vectors/*.parquet' -k 1000 --max-memory 2GB --checkpoint run.ckpt --labels labels

    A table may hold numbers, words, dates and gaps. If it holds nothing but numbers, they are clustered as they are
    (see --scale); otherwise numbers are scaled, words are categories, and a missing cell has no opinion.

    With --dask the workers read the files; they must see them under the same names.
    """
    from sklearn.pipeline import make_pipeline

    from ksums import save

    refuse_two_limits(balanced, {"--size-min": size_min, "--size-max": size_max})
    constraints = {"--balanced": balanced, "--link-column": link_column, "--label-column": label_column}
    asked = options_of(numeric, categorical, ignore, missing, drop_missing, id_column)
    if is_in_parts(data, max_memory, dask):
        refuse_options({"--scale": scale, "--weights": weights, "--report": report, "--header": header, **constraints})
        refuse_options({**dict.fromkeys(asked.given, True), "--id": id_column})
        refuse_options({"--missing": asked.missing != "ignore"})
        options = {"effort": effort, "objective": objective, "n_init": n_init, "size_min": size_min}
        options |= {"size_max": size_max, "max_memory": max_memory, "checkpoint": checkpoint, "device": device}
        estimator = _estimator(method, n_clusters, metric, seed, threads, options)
        if method != "ksums":
            raise ValueError(f"--method {method} reads a single file; several files are for --method ksums.")
        paths = {"--labels": labels, "--model": model, "--history": history}
        try:
            source = opened(data, columns)
        except NotNumericError as error:
            raise ValueError(
                f"several files, --max-memory and --dask require rows of numbers without missing cells: {error} For a "
                "single file that fits into memory, fit accepts any table."
            ) from error
        fit_parts(estimator, source, paths, dask=dask, as_json=as_json, quiet=quiet)
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
    only_numbers = {**constraints, "--device": device, "--checkpoint": checkpoint, "--size-min": size_min}
    only_numbers |= {"--size-max": size_max, "--metric": None if metric == "l2" else metric}
    only_numbers["--method"] = None if method == "ksums" else method
    refusing = [
        f"{option} {value}" if option in ("--metric", "--method") else option
        for option, value in only_numbers.items()
        if value not in (None, False)
    ]
    with collect_warnings(silent) as read_warnings:
        found = read_fit_input(data, columns, header, weights, list(text_columns.values()), asked, refusing)
        table, mixed = found.table, found.mixed
        X, scaler = (mixed.used_frame, None) if mixed is not None else scale_columns(table.X, scale)
    if mixed is not None:
        estimator = table_estimator(estimator, mixed)
    elif found.missing:
        estimator.set_params(missing="ignore")
    if X.shape[0] < n_clusters:
        raise ValueError(f"-k: {data} has {plural(X.shape[0], 'row')}, too few for {n_clusters:,} clusters.")
    check_labels_with_ids(labels, found.ids, report)
    known = row_constraints(dict(zip(text_columns, found.texts, strict=True)), n_clusters)
    if not silent:
        read_warnings.show()
        names = "" if table.columns is None or mixed is not None else f" ({joined(table.columns)})"
        typer.echo(f"Fitting {plural(n_clusters, 'cluster')} to {_size_of(X)}{names}", err=True)
        for line in found.notes:
            typer.echo(line, err=True)
    verbose = "verbose" in estimator.get_params() and not silent
    if verbose:
        estimator.set_params(verbose=1)  # prints the plan, then progress
    started = time.perf_counter()
    with collect_warnings(silent) as fit_warnings:
        estimator.fit(X, sample_weight=found.weights, **known.arguments)
    seconds = time.perf_counter() - started
    if verbose:
        estimator.set_params(verbose=0)
    if mixed is None:
        remember_columns(estimator, scaler, table.columns, found.numbers, found.left_out)
    else:  # the fit saw the columns that are used; the model and the page say what became of the others, too
        estimator._roles_table = np.array([[role.name, role.kind, role.reason] for role in mixed.roles], object)
    fitted = estimator if scaler is None else make_pipeline(scaler, estimator)
    if labels is not None:
        write_labels(labels, found.all_labels(estimator.labels_), found.ids)
    if model is not None:
        save(fitted, model)
    if history is not None:
        write_records(history, estimator.history_)
    if report is not None:
        from ksums.report import write_report

        rows = table.X if mixed is None else X  # a pipeline scales them itself
        write_report(report, fitted, rows, names=found.row_names(), title=None if data == "-" else Path(data).name)
    if as_json:
        facts = {
            "method": method,
            "n": X.shape[0],
            "d": X.shape[1],
            "columns": table.columns if mixed is None else estimator.columns_,
            "left_out": {name: f"{LEFT_OUT}: {reason}" for name, reason in found.left_out.items()},
            "missing": found.missing,
            "dropped": found.dropped,
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
        if mixed is not None:
            _show_profiles(estimator)
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


def _size_of(X: Any) -> str:
    return f"{plural(X.shape[0], 'row')} of {plural(X.shape[1], 'column')}"


def _show_profiles(estimator: Any) -> None:
    """Print what the largest clusters look like."""
    profiles = sorted(estimator.cluster_profiles_, key=lambda profile: -profile.size)
    for profile in profiles[:_MOST_PROFILES]:
        typer.echo(profile.in_one_line())
    if len(profiles) > _MOST_PROFILES:
        typer.echo(f"… and {plural(len(profiles) - _MOST_PROFILES, 'smaller cluster')}; --report shows them all")


def _show_result(estimator: Any, X: Any, seconds: float, *, is_weighted: bool) -> None:
    """Print what a person wants to know first."""
    smallest, largest = estimator.sizes_.min(), estimator.sizes_.max()
    sizes = f"weight {smallest:,.6g} to {largest:,.6g}" if is_weighted else f"{smallest:,.6g} to {largest:,.6g} rows"
    typer.echo(f"{_size_of(X)}, {plural(len(estimator.sizes_), 'cluster')} of {sizes}")
    typer.echo(f"distortion E_m {estimator.distortion_:.6g}, pairwise E_s {estimator.pairwise_:.6g} (lower is better)")
    typer.echo(f"{plural(estimator.n_iter_, 'pass', 'passes')}, {seconds:.2f} s")
