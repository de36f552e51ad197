"""Tables about many clusters, for benchmarks/README.md and docs/guide/vector_search.md."""

from __future__ import annotations

from typing import Any

import numpy as np
from readme_parts import markdown, percent, results


def runs(name: str) -> list[dict[str, Any]]:
    """Return all runs on a data set."""
    return results("large_k")["results"][name]


def settings(row: dict[str, Any]) -> str:
    """Describe the settings of a run in words."""
    text = str(row["setting"])
    if row["method"].startswith("ksums"):
        return f'effort="{text}"' if text.isalpha() else f"effort={text}"
    if row["method"] == "SuperKMeans":
        form, rounds = text.split("-")
        return f"hierarchical, {rounds} refinements" if form == "hier" else f"flat, {rounds} iterations"
    return f"batches of {text}" if "Mini" in row["method"] else f"{text} iterations"


def large_k() -> list[str]:
    """List all runs, and for each peer the time in which KSums reaches its E_m."""
    lines = []
    for name, title in (("sift", "SIFT"), ("glove", "GloVe")):
        rows = runs(name)
        first = rows[0]
        ours = [row for row in rows if row["method"] == "ksums"]
        peers = [row for row in rows if not row["method"].startswith("ksums")]
        table = [["method", "", "E_m", "time, s", "memory added", "KSums as low in", "that is", "KSums in its time"]]
        for row in peers:
            as_low = min((own["seconds"] for own in ours if own["E_m"] <= row["E_m"]), default=None)
            in_time = min((own["E_m"] for own in ours if own["seconds"] <= row["seconds"]), default=None)
            table.append(
                [
                    row["method"],
                    settings(row),
                    f"{row['E_m']:.5g}",
                    f"{row['seconds']:.3g}",
                    f"{row['memory MB']:.0f} MB",
                    "–" if as_low is None else f"{as_low:.3g} s",
                    "–" if as_low is None else f"1/{row['seconds'] / as_low:.3g}",
                    "–" if in_time is None else percent(in_time / row["E_m"] - 1),
                ]
            )
        for row in rows:
            if row not in peers and (not str(row["setting"])[0].isdigit() or row["method"] != "ksums"):
                measured = [f"{row['E_m']:.5g}", f"{row['seconds']:.3g}", f"{row['memory MB']:.0f} MB"]
                table.append([f"**{row['method']}**", settings(row), *measured, "", "", ""])
        lines += [
            f"{title} {first['n']:,} × {first['d']}, k = {first['k']:,}: labels and centroids from rows in memory, all "
            "methods on the same 2 cores, one after another, without compile time (`large_k.py`). The time of "
            "SuperKMeans and faiss includes the assignment of labels:",
            "",
            *markdown(table),
            "",
        ]
    return [*lines, "![E_m over time](results/large_k.png)"]


def growth() -> list[str]:
    """Show the time of a pass by k and n, a fit of a million rows, predict, and both engines."""
    found = results("large_k")["results"]
    table = [["", *(f"k = {row['k']:,}" for row in found["passes"]["by k, n = 1,000,000"]), "last / first"]]
    for part, rows in found["passes"].items():
        if part.startswith("by k"):
            grown = rows[-1]["seconds"] / rows[0]["seconds"]
            table.append([part[6:], *(f"{1000 * row['seconds']:.0f} ms" for row in rows), f"{grown:.2f}"])
    by_n = found["passes"]["by n, k = 4,000"]
    linear = ", ".join(f"{row['n']:,}: {1000 * row['seconds']:.0f} ms" for row in by_n)
    large = found["million"]
    walks = [["centres of", "k", "rows", "all centres, s", "graph, s", "nearest found", "squared distance", "memory"]]
    walks += [
        [
            row["data"],
            f"{row['k']:,}",
            f"{row['rows']:,}",
            f"{row['exact s']:.2g}",
            f"{row['graph s']:.2g}",
            f"{100 * row['same']:.0f} %",
            percent(row["squared distance, graph / exact"] - 1),
            f"{row['exact MB']:.0f}, {row['graph MB']:.0f} MB",
        ]
        for row in found["predict"]
    ]
    engines = [["data", "k", "engine", "effort", "E_m", "time, s", "memory"]]
    engines += [
        [row["data"], f"{row['k']:,}", row["engine"], row.get("effort", "default"), f"{row['E_m']:.5g}",
         f"{row['seconds']:.2g}", f"{row['memory MB']:.0f} MB"]
        for row in found["engines"]
    ]  # fmt: skip
    return [
        'Neighbour lists against search and annealing over all clusters, near the k where `engine="auto"` changes '
        "(`large_k.py engines`):",
        "",
        *markdown(engines),
        "",
        "Time of a pass with lists of 64 (SIFT, 128 dimensions; median of six; `large_k.py passes`). If a cluster has "
        "only a dozen rows (n = 200,000, k = 16,000), they do not fill vectors of 16 lanes:",
        "",
        *markdown(table),
        "",
        f"By n, k = 4,000: {linear}.",
        "",
        "![seconds per pass](results/large_k_passes.png)",
        "",
        f"n = {large['n']:,} × {large['d']}, k = {large['k']:,}: {large['seconds']:.0f} s, {large['passes']} passes, "
        f"E_m {large['E_m']:.0f}, {large['memory MB']:.0f} MB beyond the {large['data MB']:.0f} MB of data.",
        "",
        "`predict` with all centres and through the graph of centres, including the time to make the graph "
        "(`large_k.py predict`):",
        "",
        *markdown(walks),
    ]


