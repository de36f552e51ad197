"""Cluster scikit-learn's digits with k-means, k-means++ and k-sums; print a table, draw the objective per pass.

Writes ``demo/objective.png`` and ``demo/report.md``.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from ksums import KSums, history_frame, metrics

OUT = Path("demo")
K, SEEDS = 50, range(5)


def lloyd_curve(X: np.ndarray, init: str, passes: int) -> list[float]:
    """E_m after each iteration of scikit-learn's k-means, which keeps no history: fitted anew for each length."""
    values = []
    for iterations in range(1, passes + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = KMeans(K, init=init, n_init=1, max_iter=iterations, tol=0, random_state=0).fit(X)
        values.append(metrics.distortion(X, model.labels_))
    return values


def main() -> None:
    X, digits = load_digits(return_X_y=True)
    methods = {
        "k-means, random": lambda seed: KMeans(K, init="random", n_init=1, max_iter=300, tol=0, random_state=seed),
        "k-means++": lambda seed: KMeans(K, init="k-means++", n_init=1, max_iter=300, tol=0, random_state=seed),
        "k-sums (default)": lambda seed: KSums(K, random_state=seed),
        "k-sums, I_m as printed": lambda seed: KSums(K, rule="paper", init="random-labels", random_state=seed),
        "k-sums, I_s": lambda seed: KSums(K, objective="pairwise", init="random-labels", random_state=seed),
    }
    lines = ["| method | E_m | E_s | entropy |", "|---|---|---|---|"]
    for name, make in methods.items():
        labels = [make(seed).fit(X).labels_ for seed in SEEDS]
        e_m, e_s = (np.mean([measure(X, one) for one in labels]) for measure in (metrics.distortion, metrics.pairwise))
        entropy = np.mean([metrics.entropy(digits, one) for one in labels])
        lines.append(f"| {name} | {e_m:.2f} | {e_s:.1f} | {entropy:.4f} |")
    title = f"scikit-learn's digits, {X.shape[0]} × {X.shape[1]}, k = {K}, mean of {len(SEEDS)} seeds; lower is better"
    print(title, *lines, sep="\n")

    OUT.mkdir(exist_ok=True)
    figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
    passes = 15
    for init, style in (("random", "k:"), ("k-means++", "k--")):
        axis.plot(range(1, passes + 1), lloyd_curve(X, init, passes), style, label=f"k-means, {init}")
    for label, given, marker in (
        ("k-sums (default)", {}, "o"),
        ("k-sums, I_m as printed", {"rule": "paper", "init": "random-labels"}, "s"),
    ):
        curve = history_frame(KSums(K, max_iter=passes, tol=0, random_state=0, **given).fit(X)).distortion
        axis.plot(curve.index, curve, marker=marker, markersize=4, label=label)
    axis.set(xlabel="pass", ylabel="distortion $E_m$", xlim=(0.5, passes + 0.5), ylim=(390, 440))
    axis.set_title(f"digits, n = {X.shape[0]}, k = {K}, one seed", fontsize=10)
    axis.grid(alpha=0.3)
    axis.legend()
    figure.savefig(OUT / "objective.png", dpi=150)
    (OUT / "report.md").write_text(
        "\n".join([f"# {title}", "", *lines, "", "![objective per pass](objective.png)", ""])
    )
    print(f"\nwritten to {OUT / 'report.md'} and {OUT / 'objective.png'}")


if __name__ == "__main__":
    main()
