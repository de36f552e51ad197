"""The page itself: one HTML file with style, script and data inside, and nothing to load."""

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

from ksums.history import PassRecord
from ksums.io import whole_or_not_at_all
from ksums.report.describe import ClusterFacts, Description, describe
from ksums.saving import parts_of
from ksums.typing import Matrix

_LONGEST_NAME = 80  # letters of a row's name
_WIDTH, _HEIGHT, _EDGE = 480, 220, 46  # of a small picture
_SHOWN = ("n_clusters", "metric", "random_state", "verbose", "callbacks", "n_threads")  # or of no interest


@dataclass(frozen=True)
class Page:
    """A page about a model; a notebook shows it in place."""

    html: str
    description: Description

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that its style and the notebook's leave each other alone."""
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
    """A page about a fitted model and its data, which a notebook shows.

    Parameters
    ----------
    model : fitted model, or a pipeline of a StandardScaler and one
    X : array-like or CSR array of shape (n, d)
        The rows it was fitted to; those that a pipeline was fitted to, not scaled.
    names : sequence of str, default=None
        A name for each row.
    features : sequence of str, default=None
        A name for each column: terms, or features.
    title : str, default=None
    random_state : int, default=0
        For the choice of the points in the map.
    """
    found = describe(model, X, features, random_state)
    if names is not None and len(names) != found.n:
        raise ValueError(f"there are {found.n} rows, but {len(names)} names of them.")
    scaler, inner = parts_of(model)
    title = title or f"{len(inner.sizes_):,} clusters, {found.n:,} rows"
    return Page(_page(title, inner, found, names, scaler is not None), found)


def write_report(path: str | Path, model: Any, X: Matrix, **more: Any) -> Description:
    r"""Write a page about a fitted model and its data, one HTML file that needs no other; gives what is on it.

    Parameters
    ----------
    path : str or Path
        The file; it appears whole or not at all.
    model, X, \*\*more
        As for :func:`show_report`.
    """
    page = show_report(model, X, **more)
    with whole_or_not_at_all(path, "w") as file:
        file.write(page.html)
    return page.description


