"""``ksums choose-k``: how many clusters."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from tqdm import tqdm

from ksums.cli.files import PICTURES, TABLES, check_outputs, read, scaled, write_records
from ksums.cli.notes import noting
from ksums.cli.options import AsJson, Columns, Data, Header, Metric, Scale, Seed, Threads
from ksums.parameters import check_parameters

_USUAL = 12  # clusters at most, where nobody says it


def choose_k(
    data: Data,
    least: Annotated[int, typer.Option("--from", min=2, help="The smallest number of clusters.")] = 2,
    most: Annotated[
        int | None, typer.Option("--to", min=2, help=f"The largest number of clusters; {_USUAL}, if the rows allow it.")
    ] = None,
    step: Annotated[int, typer.Option(min=1, help="Step between the numbers of clusters.")] = 1,
    objective: Annotated[str, typer.Option(help="distortion or pairwise.")] = "distortion",
    metric: Metric = "l2",
    seed: Seed = 0,
    threads: Threads = None,
    columns: Columns = None,
    header: Header = None,
    scale: Scale = False,
    table: Annotated[Path | None, typer.Option(help="Write the scores: .csv or .parquet.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the scores: .png, .svg or .pdf.")] = None,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the suggestion only.")] = False,
) -> None:
    """Fit a range of k and suggest one: by objective, silhouette, and how well parts of the data agree.

    Examples:

      ksums choose-k survey.csv --columns age,income --scale --from 2 --to 15 --plot k.png
    """
    from ksums import KSums, choosing

    check_outputs({"--table": (table, TABLES), "--plot": (plot, PICTURES)}, [data])
    if most is not None and most < least:
        raise ValueError(f"--to must be at least --from, {least}; got {most}.")
    check_parameters(KSums(metric=metric, objective=objective))
    silent = quiet or as_json
    with noting(silent) as notes:
        X, _ = scaled(read(data, columns, header).X, scale)
    if not silent:
        notes.tell()
    allowed = choosing.most_clusters(X.shape[0])
    if most is None:
        most = max(least, min(_USUAL, allowed))
    if allowed < 2:
        raise ValueError(f"there are {X.shape[0]} rows in {data}; to choose between numbers of clusters, 5 are needed.")
    if most > allowed:
        raise ValueError(f"--to: with {X.shape[0]:,} rows at most {allowed} clusters can be looked at; got {most}.")
    scores: list[choosing.Score] = []
    wanted = range(least, most + 1, step)
    interrupted = False
    with noting(silent) as notes, tqdm(total=len(wanted), desc="k", disable=silent or None, leave=False) as bar:

        def tell(score: choosing.Score) -> None:
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
                X, wanted, metric=metric, objective=objective, random_state=seed, n_threads=threads, tell=tell
            )
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        done = f"{len(scores)} of {len(wanted)} numbers of clusters are done"
        if table is not None and scores:
            write_records(table, scores)
            done += f", and in {table}"
        typer.echo(f"ksums: interrupted; {done}.", err=True)
        sys.exit(130)
    if table is not None:
        write_records(table, choice.scores)
    if plot is not None:
        from ksums import plots

        plots.to_file(plot, lambda ax: plots.choice(choice, ax=ax))
    if as_json:
        typer.echo(json.dumps(asdict(choice) | {"warnings": notes.words}))
        return
    if not quiet:
        notes.tell()
    typer.echo(choice.reason)
