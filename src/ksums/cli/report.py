"""``ksums report``: an HTML page about a model and its data."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Annotated

import typer

from ksums.cli.messages import collect_warnings, plural
from ksums.cli.models import ModelInput, load_model_and_rows
from ksums.cli.options import AsJson, DropMissing, Header, KnownColumns, Missing, Model, Quiet
from ksums.cli.outputs import PAGES, check_outputs
from ksums.cli.tables import dropped_in_words, missing_option
from ksums.io import read_lines
from ksums.models.scaling import parts_of


def report(
    model: Model,
    data: Annotated[
        str, typer.Argument(help="The rows that the model was fitted to; - reads CSV from standard input.")
    ],
    out: Annotated[Path, typer.Option(help="The page to write: .html.")] = Path("report.html"),
    columns: KnownColumns = None,
    header: Header = None,
    id_column: Annotated[str | None, typer.Option("--id", help="Column that names the rows.")] = None,
    missing: Missing = "ignore",
    drop_missing: DropMissing = False,
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

    A model that was fitted with --drop-missing needs the same option here.
    """
    from ksums.report import write_report

    check_outputs({"--out": (out, PAGES)}, [model, data, *(path for path in (names, features) if path is not None)])
    if names is not None and id_column is not None:
        raise ValueError("--names and --id exclude each other, because both name the rows; leave one of them out.")
    gaps = missing_option(missing, drop_missing)
    row_names = None if names is None else read_lines(names)
    column_names = None if features is None else read_lines(features)
    with collect_warnings(quiet or as_json) as warned:
        rows = load_model_and_rows(model, data, columns, header, id_column, gaps)
        if row_names is not None and rows.kept is not None and len(row_names) == rows.rows:
            row_names = [row_names[row] for row in rows.kept]
        _check_rows(rows)
        if rows.dropped:
            warnings.warn(dropped_in_words(rows.dropped), stacklevel=2)
        found = write_report(
            out,
            rows.fitted,
            rows.X,
            names=rows.row_names if row_names is None else row_names,
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
        shown = f"{len(found.point_rows):,} of {found.n:,} rows in the map"
        typer.echo(f"{plural(len(found.clusters), 'cluster')}, {shown}: {out}")


def _check_rows(rows: ModelInput) -> None:
    """Refuse more rows than those of the fit; some may have been dropped there."""
    labels = getattr(parts_of(rows.fitted)[1], "labels_", None)
    if labels is not None and rows.X.shape[0] > len(labels):
        raise ValueError(
            f"the model was fitted to {plural(len(labels), 'row')}; the file has {rows.X.shape[0]:,}. If it was fitted "
            "with --drop-missing, use --drop-missing here, too."
        )
