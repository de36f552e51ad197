"""``ksums choose-k``: how many clusters."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ksums.cli.files import check_output, read, write_table


def choose_k(
    data: Annotated[str, typer.Argument(help="File of rows; - for a CSV at standard input.")],
    least: Annotated[int, typer.Option("--from", min=2, help="The least number of clusters.")] = 2,
    most: Annotated[int, typer.Option("--to", min=2, help="The largest number of clusters.")] = 12,
    step: Annotated[int, typer.Option(min=1, help="Every so many of them.")] = 1,
    metric: Annotated[str, typer.Option(help="l2 or cosine.")] = "l2",
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")] = 0,
    columns: Annotated[str | None, typer.Option(help="Columns to use, by name or number: a,b,7.")] = None,
    table: Annotated[Path | None, typer.Option(help="Write the scores: .csv or .parquet.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the scores: .png, .svg or .pdf.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON, for programs.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the suggestion only.")] = False,
) -> None:
    """Fit a range of k and suggest one: by objective, silhouette, and how well parts of the data agree.

    Examples:

      ksums choose-k survey.csv --from 2 --to 15 --plot k.png
    """
    from ksums import choosing

    suffixes = {"--table": (".csv", ".parquet"), "--plot": (".png", ".svg", ".pdf")}
    check_output("--table", table, suffixes)
    check_output("--plot", plot, suffixes)
    if most < least:
        raise ValueError(f"--to must be at least --from, {least}; got {most}.")
    X = read(data, columns)

    def tell(score: choosing.Score) -> None:
        if not quiet and not as_json:
            if score.k == least:
                typer.echo("   k     objective  silhouette  stability (least)")
            typer.echo(
                f"{score.k:>4}  {score.objective:>12.6g}  {score.silhouette:>10.3f}  {score.stability:>9.3f} "
                f"({score.least_stability:.3f})"
            )

    choice = choosing.choose_k(X, range(least, most + 1, step), metric=metric, random_state=seed, tell=tell)
    if table is not None:
        rows = [asdict(score) for score in choice.scores]
        write_table(table, {name: [row[name] for row in rows] for name in rows[0]})
    if plot is not None:
        from ksums import plots

        plots.to_file(plot, lambda ax: plots.choice(choice, ax=ax))
    if as_json:
        typer.echo(json.dumps(asdict(choice)))
    else:
        typer.echo(choice.reason)
