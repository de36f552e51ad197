"""Fig. 3(c, d) from our results."""

from __future__ import annotations

import numpy as np

from ksums.reproduce.drawing import MEASURES, Picture, draw_curve_with_range
from ksums.reproduce.measured import Runs
from ksums.reproduce.sequential.run import METHODS
from ksums.reproduce.store import Results
from ksums.reproduce.wording import described


def pictures(results: Results) -> list[Picture]:
    """Both measures while the samples arrive."""
    runs, k = Runs(results), results["settings"]["k"]

    def draw(axes: np.ndarray) -> None:
        for axis, measure in zip(axes.flat, MEASURES, strict=True):
            for method in METHODS:
                arrived = np.array(runs.by_method[method][0]["arrived"])
                draw_curve_with_range(axis, arrived, runs.curves(method, measure), method)
            axis.set(xlabel="samples that have arrived", ylabel=MEASURES[measure])

    caption = (
        f"{described(results['data'][0])}, k = {k}, one pass, {runs.count} random orders (one seed each). Lines: "
        "medians; bands: from the lowest to the highest order."
    )
    title = "Fig. 3(c, d): sequential clustering"
    return [Picture("sequential", title, caption, draw, panels=(1, 2), size=(11, 4.2), legend_columns=3)]
