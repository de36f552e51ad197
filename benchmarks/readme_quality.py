"""Tables about the quality of the optima: the README's headline table, all methods, all cases, levels of effort."""

from __future__ import annotations

from statistics import median
from typing import Any

from readme_large_k import runs
from readme_parts import markdown, percent, results

METHODS_OF_QUALITY = ("ksums", "sklearn", "sklearn x10", "breathing", "faiss", "Hartigan")
"""Tables and pictures show the methods in this order."""
LONG_ENOUGH = 0.005
"""A fit can finish in this many seconds."""
ROUNDING = 1e-6
"""Sums of squares that differ by less than this share count as equal, because labels come from float32."""
NAMES = {
    "ksums": "**ksums**",
    "sklearn": "scikit-learn `KMeans`",
    "sklearn x10": "scikit-learn `KMeans`, 10 starts",
    "breathing": "breathing k-means",
    "faiss": "`faiss.Kmeans`",
    "Hartigan": "Hartigan's method",
}
"""Tables show each method under this name."""


def summary(dense: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the results of each method over all dense cases, or over all document cases, and these cases."""
    cases = [row for row in results("quality")["results"]["cases"] if (row["d"] < 1000) == dense]
    best = [min(method["mean"] for method in row["methods"].values()) for row in cases]
    peer = "breathing" if dense else "sklearn"
    found = []
    for name in METHODS_OF_QUALITY:
        pairs = [(row, lowest) for row, lowest in zip(cases, best, strict=True) if name in row["methods"]]
        if not pairs:
            continue
        above = [row["methods"][name]["mean"] / lowest - 1 for row, lowest in pairs]
        times = [row["methods"][name]["s"] / row["methods"][peer]["s"] for row, _ in pairs]
        found.append(
            {
                "method": name,
                "cases": len(pairs),
                "lowest": sum(share <= ROUNDING for share in above),
                "median above": median(above),
                "most above": max(above),
                "time": median(times),
                "MB": max(row["methods"][name]["MB"] for row, _ in pairs),
            }
        )
    return found, cases


def headline() -> list[str]:
    """Return the README's table: how often each method finds the lowest sum of squares, and its time and memory."""
    rows, cases = summary(dense=True)
    data = results("quality")
    cells = [
        ["method", "lowest E_m in", "above the lowest, median", "time / breathing k-means", "memory added, at most"]
    ]
    cells += [
        [
            NAMES[row["method"]],
            f"{row['lowest']} of {row['cases']}",
            percent(row["median above"]),
            f"{row['time']:.2f}",
            f"{row['MB']:.0f} MB",
        ]
        for row in rows
        if row["method"] != "Hartigan"
    ]
    return [
        f"{len(cases)} cases on {len({row['data'] for row in cases})} dense data sets, mean of "
        f"{data['results']['seeds']} seeds, all methods with their defaults, {data['machine']['cores']} cores:",
        "",
        *markdown(cells),
        "",
        _many_clusters(),
        "",
        f"![Sum of squares against time, {len(cases)} cases](benchmarks/results/quality.png)",
    ]


def _many_clusters() -> str:
    """Return the README's sentence about many clusters."""
    rows = runs("glove")
    first, theirs = rows[0], next(row for row in rows if row["method"] == "faiss.Kmeans")
    ours = [row for row in rows if row["method"] == "ksums"]
    as_low = min(row["seconds"] for row in ours if row["E_m"] <= theirs["E_m"])
    in_time = min(row["E_m"] for row in ours if row["seconds"] <= theirs["seconds"])
    return (
        f"Many clusters (GloVe {first['n']:,} × {first['d']}, k = {first['k']:,}): KSums is as low as "
        f"{theirs['setting']} iterations of `faiss.Kmeans` in 1/{theirs['seconds'] / as_low:.0f} of its time, and "
        f"{100 * (1 - in_time / theirs['E_m']):.1f} % lower in the same time."
    )


def optima() -> list[str]:
    """Show how often each method finds the lowest sum of squares."""
    data = results("quality")
    lines = []
    for dense in (True, False):
        rows, cases = summary(dense)
        kind, peer = ("dense sets", "breathing k-means") if dense else ("sets of documents, cosine", "scikit-learn")
        names = {row["data"] for row in cases}
        cells = [
            [
                "method",
                "cases",
                "lowest mean",
                "above the lowest, median",
                "at most",
                f"time / {peer}",
                "memory added, at most",
            ]
        ]
        cells += [
            [
                NAMES[row["method"]],
                str(row["cases"]),
                f"{row['lowest']} ({row['lowest'] / row['cases']:.0%})",
                percent(row["median above"]),
                percent(row["most above"]),
                f"{row['time']:.2f}",
                f"{row['MB']:.0f} MB",
            ]
            for row in rows
        ]
        measure = "sum of squares" if dense else "cosine distance to the cluster's centroid"
        lines += [
            f"{len(names)} {kind}, {len(cases)} cases (two k each), mean {measure} of "
            f"{data['results']['seeds']} seeds, all methods with their defaults, {data['machine']['cores']} cores "
            "(`quality.py`). The time is the median of the ratios:",
            "",
            *markdown(cells),
            "",
        ]
    lines.append("![Sum of squares against time](results/quality.png)")
    return lines


def cases() -> list[str]:
    """Show for every case how far each method is above the lowest mean, and its seconds."""
    cells = [["data", "n × d", "k", *METHODS_OF_QUALITY]]
    for row in results("quality")["results"]["cases"]:
        best = min(method["mean"] for method in row["methods"].values())
        shown = []
        for name in METHODS_OF_QUALITY:
            method = row["methods"].get(name)
            shown.append(f"{percent(method['mean'] / best - 1)}, {method['s']:.2g} s" if method else "–")
        cells.append([row["data"], f"{row['n']} × {row['d']}", str(row["k"]), *shown])
    return [
        "Mean over the seeds, relative to the lowest of all methods, and seconds (`quality.py`):",
        "",
        *markdown(cells),
    ]


def hgmeans() -> list[str]:
    """Compare KSums with HG-means."""
    found = results("quality_hgmeans")["results"]
    rows = found["rows"]
    full = [row["its time"]["worst above"] for row in rows]
    tenth = [row["a tenth"]["above"] for row in rows]
    seconds = [row["hgmeans"]["s"] for row in rows]
    close = sum(share <= 1e-3 for share in tenth)
    longer = [row["a tenth"]["above"] for row in rows if row["hgmeans"]["s"] / 10 >= LONG_ENOUGH]
    return [
        f"Against HG-means (`quality_hgmeans.py`; {len(rows)} cases with up to 5,000 rows, its defaults, stopped after "
        f"{found['cut s']} s; it took {min(seconds):.2g} to {max(seconds):.0f} s): in the same time, the worse of two "
        f"runs of KSums is above it in {sum(share > ROUNDING for share in full)} cases "
        f"({percent(max(full), 3)} at most, {percent(min(full), 2)} at best). In a tenth of the time, the mean of "
        f"three runs is at most 0.1 % above it in {close} cases ({close / len(rows):.0%}; {percent(max(tenth), 3)} at "
        "most). "
        f"If only cases count where this tenth is at least {LONG_ENOUGH * 1000:.0f} ms, it is in "
        f"{sum(share <= 1e-3 for share in longer)} of {len(longer)}; less is hardly enough for a fit.",
    ]


def levels() -> list[str]:
    """Compare the levels of effort with KMeans."""
    found = results("quality_levels")["results"]
    glove, rows = found["glove"], found["levels"]
    cells = [
        ["effort", *(f"{row['data']}, k = {row['k']}" for row in rows if row["effort"] == "default"), "memory, at most"]
    ]
    for level in dict.fromkeys(str(row["effort"]) for row in rows):
        chosen = [row for row in rows if str(row["effort"]) == level]
        name = f"{level} s" if level[0].isdigit() else level
        cells.append(
            [
                name,
                *(f"{percent(row['E_m / kmeans'] - 1)} in {row['s / kmeans']:.2g}" for row in chosen),
                f"{max(row['MB'] for row in chosen):.0f} MB",
            ]
        )
    hits = [row["ksums found"] for row in found["optima"]]
    theirs = [row["sklearn found"] for row in found["optima"]]
    fits = sum(row["seeds"] for row in found["optima"])
    times = [row["ksums s"] / row["sklearn s"] for row in found["optima"]]
    return [
        "Sum of squares relative to `KMeans(k)` with its defaults, and time as a multiple of its time "
        "(`quality_levels.py`, mean of five seeds):",
        "",
        *markdown(cells),
        "",
        f"KSums finds the true clusters of Fränti's {len(hits)} sets in {sum(hits)} of {fits} fits "
        f"({min(hits)} of {found['optima'][0]['seeds']} on the hardest set; `KMeans(k)`: {sum(theirs)} of {fits}), in "
        f"{median(times):.1f} times the time of `KMeans(k)` (median). GloVe {glove['n']} × {glove['d']}, "
        f"k = {glove['k']}: {glove['below %']:.2f} % below `KMeans(k, max_iter=300)` in "
        f"{glove['s / sklearn']:.2f} of its time, with {glove['ksums']['MB']:.0f} MB added (KMeans: "
        f"{glove['sklearn']['MB']:.0f} MB).",
    ]