def _page(title: str, model: Any, found: Description, names: Sequence[str] | None, scaled: bool) -> str:
    assets = files("ksums.report")
    style, script = ((assets / name).read_text("utf-8") for name in ("page.css", "page.js"))
    shown = (
        "" if len(found.point_rows) == found.n else f"{len(found.point_rows):,} of {found.n:,} rows, drawn at random. "
    )
    left_out = f" The {found.left_out:,} smallest clusters are left out." if found.left_out else ""
    remarks = [
        "Sizes are sums of weights; spread is of the rows, each counted once." if found.weighted else "",
        "Columns were scaled to mean 0 and standard deviation 1: distances are in these units." if scaled else "",
        f"{found.without_direction:,} rows of zeros have no direction; they are in no list."
        * bool(found.without_direction),
    ]
    share = float(np.sum(model.sizes_)) / 100
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style></head>
<body><main>
<h1>{html.escape(title)}</h1>
<dl>{_facts(model, found)}</dl>
<div class="two">
<figure><h2>Objective, pass by pass</h2>{_curve(model.history_)}</figure>
<figure><h2>Sizes of the clusters</h2>{_bars(np.asarray(model.sizes_, np.float64))}</figure>
</div>
<h2>Map</h2>
<div id="map"><canvas role="img" aria-label="Map of the rows, coloured by cluster"></canvas>
<div id="tip" role="status"></div></div>
<p class="note">{shown}First two principal components, which have {found.shares[0]:.0%} and {found.shares[1]:.0%} of the
variance: what is far apart here is far apart, what is close need not be. Point at a row to see what it is; choose a
cluster in the table to see it alone.</p>
<h2>Clusters</h2>
<div class="wide"><table id="clusters"><caption>A click on the header of a column sorts by it.</caption>
<thead><tr>{_head()}</tr></thead><tbody>
{"".join(_row(cluster, names, share) for cluster in found.clusters)}</tbody></table></div>
<p class="note">Spread: root of the mean squared distance to the centre. Nearest: other clusters, with the distance
between the centres. Special: what sets a cluster apart from all rows; for numbers in standard deviations from their
mean, for terms their weight. Rows count from 0.{left_out} {" ".join(remark for remark in remarks if remark)}</p>
{_means(found)}
<p class="note">Made by ksums {version("ksums")}.</p>
</main>
<script type="application/json" id="data">{_data(found, names)}</script>
<script>{script}</script>
</body></html>
"""


def _facts(model: Any, found: Description) -> str:
    last = model.history_[-1].seconds if model.history_ else 0.0
    given = model.get_params(deep=False)
    usual = type(model)().get_params(deep=False)
    other = {name: value for name, value in given.items() if name not in _SHOWN and repr(value) != repr(usual[name])}
    facts = {
        "method": type(model).__name__,
        "rows × columns": f"{found.n:,} × {found.d:,}",
        "clusters": f"{len(model.sizes_):,}",
        "metric": given.get("metric", "l2"),
        "objective": f"{model.objective_:.6g}",
        "distortion E_m": f"{model.distortion_:.6g}",
        "pairwise E_s": f"{model.pairwise_:.6g}",
        "passes": f"{model.n_iter_:,}",
        "seconds": f"{last:.2f}",
        "ran to its end": "yes" if getattr(model, "converged_", True) else "no",
        "seed": str(given.get("random_state")),
        "other parameters": ", ".join(f"{name}={_short(value)}" for name, value in other.items()) or "defaults",
    }
    return "".join(f"<div><dt>{html.escape(k)}</dt><dd>{html.escape(str(v))}</dd></div>" for k, v in facts.items())


def _short(value: Any) -> str:
    return f"array of shape {np.shape(value)}" if isinstance(value, np.ndarray | list) else repr(value)


# ------------------------------------------------------------------------------------------ small pictures
def _curve(records: list[PassRecord]) -> str:
    values = [record.objective for record in records]
    if not values:
        return ""
    low, high = min(values), max(values)
    span = high - low or 1.0
    digits = ".4g" if f"{low:.4g}" != f"{high:.4g}" else ".7g"
    right, bottom = _WIDTH - 10, _HEIGHT - 24
    step = (right - _EDGE) / max(1, len(values) - 1)
    points = " ".join(
        f"{_EDGE + i * step:.1f},{bottom - (v - low) / span * (bottom - 14):.1f}" for i, v in enumerate(values)
    )
    label = f"objective from {values[0]:.6g} to {values[-1]:.6g} in {len(values)} records"
    return _svg(
        label,
        f'<polyline class="line" points="{points}"/>'
        f'<text x="2" y="18">{high:{digits}}</text><text x="2" y="{bottom}">{low:{digits}}</text>'
        f'<text x="{_EDGE}" y="{_HEIGHT - 6}">1</text>'
        f'<text x="{right}" y="{_HEIGHT - 6}" text-anchor="end">{len(values)} (pass, or part of the search)</text>',
    )


def _bars(sizes: np.ndarray) -> str:
    """At most as many bars as there is room for; many clusters share one, which is as high as their mean."""
    ordered = np.sort(sizes)[::-1]
    parts = np.array_split(ordered, min(len(ordered), 120))
    right, bottom, high = _WIDTH - 10, _HEIGHT - 24, max(float(ordered[0]), 1e-300)
    width = (right - _EDGE) / len(parts)
    bars = "".join(
        f'<rect class="bar" x="{_EDGE + i * width:.1f}" y="{bottom - h:.1f}" width="{max(width - 1, 0.8):.1f}" '
        f'height="{h:.1f}"/>'
        for i, h in enumerate(float(part.mean()) / high * (bottom - 14) for part in parts)
    )
    return _svg(
        f"sizes from {ordered[-1]:,.6g} to {ordered[0]:,.6g}",
        f'{bars}<text x="2" y="18">{ordered[0]:,.4g}</text><text x="2" y="{bottom}">0</text>'
        f'<text x="{right}" y="{_HEIGHT - 6}" text-anchor="end">{len(ordered):,} clusters, the largest first</text>',
    )


def _svg(label: str, inner: str) -> str:
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{html.escape(label)}">{inner}</svg>'


# ------------------------------------------------------------------------------------------ the table
_COLUMNS = ("cluster", "size", "spread", "nearest", "special", "most central", "most distant")


def _head() -> str:
    return "".join(f'<th scope="col"><button type="button">{name}</button></th>' for name in _COLUMNS)


def _row(cluster: ClusterFacts, names: Sequence[str] | None, share: float) -> str:
    def rows(ids: list[int]) -> str:
        return "".join(f'<span class="row">{html.escape(_name(i, names))}</span>' for i in ids)

    nearest = _together(f"{r} ({distance:.4g})" for r, distance in cluster.nearest)
    special = _together(f"{word} {value:+.2f}" for word, value in cluster.words)
    cells = (
        f'<td class="number" data-value="{cluster.index}"><button type="button" class="pick" aria-pressed="false">'
        f'<span class="dot" data-cluster="{cluster.index}"></span>{cluster.index}</button></td>',
        f'<td class="number" data-value="{cluster.size}">{cluster.size:,.6g} ({cluster.size / share:.1f}%)</td>',
        f'<td class="number" data-value="{np.nan_to_num(cluster.spread, nan=-1.0)}">{cluster.spread:.4g}</td>',
        f"<td>{nearest}</td>",
        f"<td>{special}</td>",
        f"<td>{rows(cluster.central)}</td>",
        f"<td>{rows(cluster.distant)}</td>",
    )
    return f'<tr data-cluster="{cluster.index}">{"".join(cells)}</tr>\n'


def _means(found: Description) -> str:
    """A table of the columns' means, cluster by cluster, in the units of the data."""
    if found.means is None or found.overall is None:
        return ""
    head = "".join(f'<th scope="col">{html.escape(name[:_LONGEST_NAME])}</th>' for name in ("cluster", *found.features))
    lines = [(str(cluster.index), values) for cluster, values in zip(found.clusters, found.means, strict=True)]
    body = "".join(
        f'<tr><th scope="row">{name}</th>{"".join(f"<td class=number>{value:,.4g}</td>" for value in values)}</tr>\n'
        for name, values in [*lines, ("all", found.overall)]
    )
    return (
        "<h2>Means</h2>\n"
        f'<div class="wide"><table id="means"><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>\n'
        '<p class="note">Mean of each column in each cluster, in the units of the data.</p>'
    )


def _together(items: Iterable[str]) -> str:
    """Items with commas between them, none of which is broken at the end of a line."""
    return ", ".join(f"<span>{html.escape(item)}</span>" for item in items)


def _name(row: int, names: Sequence[str] | None) -> str:
    return f"row {row}" if names is None else str(names[row])[:_LONGEST_NAME]


def _data(found: Description, names: Sequence[str] | None) -> str:
    """The points of the map as whole numbers, which take little room; both ways in the same scale."""
    low, span = found.points.min(axis=0), float(np.ptp(found.points, axis=0).max())
    places = np.rint((found.points - low) / (span if span > 0 else 1.0) * 10_000).astype(int)
    data: dict[str, Any] = {
        "x": places[:, 0].tolist(),
        "y": places[:, 1].tolist(),
        "label": found.point_labels.tolist(),
        "row": found.point_rows.tolist(),
    }
    if names is not None:
        data["name"] = [_name(i, names) for i in found.point_rows.tolist()]
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")  # no tag, no comment may begin in it
