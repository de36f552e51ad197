"""Data in parts: the tables of benchmarks/README.md and of the guide."""

from __future__ import annotations

from typing import Any

from readme_parts import markdown, results


def _number(value: Any, digits: int = 3) -> str:
    return "" if value is None else f"{value:,.{digits}g}"


def quality() -> list[str]:
    """How low fits of data in parts end."""
    rows = [["data", "k", "how", "above a fit in memory", "least … most", "s"]]
    for row in results("shards")["results"]["quality"]:
        spread = f"{row['least']:+.3f} … {row['most']:+.3f} %"
        above = "" if row["how"] == "in memory" else f"{row['above, %']:+.3f} %"
        rows.append([row["data"], f"{row['k']:,}", row["how"], above, spread, _number(row["s"])])
    words = (
        "The objective of fits of data in parts, mean of three seeds (one for k ≥ 1,000), relative to the mean of two "
        "fits in memory (`benchmarks/shards.py`; 2 cores):"
    )
    return [words, "", *markdown(rows)]


def disk() -> list[str]:
    """Reading from disk in each round."""
    found = results("shards")["results"]
    (row,), data = found["disk"], found["disk data"]
    return [
        f"{row['GB']:.1f} GB in {data['files']} files ({data['files'] * data['rows']:,} × {data['columns']} float32), "
        f'k = {data["k"]}, `max_memory="{data["memory"]}"` under a hard limit of the system: a round reads '
        f"{row['a round, GB/s']:.2f} GB/s, {row['share']:.0%} of the {row['read the files, GB/s']:.2f} GB/s at which "
        f"the files can be read (the system forgets them after each round). The sample takes {row['sample, s']:.0f} s, "
        f"the fit {row['fit, s']:.0f} s. It adds {row['memory, MB']:,.0f} MB to the process, "
        f"{row['of which labels in files, MB']:,.0f} MB of which are labels in files, which the system may drop at any "
        "time (`benchmarks/shards.py`; 2 cores)."
    ]


def on_dask() -> list[str]:
    """The same labels everywhere, and what kills cost."""
    found = results("shards_dask")["results"]
    data, lines = found["data"]["same"], []
    n = data["parts"] * data["rows"]
    same = {row["labels"] for row in found["same"]}
    rows = [["how", "fit, s", "a round, s", "E_m", "labels"]]
    rows += [
        [row["how"], _number(row["fit, s"]), _number(row["a round, s"]), _number(row["E_m"], 7), row["labels"]]
        for row in found["same"]
    ]
    words = (
        f"{n:,} × {data['columns']}, k = {data['k']}: {len(same)} digest of the labels in {len(found['same'])} fits "
        "(`benchmarks/shards_dask.py`; all workers on one machine with 2 cores):"
    )
    lines += [words, "", *markdown(rows), ""]
    data = found["data"]["speed"]
    *fits, traffic = found["speed"]
    rows = [["how", "fit, s", "sample, s", "a round, s", "E_m"]]
    rows += [
        [row["how"], *(_number(row[name]) for name in ("fit, s", "sample, s", "a round, s")), _number(row["E_m"], 7)]
        for row in fits
    ]
    lines += [f"{data['parts'] * data['rows']:,} × {data['columns']}, k = {data['k']:,}; traffic of a round: "
              f"{traffic['bytes']:,} bytes for a worker, {traffic['k (d + 2) 8 times']:.2f} times k (d + 2) 8:",
              "", *markdown(rows), ""]  # fmt: skip
    data = found["data"]["peers"]
    rows = [["method", "fit, s", "E_m", "ksums as low after, s"]]
    rows += [
        [row["how"], _number(row["fit, s"]), _number(row["E_m"], 7), _number(row["ksums as low after, s"])]
        for row in found["peers"]
    ]
    return [*lines, f"{data['parts'] * data['rows']:,} × {data['columns']}, k = {data['k']}, two workers:", "",
            *markdown(rows)]  # fmt: skip
