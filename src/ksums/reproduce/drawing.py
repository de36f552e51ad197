"""What all figures share: their files, the legend, and one colour, dash and marker per method, distinct in black and
white too. The only module of ``reproduce`` that imports matplotlib.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ksums.io import atomic_write
from ksums.reproduce.measured import Runs
from ksums.reproduce.method_names import OURS, OURS_HIGH_EFFORT, PUBLISHED_CODE, full_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DPI = 110
_COLOURS = 128
"""The size of the palette of a picture, which makes its file a third as large."""
_MARKERS = 8
"""A curve has about this many markers."""

MEASURES = {"E_m": "distortion $E_m$", "E_s": "pairwise $E_s$"}
"""The labels of the axes."""


class Style(NamedTuple):
    """How a method is drawn."""

    colour: str
    dash: Any
    marker: str


STYLES = {
    "k-means": Style("#888888", (0, (1, 1)), "v"),
    "k-means++": Style("#000000", (0, (4, 2)), "^"),
    "k-means#": Style("#0072b2", (0, (5, 1, 1, 1)), "s"),
    "Hartigan": Style("#56b4e9", (0, (1, 2)), "D"),
    "k-sums-Im": Style("#d55e00", "-", "o"),
    PUBLISHED_CODE: Style("#e69f00", (0, (6, 2)), "P"),
    "k-sums-Is": Style("#009e73", "-", "X"),
    OURS: Style("#cc79a7", (0, (2, 1)), "*"),
    OURS_HIGH_EFFORT: Style("#5b3a8c", (0, (6, 1, 2, 1)), "h"),
}
"""The methods, in the order of the legend."""


class Picture(NamedTuple):
    """A figure that has not been drawn yet."""

    name: str
    """The name of its file, without ``.png``."""
    title: str
    caption: str
    """What the data and settings are, and what the marks mean."""
    draw: Callable[[np.ndarray], None]
    """Draws into the panels, an array of matplotlib axes of shape ``panels``."""
    panels: tuple[int, int]
    """Rows and columns."""
    size: tuple[float, float]
    """Width and height in inches."""
    legend_columns: int


def save(picture: Picture, folder: Path) -> Path:
    """Draw a picture into a PNG file."""
    import matplotlib
    from matplotlib.figure import Figure
    from PIL import Image  # matplotlib depends on it.

    with matplotlib.rc_context({"font.size": 9, "axes.grid": True, "grid.alpha": 0.25, "legend.fontsize": 8}):
        figure = Figure(figsize=picture.size, layout="constrained")
        picture.draw(figure.subplots(*picture.panels, squeeze=False))
        _add_legend(figure, picture.legend_columns)
    drawn, path = io.BytesIO(), folder / f"{picture.name}.png"
    figure.savefig(drawn, dpi=_DPI, format="png")
    with atomic_write(path) as file:
        Image.open(drawn).convert("RGB").quantize(_COLOURS).save(file, format="PNG", optimize=True)
    return path


def line(method: str) -> dict[str, Any]:
    """The arguments of matplotlib's ``plot`` for a method."""
    style = style_of(method)
    return {
        "color": style.colour,
        "linestyle": style.dash,
        "marker": style.marker,
        "markersize": 4.5,
        "label": math_text(full_name(method)),
    }


def style_of(method: str) -> Style:
    """The style of a method; its sequential variant has the same."""
    return STYLES[method.removeprefix("Sequential ")]


def math_text(text: str) -> str:
    """Text with the names of formulas as matplotlib sets them."""
    for name in ("E_m", "E_s", "I_m", "I_s"):
        text = text.replace(name, f"${name}$")
    return text


def draw_curve_with_range(axis: Axes, x: np.ndarray, values: np.ndarray, method: str) -> None:
    """Draw the median over the runs, and a band from the lowest to the highest run; ``values`` is (runs, len(x))."""
    axis.plot(x, np.median(values, axis=0), **line(method), markevery=max(1, len(x) // _MARKERS))
    low, high = values.min(axis=0), values.max(axis=0)
    axis.fill_between(x, low, high, color=style_of(method).colour, alpha=0.2, lw=0)


def draw_passes(axis: Axes, runs: Runs, methods: Iterable[str], measure: str, passes: range) -> None:
    """Draw a measure of several methods after each of these passes."""
    for method in methods:
        values = np.stack([runs.after(method, measure, number) for number in passes], axis=1)
        draw_curve_with_range(axis, np.array(passes), values, method)
    axis.locator_params(axis="x", integer=True)
    axis.set_xlabel("pass")


def _add_legend(figure: Figure, columns: int) -> None:
    """Add one legend for all panels."""
    entries: dict[str, Any] = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(list(entries.values()), list(entries), loc="outside lower center", ncols=columns, frameon=False)
