"""The page: one HTML file that contains its style, script and data, and loads nothing else."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ksums.compute.arrays import Matrix
from ksums.io import atomic_write
from ksums.method.fitting.records import PassRecord
from ksums.models.scaling import parts_of
from ksums.report.constraints import ConstraintFacts, limits_in_words
from ksums.report.describe import ClusterFacts, Description, describe
from ksums.report.profiles import columns_in_words, gaps_in_words, profiles_section, reading_of_table

_MAX_NAME = 80
"""Longer names of rows and columns are cut to this many characters, so that they do not fill the page."""

_WIDTH, _HEIGHT, _MARGIN = 480, 220, 46
"""Size of a chart and its left margin, in SVG units: wide enough for a number of seven digits."""

_MARK_RANGE = 130, 380
"""Where the word at a mark of a chart has room between the first and the last step, in SVG units."""

_MAX_BARS = 120
"""Most bars in a chart: narrower ones could not be seen."""

_MAP_UNITS = 10_000
"""Coordinates of the map are integers up to this, which keeps the page small and is finer than any screen."""

_NOT_LISTED = (
    *("n_clusters", "metric", "random_state", "verbose", "callbacks", "n_threads"),
    *("numeric", "categorical", "ignore"),
)
"""Parameters that "other parameters" leaves out: they have an entry of their own, or do not change the result."""

_COLUMNS = ("cluster", "size", "spread", "nearest", "special", "most central", "most distant")
"""Headers of the table of clusters, in the order of the cells of ``_row``; those of constraints follow the size."""

_READING = """Spread: root mean squared distance of the rows to the cluster's centre. Nearest: the nearest other
clusters, with the distances between the centres. Special: features that differ most from the mean of all rows, in
standard deviations; for sparse rows, the most distinctive terms, with their weights."""
"""How to read the table of clusters."""


@dataclass(frozen=True)
class Page:
    """A report page; a notebook displays it."""

    html: str
    """The complete page."""
    description: Description
    """The facts on the page."""

    def _repr_html_(self) -> str:
        """The page in a frame, so that its style and that of the notebook do not affect each other."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="Clusters" loading="lazy" '
            'style="width: 100%; height: 42rem; border: 1px solid #8884"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Page: {len(self.description.clusters):,} clusters, {self.description.n:,} rows>"


def show_report(
    model: Any,
    X: Matrix,
    *,
    names: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    title: str | None = None,
    random_state: int = 0,
) -> Page:
    """Make a report about a fitted model and its data, for display in a notebook.

    Parameters
    ----------
    model : fitted model, or a pipeline of a StandardScaler and a model
    X : array-like or CSR array of shape (n, d); for a TableKSums, a pandas, polars or Arrow table, or an array
        The rows that the model, or the pipeline, was fitted to: for a pipeline, the rows before scaling.
    names : sequence of str, default=None
        A name for each row.
    features : sequence of str, default=None
        A name for each column; a TableKSums takes them from its table.
    title : str, default=None
        Title of the page; if None, the numbers of clusters and rows.
    random_state : int, default=0
        Seed of the sample of points in the map.

    Returns
    -------
    Page
    """
    found = describe(model, X, features, random_state)
    if names is not None and len(names) != found.n:
        raise ValueError(f"names must name all {found.n} rows; got {len(names)} names.")
    scaler, inner = parts_of(model)
    title = title or f"{len(inner.sizes_):,} clusters, {found.n:,} rows"
    return Page(_page(title, inner, found, names, scaler is not None), found)


def write_report(path: str | Path, model: Any, X: Matrix, **more: Any) -> Description:
    r"""Write a report about a fitted model and its data as one HTML file that opens offline.

    Parameters
    ----------
    path : str or Path
        The file, which is written completely or not at all.
    model, X, \*\*more
        As in :func:`show_report`.

    Returns
    -------
    Description
        The facts on the page.
    """
    page = show_report(model, X, **more)
    with atomic_write(path, "w") as file:
        file.write(page.html)
    return page.description


