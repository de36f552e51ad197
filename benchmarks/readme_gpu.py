"""Fits on a graphics card: the tables of README.md, benchmarks/README.md and the guide."""

from __future__ import annotations

from typing import Any

from readme_parts import markdown, results


def _found() -> dict[str, Any]:
    return results("gpu")["results"]


def _introduction(words: str, rows: list[dict[str, Any]]) -> str:
    """Words before a table, which say if it is of an earlier version."""
    return words + (" (measured before the last changes):" if any(row.get("earlier") for row in rows) else ":")


def card_headline() -> list[str]:
    """One sentence for the README."""
    found = _found()
    (row,) = (row for row in found["race"] if row["data"].startswith("SIFT") and row["k"] == 10_000)
    return [
        f"On a graphics card ({found['card']}; SIFT 200,000 × 128, k = 10,000): KSums is as low as 25 iterations of "
        f"flash-kmeans in 1/{1 / row['time ratio']:.1f} of its time, and {-row['default, in its time, %']:.1f} % lower "
        "in the same time."
    ]


def race() -> list[str]:
    """Beside flash-kmeans."""
    found = _found()
    head = ["data", "k", "flash-kmeans", "its time, ms", "KSums as low in, ms", "that is", "KSums in its time"]
    rows = [[*head, "`fit`, ms", "lower in the end"]]
    for row in found["race"]:
        reached = [row[f"{effort}, to its E_m, ms"] for effort in ("low", "default")]
        as_low = min((ms for ms in reached if ms is not None), default=None)
        in_time = min(row[f"{effort}, in its time, %"] for effort in ("low", "default"))
        rows.append(
            [
                row["data"],
                f"{row['k']:,}",
                f"{row['iterations']} iterations, {row['input']}",
                f"{row['flash-kmeans, ms']:.1f}",
                "–" if as_low is None else f"{as_low:.1f}",
                "–" if as_low is None else f"{row['time ratio']:.2f}",
                f"{in_time:+.2f} %",
                f"{row['default, fit, ms']:.0f}",
                f"{row['default, in the end, %']:+.2f} %",
            ]
        )
    recording = max(row[f"{effort}, recording, ms"] for row in found["race"] for effort in ("low", "default"))
    words = (
        f"One {found['card']}, torch {found['torch']}, both from random rows, mean of three seeds "
        "(`benchmarks/gpu.py`). Times run from a tensor on the card to the labels, preparation included; compiling and "
        f"the recording of CUDA graphs (at most {recording:.0f} ms a fit) are left out. *As low in*: the faster of low "
        "and default effort. `fit` is a whole fit at default effort, with the recording and the measures in float64:"
    )
    return [words, "", *markdown(rows)]


def beside_the_cpu() -> list[str]:
    """Card and CPU."""
    found, machine = _found(), results("gpu")["machine"]
    rows = [["data", "k", "objective", "card, s", "CPU, s", "card above CPU"]]
    rows += [
        [
            row["data"],
            f"{row['k']:,}",
            {"distortion": "E_m", "pairwise": "E_s"}[row.get("objective", "distortion")],
            f"{row['card, s']:.2g}",
            f"{row['CPU, s']:.2g}",
            f"{row['card above CPU, %']:+.2f} %",
        ]
        for row in found["cpu"]
    ]
    words = f"Default effort on the card and on the {machine['cores']} cores of the same machine, mean of two seeds"
    return [_introduction(words, found["cpu"]), "", *markdown(rows)]


def repeated() -> list[str]:
    """The same labels, and memory."""
    found = _found()
    labels, fits = sorted(set(found["repeats"].values())), len(found["repeats"])
    most = max(row["share of X"] for row in found["memory"] if row["data"].startswith("4M"))
    rest = max(row["rest, bytes"] for row in found["memory"])
    return [
        f"{fits} times 21 fits (two data sets; E_m under l2 and cosine, E_s; with CUDA graphs, without, and with rows "
        f"read from the host in chunks) gave {' or '.join(map(str, labels))} set of labels each. A fit of 4,000,000 × "
        f"128 float32 rows adds {100 * most:.0f} % of their memory at most: 50 % is the copy in float16, the rest "
        "labels, orders and lists of candidates. In all fits of the table the memory beside X was at most 60 % of X "
        f"and {rest:.0f} bytes for each row and each number of a centre."
    ]


def streamed() -> list[str]:
    """Rows that stay in memory of the host."""
    found = _found()["streamed"]
    rows = [["n × d", "k", "on the card", "on the host, float16 copy on the card", "in chunks", "GB/s", "same labels"]]
    ways = ("on the card", "on the host", "in chunks")
    rows += [
        [
            f"{row['n']:,} × {row['d']}",
            f"{row['k']:,}",
            *(f"{row[f'{way}, pass, ms']:.0f} ms / {row[f'{way}, fit, s']:.2f} s" for way in ways),
            f"{row['GB/s in chunks']:.0f}",
            "yes" if row["same labels"] else "no",
        ]
        for row in found
    ]
    words = "Rows on the card and in memory of the host: a pass over all rows / a whole fit at low effort. In chunks, "
    words += f"all {found[0]['GB']:.1f} GB cross the bus in each pass:"
    return [words, "", *markdown(rows)]


def many_problems() -> list[str]:
    """``batched`` beside flash-kmeans."""
    timed = ["flash-kmeans 10 / 25 iterations, ms", "batched low / default, ms"]
    rows = [["problems × n × d", "k", *timed, "E_m beside 25 iterations"]]
    rows += [
        [
            f"{row['problems']} × {row['n']:,} × {row['d']}",
            f"{row['k']:,}",
            f"{row['flash-kmeans 10, ms']:.1f} / {row['flash-kmeans 25, ms']:.1f}",
            f"{row['low, ms']:.1f} / {row['default, ms']:.1f}",
            f"{row['low, E_m, %']:+.1f} / {row['default, E_m, %']:+.1f} %",
        ]
        for row in _found()["batches"]
    ]
    words = "`ksums.torch.batched` beside flash-kmeans, float16, groups of random centres (four times as many as "
    words += "clusters); whole calls, with checks, seeds and the recording of CUDA graphs"
    return [_introduction(words, _found()["batches"]), "", *markdown(rows)]
