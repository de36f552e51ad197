"""``ksums predict``: labels of new rows from a model."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ksums.cli.files import check_output, read_for, write_labels


def predict(
    model: Annotated[Path, typer.Argument(help="A model that ksums fit --model has written.")],
    data: Annotated[str, typer.Argument(help="File of rows; - for a CSV at standard input.")],
    labels: Annotated[Path, typer.Option(help="Write the labels: .npy, .csv or .parquet.")],
    columns: Annotated[
        str | None, typer.Option(help="Columns to use; if they were named for fit, the same by default.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON, for programs.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Give each row of a file the nearest cluster of a model.

    Examples:

      ksums predict survey.safetensors more.csv --labels labels.csv
    """
    from ksums import load

    check_output("--labels", labels, {"--labels": (".npy", ".csv", ".parquet")})
    fitted = load(model)
    X = read_for(fitted, data, columns)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # they were compared just now
        found = fitted.predict(X)
    write_labels(labels, found)
    used = len(np.unique(found))
    if as_json:
        typer.echo(json.dumps({"n": X.shape[0], "d": X.shape[1], "clusters": used, "labels": str(labels)}))
    elif not quiet:
        typer.echo(f"{X.shape[0]:,} rows in {used:,} clusters; labels: {labels}")
