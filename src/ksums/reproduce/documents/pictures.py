"""Tab. 2 as a picture: our mean entropies next to the paper's."""

from __future__ import annotations

import numpy as np

from ksums.reproduce.documents.entropies import entropies
from ksums.reproduce.documents.paper import KS, PAPER_ENTROPY, PAPER_SETS, is_bisecting
from ksums.reproduce.documents.run import METHODS
from ksums.reproduce.drawing import Picture, math_text
from ksums.reproduce.method_names import full_name
from ksums.reproduce.store import Results


def pictures(results: Results) -> list[Picture]:
    """The mean over k of every method, ours and the paper's."""
    table = entropies(results)
    panels = (("Tab. 2a: direct k-way", False), ("Tab. 2b: bisecting", True))

    def draw(axes: np.ndarray) -> None:
        for axis, (title, bisecting) in zip(axes.flat, panels, strict=True):
            methods = [method for method in METHODS if is_bisecting(method) == bisecting]
            ours = np.array([table[method].mean_best for method in methods])
            paper = np.array([np.mean(PAPER_ENTROPY[m]) if m in PAPER_ENTROPY else np.nan for m in methods])
            rows = np.arange(len(methods))
            axis.hlines(rows, ours, paper, color="0.75", linewidth=2, zorder=1)
            axis.plot(paper, rows, "D", color="#0072b2", markerfacecolor="white", markersize=6, label="paper")
            axis.plot(ours, rows, "o", color="#d55e00", markersize=6, label="ours")
            axis.set_yticks(rows, [math_text(full_name(method)).removeprefix("bisecting ") for method in methods])
            axis.invert_yaxis()
            axis.set_title(title, fontsize=9)
            axis.set_xlabel("mean entropy (lower is better)")

    runs, sets = min(row.runs for row in table.values()), len(results["data"])
    caption = (
        f"Mean entropy over {sets} document sets (paper: {PAPER_SETS}) and k = {', '.join(map(str, KS))}, cosine. "
        f"Ours: the run with the lowest objective out of {runs} seeds. The paper has no values for the published code "
        "and for our default."
    )
    title = "Tab. 2: mean entropy, ours and the paper's"
    return [Picture("documents", title, caption, draw, panels=(1, 2), size=(11, 4.2), legend_columns=2)]
