"""``ksums compare``: several methods on one data set."""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from sklearn.base import clone
from tqdm import tqdm

from ksums.cli.files import PICTURES, TABLES, check_name, check_outputs, read, scaled, write_table
from ksums.cli.notes import noting
from ksums.cli.options import AsJson, Clusters, Columns, Data, Header, Metric, Quiet, Scale, Threads
from ksums.interruption import whole_fits
from ksums.parameters import check_parameters
from ksums.typing import Matrix


def compare(
    data: Data,
    n_clusters: Clusters,
    methods: Annotated[
        str, typer.Option(help="Names of methods, with commas between them.")
    ] = "k-means,k-means++,Hartigan,k-sums-Im,k-sums-Is,ksums",
    runs: Annotated[int, typer.Option(min=1, help="Runs of each, with different seeds.")] = 5,
    metric: Metric = "l2",
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    threads: Threads = None,
    columns: Columns = None,
    header: Header = None,
    scale: Scale = False,
    table: Annotated[Path | None, typer.Option(help="Write the table: .csv or .parquet.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw E_m of all runs: .png, .svg or .pdf.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Fit several methods to the same rows and put their measures side by side.

    E_m is the mean squared distance to the own centre, E_s the sum of squared distances of all pairs within clusters
    divided by the number of rows; lower is better for both. Seconds are those of the fastest run, without compiling.

    Examples:

      ksums compare vectors.npy -k 50 --methods k-means++,ksums --runs 3 --plot compare.png
    """
    from ksums import METHODS

    check_outputs({"--table": (table, TABLES), "--plot": (plot, PICTURES)}, [data])
    names = [name.strip() for name in methods.split(",")]
    for name in names:
        check_name("--methods", name, METHODS)
    estimators = {
        name: [METHODS[name](n_clusters, metric, seed + at, n_threads=threads) for at in range(runs)] for name in names
    }
    for several in estimators.values():
        check_parameters(several[0])
    measured: dict[str, list[float]] = {}
    rows: list[dict[str, Any]] = []
    silent = quiet or as_json
    interrupted = False
    with noting(silent) as notes:
        X, _ = scaled(read(data, columns, header).X, scale)
    if not silent:
        notes.tell()
    with noting(silent) as notes, tqdm(total=len(names) * runs, disable=silent or None, leave=False) as bar:
        try:
            for name, several in estimators.items():
                bar.set_description(name)
                row, measured[name] = _measure(name, several, X, bar)
                rows.append(row)
                if not silent:
                    for line in _lines(rows):
                        bar.write(line)
        except KeyboardInterrupt:
            interrupted = True
    if rows and table is not None:
        write_table(table, {name: [row[name] for row in rows] for name in rows[0]})
    if rows and plot is not None:
        from ksums import plots

        plots.to_file(plot, lambda ax: plots.comparison(measured, ax=ax))
    if as_json:
        typer.echo(json.dumps(rows))
    elif not quiet:
        notes.tell()
    if interrupted:
        typer.echo(f"ksums: interrupted; {len(rows)} of {len(names)} methods are done.", err=True)
        sys.exit(130)


def _measure(name: str, estimators: list[Any], X: Matrix, bar: tqdm) -> tuple[dict[str, Any], list[float]]:
    e_m, e_s, seconds = [], [], []
    _warm_up(estimators[0], X)
    for estimator in estimators:
        began = time.perf_counter()
        with whole_fits() as told:
            model = clone(estimator).fit(X)
        seconds.append(time.perf_counter() - began)
        for warning in told:
            warnings.warn(str(warning.message), stacklevel=2)
        e_m.append(float(model.distortion_))
        e_s.append(float(model.pairwise_))
        bar.update()
    row = {
        "method": name,
        "E_m": median(e_m),
        "E_m least": min(e_m),
        "E_m largest": max(e_m),
        "E_s": median(e_s),
        "seconds": round(min(seconds), 4),
    }
    return row, e_m


def _warm_up(estimator: Any, X: Matrix) -> None:
    """Compile, or load what was compiled, before anything is timed. The fit checks rows and parameters, too."""
    k = int(estimator.n_clusters)
    few = X[: max(4 * k, 200)]
    if few.shape[0] > k:
        with whole_fits():
            clone(estimator).set_params(**_few_passes(estimator)).fit(few)


def _few_passes(estimator: Any) -> dict[str, Any]:
    return {"max_iter": 2} if "max_iter" in estimator.get_params() else {}


def _lines(rows: list[dict[str, Any]]) -> list[str]:
    """The last row, below the names of the columns if it is the first."""
    head = f"{'method':<22}{'E_m (median)':>14}{'least':>14}{'largest':>14}{'E_s':>14}{'seconds':>10}"
    row = rows[-1]
    numbers = "".join(f"{row[name]:>14.6g}" for name in ("E_m", "E_m least", "E_m largest", "E_s"))
    return ([head] if len(rows) == 1 else []) + [f"{row['method']:<22}{numbers}{row['seconds']:>10.3f}"]
