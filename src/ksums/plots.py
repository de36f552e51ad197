"""Pictures of fitted models. Each function draws into ``ax``, or a new one, and returns it; none needs a screen.

Needs matplotlib (``pip install 'ksums[plots]'``), which is loaded by the first picture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ksums.choosing import Choice
from ksums.io import whole_or_not_at_all
from ksums.metrics import unit_rows
from ksums.saving import as_seen, parts_of
from ksums.typing import Matrix
from ksums.validation import as_matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (3, 1, 1, 1, 1, 1)))
_MOST_NAMED = 40  # clusters that get a number in the map
_SMALL = 100  # rows or columns: such sparse rows may as well be dense
_MOST_LEVEL = 25  # leaves of a dendrogram whose names stand side by side


def objective(models: Any, by: str = "pass", measure: str = "objective", ax: Axes | None = None) -> Axes:
    """A measure after each pass.

    Parameters
    ----------
    models : fitted model, or dict of name to fitted model
    by : {"pass", "seconds"}, default="pass"
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
        (line,) = ax.plot(x, y, linestyle=_DASHES[at % len(_DASHES)], label=name)
        search = [i for i, record in enumerate(records) if record.stage == "merge-split"]
        if search:
            label = f"{name}: merge–split search"
            ax.plot(np.take(x, search), np.take(y, search), "o", mfc="none", color=line.get_color(), label=label)
    ax.set(xlabel="pass, or part of the search" if by == "pass" else "seconds", ylabel=measure)
    ax.grid(alpha=0.3)
    if len(ax.get_lines()) > 1:
        ax.legend()
    return ax


def sizes(model: Any, ax: Axes | None = None) -> Axes:
    """Sizes of the clusters, the largest first, and their mean.

    Parameters
    ----------
    model : fitted model
    ax : matplotlib Axes, default=None
    """
    model = _fitted(model)
    ax = _axes(ax)
    found = np.sort(np.asarray(model.sizes_, np.float64))[::-1]
    ax.fill_between(np.arange(len(found) + 1), np.append(found, found[-1]), step="post", alpha=0.6)
    ax.axhline(found.mean(), color="k", linestyle="--", linewidth=1, label=f"mean {found.mean():,.4g}")
    ax.set(xlabel="cluster, by size", ylabel="size", xlim=(0, len(found)), ylim=(0, None))
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
    """Rows as points in the plane of their two principal components, coloured by cluster.

    Parameters
    ----------
    X : array-like or CSR array of shape (n, d)
        The rows the model was fitted to.
    model : fitted model
    sample : int, default=5,000
        So many rows are drawn at most, at random; the title says how many.
    random_state : int, default=0
    coordinates : array-like of shape (n, 2), default=None
        Where the rows are, for another map than that of the principal components.
    ax : matplotlib Axes, default=None
    """
    X, model = _rows_and_model(X, model)
    labels = np.asarray(model.labels_)
    ax = _axes(ax)
    chosen = some_rows(len(labels), sample, random_state)
    if coordinates is None:
        points, shares = plane(X, chosen, getattr(model, "metric", "l2"), random_state)
        names = [
            f"{which} component ({share:.0%} of the variance)"
            for which, share in zip(("first", "second"), shares, strict=True)
        ]
    else:
        places = np.asarray(coordinates, np.float64)
        if places.shape != (len(labels), 2):
            raise ValueError(f"coordinates must be of shape ({len(labels)}, 2); got {places.shape}.")
        points, names = places[chosen], ["", ""]
    own = labels[chosen]
    ax.scatter(points[:, 0], points[:, 1], c=own, cmap="turbo", s=6, alpha=0.7, linewidths=0)
    clusters = np.unique(own)
    if len(clusters) <= _MOST_NAMED:
        for r in clusters:
            place = points[own == r].mean(axis=0)
            box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none", "alpha": 0.75}
            ax.annotate(str(r), place, ha="center", va="center", fontsize=8, bbox=box)
    ax.set(xlabel=names[0], ylabel=names[1])
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_title(f"{len(chosen):,} of {len(labels):,} rows, {len(model.sizes_):,} clusters", fontsize=10)
    return ax


