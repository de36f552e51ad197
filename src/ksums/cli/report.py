"""``ksums report``: a page about a model and its data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ksums.cli.files import PAGES, check_outputs, load_for
from ksums.cli.notes import counted, noting
from ksums.cli.options import AsJson, Header, KnownColumns, Model, Quiet
from ksums.io import read_lines


def report(
    model: Model,
    data: Annotated[str, typer.Argument(help="The rows it was fitted to; - for a CSV at standard input.")],
    out: Annotated[Path, typer.Option(help="The page.")] = Path("report.html"),
    columns: KnownColumns = None,
    header: Header = None,
    names: Annotated[Path | None, typer.Option(help="Text file with a name for each row, one per line.")] = None,
    features: Annotated[Path | None, typer.Option(help="Text file with a name for each column, one per line.")] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write one HTML page that opens offline: sizes, objective, a map with hover, the clusters in a sortable table.

    Examples:

      ksums report survey.safetensors survey.csv --out survey.html

      ksums report words.safetensors glove.npy --names words.txt
    """
    from ksums.report import write_report

    check_outputs({"--out": (out, PAGES)}, [model, data, *(path for path in (names, features) if path is not None)])
    row_names = None if names is None else read_lines(names)
    column_names = None if features is None else read_lines(features)
    with noting(quiet or as_json) as notes:
        fitted, table = load_for(model, data, columns, header)
        found = write_report(
            out,
            fitted,
            table.X,
            names=table.rows if row_names is None else row_names,
            features=column_names,
            title=title or (None if data == "-" else Path(data).name),
        )
    facts = {
        "clusters": len(found.clusters),
        "n": found.n,
        "points": len(found.point_rows),
        "warnings": notes.words,
        "out": str(out),
    }
    if as_json:
        typer.echo(json.dumps(facts))
    elif not quiet:
        notes.tell()
        rows = f"{len(found.point_rows):,} of {found.n:,} rows in the map"
        typer.echo(f"{counted(len(found.clusters), 'cluster')}, {rows}: {out}")
