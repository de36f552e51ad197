"""Figs. 4 and 5 from our results."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ksums.reproduce.curves import OWN_STOPPING
from ksums.reproduce.drawing import MEASURES, STYLES, Picture, draw_passes, line
from ksums.reproduce.large_scale.run import clusters_for
from ksums.reproduce.measured import Runs
from ksums.reproduce.store import Results
from ksums.reproduce.wording import described

if TYPE_CHECKING:
    from ksums.reproduce.drawing import Axes

_FIGURES = {"E_m": "Fig. 4", "E_s": "Fig. 5"}
_MARKERS = 6
"""A curve over time has about this many markers."""


def pictures(name: str, results: Results) -> list[Picture]:
    """One picture per measure, with a column per data set: by pass and by time."""
    passes, samples_per_cluster = results["settings"]["passes"], results["settings"]["members"]
    sets = [(part, Runs(results, part["name"])) for part in results["data"]]

    def draw(measure: str, axes: np.ndarray) -> None:
        for (top, bottom), (part, runs) in zip(axes.T, sets, strict=True):
            methods = [method for method in STYLES if method in runs and method not in OWN_STOPPING]
            draw_passes(top, runs, methods, measure, range(2, passes + 1))
            for method in (*methods, *OWN_STOPPING):
                run, first = runs.by_method[method][0], 0 if method in OWN_STOPPING else 1
                seconds, values = run["seconds"][first:], run[measure][first:]
                bottom.plot(seconds, values, **line(method), markevery=max(1, len(run[measure]) // _MARKERS))
            bottom.set_xscale("log")
            bottom.tick_params(axis="x", which="minor", labelbottom=False)
            bottom.set_xlabel("seconds")
            _share_range(top, bottom)
            top.set_title(part["name"], fontsize=8)
        for axis in axes[:, 0]:
            axis.set_ylabel(MEASURES[measure])

    about = "; ".join(
        f"{described(part)}, k = {clusters_for(part['n'], samples_per_cluster):,}, {runs.count} "
        f"seed{'s' * (runs.count != 1)}"
        for part, runs in sets
    )
    caption = (
        f"{about}. {passes} passes. Top: after each pass, beginning with the second; lines are medians. Bottom: over "
        "the time since the start, including the seeding, for the first seed. Our own methods are shown only there, "
        "because their passes differ."
    )
    return [
        Picture(
            f"{name}_{measure.lower()}",
            f"{figure}: {measure}, {samples_per_cluster} samples per cluster",
            caption if measure == "E_m" else "As in Fig. 4, for E_s.",
            partial(draw, measure),
            panels=(2, len(sets)),
            size=(3.1 * len(sets), 6.4),
            legend_columns=5,
        )
        for measure, figure in _FIGURES.items()
    ]


def _share_range(top: Axes, bottom: Axes) -> None:
    """Give the bottom panel the range of the top one, extended downwards to all its values."""
    low, high = top.get_ylim()
    lowest = min(float(np.min(np.asarray(line.get_ydata()))) for line in bottom.get_lines())
    margin = 0.04 * (high - low)
    bottom.set_ylim(min(low, lowest - margin), high)
