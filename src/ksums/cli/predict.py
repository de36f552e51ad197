"""``ksums predict``: the nearest cluster of a model for each row of a file."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ksums.cli.messages import collect_warnings, plural
from ksums.cli.models import load_model_and_rows
from ksums.cli.options import AsJson, Data, DropMissing, Header, Id, KnownColumns, Missing, Model, Quiet
from ksums.cli.outputs import LABELS, check_labels_with_ids, check_outputs, write_labels
from ksums.cli.parts import is_in_parts, opened, predict_parts, refuse_options
from ksums.cli.tables import dropped_in_words, label_of_dropped, missing_option


def predict(
    model: Model,
    data: Data,
    labels: Annotated[
        Path, typer.Option(help="Write the labels: .npy, .csv or .parquet; a new folder for several files.")
    ],
    columns: KnownColumns = None,
    header: Header = None,
    id_column: Id = None,
    missing: Missing = "ignore",
    drop_missing: DropMissing = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Find the nearest cluster of a model for each row of a file.

    Examples:

      ksums predict survey.safetensors more.csv --labels labels.csv

      ksums predict words.safetensors 'vectors/*.parquet' --labels labels

    In a model of a table, categories that the fit did not see count as missing, and a note says how many. Rows that
    --drop-missing drops get the label -1.
    """
    gaps = missing_option(missing, drop_missing)
    if is_in_parts(data):
        from ksums import load

        refuse_options({"--id": id_column, "--missing": gaps != "ignore"})

        fitted = load(model)
        known = getattr(fitted, "feature_names_in_", None)
        source = opened(data, columns, None if known is None else known.tolist())
        clusters = predict_parts(fitted, source, labels)
        facts = {"n": source.n, "d": source.d, "clusters": clusters, "labels": str(labels)}
        if not quiet:
            words = f"{plural(source.n, 'row')} in {plural(clusters, 'cluster')}; labels: {labels}"
            typer.echo(json.dumps(facts) if as_json else words)
        return
    check_outputs({"--labels": (labels, LABELS)}, [model, data])
    with collect_warnings(quiet or as_json) as warned:
        found = load_model_and_rows(model, data, columns, header, id_column, gaps)
        check_labels_with_ids(labels, found.ids)
        if found.dropped:
            warnings.warn(dropped_in_words(found.dropped, label_of_dropped(found.dropped)), stacklevel=2)
        predicted = found.fitted.predict(found.X)
    write_labels(labels, found.all_labels(predicted), found.ids)
    (n, d), clusters = found.X.shape, len(np.unique(predicted))
    facts = {"n": n, "d": d, "clusters": clusters, "dropped": found.dropped, "warnings": warned.messages}
    facts["labels"] = str(labels)
    if as_json:
        typer.echo(json.dumps(facts))
    elif not quiet:
        warned.show()
        typer.echo(f"{plural(n, 'row')} in {plural(clusters, 'cluster')}; labels: {labels}")
