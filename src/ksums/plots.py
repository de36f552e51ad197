"""Plots of fitted models. Each function draws into ``ax``, or into new axes, and returns them; no display is needed.

Requires matplotlib (``pip install 'ksums[plots]'``), which is imported by the first plot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ksums.checking.data import as_matrix
from ksums.choosing import Choice
from ksums.compute.arrays import Matrix
from ksums.compute.tensors import as_numpy
from ksums.io import atomic_write
from ksums.method.data.norms import unit_rows
from ksums.models.scaling import parts_of, scaled_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE_STYLES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (3, 1, 1, 1, 1, 1)))
"""Lines differ in style as well as in colour, so that they can be distinguished in print."""

_MAX_NUMBERED = 40
"""Most clusters that are labelled with their numbers; more would overlap."""

_SMALL_SIDE = 100
"""A sparse matrix with at most this many rows or columns is small enough to be made dense, which is faster."""

_MAX_UPRIGHT_NAMES = 25
"""Most leaves of a dendrogram whose names fit side by side; the names of more are turned by 90 degrees."""


def objective(models: Any, by: str = "pass", measure: str = "objective", ax: Axes | None = None) -> Axes:
    """Plot a measure after each pass.

    Parameters
    ----------
    models : fitted model, or dict of name to fitted model
    by : {"pass", "seconds"}, default="pass"
        What the horizontal axis shows.
    measure : {"objective", "distortion", "pairwise", "moves"}, default="objective"
    ax : matplotlib Axes, default=None
    """
    _check("by", by, ("pass", "seconds"))
    _check("measure", measure, ("objective", "distortion", "pairwise", "moves"))
    ax = _axes(ax)
    named = models if isinstance(models, Mapping) else {type(models).__name__: models}
    for at, (name, model) in enumerate(named.items()):
        records = _history(model)
        x = [record.index if by == "pass" else record.seconds for record in records]
        y = [getattr(record, measure) for record in records]
        (line,) = ax.plot(x, y, linestyle=_LINE_STYLES[at % len(_LINE_STYLES)], label=name)
        searches = [i for i, record in enumerate(records) if record.stage == "merge-split"]
        trials = [i for i, record in enumerate(records) if record.stage == "trial" and record.kept]
        for marked, marker, what in ((searches, "o", "merge–split search"), (trials, "s", "trial that was kept")):
            if marked:
                at_x, at_y, label = np.take(x, marked), np.take(y, marked), f"{name}: {what}"
                ax.plot(at_x, at_y, marker, mfc="none", color=line.get_color(), label=label)
        begin = next((value for value, record in zip(x, records, strict=True) if record.stage == "assign"), None)
        if begin is not None:  # the objective jumps up here, because it ignored the constraints before
            label = f"{name}: constraints begin"
            ax.axvline(begin, color=line.get_color(), linewidth=0.8, linestyle=":", label=label)
    ax.set(xlabel="pass or search step" if by == "pass" else "seconds", ylabel=measure)
    ax.grid(alpha=0.3)
    if len(ax.get_lines()) > 1:
        ax.legend()
    return ax


def sizes(model: Any, ax: Axes | None = None) -> Axes:
    """Plot the sizes of the clusters, largest first, and their mean.

    Parameters
    ----------
    model : fitted model
    ax : matplotlib Axes, default=None
    """
    model = _fitted(model)
    ax = _axes(ax)
    ordered = np.sort(np.asarray(model.sizes_, np.float64))[::-1]
    ax.fill_between(np.arange(len(ordered) + 1), np.append(ordered, ordered[-1]), step="post", alpha=0.6)
    ax.axhline(ordered.mean(), color="k", linestyle="--", linewidth=1, label=f"mean {ordered.mean():,.4g}")
    ax.set(xlabel="cluster, sorted by size", ylabel="size", xlim=(0, len(ordered)), ylim=(0, None))
    ax.locator_params(axis="x", integer=True)
    ax.legend()
    return ax


def cluster_map(
    X: Matrix,
    model: Any,
    sample: int = 5_000,
    random_state: int = 0,
    coordinates: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot rows as points in the plane of their first two principal components, coloured by cluster.

    Parameters
    ----------
    X : array-like or CSR array of shape (n, d)
        The rows that the model was fitted to.
    model : fitted model
    sample : int, default=5,000
        Most rows to draw. If there are more, a random sample is drawn, and the title says so.
    random_state : int, default=0
        Seed of the sample.
    coordinates : array-like of shape (n, 2), default=None
        Positions of the rows, for a map other than that of the principal components.
    ax : matplotlib Axes, default=None
    """
    X, model = _rows_and_model(X, model)
    labels = as_numpy(model.labels_)
    ax = _axes(ax)
    chosen = sample_rows(len(labels), sample, random_state)
    if coordinates is None:
        points, shares = project_rows(X, chosen, getattr(model, "metric", "l2"), random_state)
        axis_names = [
            f"{which} component ({share:.0%} of the variance)"
            for which, share in zip(("first", "second"), shares, strict=True)
        ]
    else:
        positions = np.asarray(coordinates, np.float64)
        if positions.shape != (len(labels), 2):
            raise ValueError(f"coordinates must be of shape ({len(labels)}, 2); got {positions.shape}.")
        points, axis_names = positions[chosen], ["", ""]
    clusters = labels[chosen]
    ax.scatter(points[:, 0], points[:, 1], c=clusters, cmap="turbo", s=6, alpha=0.7, linewidths=0)
    if len(numbers := np.unique(clusters)) <= _MAX_NUMBERED:
        for r in numbers:
            centre = points[clusters == r].mean(axis=0)
            box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.75}
            ax.annotate(str(r), centre, ha="center", va="center", fontsize=8, bbox=box)
    ax.set(xlabel=axis_names[0], ylabel=axis_names[1])
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_title(f"{len(chosen):,} of {len(labels):,} rows, {len(model.sizes_):,} clusters", fontsize=10)
    return ax


