"""``ksums fit``: cluster the rows of a file."""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from ksums.cli.files import check_output, read, remember_columns, write_history, write_labels


def fit(
    data: Annotated[str, typer.Argument(help="File of rows; - for a CSV at standard input.")],
    n_clusters: Annotated[int, typer.Option("--n-clusters", "-k", help="Number of clusters.")],
    method: Annotated[
        str, typer.Option(help="ksums, or one of the paper's methods: k-means++, Hartigan, ...")
    ] = "ksums",
    objective: Annotated[str | None, typer.Option(help="distortion or pairwise (method ksums only).")] = None,
    metric: Annotated[str, typer.Option(help="l2 or cosine.")] = "l2",
    effort: Annotated[str | None, typer.Option(help="low, default, high, or seconds (method ksums only).")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same labels.")] = 0,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads to use; all, if not given.")] = None,
    columns: Annotated[str | None, typer.Option(help="Columns to use, by name or number: a,b,7.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Write the labels: .npy, .csv or .parquet.")] = None,
    model: Annotated[Path | None, typer.Option(help="Write the model, for ksums predict and ksums.load.")] = None,
    history: Annotated[Path | None, typer.Option(help="Write a record of every pass: .csv or .parquet.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page about the clusters: .html.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON, for programs.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Cluster the rows of a file.

    Examples:

      ksums fit vectors.npy -k 100 --labels labels.npy

      ksums fit survey.csv -k 8 --columns age,income --model survey.safetensors

      ksums fit texts.npz -k 20 --metric cosine --labels labels.csv --json

      cat rows.csv | ksums fit - -k 5 --labels labels.csv
    """
    from ksums import METHODS

    outputs = {"--labels": labels, "--model": model, "--history": history, "--report": report}
    suffixes = {"--labels": (".npy", ".csv", ".parquet"), "--history": (".csv", ".parquet"), "--report": (".html",)}
    for option, path in outputs.items():
        check_output(option, path, suffixes)
    if method not in METHODS:
        raise ValueError(f"--method: there is no {method!r}; there are {', '.join(METHODS)}.")
    more: dict[str, Any] = {"n_threads": threads}
    given = {"objective": objective, "effort": None if effort is None else _effort(effort)}
    for name, value in given.items():
        if value is not None:
            if method != "ksums":
                raise ValueError(f"--{name} is for --method ksums; {method} has none.")
            more[name] = value
    X = read(data, columns)
    estimator = METHODS[method](n_clusters, metric, seed, **more)
    if "verbose" in estimator.get_params() and not quiet and not as_json:
        estimator.set_params(verbose=1)
        typer.echo(f"{X.shape[0]:,} rows of {X.shape[1]:,} columns, {n_clusters:,} clusters: fitting", err=True)
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        estimator.fit(X)
    seconds = time.perf_counter() - began
    remember_columns(estimator, columns)
    if labels is not None:
        write_labels(labels, estimator.labels_)
    if model is not None:
        estimator.save(model)
    if history is not None:
        write_history(history, estimator)
    if report is not None:
        from ksums.report import write_report

        write_report(report, estimator, X)
    interrupted = any("interrupted" in str(warning.message) for warning in told)
    facts = {
        "method": method,
        "n": X.shape[0],
        "d": X.shape[1],
        "k": n_clusters,
        "metric": metric,
        "seed": seed,
        "distortion": estimator.distortion_,
        "pairwise": estimator.pairwise_,
        "passes": estimator.n_iter_,
        "smallest": float(estimator.sizes_.min()),
        "largest": float(estimator.sizes_.max()),
        "seconds": round(seconds, 3),
        "interrupted": interrupted,
        "warnings": [str(warning.message) for warning in told],
        **{option.strip("-"): str(path) for option, path in outputs.items() if path is not None},
    }
    if as_json:
        typer.echo(json.dumps(facts))
    elif not quiet:
        _tell(facts)
    if interrupted:
        sys.exit(130)


def _effort(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _tell(facts: dict[str, Any]) -> None:
    for words in facts["warnings"]:
        typer.echo(f"note: {words}", err=True)
    typer.echo(
        f"{facts['n']:,} rows of {facts['d']:,} columns, {facts['k']:,} clusters of {facts['smallest']:,.0f} to "
        f"{facts['largest']:,.0f} rows"
    )
    typer.echo(f"E_m {facts['distortion']:.6g}, E_s {facts['pairwise']:.6g}")
    typer.echo(f"{facts['passes']} passes, {facts['seconds']:.2f} s")
    for name in ("labels", "model", "history", "report"):
        if name in facts:
            typer.echo(f"{name}: {facts[name]}")
