"""``ksums report``: an HTML page about a model and its data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from ksums.cli.inputs import load_model_and_rows
from ksums.cli.messages import collect_warnings, plural
from ksums.cli.options import AsJson, Header, KnownColumns, Model, Quiet
from ksums.cli.outputs import PAGES, check_outputs
from ksums.io import read_lines


def report(
    model: Model,
    data: Annotated[
        str, typer.Argument(help="The rows that the model was fitted to; - reads CSV from standard input.")
    ],
    out: Annotated[Path, typer.Option(help="The page to write: .html.")] = Path("report.html"),
    columns: KnownColumns = None,
    header: Header = None,
    id_column: Annotated[str | None, typer.Option("--id", help="Column that names the rows.")] = None,
    names: Annotated[Path | None, typer.Option(help="Text file with a name for each row, one per line.")] = None,
    features: Annotated[Path | None, typer.Option(help="Text file with a name for each column, one per line.")] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write one HTML page that opens offline: objective, sizes, an interactive map, and a sortable table of clusters.

    Examples:

      ksums report survey.safetensors survey.csv --out survey.html

      ksums report words.safetensors glove.npy --names words.txt
    """
    from ksums.report import write_report

    check_outputs({"--out": (out, PAGES)}, [model, data, *(path for path in (names, features) if path is not None)])
    if names is not None and id_column is not None:
        raise ValueError("--names and --id exclude each other, because both name the rows; leave one of them out.")
    row_names = None if names is None else read_lines(names)
    column_names = None if features is None else read_lines(features)
    with collect_warnings(quiet or as_json) as warned:
        fitted, table, ids = load_model_and_rows(model, data, columns, header, id_column)
        for own in ids.values():
            row_names = [str(name) for name in own]
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
        "warnings": warned.messages,
        "out": str(out),
    }
    if as_json:
        typer.echo(json.dumps(facts))
    elif not quiet:
        warned.show()
        rows = f"{len(found.point_rows):,} of {found.n:,} rows in the map"
        typer.echo(f"{plural(len(found.clusters), 'cluster')}, {rows}: {out}")
