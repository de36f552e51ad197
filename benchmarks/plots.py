"""Draw the pictures in results/ from the JSON files there.

python benchmarks/plots.py
"""

from __future__ import annotations

from statistics import median

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator
from readme_large_k import runs
from readme_parts import HERE, results
from readme_quality import METHODS_OF_QUALITY

STYLES = dict(zip(METHODS_OF_QUALITY, ("C3o", "C0v", "C0^", "C2s", "C4D", "C1P"), strict=True))
"""Each method has a colour and a marker."""
LEVEL = 0.002
"""A method within this many percent of the lowest sum of squares is drawn on a line at this height."""


def quality() -> None:
    """Draw the sum of squares against time: a small marker for each case, a large one for the medians."""
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
    axis.set(xlabel="time / time of breathing k-means", ylabel="sum of squares above the lowest of all methods, %")
    axis.set_title(
        f"{len(cases)} cases, mean of 5 seeds each; large markers: medians; on the line: the lowest of all", fontsize=10
    )
    axis.axhline(LEVEL, color="0.7", linewidth=0.8)
    axis.grid(alpha=0.25)
    handles, labels = axis.get_legend_handles_labels()
    axis.legend(handles[::-1], labels[::-1], loc="upper right", fontsize=9, labelspacing=0.9)
    figure.savefig(HERE / "results" / "quality.png", dpi=110)


def large_k() -> None:
    """Draw E_m over time: each fit is a point, and a line joins the fits of a method."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
    for axis, name, title in zip(axes, ("sift", "glove"), ("SIFT", "GloVe"), strict=True):
        rows = runs(name)
        series = {
            "ksums, by seconds": [row for row in rows if row["method"] == "ksums" and row["setting"][0].isdigit()],
            "ksums, by level": [row for row in rows if row["method"] == "ksums" and row["setting"].isalpha()],
            "SuperKMeans hierarchical": [row for row in rows if str(row["setting"]).startswith("hier")],
            "SuperKMeans flat": [row for row in rows if str(row["setting"]).startswith("flat")],
            "sklearn KMeans": [row for row in rows if row["method"] == "sklearn KMeans"],
            "sklearn MiniBatchKMeans": [row for row in rows if row["method"] == "sklearn MiniBatchKMeans"],
        }
        for (label, found), style in zip(series.items(), ("C3o-", "C3*", "C2s-", "C2D--", "C0v", "C0x"), strict=True):
            points = sorted((row["seconds"], row["E_m"]) for row in found)
            axis.plot(*zip(*points, strict=True), style, label=label, markersize=6 if "level" not in label else 12)
        curve = next(row["curve"] for row in rows if row["method"] == "faiss.Kmeans")
        axis.plot(*zip(*curve[2:], strict=True), "C4:", label="faiss.Kmeans, iteration by iteration")
        axis.set_xscale("log")
        best, worst = min(row["E_m"] for row in rows), max(row["E_m"] for row in rows if row["method"] == "SuperKMeans")
        axis.set_ylim(best * 0.995, worst * 1.015)
        axis.set(xlabel="seconds, 2 cores", ylabel="E_m")
        axis.set_title(f"{title} {rows[0]['n']:,} × {rows[0]['d']}, k = {rows[0]['k']:,}", fontsize=10)
        axis.grid(alpha=0.25)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=4, fontsize=8)
    figure.savefig(HERE / "results" / "large_k.png", dpi=110)


def passes() -> None:
    """Draw seconds per pass against k and against n."""
    found = results("large_k")["results"]["passes"]
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    for (part, rows), axis, style in zip(found.items(), axes[[0, 0, 1]], ("C0v-", "C3o-", "C2s-"), strict=True):
        by = part[3]
        axis.plot([row[by] for row in rows], [row["seconds"] for row in rows], style, label=part[6:])
        axis.set_xscale("log", base=2)
        axis.set_yscale("log", base=2)
        ticks = sorted({row[by] for row in rows})
        axis.xaxis.set_major_locator(FixedLocator(ticks))
        axis.xaxis.set_major_formatter(FixedFormatter([f"{tick:,}" for tick in ticks]))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set(xlabel=by, ylabel="seconds per pass")
        axis.yaxis.set_major_formatter("{x:.2g}")
        axis.grid(alpha=0.25)
        axis.legend(fontsize=8)
    figure.suptitle("Lists of 64 clusters, 128 dimensions, 2 cores", fontsize=10)
    figure.savefig(HERE / "results" / "large_k_passes.png", dpi=110)


def recall() -> None:
    """Draw recall against the share of the vectors compared, for each number of cells."""
    rows = results("ivf_recall")["results"]["ivf"]
    cases = list(dict.fromkeys((row["data"], row["cells"]) for row in rows))
    figure, axes = plt.subplots(2, len(cases) // 2, figsize=(11, 6.5), layout="constrained")
    for axis, (name, cells) in zip(axes.flat, cases, strict=True):
        trainers = dict.fromkeys(row["trained by"] for row in rows)
        for trainer, style in zip(trainers, ("C3o-", "C1*-", "C0v--", "C4s:"), strict=True):
            chosen = [row for row in rows if (row["data"], row["cells"], row["trained by"]) == (name, cells, trainer)]
            axis.plot(
                [row["share compared"] for row in chosen], [row["recall@10"] for row in chosen], style, label=trainer
            )
        axis.set_xscale("log")
        axis.set(xlabel="share of the vectors compared", ylabel="recall@10", title=f"{name}, {cells:,} cells")
        axis.grid(alpha=0.25)
    axes.flat[0].legend(fontsize=8)
    figure.savefig(HERE / "results" / "ivf_recall.png", dpi=110)


def gpu() -> None:
    """Draw the time to flash-kmeans' E_m, and how much lower E_m is in its time."""
    rows = [row for row in results("gpu")["results"]["race"] if row["iterations"] == 25]
    names = [f"{row['data'].replace(' x ', ' × ')}, k = {row['k']:,}" for row in rows]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", sharey=True)
    left.barh(names, [row["time ratio"] for row in rows], color="C3")
    left.axvline(1.0, color="0.3", linewidth=0.8)
    left.set(xlabel="time to the E_m of 25 iterations / time of flash-kmeans")
    lower = [min(row[f"{effort}, in its time, %"] for effort in ("low", "default")) for row in rows]
    right.barh(names, lower, color="C0")
    right.axvline(0.0, color="0.3", linewidth=0.8)
    right.set(xlabel="E_m in the time of flash-kmeans, relative to its own, %")
    left.invert_yaxis()
    for axis in (left, right):
        axis.grid(alpha=0.25, axis="x")
    figure.savefig(HERE / "results" / "gpu.png", dpi=110)


if __name__ == "__main__":
    for draw in (quality, large_k, passes, recall, gpu):
        draw()