def recall() -> list[str]:
    """Compare IVF and PQ indexes with those that faiss trains."""
    found = results("ivf_recall")["results"]
    trainers = list(dict.fromkeys(row["trained by"] for row in found["ivf"]))
    probes = sorted({row["nprobe"] for row in found["ivf"]})
    lines = []
    table = [["vectors", "cells", "trained by", "in, s", *(f"nprobe {probe}" for probe in probes)]]
    for name, cells in dict.fromkeys((row["data"], row["cells"]) for row in found["ivf"]):
        for trainer in trainers:
            rows = [
                row for row in found["ivf"] if (row["data"], row["cells"], row["trained by"]) == (name, cells, trainer)
            ]
            recalls = [f"{row['recall@10']:.3f} ({100 * row['share compared']:.2g} %)" for row in rows]
            table.append([name, f"{cells:,}", trainer, f"{rows[0]['seconds']:.2g}", *recalls])
    verdicts = []
    for mine in ("ksums, high", "ksums, default"):
        for theirs in ("faiss", "faiss, 25 on all"):
            rows = [row for row in found["ivf"] if row["trained by"] == theirs]
            gains = [_same(found["ivf"], row, mine)["recall@10"] - row["recall@10"] for row in rows]
            above, below = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
            worst = f" (by {-min(gains):.4f} at most)" if below else ""
            verdicts.append(
                f"- {mine}, against {theirs}: at equal nprobe above it in {above} of {len(rows)} settings, below in "
                f"{below}{worst}; {_at_equal_work(found['ivf'], mine, theirs)}."
            )
    lines += [
        "Recall@10 of 5,000 queries, and in brackets the share of vectors that a query was compared with:",
        "",
        *markdown(table),
        "",
        *verdicts,
        "",
        "![recall against vectors compared](../../benchmarks/results/ivf_recall.png)",
        "",
    ]
    codes = [["vectors", "bytes", "trained by", "in, s", "squared error", "recall@10"]]
    codes += [
        [row["data"], str(row["bytes"]), row["trained by"], f"{row['seconds']:.2g}", f"{row['error']:.5g}",
         f"{row['recall@10']:.3f}"]
        for row in found["pq"]
    ]  # fmt: skip
    return [*lines, "Product quantisers, one byte for each part:", "", *markdown(codes)]


def _same(rows: list[dict[str, Any]], row: dict[str, Any], trainer: str) -> dict[str, Any]:
    """Return the row of another trainer in the same setting."""
    same = ("data", "cells", "nprobe")
    return next(one for one in rows if one["trained by"] == trainer and all(one[key] == row[key] for key in same))


def _at_equal_work(rows: list[dict[str, Any]], mine: str, theirs: str) -> str:
    """Say how often ours has the higher recall for an equal share of vectors compared, by interpolation."""
    gains = []
    for row in (row for row in rows if row["trained by"] == theirs):
        same = [
            one for one in rows if one["trained by"] == mine and all(one[key] == row[key] for key in ("data", "cells"))
        ]
        shares = np.log([one["share compared"] for one in same])
        if shares[0] <= np.log(row["share compared"]) <= shares[-1]:
            found = np.interp(np.log(row["share compared"]), shares, [one["recall@10"] for one in same])
            gains.append(found - row["recall@10"])
    return f"with equally many vectors compared above it in {sum(gain > 0 for gain in gains)} of {len(gains)}"
