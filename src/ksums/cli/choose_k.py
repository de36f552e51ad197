"""``ksums choose-k``: suggest a number of clusters."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

from ksums.checking.parameters import check_parameters
from ksums.cli.messages import INTERRUPTED, collect_warnings
from ksums.cli.numeric_rows import read_numeric_rows
from ksums.cli.options import (
    AsJson,
    Categorical,
    Columns,
    Data,
    DropMissing,
    Header,
    Ignore,
    Metric,
    Missing,
    Numeric,
    Scale,
    Seed,
    Threads,
    Weights,
)
from ksums.cli.outputs import PLOTS, TABLES, check_outputs, write_records
from ksums.cli.tables import options_of

_DEFAULT_LARGEST = 12
"""The largest k if ``--to`` is not given: more clusters are hard to interpret, and each takes eleven fits."""


def choose_k(
    data: Data,
    smallest: Annotated[int, typer.Option("--from", min=2, help="The smallest number of clusters.")] = 2,
    largest: Annotated[
        int | None,
        typer.Option(
            "--to", min=2, help=f"The largest number of clusters; by default {_DEFAULT_LARGEST}, if the rows allow it."
        ),
    ] = None,
    step: Annotated[int, typer.Option(min=1, help="Step between the numbers of clusters.")] = 1,
    objective: Annotated[str, typer.Option(help="distortion or pairwise.")] = "distortion",
    metric: Metric = "l2",
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
    table: Annotated[Path | None, typer.Option(help="Write the scores: .csv or .parquet.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot the scores: .png, .svg or .pdf.")] = None,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the suggestion.")] = False,
) -> None:
    """Fit a range of k and suggest one, by its silhouette and by how well models of parts of the data agree.

    A table with words or gaps is turned into rows of numbers first: numbers scaled, a column of zeros and ones for each
    category, gaps filled in with means.

    Examples:

      ksums choose-k survey.csv --columns age,income --scale --from 2 --to 15 --plot k.png
    """
    from ksums import KSums, choosing

    check_outputs({"--table": (table, TABLES), "--plot": (plot, PLOTS)}, [data])
    if largest is not None and largest < smallest:
        raise ValueError(f"--to must be at least --from, {smallest}; got {largest}.")
    check_parameters(KSums(metric=metric, objective=objective))
    silent = quiet or as_json
    asked = options_of(numeric, categorical, ignore, missing, drop_missing, None)
    X, sample_weight = read_numeric_rows(data, columns, header, scale, weights, asked, show_warnings=not silent)
    allowed = choosing.max_clusters(X.shape[0])
    if allowed < 2:
        raise ValueError(f"{data} has {X.shape[0]} rows; choosing a number of clusters requires at least 5.")
    if largest is None:
        largest = max(smallest, min(_DEFAULT_LARGEST, allowed))
    if largest > allowed:
        raise ValueError(f"--to: {X.shape[0]:,} rows allow at most {allowed} clusters; got {largest}.")
    scores: list[choosing.Score] = []
    ks = range(smallest, largest + 1, step)
    interrupted = False
    with collect_warnings(silent) as warned, tqdm(total=len(ks), desc="k", disable=silent or None, leave=False) as bar:

        def on_score(score: choosing.Score) -> None:
            scores.append(score)
            bar.update()
            if not silent:
                if len(scores) == 1:
                    bar.write("   k     objective  silhouette  stability  weakest cluster")
                bar.write(
                    f"{score.k:>4}  {score.objective:>12.6g}  {score.silhouette:>10.3f}  {score.stability:>9.3f}  "
                    f"{score.weakest:>15.3f}"
                )

        try:
            choice = choosing.choose_k(
                X,
                ks,
                sample_weight=sample_weight,
                metric=metric,
                objective=objective,
                random_state=seed,
                n_threads=threads,
                on_score=on_score,
            )
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        message = f"ksums: interrupted after {len(scores)} of {len(ks)} numbers of clusters"
        if table is not None and scores:
            write_records(table, scores)
            message += f"; their scores are in {table}"
        typer.echo(f"{message}.", err=True)
        sys.exit(INTERRUPTED)
    if table is not None:
        write_records(table, choice.scores)
    if plot is not None:
        from ksums import plots

        plots.to_file(plot, lambda ax: plots.choice(choice, ax=ax))
    if as_json:
        typer.echo(json.dumps(asdict(choice) | {"warnings": warned.messages}))
        return
    if not quiet:
        warned.show()
    typer.echo(choice.reason)