def dendrogram(model: Any, names: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """The tree of a bisecting model.

    Parameters
    ----------
    model : fitted BisectingKSums, or bisecting baseline
    names : sequence of str, default=None
        A name for each cluster; its number, if None.
    ax : matplotlib Axes, default=None
    """
    from scipy.cluster import hierarchy

    model = _fitted(model)
    if not hasattr(model, "linkage"):
        raise TypeError(f"a dendrogram is of a bisecting model; got {type(model).__name__}.")
    if len(model.sizes_) < 2:
        raise ValueError("a dendrogram needs 2 clusters at least; the model has 1.")
    ax = _axes(ax)
    hierarchy.dendrogram(
        model.linkage(),
        labels=names,
        color_threshold=0,
        above_threshold_color="0.3",
        leaf_font_size=8,
        leaf_rotation=90 if len(model.sizes_) > _MOST_LEVEL else 0,
        ax=ax,
    )
    ax.set(xlabel="cluster", ylabel="objective within")
    return ax


def silhouette(X: Matrix, model: Any, sample: int = 2_000, random_state: int = 0, ax: Axes | None = None) -> Axes:
    """How much nearer the rows of each cluster are to each other than to the next cluster: 1 is best, below 0 is bad.

    Parameters
    ----------
    X : array-like or CSR array of shape (n, d)
    model : fitted model
    sample : int, default=2,000
        So many rows are looked at, at most: the work grows with the square.
    random_state : int, default=0
    ax : matplotlib Axes, default=None
    """
    from sklearn.metrics import silhouette_samples

    X, model = _rows_and_model(X, model)
    labels = np.asarray(model.labels_)
    chosen = some_rows(len(labels), sample, random_state)
    own = labels[chosen]
    clusters = np.unique(own)
    if not 1 < len(clusters) < len(chosen):
        raise ValueError(f"a silhouette needs 2 clusters at least, and fewer than rows; got {len(clusters)}.")
    ax = _axes(ax)
    metric = "cosine" if getattr(model, "metric", "l2") == "cosine" else "euclidean"
    values = silhouette_samples(X[chosen], own, metric=metric)
    at, middles = 0, []
    for shade, r in enumerate(clusters):
        part = np.sort(values[own == r])
        ends = np.arange(at, at + len(part) + 1)
        colour = "0.35" if shade % 2 else "0.6"
        ax.fill_betweenx(ends, 0, np.append(part, part[-1]), step="post", color=colour, linewidth=0)
        middles.append(at + len(part) / 2)
        at += len(part)
    if len(clusters) <= _MOST_NAMED:
        ax.set_yticks(middles, [str(r) for r in clusters], fontsize=7)
    else:
        ax.set_yticks([])
    ax.axvline(values.mean(), color="k", linestyle="--", linewidth=1, label=f"mean {values.mean():.3f}")
    ax.set(xlabel="silhouette", ylabel="cluster", ylim=(0, at))
    ax.set_title(f"{len(chosen):,} of {len(labels):,} rows", fontsize=10)
    ax.legend(loc="lower right")
    return ax


def comparison(models: Mapping[str, Any], measure: str = "distortion", ax: Axes | None = None) -> Axes:
    """A measure of several methods, each fitted once or several times.

    Parameters
    ----------
    models : dict of name to fitted model, or to a list of them
        In place of a model, its measure as a number will do.
    measure : {"distortion", "pairwise", "objective", "inertia"}, default="distortion"
    ax : matplotlib Axes, default=None
    """
    _check("measure", measure, ("distortion", "pairwise", "objective", "inertia"))
    runs = {name: several if isinstance(several, list | tuple) else [several] for name, several in models.items()}
    measured = {name: [_measure(model, measure) for model in several] for name, several in runs.items()}
    if not measured or not all(measured.values()):
        raise ValueError("there must be one method at least, and one model of each.")
    ax = _axes(ax)
    for at, values in enumerate(measured.values()):
        ax.plot([min(values), max(values)], [at, at], color="0.6", linewidth=4, solid_capstyle="butt", zorder=1)
        ax.plot(values, [at] * len(values), "k|", markersize=9)
        ax.plot([np.median(values)], [at], "o", color="#d55e00", zorder=3)
    ax.set_yticks(range(len(models)), list(models))
    ax.set(xlabel=f"{measure} (each run, and the median)")
    ax.invert_yaxis()
    ax.grid(alpha=0.3, axis="x")
    return ax


def choice(found: Choice, ax: Axes | None = None) -> Axes:
    """Stability, silhouette and objective for a range of k, and the suggestion; see :mod:`ksums.choosing`.

    Parameters
    ----------
    found : Choice
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
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2, fontsize="small")  # the curves are everywhere
    return ax


def to_file(path: str | Path, draw: Callable[[Axes], Any]) -> None:
    """A picture as a file, whole or not at all; the suffix says which kind.

    Parameters
    ----------
    path : str or Path
    draw : function of a matplotlib Axes
    """
    _need_matplotlib()
    from matplotlib.figure import Figure

    path, figure = Path(path), Figure(figsize=(7, 4.5), layout="constrained")
    draw(figure.subplots())
    with whole_or_not_at_all(path) as file:
        figure.savefig(file, dpi=150, format=path.suffix[1:])


# ------------------------------------------------------------------------------------------ helpers
def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    _need_matplotlib()
    from matplotlib import pyplot

    return pyplot.subplots(layout="constrained")[1]


def _need_matplotlib() -> None:
    if find_spec("matplotlib") is None:
        raise ImportError("pictures need matplotlib, which is not installed: pip install 'ksums[plots]'.")


def _check(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")


def _history(model: Any) -> list[Any]:
    return list(_fitted(model).history_)


def _fitted(model: Any) -> Any:
    """The model, also out of a pipeline with the scaling of its columns."""
    model = parts_of(model)[1]
    check_is_fitted(model)
    return model


def _measure(model: Any, measure: str) -> float:
    if isinstance(model, int | float):
        return float(model)
    return float(getattr(_fitted(model), f"{measure}_"))


def _rows_and_model(X: Any, model: Any) -> tuple[Matrix, Any]:
    """The rows as the model has seen them."""
    scaler, model = parts_of(model)[0], _fitted(model)
    X = as_matrix("a picture", X)
    if X.shape[0] != len(model.labels_):
        raise ValueError(f"X has {X.shape[0]} rows, the model has labels of {len(model.labels_)}: other data?")
    return as_seen(scaler, X), model


def some_rows(n: int, most: int, random_state: int) -> np.ndarray:
    """All rows, or so many of them at random, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(random_state).choice(n, most, replace=False))


def plane(X: Matrix, chosen: np.ndarray, metric: str, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    """(m, 2) Coordinates for some rows, their first two principal components, and (2,) the shares of the variance."""
    from sklearn.decomposition import PCA

    rows = X[chosen]
    if metric == "cosine":
        rows = unit_rows(rows)
    if sparse.issparse(rows) and min(rows.shape) > _SMALL:
        pca = PCA(2, svd_solver="arpack", random_state=random_state)
        return pca.fit_transform(rows), pca.explained_variance_ratio_
    dense = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, np.float64)
    points, shares = np.zeros((len(dense), 2)), np.zeros(2)
    if np.ptp(dense, axis=0).max() > 0:
        pca = PCA(min(2, *dense.shape), random_state=random_state)
        points[:, : pca.n_components] = pca.fit_transform(dense)
        shares[: pca.n_components] = pca.explained_variance_ratio_
    return points, shares
