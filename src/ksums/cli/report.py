"""``ksums report``: a page about a model and its data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ksums.cli.files import check_output, read_for, read_lines


def report(
    model: Annotated[Path, typer.Argument(help="A model that ksums fit --model has written.")],
    data: Annotated[str, typer.Argument(help="The rows it was fitted to; - for a CSV at standard input.")],
    out: Annotated[Path, typer.Option(help="The page.")] = Path("report.html"),
    columns: Annotated[
        str | None, typer.Option(help="The columns it was fitted to; if they were named for fit, they are known.")
    ] = None,
    names: Annotated[Path | None, typer.Option(help="Text file with a name for each row, one in a line.")] = None,
    features: Annotated[Path | None, typer.Option(help="Text file with a name for each column, one in a line.")] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Write one HTML page that opens offline: sizes, objective, a map with hover, every cluster in a sortable table.

    Examples:

      ksums report survey.safetensors survey.csv --out survey.html

      ksums report words.safetensors glove.npy --names words.txt
    """
    from ksums import load
    from ksums.report import write_report

    check_output("--out", out, {"--out": (".html", ".htm")})
    fitted = load(model)
    X = read_for(fitted, data, columns)
    found = write_report(
        out,
        fitted,
        X,
        names=None if names is None else read_lines(names),
        features=None if features is None else read_lines(features),
        title=title,
    )
    if not quiet:
        typer.echo(f"{len(found.clusters):,} clusters, {len(found.point_rows):,} of {found.n:,} rows in the map: {out}")
