"""``ksums compare``: several methods on the same data."""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.base import clone
from tqdm import tqdm

from ksums.checking.parameters import check_parameters
from ksums.cli.inputs import check_name
from ksums.cli.messages import INTERRUPTED, collect_warnings
from ksums.cli.numeric_rows import read_numeric_rows
from ksums.cli.options import (
    AsJson,
    Categorical,
    Clusters,
    Columns,
    Data,
    DropMissing,
    Header,
    Ignore,
    Metric,
    Missing,
    Numeric,
    Quiet,
    Scale,
    Threads,
    Weights,
)
from ksums.cli.outputs import PLOTS, TABLES, check_outputs, write_table
from ksums.cli.tables import options_of
from ksums.compute.arrays import Matrix
from ksums.estimators.interruption import complete_fits

_HEADER = f"{'method':<22}{'E_m (median)':>14}{'lowest':>14}{'highest':>14}{'E_s (median)':>14}{'seconds':>10}"
"""The header of the printed table, with the column widths of ``_line``."""


def compare(
    data: Data,
    n_clusters: Clusters,
    methods: Annotated[
        str, typer.Option(help="Names of methods, separated by commas.")
    ] = "k-means,k-means++,Hartigan,k-sums-Im,k-sums-Is,ksums",
    runs: Annotated[int, typer.Option(min=1, help="Runs of each method, with different seeds.")] = 5,
    metric: Metric = "l2",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first run; further runs count up from it.")] = 0,
    threads: Threads = None,
    columns: Columns = None,
    header: Header = None,
    scale: Scale = False,
    weights: Weights = None,
    numeric: Numeric = None,
    categorical: Categorical = None,
    ignore: Ignore = None,
    missing: Missing = "ignore",
    drop_missing: DropMissing = False,
    table: Annotated[Path | None, typer.Option(help="Write the table: .csv or .parquet.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot E_m of all runs: .png, .svg or .pdf.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Fit several methods to the same rows and compare their results.

    E_m: mean squared distance of a row to its cluster's centre.
    E_s: sum of squared distances of all pairs within clusters, divided by n.
    Lower is better for both. Seconds are those of the fastest run. A table with words or gaps is turned into rows of
    numbers for all methods: numbers scaled, a column of zeros and ones for each category, gaps filled in with means.

    Examples:

      ksums compare vectors.npy -k 50 --methods k-means++,ksums --runs 3 --plot compare.png
    """
    from ksums import METHODS

    check_outputs({"--table": (table, TABLES), "--plot": (plot, PLOTS)}, [data])
    names = [name.strip() for name in methods.split(",")]
    for name in names:
        check_name("--methods", name, METHODS)
    estimators = {
        name: [METHODS[name](n_clusters, metric, seed + at, n_threads=threads) for at in range(runs)] for name in names
    }
    for first, *_ in estimators.values():
        check_parameters(first)
    distortions: dict[str, list[float]] = {}
    results: list[dict[str, Any]] = []
    silent = quiet or as_json
    interrupted = False
    asked = options_of(numeric, categorical, ignore, missing, drop_missing, None)
    X, sample_weight = read_numeric_rows(data, columns, header, scale, weights, asked, show_warnings=not silent)
    with collect_warnings(silent) as warned, tqdm(total=len(names) * runs, disable=silent or None, leave=False) as bar:
        try:
            for name, several in estimators.items():
                bar.set_description(name)
                result, distortions[name] = _measure(name, several, X, sample_weight, bar)
                results.append(result)
                if not silent:
                    if len(results) == 1:
                        bar.write(_HEADER)
                    bar.write(_line(result))
        except KeyboardInterrupt:
            interrupted = True
    if results and table is not None:
        write_table(table, {column: [result[column] for result in results] for column in results[0]})
    if results and plot is not None:
        from ksums import plots

        plots.to_file(plot, lambda ax: plots.comparison(distortions, ax=ax))
    if as_json:
        typer.echo(json.dumps(results))
    elif not quiet:
        warned.show()
    if interrupted:
        typer.echo(f"ksums: interrupted after {len(results)} of {len(names)} methods.", err=True)
        sys.exit(INTERRUPTED)


def _measure(
    name: str, estimators: list[Any], X: Matrix, weights: np.ndarray | None, bar: tqdm
) -> tuple[dict[str, Any], list[float]]:
    """The result of a method, and E_m of each run."""
    e_m, e_s, seconds = [], [], []
    _warm_up(estimators[0], X)
    for estimator in estimators:
        started = time.perf_counter()
        with complete_fits() as raised:
            model = clone(estimator).fit(X, sample_weight=weights)
        seconds.append(time.perf_counter() - started)
        for warning in raised:
            warnings.warn(str(warning.message), stacklevel=2)
        e_m.append(float(model.distortion_))
        e_s.append(float(model.pairwise_))
        bar.update()
    result = {
        "method": name,
        "E_m": median(e_m),
        "E_m least": min(e_m),
        "E_m largest": max(e_m),
        "E_s": median(e_s),
        "seconds": round(min(seconds), 4),
    }
    return result, e_m


def _warm_up(estimator: Any, X: Matrix) -> None:
    """Fit a few rows, so that compilation is not timed. This also checks rows and parameters."""
    k = int(estimator.n_clusters)
    few = X[: max(4 * k, 200)]
    if few.shape[0] > k:
        passes = {"max_iter": 2} if "max_iter" in estimator.get_params() else {}
        with complete_fits():
            clone(estimator).set_params(**passes).fit(few)


def _line(result: dict[str, Any]) -> str:
    """A line of the printed table."""
    numbers = "".join(f"{result[column]:>14.6g}" for column in ("E_m", "E_m least", "E_m largest", "E_s"))
    return f"{result['method']:<22}{numbers}{result['seconds']:>10.3f}"
