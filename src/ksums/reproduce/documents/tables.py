"""Tab. 2(a, b), ours next to the paper's, and what else the results show."""

from __future__ import annotations

import numpy as np

from ksums.reproduce.documents.entropies import entropies
from ksums.reproduce.documents.paper import KS, PAPER_ENTROPY, PAPER_SETS, is_bisecting
from ksums.reproduce.documents.run import METHODS
from ksums.reproduce.method_names import full_name
from ksums.reproduce.pieces import Table
from ksums.reproduce.store import Results

_NO_VALUE = (None,) * len(KS)


def tables(results: Results) -> list[Table]:
    """One table for the direct methods, one for the bisecting methods."""
    table, sizes = entropies(results), [part["n"] for part in results["data"]]
    runs = min(row.runs for row in table.values())
    columns = (f"{kind}, k={k}" for kind in ("ours", "paper", "mean of runs") for k in KS)
    head = ("method", *columns, "±", "sets better than k-means")

    def row(method: str) -> tuple[str, ...]:
        ours = table[method]
        values = [*ours.best, *PAPER_ENTROPY.get(method, _NO_VALUE), *ours.mean, ours.seed_std]
        wins = str(ours.wins_over(table["k-means"]))
        return full_name(method), *("–" if value is None else f"{value:.3f}" for value in values), wins

    return [
        Table(
            head,
            [row(method) for method in METHODS if is_bisecting(method) == bisecting],
            f"{name}: mean entropy over {len(sizes)} sets (paper: {PAPER_SETS}) of {min(sizes):,} to {max(sizes):,} "
            f"documents, cosine. Ours: the run with the lowest objective out of {runs} seeds. Mean of runs: all "
            "seeds. ±: standard deviation between seeds.",
        )
        for name, bisecting in (("Tab. 2a, direct k-way", False), ("Tab. 2b, bisecting", True))
    ]


def remarks(results: Results) -> list[str]:
    """Further observations, each only if the results support it."""
    ours = {method: row.mean_best for method, row in entropies(results).items()}
    paper = {method: float(np.mean(values)) for method, values in PAPER_ENTROPY.items()}
    observations = {
        "k-means# and Hartigan apply the same rule and get the same values, close to the paper's for k-means#.": (
            ours["k-means#"] == ours["Hartigan"] and abs(ours["k-means#"] - paper["k-means#"]) < 0.03
        ),
        "The paper's row for Hartigan looks like that of a method that compares directions.": (
            abs(paper["Hartigan"] - ours["k-sums-Im"]) < 0.02 < ours["Hartigan"] - paper["Hartigan"]
        ),
        "The printed I_m reproduces the paper's values, direct and bisecting.": (
            abs(ours["k-sums-Im"] - paper["k-sums-Im"]) < 0.02
            and abs(ours["bisecting k-sums-Im"] - paper["bisecting k-sums-Im"]) < 0.02
        ),
        "Our k-means with cosine (spherical k-means) and our LVQ are much better than the paper's.": (
            ours["k-means"] < paper["k-means"] - 0.05 and ours["LVQ"] < paper["LVQ"] - 0.2
        ),
        "I_s is not better than I_m here.": ours["k-sums-Is"] > ours["k-sums-Im"],
    }
    return [sentence for sentence, supported in observations.items() if supported]
