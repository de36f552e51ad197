"""Cluster scikit-learn's digits with methods of the paper: a table, the objective after each pass, and a dendrogram.

Writes ``demo/report.html`` (a page about one model) and ``demo/report.md`` (the table and the two figures).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from sklearn.datasets import load_digits

from ksums import METHODS, BisectingKSums, metrics, plots
from ksums.report import write_report

OUT = Path("demo")
K, SEEDS, PASSES = 50, range(5), 15
TABLE = ("k-means", "k-means++", "Hartigan", "k-sums-Im", "k-sums-Is", "bisecting k-sums-Im", "ksums")
CURVES = ("k-means", "k-means++", "k-sums-Im", "ksums")


def draw_objective(ax: Axes, X: np.ndarray) -> None:
    models = {}
    for name in CURVES:
        more = {} if name == "ksums" else {"max_iter": PASSES, "tol": 0}
        models[name] = METHODS[name](K, random_state=0, **more).fit(X)
    plots.objective(models, measure="distortion", ax=ax)
    ax.set(ylabel="distortion $E_m$", ylim=(385, 440))
    ax.set_title(f"digits, n = {X.shape[0]}, k = {K}, one seed", fontsize=10)


def draw_dendrogram(ax: Axes, X: np.ndarray, digits: np.ndarray) -> None:
    """A tree of 20 clusters. Each is named after its most frequent digit."""
    model = BisectingKSums(20, random_state=0).fit(X)
    names = [f"{np.bincount(digits[model.labels_ == r]).argmax()}" for r in range(20)]
    plots.dendrogram(model, names=names, ax=ax)
    ax.set(xlabel="most frequent digit of the cluster", ylabel="within-cluster sum of squares")
    ax.set_title(f"digits, n = {X.shape[0]}, bisecting k-sums, k = 20", fontsize=10)


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
    plots.to_file(OUT / "objective.png", lambda ax: draw_objective(ax, X))
    plots.to_file(OUT / "dendrogram.png", lambda ax: draw_dendrogram(ax, X, digits))
    pictures = ["![objective after each pass](objective.png)", "", "![dendrogram](dendrogram.png)"]
    (OUT / "report.md").write_text("\n".join([f"# {title}", "", *lines, "", *pictures, ""]))
    names = [f"row {i}, digit {digit}" for i, digit in enumerate(digits)]
    pixels = [f"pixel {t // 8 + 1}, {t % 8 + 1}" for t in range(X.shape[1])]
    best = METHODS["ksums"](20, random_state=0).fit(X)
    write_report(OUT / "report.html", best, X, names=names, features=pixels, title="scikit-learn's digits")
    print(f"\nwritten to {OUT}: report.html (open it in a browser), report.md, objective.png, dendrogram.png")


if __name__ == "__main__":
    main()
