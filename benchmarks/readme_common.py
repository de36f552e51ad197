"""Tables about few clusters and many rows: the README's first table, and every case."""

from __future__ import annotations

from statistics import median
from typing import Any

from common_case import LARGE
from readme_parts import markdown, results

NAMES = {
    "KSums, default": "**ksums**",
    "KSums, low": '**ksums**, `effort="low"`',
    "KMeans": "scikit-learn `KMeans`",
    "KMeans, best of 10": "scikit-learn `KMeans`, 10 starts",
    "MiniBatchKMeans": "scikit-learn `MiniBatchKMeans`",
    "faiss.Kmeans": "`faiss.Kmeans`",
}
"""Tables show each method under this name."""


def large_cases() -> dict[str, list[dict[str, Any]]]:
    """Return the results of each method on the cases with many rows."""
    rows = [row for row in results("common_case")["results"]["rows"] if row["n"] >= LARGE]
    return {method: [row for row in rows if row["method"] == method] for method in NAMES}


def common_headline() -> list[str]:
    """Return the README's first table: time and sum of squares relative to scikit-learn, over all large cases."""
    data, found = results("common_case"), large_cases()
    cells = [
        [
            "method",
            "time / one `KMeans`, median (most)",
            "SSE above the best of 10 starts, median (most)",
            "memory added, at most",
        ]
    ]
    for method, rows in found.items():
        times, above = [row["time / KMeans"] for row in rows], [row["SSE, %"] for row in rows]
        cells.append(
            [
                NAMES[method],
                f"{median(times):.2f} ({max(times):.2f})",
                f"{median(above):+.3f} % ({max(above):+.2f} %)",
                f"{max(row['MB'] for row in rows):.0f} MB",
            ]
        )
    cases = found["KMeans"]
    clusters = sorted(row["k"] for row in cases)
    return [
        f"Few clusters, many rows: {len(cases)} cases on {len({row['data'] for row in cases})} data sets of "
        f"{min(row['n'] for row in cases):,} to {max(row['n'] for row in cases):,} rows, k = {clusters[0]} to "
        f"{clusters[-1]}, {data['machine']['cores']} cores:",
        "",
        *markdown(cells),
    ]


def common_cases() -> list[str]:
    """Return a table of every case."""
    rows = results("common_case")["results"]["rows"]
    cells = [["data", "k", *("time, s", "default", "low"), *("SSE: one run", "default", "low"), "MB beside X"]]
    for name, k in dict.fromkeys((row["data"], row["k"]) for row in rows):
        own = {row["method"]: row for row in rows if (row["data"], row["k"]) == (name, k)}
        levels = own["KSums, default"], own["KSums, low"]
        cells.append(
            [
                name,
                str(k),
                f"{own['KMeans']['s']:.3g}",
                *(f"{level['time / KMeans']:.2f}" for level in levels),
                f"{own['KMeans']['SSE, %']:+.2f} %",
                *(f"{level['SSE, %']:+.3f} %" for level in levels),
                f"{max(level['MB'] for level in levels):.0f} of {own['KMeans']['X MB']:.0f}",
            ]
        )
    return [
        "Times of KSums are relative to the median of ten runs of scikit-learn's `KMeans`, sums of squares to the best "
        "of the ten (`benchmarks/common_case.py`). One run is the mean of the ten.",
        "",
        *markdown(cells),
        "",
        *(f"- {sentence}." for sentence in results("common_case")["results"]["verdict"]),
    ]


def hard_shapes() -> list[str]:
    """Say how KSums ends on hard shapes, and show the worst seed of each case."""
    found = results("hard_shapes")["results"]
    cells = [["shape", "k", "worst of ten runs", "default: worst, time", "low: worst, time"]]
    for name, k in dict.fromkeys((row["shape"], row["k"]) for row in found["rows"]):
        own = {row["method"]: row for row in found["rows"] if (row["shape"], row["k"]) == (name, k)}
        levels = (own["KSums, default"], own["KSums, low"])
        cells.append(
            [
                name,
                str(k),
                f"{own['KMeans']['worst, %']:+.2f} %",
                *(f"{row['worst, %']:+.2f} %, {row['time']:.2f}" for row in levels),
            ]
        )
    return [
        "Hard shapes, 120,000 × 10: the worst of four seeds beside the best of ten runs of scikit-learn's "
        "`KMeans`, and the time beside one run (`benchmarks/hard_shapes.py`):",
        "",
        *(f"- {sentence}." for sentence in found["verdict"]),
        "",
        *markdown(cells),
    ]
