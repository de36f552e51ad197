"""Data in parts: the tables of benchmarks/README.md and of the guide."""

from __future__ import annotations

from typing import Any

from readme_parts import markdown, results

ROUNDS = ("one process, 1 threads", "one process, 2 threads", "Dask, 1 workers, files", "Dask, 2 workers, files")
"""What rounds are compared by the guide."""


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


def workers() -> list[str]:
    """For the guide: what a cluster does, in a few sentences."""
    found = results("shards_dask")["results"]
    data, same = found["data"]["same"], found["same"]
    labels = {row["labels"] for row in same}
    assert len(labels) == 1, labels
    killed = [row for row in same if "more, s" in row]
    ours, *peers = found["peers"]
    about = found["data"]["peers"]
    rounds = {row["how"]: row["a round, s"] for row in found["speed"] if "a round, s" in row}
    beside = " and ".join(f"{row['how']} {row['fit, s']:.0f} s ({row['E_m']:.2f})" for row in peers)
    speed = found["data"]["speed"]
    seconds = [f"{rounds[how]:.2f} s" for how in ROUNDS]
    return [
        f"{data['parts'] * data['rows']:,} × {data['columns']}, k = {data['k']}: {len(same)} fits from arrays, npy and "
        "parquet files, on one thread and two, with a quarter of the rows in memory, killed and resumed, on one, two "
        "and five workers, with a worker killed in each phase, all gave the same labels. A killed worker cost "
        f"{min(row['more, s'] for row in killed):.0f} to {max(row['more, s'] for row in killed):.0f} s, of a fit of "
        f"{same[-len(killed) - 1]['fit, s']:.0f} s; the most where nothing was saved and all rounds were repeated.",
        "",
        f"{speed['parts'] * speed['rows']:,} × {speed['columns']}, k = {speed['k']:,}: a round takes {seconds[0]} on "
        f"one thread, {seconds[1]} on two, {seconds[2]} on one worker and {seconds[3]} on two; an empty round takes "
        f"{1000 * rounds['Dask, 2 workers, 400 rows, k = 10']:.0f} ms.",
        "",
        f"Beside others, {about['parts'] * about['rows']:,} × {about['columns']}, k = {about['k']}, two workers: "
        f"{ours['fit, s']:.1f} s (E_m {ours['E_m']:.2f}); {beside}. All on one machine with 2 cores "
        "(`benchmarks/shards_dask.py`).",
    ]
