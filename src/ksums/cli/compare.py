"""``ksums compare``: several methods on one data set."""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer

from ksums.cli.files import check_output, read, write_table


def compare(
    data: Annotated[str, typer.Argument(help="File of rows; - for a CSV at standard input.")],
    n_clusters: Annotated[int, typer.Option("--n-clusters", "-k", help="Number of clusters.")],
    methods: Annotated[
        str, typer.Option(help="Names of methods, with commas between them.")
    ] = "k-means,k-means++,Hartigan,k-sums-Im,k-sums-Is,ksums",
    runs: Annotated[int, typer.Option(min=1, help="Runs of each, with different seeds.")] = 5,
    metric: Annotated[str, typer.Option(help="l2 or cosine.")] = "l2",
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    columns: Annotated[str | None, typer.Option(help="Columns to use, by name or number: a,b,7.")] = None,
    table: Annotated[Path | None, typer.Option(help="Write the table: .csv or .parquet.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw E_m of all runs: .png, .svg or .pdf.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON, for programs.")] = False,
) -> None:
    """Fit several methods to the same rows and put their measures side by side.

    Examples:

      ksums compare vectors.npy -k 50 --methods k-means++,ksums --runs 3 --plot compare.png
    """
    from ksums import METHODS

    suffixes = {"--table": (".csv", ".parquet"), "--plot": (".png", ".svg", ".pdf")}
    check_output("--table", table, suffixes)
    check_output("--plot", plot, suffixes)
    names = [name.strip() for name in methods.split(",")]
    for name in names:
        if name not in METHODS:
            raise ValueError(f"--methods: there is no {name!r}; there are {', '.join(METHODS)}.")
    X = read(data, columns)
    fitted: dict[str, list[Any]] = {}
    rows = []
    for name in names:
        seconds = []
        fitted[name] = []
        for at in range(runs):
            estimator = METHODS[name](n_clusters, metric, seed + at)
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted[name].append(estimator.fit(X))
            seconds.append(time.perf_counter() - began)
        rows.append(_row(name, fitted[name], seconds))
        if not as_json:
            _tell(rows)
    if table is not None:
        write_table(table, {name: [row[name] for row in rows] for name in rows[0]})
    if plot is not None:
        from ksums import plots

        plots.to_file(plot, lambda ax: plots.comparison(fitted, ax=ax))
    if as_json:
        typer.echo(json.dumps(rows))


def _row(name: str, models: list[Any], seconds: list[float]) -> dict[str, Any]:
    e_m = [float(model.distortion_) for model in models]
    return {
        "method": name,
        "E_m": median(e_m),
        "E_m least": min(e_m),
        "E_m largest": max(e_m),
        "E_s": median(float(model.pairwise_) for model in models),
        "seconds": round(min(seconds), 4),
    }


def _tell(rows: list[dict[str, Any]]) -> None:
    """The last row, below the names of the columns if it is the first."""
    if len(rows) == 1:
        typer.echo(f"{'method':<22}{'E_m (median)':>14}{'least':>14}{'largest':>14}{'E_s':>14}{'seconds':>10}")
    row = rows[-1]
    numbers = "".join(f"{row[name]:>14.6g}" for name in ("E_m", "E_m least", "E_m largest", "E_s"))
    typer.echo(f"{row['method']:<22}{numbers}{row['seconds']:>10.3f}")
