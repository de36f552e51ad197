"""Cluster scikit-learn's digits with methods of the paper; print a table, draw the objective per pass and a dendrogram.

Writes ``demo/report.html``, a page to look at, and ``demo/report.md`` with ``objective.png`` and ``dendrogram.png``.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import dendrogram
from sklearn.datasets import load_digits

from ksums import METHODS, BisectingKSums, history_frame, metrics
from ksums.report import write_report

OUT = Path("demo")
K, SEEDS, PASSES = 50, range(5), 15
TABLE = ("k-means", "k-means++", "Hartigan", "k-sums-Im", "k-sums-Is", "bisecting k-sums-Im", "ksums")
CURVES = {"k-means": "k:", "k-means++": "k--", "k-sums-Im": "s-", "ksums": "o-"}


def draw_objective(X: np.ndarray) -> None:
    figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for name, style in CURVES.items():
        more = {} if name == "ksums" else {"max_iter": PASSES, "tol": 0}
        frame = history_frame(METHODS[name](K, random_state=0, **more).fit(X))
        axis.plot(frame.index, frame.distortion, style, markersize=4, label=name)
        if name == "ksums":
            found = frame[frame.stage == "merge-split"]
            axis.plot(found.index, found.distortion, "ro", markersize=6, mfc="none", label="its merge–split search")
    axis.set(xlabel="pass, or part of the search", ylabel="distortion $E_m$", ylim=(385, 440))
    axis.set_title(f"digits, n = {X.shape[0]}, k = {K}, one seed", fontsize=10)
    axis.grid(alpha=0.3)
    axis.legend()
    figure.savefig(OUT / "objective.png", dpi=150)


def draw_dendrogram(X: np.ndarray, digits: np.ndarray) -> None:
    """A tree of 20 clusters, each named by the digit most of its images show."""
    model = BisectingKSums(20, random_state=0).fit(X)
    names = [f"{np.bincount(digits[model.labels_ == r]).argmax()}" for r in range(20)]
    figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
    dendrogram(model.linkage(), labels=names, color_threshold=0, above_threshold_color="0.3", ax=axis)
    axis.set(xlabel="digit that most images of the cluster show", ylabel="sum of squares within")
    axis.set_title(f"digits, n = {X.shape[0]}, bisecting k-sums, k = 20", fontsize=10)
    figure.savefig(OUT / "dendrogram.png", dpi=150)


def main() -> None:
    X, digits = load_digits(return_X_y=True)
    lines = ["| method | E_m | E_s | entropy |", "|---|---|---|---|"]
    for name in TABLE:
        models = [METHODS[name](K, random_state=seed).fit(X) for seed in SEEDS]
        e_m, e_s = (np.mean([getattr(model, value) for model in models]) for value in ("distortion_", "pairwise_"))
        entropy = np.mean([metrics.entropy(digits, model.labels_) for model in models])
        lines.append(f"| {name} | {e_m:.2f} | {e_s:.1f} | {entropy:.4f} |")
    title = f"scikit-learn's digits, {X.shape[0]} × {X.shape[1]}, k = {K}, mean of {len(SEEDS)} seeds; lower is better"
    print(title, *lines, sep="\n")
    OUT.mkdir(exist_ok=True)
    draw_objective(X)
    draw_dendrogram(X, digits)
    pictures = ["![objective per pass](objective.png)", "", "![dendrogram](dendrogram.png)"]
    (OUT / "report.md").write_text("\n".join([f"# {title}", "", *lines, "", *pictures, ""]))
    names = [f"row {i}, shows {digit}" for i, digit in enumerate(digits)]
    pixels = [f"pixel {t // 8 + 1}, {t % 8 + 1}" for t in range(X.shape[1])]
    best = METHODS["ksums"](20, random_state=0).fit(X)
    write_report(OUT / "report.html", best, X, names=names, features=pixels, title="scikit-learn's digits")
    print(f"\nwritten to {OUT}: report.html (open it in a browser), report.md, objective.png, dendrogram.png")


if __name__ == "__main__":
    main()
