"""Fig. 2 from our results."""

from __future__ import annotations

import numpy as np

from ksums.reproduce.drawing import MEASURES, Picture
from ksums.reproduce.measured import Runs
from ksums.reproduce.method_names import PUBLISHED_CODE
from ksums.reproduce.store import Results
from ksums.reproduce.wording import described

_ZOOM = 400
"""The enlarged part shows this many steps, few enough to see single ones."""
_SHADES = ("0.0", "0.25", "0.45", "0.6")
"""The grey of each pass."""


def pictures(results: Results) -> list[Picture]:
    """The paper's four panels, and two for the published code."""
    n, k = results["data"][0]["n"], results["settings"]["k"]
    first, last = results["settings"]["passes"]
    panels = (
        ("k-sums-Im", "E_m", "(a) $E_m$ driven by $I_m$, as printed"),
        ("k-sums-Im", "zoom", f"(b) part of pass {first} in (a)"),
        ("k-sums-Is", "E_s", "(c) $E_s$ driven by $I_s$"),
        (PUBLISHED_CODE, "E_m", "(a′) $E_m$ driven by $I_m$, published code"),
        (PUBLISHED_CODE, "zoom", f"(b′) part of pass {first} in (a′)"),
        ("k-sums-Is", "E_m", "(d) $E_m$ driven by $I_s$"),
    )

    def draw(axes: np.ndarray) -> None:
        for axis, (method, shown, title) in zip(axes.flat, panels, strict=True):
            passes = Runs(results).by_method[method][0]["passes"]
            if shown == "zoom":
                values = passes[0]["E_m zoom"][:_ZOOM]
                axis.plot(np.arange(n // 2, n // 2 + len(values)), values, "k-", linewidth=0.8)
                axis.set_ylabel(MEASURES["E_m"])
            else:
                for shade, entry in zip(_SHADES, passes, strict=False):
                    low, high = (np.array(entry[f"{shown} curve"][side]) for side in ("least", "most"))
                    x = np.linspace(0, n, len(low))
                    axis.plot(x, (low + high) / 2, color=shade, label=f"pass {entry['pass']}")
                    axis.annotate(f"{entry['pass']}", (x[-1], low[-1]), textcoords="offset points", xytext=(3, -3))
                axis.set_ylabel(MEASURES[shown])
                axis.margins(x=0.06)
            axis.set_title(title, fontsize=9)
            axis.set_xlabel("step")
            axis.ticklabel_format(useOffset=False)
            axis.locator_params(axis="x", nbins=5)

    caption = (
        f"{described(results['data'][0])}, k = {k}, random initial labels, passes {first} to {last}, first seed. One "
        "step examines one sample and may move it (lines 6 to 12 of Algorithm 1). The numbers next to the curves are "
        "the passes."
    )
    title = "Fig. 2: both objectives after every step"
    return [Picture("steps", title, caption, draw, panels=(2, 3), size=(11, 6.2), legend_columns=4)]
