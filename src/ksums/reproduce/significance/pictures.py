"""Fig. 3(a, b) from our results, as curves and as a candle chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ksums.reproduce.curves import OWN_STOPPING
from ksums.reproduce.drawing import MEASURES, STYLES, Picture, draw_passes, line
from ksums.reproduce.measured import Runs
from ksums.reproduce.store import Results
from ksums.reproduce.wording import described

if TYPE_CHECKING:
    from ksums.reproduce.drawing import Axes

_FIRST_SHOWN = 3
"""The curves begin with this pass; the values before it are much higher."""


def pictures(results: Results) -> list[Picture]:
    """Both pictures."""
    runs, k, passes = Runs(results), results["settings"]["k"], results["settings"]["passes"]
    methods = [method for method in STYLES if method in runs and method not in OWN_STOPPING]
    about = (
        f"{described(results['data'][0])}, k = {k}, {passes} passes, {runs.count} runs of each method (one seed each)."
    )

    def draw_curves(axes: np.ndarray) -> None:
        for axis, measure in zip(axes.flat, MEASURES, strict=True):
            draw_passes(axis, runs, methods, measure, range(_FIRST_SHOWN, passes + 1))
            axis.set_ylabel(MEASURES[measure])
            for ours in OWN_STOPPING:
                axis.axhline(np.median(runs.final(ours, measure)), **line(ours) | {"marker": ""})

    def draw_candles(axes: np.ndarray) -> None:
        shown = sorted({min(4, passes), passes // 3, 2 * passes // 3, passes})
        for axis, measure in zip(axes.flat, MEASURES, strict=True):
            for at, method in enumerate(methods):
                for column, number in enumerate(shown):
                    x = column + (at - len(methods) / 2 + 0.5) * 0.11
                    _draw_candle(axis, x, runs.after(method, measure, number), method)
                axis.plot([], [], **line(method) | {"linestyle": "none"})
            axis.set_xticks(range(len(shown)), [f"pass {number}" for number in shown])
            axis.set_ylabel(MEASURES[measure])
            axis.grid(visible=False, axis="x")
            for edge in range(1, len(shown)):
                axis.axvline(edge - 0.5, color="0.8", linewidth=0.8)

    return [
        Picture(
            "significance",
            "Fig. 3(a, b): significance test",
            f"{about} Lines: medians; bands: from the lowest to the highest run. Our own methods stop by themselves; "
            "their horizontal lines are the medians of their final values.",
            draw_curves,
            panels=(1, 2),
            size=(11, 4.6),
            legend_columns=5,
        ),
        Picture(
            "significance_candles",
            "Fig. 3(a, b) as a candle chart",
            f"{about} Candles: lowest run, quartiles, median, highest run.",
            draw_candles,
            panels=(2, 1),
            size=(11, 7.4),
            legend_columns=4,
        ),
    ]


def _draw_candle(axis: Axes, x: float, values: np.ndarray, method: str) -> None:
    low, first_quartile, middle, third_quartile, high = np.percentile(values, (0, 25, 50, 75, 100))
    colour, marker = STYLES[method].colour, STYLES[method].marker
    axis.plot([x, x], [low, high], color=colour, linewidth=1)
    axis.plot([x, x], [first_quartile, third_quartile], color=colour, linewidth=8, solid_capstyle="butt")
    axis.plot([x], [middle], marker=marker, color=colour, markeredgecolor="k", markersize=4)
