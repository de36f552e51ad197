"""The paper's figures from our results. The same colour, dash and marker for a method everywhere; all can be told apart
in black and white.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ksums.io import whole_or_not_at_all
from ksums.reproduce.curves import OURS, OURS_HIGH, RELEASED
from ksums.reproduce.experiment import Result
from ksums.reproduce.large_scale import clusters_for
from ksums.reproduce.measured import Runs
from ksums.reproduce.sequential import SEQUENTIAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class _Style(NamedTuple):
    colour: str
    dash: Any
    marker: str
    words: str


STYLES = {
    "k-means": _Style("#888888", (0, (1, 1)), "v", "k-means"),
    "k-means++": _Style("#000000", (0, (4, 2)), "^", "k-means++"),
    "k-means#": _Style("#0072b2", (0, (5, 1, 1, 1)), "s", "k-means#"),
    "Hartigan": _Style("#56b4e9", (0, (1, 2)), "D", "Hartigan"),
    "k-sums-Im": _Style("#d55e00", "-", "o", "k-sums-$I_m$ (printed)"),
    RELEASED: _Style("#e69f00", (0, (6, 2)), "P", "k-sums-$I_m$ (published code)"),
    "k-sums-Is": _Style("#009e73", "-", "X", "k-sums-$I_s$"),
    OURS: _Style("#cc79a7", (0, (2, 1)), "*", "ksums, our default"),
    OURS_HIGH: _Style("#5b3a8c", (0, (6, 1, 2, 1)), "h", "ksums, high effort"),
}
STYLES |= {
    SEQUENTIAL[0]: STYLES["k-means"]._replace(words=SEQUENTIAL[0]),
    SEQUENTIAL[1]: STYLES["k-sums-Im"]._replace(words="Sequential k-sums-$I_m$"),
    SEQUENTIAL[2]: STYLES["k-sums-Is"]._replace(words="Sequential k-sums-$I_s$"),
}
_AS_LONG = (OURS, OURS_HIGH)  # these take as long as they take, not a number of passes
_ZOOM = 400  # steps: so few that single ones are seen
_MEASURES = {"E_m": "distortion $E_m$", "E_s": "pairwise $E_s$"}


class Picture(NamedTuple):
    """A figure and the words below it."""

    name: str
    title: str
    caption: str
    draw: Callable[[], Figure]


def pictures(results: dict[str, Result]) -> dict[str, list[Picture]]:
    """The pictures of each experiment that has results."""
    makers: dict[str, Callable[[Result], list[Picture]]] = {
        "steps": _steps,
        "significance": _significance,
        "sequential": _sequential,
        "large_scale": partial(_large_scale, "large_scale"),
        "large_scale_100": partial(_large_scale, "large_scale_100"),
    }
    return {name: make(results[name]) for name, make in makers.items() if name in results}


def save(picture: Picture, folder: Path) -> Path:
    """Draw a picture into a PNG file."""
    import matplotlib

    with matplotlib.rc_context({"font.size": 9, "axes.grid": True, "grid.alpha": 0.25, "legend.fontsize": 8}):
        figure = picture.draw()
    from PIL import Image  # matplotlib brings it

    drawn, path = io.BytesIO(), folder / f"{picture.name}.png"
    figure.savefig(drawn, dpi=110, format="png")
    with whole_or_not_at_all(path) as file:  # with a palette it is a third of the size
        Image.open(drawn).convert("RGB").quantize(128).save(file, format="PNG", optimize=True)
    return path


def _canvas(rows: int, columns: int, width: float, height: float) -> tuple[Figure, np.ndarray]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _key(figure: Figure, axis: Axes, columns: int) -> None:
    handles, words = axis.get_legend_handles_labels()
    figure.legend(handles, words, loc="outside lower center", ncols=columns, frameon=False)


def _of(result: Result, at: int = 0) -> str:
    data = result["data"][at]
    return f"{data['name']}, n = {data['n']:,}, d = {data['d']}"


# ------------------------------------------------------------------------------------------ Fig. 2
def _steps(result: Result) -> list[Picture]:
    runs, k = Runs(result), result["settings"]["k"]
    first, last = result["settings"]["passes"]

    def draw() -> Figure:
        figure, axes = _canvas(2, 3, 11, 6.2)
        panels = (
            ("k-sums-Im", "E_m", "(a) $E_m$ driven by $I_m$, as printed"),
            ("k-sums-Im", "zoom", f"(b) part of pass {first} in (a)"),
            ("k-sums-Is", "E_s", "(c) $E_s$ driven by $I_s$"),
            (RELEASED, "E_m", "(a′) $E_m$ driven by $I_m$, published code"),
            (RELEASED, "zoom", f"(b′) part of pass {first} in (a′)"),
            ("k-sums-Is", "E_m", "(d) $E_m$ driven by $I_s$"),
        )
        for axis, (method, what, title) in zip(axes.flat, panels, strict=True):
            passes = runs.by_method[method][0]["passes"]
            if what == "zoom":
                values = passes[0]["E_m zoom"][:_ZOOM]
                begin = result["data"][0]["n"] // 2
                axis.plot(np.arange(begin, begin + len(values)), values, "k-", linewidth=0.8)
                axis.set_ylabel(_MEASURES["E_m"])
            else:
                for shade, entry in zip(("0.0", "0.25", "0.45", "0.6"), passes, strict=False):
                    low, high = (np.array(entry[f"{what} curve"][side]) for side in ("least", "most"))
                    x = np.linspace(0, result["data"][0]["n"], len(low))
                    axis.plot(x, (low + high) / 2, color=shade, label=f"pass {entry['pass']}")
                    axis.annotate(f"{entry['pass']}", (x[-1], low[-1]), textcoords="offset points", xytext=(3, -3))
                axis.set_ylabel(_MEASURES[what])
                axis.margins(x=0.06)
            axis.set_title(title, fontsize=9)
            axis.set_xlabel("step")
            axis.ticklabel_format(useOffset=False)
            axis.locator_params(axis="x", nbins=5)
        _key(figure, axes[0, 0], 4)
        return figure

    caption = (
        f"{_of(result)}, k = {k}, random labels, passes {first} to {last}, the first seed. A step is one sample "
        "that is looked at (lines 6 to 12 of Algorithm 1). The numbers at the curves are those of the passes."
    )
    return [Picture("steps", "Fig. 2: both objectives, step by step", caption, draw)]


# ------------------------------------------------------------------------------------------ Fig. 3a, b
def _significance(result: Result) -> list[Picture]:
    runs, k, passes = Runs(result), result["settings"]["k"], result["settings"]["passes"]
    methods = [method for method in STYLES if method in runs]
    about = f"{_of(result)}, k = {k}, {passes} passes, {runs.count} runs of each method (one seed each)."

    def trends() -> Figure:
        figure, axes = _canvas(1, 2, 11, 4.6)
        for axis, measure in zip(axes.flat, _MEASURES, strict=True):
            _draw_trends(axis, runs, [m for m in methods if m not in _AS_LONG], measure, range(3, passes + 1))
            axis.set(xlabel="pass", ylabel=_MEASURES[measure])
            for ours in _AS_LONG:
                axis.axhline(np.median(runs.final(ours, measure)), **_line(ours) | {"marker": ""})
        _key(figure, axes[0, 0], 5)
        return figure

    def candles() -> Figure:
        figure, axes = _canvas(2, 1, 11, 7.4)
        shown = sorted({min(4, passes), passes // 3, 2 * passes // 3, passes})
        several = [m for m in methods if m not in _AS_LONG]
        for axis, measure in zip(axes.flat, _MEASURES, strict=True):
            for at, method in enumerate(several):
                for column, p in enumerate(shown):
                    _candle(axis, column + (at - len(several) / 2 + 0.5) * 0.11, runs.at(method, measure, p), method)
            axis.set_xticks(range(len(shown)), [f"pass {p}" for p in shown])
            axis.set_ylabel(_MEASURES[measure])
            axis.grid(visible=False, axis="x")
            for edge in range(1, len(shown)):
                axis.axvline(edge - 0.5, color="0.8", linewidth=0.8)
            for method in several:
                axis.plot([], [], **_line(method) | {"linestyle": "none"})
        _key(figure, axes[0, 0], 4)
        return figure

    return [
        Picture(
            "significance",
            "Fig. 3(a, b): significance",
            f"{about} Lines: medians; bands: from the least to the largest run. Ours take as long as they take; "
            "their lines are the medians of their results.",
            trends,
        ),
        Picture(
            "significance_candles",
            "Fig. 3(a, b) as a candle chart",
            f"{about} Candles: least, quartiles, median, largest.",
            candles,
        ),
    ]


def _line(method: str) -> dict[str, Any]:
    style = STYLES[method]
    return {
        "color": style.colour,
        "linestyle": style.dash,
        "marker": style.marker,
        "markersize": 4.5,
        "label": style.words,
    }


def _draw_trends(axis: Axes, runs: Runs, methods: list[str], measure: str, shown: range) -> None:
    x = np.array(shown)
    for method in methods:
        values = np.stack([runs.at(method, measure, p) for p in shown])
        axis.plot(x, np.median(values, axis=1), **_line(method), markevery=max(1, len(x) // 8))
        axis.fill_between(x, values.min(axis=1), values.max(axis=1), color=STYLES[method].colour, alpha=0.2, lw=0)
    axis.locator_params(axis="x", integer=True)


def _candle(axis: Axes, x: float, values: np.ndarray, method: str) -> None:
    low, first, median, third, high = np.percentile(values, (0, 25, 50, 75, 100))
    colour = STYLES[method].colour
    axis.plot([x, x], [low, high], color=colour, linewidth=1)
    axis.plot([x, x], [first, third], color=colour, linewidth=8, solid_capstyle="butt")
    axis.plot([x], [median], marker=STYLES[method].marker, color=colour, markeredgecolor="k", markersize=4)


# ------------------------------------------------------------------------------------------ Fig. 3c, d
def _sequential(result: Result) -> list[Picture]:
    runs, k = Runs(result), result["settings"]["k"]

    def draw() -> Figure:
        figure, axes = _canvas(1, 2, 11, 4.2)
        for axis, measure in zip(axes.flat, _MEASURES, strict=True):
            for method in SEQUENTIAL:
                x, values = runs.by_method[method][0]["arrived"], runs.curves(method, measure)
                axis.plot(x, np.median(values, axis=0), **_line(method), markevery=3)
                axis.fill_between(
                    x, values.min(axis=0), values.max(axis=0), color=STYLES[method].colour, alpha=0.2, lw=0
                )
            axis.set(xlabel="samples that have arrived", ylabel=_MEASURES[measure])
        _key(figure, axes[0, 0], 3)
        return figure

    caption = (
        f"{_of(result)}, k = {k}, one pass, {runs.count} random orders (one seed each). Lines: medians; bands: "
        "from the least to the largest order."
    )
    return [Picture("sequential", "Fig. 3(c, d): sequential", caption, draw)]


# ------------------------------------------------------------------------------------------ Figs. 4, 5
def _large_scale(name: str, result: Result) -> list[Picture]:
    passes, members = result["settings"]["passes"], result["settings"]["members"]
    sets = [(at, Runs(result, part["name"])) for at, part in enumerate(result["data"])]
    about = "; ".join(
        f"{_of(result, at)}, k = {clusters_for(result['data'][at]['n'], members):,}, {runs.count} "
        f"{'seed' if runs.count == 1 else 'seeds'}"
        for at, runs in sets
    )

    def draw(measure: str) -> Figure:
        figure, axes = _canvas(2, len(sets), 3.1 * len(sets), 6.4)
        for column, (at, runs) in enumerate(sets):
            methods = [m for m in STYLES if m in runs and m not in _AS_LONG]
            _draw_trends(axes[0, column], runs, methods, measure, range(2, passes + 1))
            for method in (*methods, *_AS_LONG):
                run = runs.by_method[method][0]
                seconds, values = np.array(run["seconds"]), np.array(run[measure])
                late = slice(0 if method in _AS_LONG else 1, None)
                axes[1, column].plot(seconds[late], values[late], **_line(method), markevery=max(1, len(values) // 6))
            axes[1, column].set_xscale("log")
            axes[1, column].tick_params(axis="x", which="minor", labelbottom=False)
            _same_range(axes[0, column], axes[1, column])
            axes[0, column].set_title(result["data"][at]["name"], fontsize=8)
            axes[0, column].set_xlabel("pass")
            axes[1, column].set_xlabel("seconds")
        for row in (0, 1):
            axes[row, 0].set_ylabel(_MEASURES[measure])
        _key(figure, axes[1, 0], 5)
        return figure

    note = (
        f"{about}. {passes} passes. Above: after each pass, from the second on (medians). Below: the same against the "
        "time since the start, seeding included, for the first seed; there ours are shown too, which have "
        "other passes."
    )
    return [
        Picture(f"{name}_e_m", f"Fig. 4: large scale, E_m, {members} samples per cluster", note, lambda: draw("E_m")),
        Picture(f"{name}_e_s", f"Fig. 5: large scale, E_s, {members} samples per cluster", note, lambda: draw("E_s")),
    ]


def _same_range(above: Axes, below: Axes) -> None:
    """What is far outside of the upper panel is not drawn in the lower one."""
    low, high = above.get_ylim()
    least = min(float(np.min(np.asarray(line.get_ydata()))) for line in below.get_lines())
    room = 0.04 * (high - low)
    below.set_ylim(min(low, least - room), high)
