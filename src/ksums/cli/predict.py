"""``ksums predict``: labels of new rows from a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ksums.cli.files import LABELS, check_outputs, load_for, write_labels
from ksums.cli.notes import counted, noting
from ksums.cli.options import AsJson, Data, Header, KnownColumns, Model, Quiet


def predict(
    model: Model,
    data: Data,
    labels: Annotated[Path, typer.Option(help="Write the labels: .npy, .csv or .parquet.")],
    columns: KnownColumns = None,
    header: Header = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Give each row of a file the nearest cluster of a model.

    Examples:

      ksums predict survey.safetensors more.csv --labels labels.csv
    """
    check_outputs({"--labels": (labels, LABELS)}, [model, data])
    with noting(quiet or as_json) as notes:
        fitted, table = load_for(model, data, columns, header)
        found = fitted.predict(X := table.X)
    write_labels(labels, found)
    used = len(np.unique(found))
    facts = {"n": X.shape[0], "d": X.shape[1], "clusters": used, "warnings": notes.words, "labels": str(labels)}
    if as_json:
        typer.echo(json.dumps(facts))
    elif not quiet:
        notes.tell()
        typer.echo(f"{counted(X.shape[0], 'row')} in {counted(used, 'cluster')}; labels: {labels}")
