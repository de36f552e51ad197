"""Draw results/quality.png from results/quality.json: how far above the lowest, against time.

python benchmarks/plots.py
"""

from __future__ import annotations

from statistics import median

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from readme import HERE, METHODS_OF_QUALITY, results

STYLES = dict(zip(METHODS_OF_QUALITY, ("C3o", "C0v", "C0^", "C2s", "C4D", "C1P"), strict=True))
LEVEL = 0.002  # percent: below this a method is drawn on the floor


def main() -> None:
    cases = [row for row in results("quality")["results"]["cases"] if "breathing" in row["methods"]]
    figure, axis = plt.subplots(figsize=(8, 5), layout="constrained")
    for name in reversed(METHODS_OF_QUALITY):
        points = []
        for row in cases:
            best = min(method["mean"] for method in row["methods"].values())
            found, clock = row["methods"][name], row["methods"]["breathing"]["s"]
            points.append((found["s"] / clock, max(LEVEL, 100 * (found["mean"] / best - 1))))
        times, above = zip(*points, strict=True)
        colour, marker = STYLES[name][:2], STYLES[name][2]
        axis.plot(times, above, marker, color=colour, markersize=4, alpha=0.35, linestyle="none")
        axis.plot(
            median(times), median(above), marker, color=colour, markersize=13, mec="k", linestyle="none", label=name
        )
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set(xlabel="time / time of breathing k-means", ylabel="sum of squares above the lowest mean, %")
    axis.set_title(f"{len(cases)} cases, mean of 5 seeds each; large: medians; at the floor: the lowest", fontsize=10)
    axis.axhline(LEVEL, color="0.7", linewidth=0.8)
    axis.grid(alpha=0.25)
    handles, labels = axis.get_legend_handles_labels()
    axis.legend(handles[::-1], labels[::-1], loc="upper right", fontsize=9, labelspacing=0.9)
    figure.savefig(HERE / "results" / "quality.png", dpi=110)


if __name__ == "__main__":
    main()