def _page(title: str, model: Any, found: Description, names: Sequence[str] | None, scaled: bool) -> str:
    assets = files("ksums.report")
    style, script = ((assets / name).read_text("utf-8") for name in ("page.css", "page.js"))
    shown = len(found.point_rows)
    sample = f"A random sample of {shown:,} of {found.n:,} rows. " if shown < found.n else ""
    remarks = [
        f"The {found.left_out:,} smallest clusters are not shown." if found.left_out else "",
        "Sizes are sums of weights; the spread counts each row once." if found.weighted else "",
        "Columns were scaled to mean 0 and standard deviation 1; distances are in these units." if scaled else "",
        "Displaced: rows whose nearest centre is that of another cluster." if found.constraints else "",
        f"{zeros:,} rows of zeros have no direction and are not listed." if (zeros := found.without_direction) else "",
        gaps_in_words(found),
    ]
    reading = _READING if found.profiles is None else reading_of_table(model.scale)
    percent = float(np.sum(model.sizes_)) / 100
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style></head>
<body><main>
<h1>{html.escape(title)}</h1>
<dl>{_facts(model, found)}</dl>
<div class="charts">
<figure><h2>Objective during the fit</h2>{_curve(model.history_)}</figure>
<figure><h2>Cluster sizes</h2>{_bars(np.asarray(model.sizes_, np.float64))}</figure>
</div>
<h2>Map</h2>
<div id="map"><canvas role="img" aria-label="Map of the rows, coloured by cluster"></canvas>
<div id="tooltip" role="status"></div></div>
<p class="note">{sample}The first two principal components explain {found.shares[0]:.0%} and {found.shares[1]:.0%} of
the variance. Points that are far apart here are far apart in the data; points that are close here may not be. Point at
a row, or tap it, to see what it is. Select a cluster in the table to highlight it.</p>
<h2>Clusters</h2>
<div class="scroll"><table id="clusters"><caption>Click a column header to sort by it.</caption>
<thead><tr>{_head(found.constraints)}</tr></thead><tbody>
{"".join(_row(cluster, names, percent, found.constraints) for cluster in found.clusters)}</tbody></table></div>
<p class="note">{reading} Rows are numbered from 0.
{" ".join(remark for remark in remarks if remark)}</p>
{_means(found) if found.profiles is None else profiles_section(found)}
<p class="note">Made by ksums {version("ksums")}.</p>
</main>
<script type="application/json" id="data">{_data(found, names)}</script>
<script>{script}</script>
</body></html>
"""


def _facts(model: Any, found: Description) -> str:
    parameters = model.get_params(deep=False)
    defaults = type(model)().get_params(deep=False)
    changed = [name for name, value in parameters.items() if repr(value) != repr(defaults[name])]
    others = (f"{name}={_short(parameters[name])}" for name in changed if name not in _NOT_LISTED)
    facts = {
        "method": type(model).__name__,
        "rows × columns": f"{found.n:,} × {found.d:,}",
        "clusters": f"{len(model.sizes_):,}",
        **({"metric": parameters.get("metric", "l2")} if found.profiles is None else {}),
        "objective": f"{model.objective_:.6g}",
        "distortion E_m": f"{model.distortion_:.6g}",
        "pairwise E_s": f"{model.pairwise_:.6g}",
        "passes": f"{model.n_iter_:,}",
        "seconds": f"{model.history_[-1].seconds if model.history_ else 0.0:.2f}",
        **({"converged": "yes" if model.converged_ else "no"} if hasattr(model, "converged_") else {}),
        "seed": str(parameters.get("random_state")),
        "other parameters": ", ".join(others) or "defaults",
    }
    entries = [f"<div>{_entry(name, value)}</div>" for name, value in facts.items()]
    if (plan := getattr(model, "plan_", None)) is not None:  # models in old files and sequential models have none
        entries.append(f'<div class="full">{_entry("plan", plan.summary)}</div>')
    if found.constraints is not None:
        words = _constraints_in_words(found.constraints, parameters.get("objective") == "pairwise")
        entries.append(f'<div class="full">{_entry("constraints", words)}</div>')
    if found.columns or found.left_out_columns:
        entries.append(f'<div class="full">{_entry("columns", columns_in_words(found))}</div>')
    return "".join(entries)


def _constraints_in_words(found: ConstraintFacts, pairwise: bool) -> str:
    n, displaced = int(found.rows.sum()), int(found.displaced.sum())
    if displaced == 0:
        return " ".join([*found.words, "No row is displaced: each is in the cluster of its nearest centre."])
    are = "are" if displaced > 1 else "is"
    words = f"{displaced:,} of {n:,} rows ({displaced / n:.1%}) {are} displaced: another cluster's centre is nearer."
    more = ["The objective E_s displaces rows without constraints, too."] if pairwise else []
    return " ".join([*found.words, words, *more])


def _entry(name: str, value: str) -> str:
    return f"<dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>"


def _short(value: Any) -> str:
    if isinstance(value, list | tuple) and all(isinstance(one, str) for one in value):  # names of columns
        return repr(list(value))
    is_array = isinstance(value, np.ndarray | list | tuple) or sparse.issparse(value)
    return f"array of shape {np.shape(value)}" if is_array else repr(value)


# ------------------------------------------------------------------------------------------ charts
def _curve(records: list[PassRecord]) -> str:
    """The objective of each record, as a line, with a mark where constraints begin."""
    values = [record.objective for record in records]
    if not values:
        return ""
    low, high = min(values), max(values)
    span = high - low or 1.0
    digits = ".4g" if f"{low:.4g}" != f"{high:.4g}" else ".7g"
    right, bottom = _WIDTH - 10, _HEIGHT - 24
    step = (right - _MARGIN) / max(1, len(values) - 1)
    points = " ".join(
        f"{_MARGIN + i * step:.1f},{bottom - (v - low) / span * (bottom - 14):.1f}" for i, v in enumerate(values)
    )
    label, mark = f"objective from {values[0]:.6g} to {values[-1]:.6g} in {len(values)} steps", ""
    if (first := next((i for i, record in enumerate(records) if record.stage == "assign"), None)) is not None:
        label, mark = (
            f"{label}, the constraints begin at step {first + 1}",
            _mark(_MARGIN + first * step, "constraints"),
        )
    return _svg(
        label,
        f'{mark}<polyline class="line" points="{points}"/>'
        f'<text x="2" y="18">{high:{digits}}</text><text x="2" y="{bottom}">{low:{digits}}</text>'
        f'<text x="{_MARGIN}" y="{_HEIGHT - 6}">step 1</text>'
        f'<text x="{right}" y="{_HEIGHT - 6}" text-anchor="end">step {len(values)}</text>',
    )


def _mark(x: float, word: str) -> str:
    """A vertical line, and a word below it."""
    return (
        f'<line class="mark" x1="{x:.1f}" y1="6" x2="{x:.1f}" y2="{_HEIGHT - 18}"/>'
        f'<text x="{np.clip(x, *_MARK_RANGE):.1f}" y="{_HEIGHT - 6}" text-anchor="middle">{word}</text>'
    )


def _bars(sizes: np.ndarray) -> str:
    """A bar for each cluster, largest first; if there are too many, a bar shows the mean of several clusters."""
    ordered = np.sort(sizes)[::-1]
    parts = np.array_split(ordered, min(len(ordered), _MAX_BARS))
    right, bottom, high = _WIDTH - 10, _HEIGHT - 24, max(float(ordered[0]), 1e-300)
    width = (right - _MARGIN) / len(parts)
    bars = "".join(
        f'<rect class="bar" x="{_MARGIN + i * width:.1f}" y="{bottom - h:.1f}" width="{max(width - 1, 0.8):.1f}" '
        f'height="{h:.1f}"/>'
        for i, h in enumerate(float(part.mean()) / high * (bottom - 14) for part in parts)
    )
    return _svg(
        f"sizes from {ordered[-1]:,.6g} to {ordered[0]:,.6g}",
        f'{bars}<text x="2" y="18">{ordered[0]:,.4g}</text><text x="2" y="{bottom}">0</text>'
        f'<text x="{right}" y="{_HEIGHT - 6}" text-anchor="end">{len(ordered):,} clusters, largest first</text>',
    )


def _svg(label: str, inner: str) -> str:
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{html.escape(label)}">{inner}</svg>'


# ------------------------------------------------------------------------------------------ tables
def _head(constraints: ConstraintFacts | None) -> str:
    more = [] if constraints is None else ["limits", "displaced"] if constraints.limits_differ else ["displaced"]
    names = (*_COLUMNS[:2], *more, *_COLUMNS[2:])
    return "".join(f'<th scope="col"><button type="button">{name}</button></th>' for name in names)


def _row(
    cluster: ClusterFacts, names: Sequence[str] | None, percent: float, constraints: ConstraintFacts | None
) -> str:
    def listed(ids: list[int]) -> str:
        return "".join(f'<span class="row">{html.escape(_name(i, names))}</span>' for i in ids)

    nearest = _unbroken(f"{r} ({distance:.4g})" for r, distance in cluster.nearest)
    special = _unbroken(f"{word} {value:+.2f}" for word, value in cluster.words)
    cells = (
        f'<td class="number" data-value="{cluster.index}"><button type="button" class="select" aria-pressed="false">'
        f'<span class="dot" data-cluster="{cluster.index}"></span>{cluster.index}</button></td>',
        f'<td class="number" data-value="{cluster.size}">{cluster.size:,.6g} ({cluster.size / percent:.1f}%)</td>',
        *_constraint_cells(cluster.index, constraints),
        f'<td class="number" data-value="{np.nan_to_num(cluster.spread, nan=-1.0)}">{cluster.spread:.4g}</td>',
        f"<td>{nearest}</td>",
        f"<td>{special}</td>",
        f"<td>{listed(cluster.central)}</td>",
        f"<td>{listed(cluster.distant)}</td>",
    )
    return f'<tr data-cluster="{cluster.index}">{"".join(cells)}</tr>\n'


def _constraint_cells(r: int, found: ConstraintFacts | None) -> list[str]:
    """The limits of a cluster, where clusters have different ones, and its displaced rows."""
    if found is None:
        return []
    low, high = float(found.low[r]), float(found.high[r])
    displaced, rows = int(found.displaced[r]), int(found.rows[r])
    limits = f'<td class="number" data-value="{high if np.isfinite(high) else low}">{limits_in_words(low, high)}</td>'
    moved = f'<td class="number" data-value="{displaced}">{displaced:,} ({displaced / max(1, rows):.1%})</td>'
    return [limits, moved] if found.limits_differ else [moved]


def _means(found: Description) -> str:
    """A table with the mean of each column in each cluster, in the units of the data."""
    if found.means is None or found.overall is None:
        return ""
    head = "".join(f'<th scope="col">{html.escape(name[:_MAX_NAME])}</th>' for name in ("cluster", *found.features))
    means = [(str(cluster.index), values) for cluster, values in zip(found.clusters, found.means, strict=True)]
    none = "–" if found.missing_cells else "nan"  # a cluster may have no value in a column

    def shown(value: float) -> str:
        return none if np.isnan(value) else f"{value:,.4g}"

    body = "".join(
        f'<tr><th scope="row">{name}</th>{"".join(f"<td class=number>{shown(value)}</td>" for value in values)}</tr>\n'
        for name, values in [*means, ("all rows", found.overall)]
    )
    return (
        "<h2>Means</h2>\n"
        f'<div class="scroll"><table id="means"><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>\n'
        '<p class="note">Mean of each column in each cluster, in the units of the data.</p>'
    )


def _unbroken(items: Iterable[str]) -> str:
    """Items separated by commas; a line never breaks inside an item."""
    return ", ".join(f"<span>{html.escape(item)}</span>" for item in items)


def _name(row: int, names: Sequence[str] | None) -> str:
    return f"row {row}" if names is None else str(names[row])[:_MAX_NAME]


def _data(found: Description, names: Sequence[str] | None) -> str:
    """The points of the map as JSON, with the same scale in both directions."""
    low, span = found.points.min(axis=0), float(np.ptp(found.points, axis=0).max())
    coordinates = np.rint((found.points - low) / (span if span > 0 else 1.0) * _MAP_UNITS).astype(int)
    data: dict[str, Any] = {
        "x": coordinates[:, 0].tolist(),
        "y": coordinates[:, 1].tolist(),
        "label": found.point_labels.tolist(),
        "row": found.point_rows.tolist(),
    }
    if names is not None:
        data["name"] = [_name(i, names) for i in found.point_rows.tolist()]
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")  # so that no tag or comment starts in it
