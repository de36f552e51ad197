"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Data = Annotated[str, typer.Argument(help="File with the rows; - reads CSV from standard input.")]
Model = Annotated[str, typer.Argument(help="A model that ksums fit --model wrote.")]
Clusters = Annotated[int, typer.Option("--n-clusters", "-k", help="Number of clusters.")]
Metric = Annotated[str, typer.Option(help="l2 or cosine.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Number of threads; by default all.")]
Columns = Annotated[list[str] | None, typer.Option(help="Columns to use, by name or by number from 0: a,b,7.")]
KnownColumns = Annotated[
    list[str] | None, typer.Option(help="Columns to use; by default those that the model was fitted to.")
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Whether the first line of a text or Excel file has names; by default detected."
    ),
]
Numeric = Annotated[list[str] | None, typer.Option(help="Columns to take as numbers, whatever they look like.")]
Categorical = Annotated[list[str] | None, typer.Option(help="Columns to take as categories, such as codes.")]
Ignore = Annotated[list[str] | None, typer.Option(help="Columns to leave out.")]
Missing = Annotated[
    str, typer.Option(help="Missing cells: ignore them, drop their rows, or make them an error: ignore, drop, error.")
]
DropMissing = Annotated[bool, typer.Option("--drop-missing", help="The same as --missing drop.")]
Id = Annotated[
    str | None, typer.Option("--id", help="Column that names the rows: it is written beside the labels, not used.")
]
Weights = Annotated[str | None, typer.Option(help="Column with the weights of the rows, by name or number.")]
Scale = Annotated[bool, typer.Option("--scale", help="Scale each column to mean 0 and standard deviation 1.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for programs.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