def dendrogram(model: Any, names: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Plot the tree of a bisecting model.

    Parameters
    ----------
    model : fitted BisectingKSums or bisecting baseline
    names : sequence of str, default=None
        A name for each cluster; if None, its number.
    ax : matplotlib Axes, default=None
    """
    from scipy.cluster import hierarchy

    model = _fitted(model)
    if not hasattr(model, "linkage"):
        raise TypeError(f"dendrogram requires a bisecting model; got {type(model).__name__}.")
    if len(model.sizes_) < 2:
        raise ValueError("dendrogram requires at least 2 clusters; the model has 1.")
    ax = _axes(ax)
    hierarchy.dendrogram(
        model.linkage(),
        labels=names,
        color_threshold=0,
        above_threshold_color="0.3",
        leaf_font_size=8,
        leaf_rotation=90 if len(model.sizes_) > _MAX_UPRIGHT_NAMES else 0,
        ax=ax,
    )
    ax.set(xlabel="cluster", ylabel="objective of the merged cluster")
    return ax


def silhouette(X: Matrix, model: Any, sample: int = 2_000, random_state: int = 0, ax: Axes | None = None) -> Axes:
    """Plot the silhouette of each row: how much closer it is to its own cluster than to the next one; 1 is best.

    Parameters
    ----------
    X : array-like or CSR array of shape (n, d)
    model : fitted model
    sample : int, default=2,000
        Most rows to use, because the time grows with their square. If there are more, a random sample is used.
    random_state : int, default=0
        Seed of the sample.
    ax : matplotlib Axes, default=None
    """
    from sklearn.metrics import silhouette_samples

    X, model = _rows_and_model(X, model)
    labels = as_numpy(model.labels_)
    chosen = sample_rows(len(labels), sample, random_state)
    clusters = labels[chosen]
    numbers = np.unique(clusters)
    if not 1 < len(numbers) < len(chosen):
        raise ValueError(f"silhouette requires at least 2 clusters, and more rows than clusters; got {len(numbers)}.")
    ax = _axes(ax)
    metric = "cosine" if getattr(model, "metric", "l2") == "cosine" else "euclidean"
    values = silhouette_samples(X[chosen], clusters, metric=metric)
    first, middles = 0, []
    for at, r in enumerate(numbers):
        ordered = np.sort(values[clusters == r])
        edges = np.arange(first, first + len(ordered) + 1)
        grey = "0.35" if at % 2 else "0.6"
        ax.fill_betweenx(edges, 0, np.append(ordered, ordered[-1]), step="post", color=grey, linewidth=0)
        middles.append(first + len(ordered) / 2)
        first += len(ordered)
    if len(numbers) <= _MAX_NUMBERED:
        ax.set_yticks(middles, [str(r) for r in numbers], fontsize=7)
    else:
        ax.set_yticks([])
    ax.axvline(values.mean(), color="k", linestyle="--", linewidth=1, label=f"mean {values.mean():.3f}")
    ax.set(xlabel="silhouette", ylabel="cluster", ylim=(0, first))
    ax.set_title(f"{len(chosen):,} of {len(labels):,} rows", fontsize=10)
    ax.legend(loc="lower right")
    return ax


def comparison(models: Mapping[str, Any], measure: str = "distortion", ax: Axes | None = None) -> Axes:
    """Plot a measure of several methods, each fitted once or several times.

    Parameters
    ----------
    models : dict of name to fitted model, or to a list of them
        A number stands for the measure of a model.
    measure : {"distortion", "pairwise", "objective", "inertia"}, default="distortion"
    ax : matplotlib Axes, default=None
    """
    _check("measure", measure, ("distortion", "pairwise", "objective", "inertia"))
    runs = {name: several if isinstance(several, list | tuple) else [several] for name, several in models.items()}
    measured = {name: [_measure(model, measure) for model in several] for name, several in runs.items()}
    if not measured or not all(measured.values()):
        raise ValueError("comparison requires at least one method, and at least one model of each.")
    ax = _axes(ax)
    for at, values in enumerate(measured.values()):
        ax.plot([min(values), max(values)], [at, at], color="0.6", linewidth=4, solid_capstyle="butt", zorder=1)
        ax.plot(values, [at] * len(values), "k|", markersize=9)
        ax.plot([np.median(values)], [at], "o", color="#d55e00", zorder=3)
    ax.set_yticks(range(len(models)), list(models))
    ax.set(xlabel=f"{measure} (each run and the median)")
    ax.invert_yaxis()
    ax.grid(alpha=0.3, axis="x")
    return ax


def choice(found: Choice, ax: Axes | None = None) -> Axes:
    """Plot stability, silhouette and objective for a range of k, and the suggested k.

    Parameters
    ----------
    found : Choice
        What :func:`ksums.choosing.choose_k` returned.
    ax : matplotlib Axes, default=None
    """
    ax = _axes(ax)
    ks = [score.k for score in found.scores]
    ax.plot(ks, [score.weakest for score in found.scores], "o-", color="#0072b2", label="stability, weakest cluster")
    ax.plot(
        ks, [score.stability for score in found.scores], "^:", color="#56b4e9", markersize=4, label="stability, all"
    )
    ax.plot(ks, [score.silhouette for score in found.scores], "s--", color="#d55e00", label="silhouette")
    highest = max(score.objective for score in found.scores) or 1.0
    ax.plot(ks, [score.objective / highest for score in found.scores], "k:", label="objective, relative to the highest")
    ax.axvline(found.k, color="0.5", linewidth=1, label=f"suggested: {found.k}")
    ax.set(xlabel="number of clusters k", ylabel="score")
    ax.locator_params(axis="x", integer=True)
    ax.grid(alpha=0.3)
    ax.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2, fontsize="small"
    )  # inside, it would cover curves
    return ax


def to_file(path: str | Path, draw: Callable[[Axes], Any]) -> None:
    """Draw a plot into a file, which is written completely or not at all.

    Parameters
    ----------
    path : str or Path
        Its suffix decides the format: .png, .svg, .pdf or another one that matplotlib knows.
    draw : function of a matplotlib Axes
    """
    _require_matplotlib()
    from matplotlib.figure import Figure

    path, figure = Path(path), Figure(figsize=(7, 4.5), layout="constrained")
    draw(figure.subplots())
    with atomic_write(path) as file:
        figure.savefig(file, dpi=150, format=path.suffix[1:])


# ------------------------------------------------------------------------------------------ helpers
def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    _require_matplotlib()
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]


def _require_matplotlib() -> None:
    if find_spec("matplotlib") is None:
        raise ImportError("plots require matplotlib, which is not installed: pip install 'ksums[plots]'.")


def _check(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")


def _history(model: Any) -> list[Any]:
    return list(_fitted(model).history_)


def _fitted(model: Any) -> Any:
    """The model, taken out of its pipeline if it is in one."""
    model = parts_of(model)[1]
    check_is_fitted(model)
    return model


def _measure(model: Any, measure: str) -> float:
    if isinstance(model, int | float):
        return float(model)
    return float(getattr(_fitted(model), f"{measure}_"))


def _rows_and_model(X: Any, model: Any) -> tuple[Matrix, Any]:
    """Rows as the model saw them, and the model."""
    scaler, model = parts_of(model)[0], _fitted(model)
    X = as_matrix("a plot", X)
    if X.shape[0] != len(model.labels_):
        raise ValueError(
            f"X has {X.shape[0]} rows, but the model was fitted to {len(model.labels_)}; pass the rows of the fit."
        )
    return scaled_rows(scaler, X), model


def sample_rows(n: int, limit: int, random_state: int) -> np.ndarray:
    """Indices of all n rows if there are at most ``limit``, otherwise of a random sample of them, in order."""
    if n <= limit:
        return np.arange(n)
    return np.sort(np.random.default_rng(random_state).choice(n, limit, replace=False))


def project_rows(X: Matrix, chosen: np.ndarray, metric: str, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    """First two principal components (m, 2) of the chosen rows, and their shares (2,) of the variance."""
    from sklearn.decomposition import PCA

    rows = X[chosen]
    if metric == "cosine":
        rows = unit_rows(rows)
    if sparse.issparse(rows) and min(rows.shape) > _SMALL_SIDE:
        pca = PCA(2, svd_solver="arpack", random_state=random_state)
        return pca.fit_transform(rows), pca.explained_variance_ratio_
    dense = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, np.float64)
    points, shares = np.zeros((len(dense), 2)), np.zeros(2)
    if np.ptp(dense, axis=0).max() > 0:
        pca = PCA(min(2, *dense.shape), random_state=random_state)
        points[:, : pca.n_components] = pca.fit_transform(dense)
        shares[: pca.n_components] = pca.explained_variance_ratio_
    return points, shares
