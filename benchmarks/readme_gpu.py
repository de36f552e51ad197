"""Fits on a graphics card: the tables of README.md, benchmarks/README.md and the guide."""

from __future__ import annotations

from typing import Any

from readme_parts import markdown, results


def _found() -> dict[str, Any]:
    return results("gpu")["results"]


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
    rows = [["data", "k", "card, s", "CPU, s", "E_m of the card"]]
    rows += [
        [
            row["data"],
            f"{row['k']:,}",
            f"{row['card, s']:.2g}",
            f"{row['CPU, s']:.2g}",
            f"{row['card above CPU, %']:+.2f} %",
        ]
        for row in found["cpu"]
    ]
    words = f"Default effort on the card and on the {machine['cores']} cores of the same machine, mean of two seeds "
    words += '(from k = 1,000 on the card with `init="random-points"`):'
    return [words, "", *markdown(rows)]


def repeated() -> list[str]:
    """The same labels, and memory."""
    found = _found()
    labels, fits = set(found["repeats"].values()), len(found["repeats"])
    most = max(row["share of X"] for row in found["memory"] if row["data"].startswith("4M"))
    (each,) = labels if len(labels) == 1 else (max(labels),)
    return [
        f"Twenty fits each of {fits} kinds (l2 and cosine, with CUDA graphs and without) gave {each} set of labels "
        f"each. A fit of 4,000,000 × 128 float32 rows adds {100 * most:.0f} % of their memory: 50 % is the copy in "
        "float16, the rest labels, orders and lists of candidates."
    ]
