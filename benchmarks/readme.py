"""Write the measured tables of README.md, benchmarks/README.md and of the guide from benchmarks/results.

python benchmarks/readme.py            writes them
python benchmarks/readme.py --check    says whether they are up to date (exit code 1 if not)
"""

from __future__ import annotations

import sys
from statistics import median
from typing import Any

from readme_large_k import growth, large_k, recall
from readme_parts import HERE, markdown, percent, results
from readme_reproduction import reproduction

METHODS_OF_QUALITY = ("ksums", "sklearn", "sklearn x10", "breathing", "faiss", "Hartigan")
LONG_ENOUGH = 0.005  # seconds
ROUNDING = 1e-6  # sums of squares this close are equal: float32 labels, float64 sums
START, END = "<!-- made by benchmarks/readme.py from benchmarks/results: do not edit -->", "<!-- end -->"


def summary(dense: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What each method did on all cases: dense sets, or documents; and the cases."""
    cases = [row for row in results("quality")["results"]["cases"] if (row["d"] < 1000) == dense]
    best = [min(method["mean"] for method in row["methods"].values()) for row in cases]
    clock = "breathing" if dense else "sklearn"
    found = []
    for name in METHODS_OF_QUALITY:
        pairs = [(row, least) for row, least in zip(cases, best, strict=True) if name in row["methods"]]
        if not pairs:
            continue
        above = [row["methods"][name]["mean"] / least - 1 for row, least in pairs]
        times = [row["methods"][name]["s"] / row["methods"][clock]["s"] for row, _ in pairs]
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


def optima() -> list[str]:
    """Who finds the lowest sum of squares."""
    kept = results("quality")
    lines = []
    for dense in (True, False):
        rows, cases = summary(dense)
        of, clock = ("dense sets", "breathing k-means") if dense else ("sets of documents, cosine", "scikit-learn")
        names = {row["data"] for row in cases}
        cells = [
            ["method", "cases", "lowest mean", "above the lowest, median", "most", f"time / {clock}", "memory, most"]
        ]
        cells += [
            [
                f"**{row['method']}**" if row["method"] == "ksums" else row["method"],
                str(row["cases"]),
                f"{row['lowest']} ({row['lowest'] / row['cases']:.0%})",
                percent(row["median above"]),
                percent(row["most above"]),
                f"{row['time']:.2f}",
                f"{row['MB']:.0f} MB",
            ]
            for row in rows
        ]
        measure = "sum of squares" if dense else "cosine distance to the own centroid"
        lines += [
            f"{len(names)} {of}, {len(cases)} cases (two k each), mean {measure} of {kept['results']['seeds']} seeds, "
            f"all with their defaults, {kept['machine']['cores']} cores (`benchmarks/quality.py`); time is the median "
            "of the ratios:",
            "",
            *markdown(cells),
            "",
        ]
    lines.append("![sum of squares against time](benchmarks/results/quality.png)")
    return lines


def cases() -> list[str]:
    """Every case: how far above the lowest mean, and seconds."""
    cells = [["data", "n × d", "k", *METHODS_OF_QUALITY]]
    for row in results("quality")["results"]["cases"]:
        best = min(method["mean"] for method in row["methods"].values())
        shown = []
        for name in METHODS_OF_QUALITY:
            method = row["methods"].get(name)
            shown.append(f"{percent(method['mean'] / best - 1)}, {method['s']:.2g} s" if method else "–")
        cells.append([row["data"], f"{row['n']} × {row['d']}", str(row["k"]), *shown])
    return ["Mean over the seeds above the lowest of all methods, and seconds (`quality.py`):", "", *markdown(cells)]


def hgmeans() -> list[str]:
    found = results("quality_hgmeans")["results"]
    rows = found["rows"]
    full = [row["its time"]["worst above"] for row in rows]
    tenth = [row["a tenth"]["above"] for row in rows]
    seconds = [row["hgmeans"]["s"] for row in rows]
    close = sum(share <= 1e-3 for share in tenth)
    longer = [row["a tenth"]["above"] for row in rows if row["hgmeans"]["s"] / 10 >= LONG_ENOUGH]
    return [
        f"Beside HG-means (`benchmarks/quality_hgmeans.py`; {len(rows)} cases up to 5,000 rows, its defaults, cut at "
        f"{found['cut s']} s; it took {min(seconds):.2g} to {max(seconds):.0f} s): given its time, the worse of two "
        f"runs of k-sums is above it in {sum(share > ROUNDING for share in full)} cases "
        f"({percent(max(full), 3)} at most, {percent(min(full), 2)} at best); given a tenth of its time, the mean of "
        f"three is at most 0.1 % above in {close} ({close / len(rows):.0%}; {percent(max(tenth), 3)} at most). "
        f"Where that tenth is {LONG_ENOUGH * 1000:.0f} ms or more, it is in "
        f"{sum(share <= 1e-3 for share in longer)} of {len(longer)} cases: below, the time is hardly enough for a fit.",
    ]


def levels() -> list[str]:
    found = results("quality_levels")["results"]
    glove, rows = found["glove"], found["levels"]
    cells = [
        ["effort", *(f"{row['data']}, k = {row['k']}" for row in rows if row["effort"] == "default"), "memory, most"]
    ]
    for level in dict.fromkeys(str(row["effort"]) for row in rows):
        of = [row for row in rows if str(row["effort"]) == level]
        name = f"{level} s" if level[0].isdigit() else level
        cells.append(
            [
                name,
                *(f"{percent(row['E_m / kmeans'] - 1)} in {row['s / kmeans']:.2g}" for row in of),
                f"{max(row['MB'] for row in of):.0f} MB",
            ]
        )
    hits = [row["ksums found"] for row in found["optima"]]
    theirs = [row["sklearn found"] for row in found["optima"]]
    runs = sum(row["seeds"] for row in found["optima"])
    times = [row["ksums s"] / row["sklearn s"] for row in found["optima"]]
    return [
        "Levels of `effort`: sum of squares against `KMeans(k)` with its defaults, and time as a multiple of its time "
        "(`benchmarks/quality_levels.py`, mean of five seeds):",
        "",
        *markdown(cells),
        "",
        f"The true clusters of Fränti's {len(hits)} sets are found in {sum(hits)} of {runs} fits "
        f"({min(hits)} of {found['optima'][0]['seeds']} where it is hardest; `KMeans(k)`: {sum(theirs)} of {runs}), in "
        f"{median(times):.1f} times the time of `KMeans(k)` (median). GloVe {glove['n']} × {glove['d']}, "
        f"k = {glove['k']}: {glove['below %']:.2f} % below `KMeans(k, max_iter=300)` in "
        f"{glove['s / sklearn']:.2f} of its time, {glove['ksums']['MB']:.0f} MB added (it: "
        f"{glove['sklearn']['MB']:.0f} MB).",
    ]


def rules() -> list[str]:
    found = results("rules")
    given = found["results"]
    best = next(row for row in given["rows"] if row["method"] == "scikit-learn Lloyd, k-means++")
    rows = [["method", "E_m", "against k-means++", "E_s", "time against k-means++", "memory added"]]
    rows += [
        [
            row["method"],
            f"{row['E_m']:.3f} ± {row['sd']:.3f}",
            f"{100 * (row['E_m'] / best['E_m'] - 1):+.2f} %",
            f"{row['E_s']:.0f}",
            f"{row['seconds'] / best['seconds']:.2f}",
            f"{row['added MB']:.0f} MB",
        ]
        for row in given["rows"]
    ]
    title = (
        f"{given['data']} ({given['n']} × {given['d']}), k = {given['k']}, {given['passes']} passes or iterations, "
        f"mean ± spread of three seeds, k-sums from random labels, {found['machine']['cores']} cores "
        "(`benchmarks/rules.py`):"
    )
    return [title, "", *markdown(rows)]


def speed() -> list[str]:
    found = results("exact_pass")
    rows = [
        ["data", "k", "threads", "pass 1 / Lloyd", "pass 3 on / Lloyd", "pass 1 of sgemm", "pass 3 on of sgemm", "E_m"]
    ]
    rows += [
        [
            f"{row['data']} {row['n']} × {row['d']}",
            str(row["k"]),
            str(row["threads"]),
            *(f"{row[name]:.2f}" for name in ("pass 1 / lloyd", "pass 3+ / lloyd")),
            *(f"{row[name]:.2f}" for name in ("pass 1 of sgemm", "pass 3+ of sgemm")),
            f"{row['E_m']:.5g}",
        ]
        for row in found["results"]["time"]
    ]
    gains = [["k", "pass 1", "pass 3 on", "all passes"]]
    gains += [
        [str(row["k"]), *(f"{row[name]:.2f}" for name in ("pass 1", "pass 3+", "all passes"))]
        for row in found["results"]["threads"]
    ]
    memory = [["data", "k", "data, MB", "added, MB", "E_m after 2 passes"]]
    memory += [
        [
            f"{row['data']} {row['n']} × {row['d']}",
            str(row["k"]),
            *(f"{row[name]:.0f}" for name in ("X MB", "added MB")),
            f"{row['E_m']:.5g}",
        ]
        for row in found["results"]["memory"]
    ]
    return [
        f"Machine: {found['machine']['cpu']}, {found['machine']['cores']} cores, scikit-learn "
        f"{found['machine']['scikit-learn']}, Numba {found['machine']['numba']}.",
        "",
        "Time of one pass of the exact engine (float32, `hartigan` from random labels, so that nearly every sample "
        "moves in pass 1) as a share of one iteration of scikit-learn's Lloyd on the same data and threads; and its "
        "speed, 2·n·k·d operations, as a share of this machine's own matrix product in the same minute:",
        "",
        *markdown(rows),
        "",
        "k-means reads its rows in order and all at once; k-sums reads them in random order and makes one decision "
        "after the other. Where a row is compared with few clusters, that shows.",
        "",
        "How much faster two threads are than one on SIFT, with the same labels:",
        "",
        *markdown(gains),
        "",
        "Memory that a fit adds to the data:",
        "",
        *markdown(memory),
    ]


def limits() -> list[str]:
    rows = [["data", "k", "sizes", "E_m / constrained", "time / constrained", "time / no limits", "memory added"]]
    rows += [
        [
            f"{row['data']} {row['n']} × {row['d']}",
            str(row["k"]),
            f"{row['size_min']} … {row['size_max']}",
            *(
                f"{row.get(name, float('nan')):.2f}"
                for name in ("E_m / constrained", "s / constrained", "s / unlimited")
            ),
            f"{row['ksums MB']:.0f} MB",
        ]
        for row in results("limits")["results"]
    ]
    return [
        "Size limits, beside k-means-constrained and beside k-sums without limits (`limits.py`, mean of three seeds):",
        "",
        *markdown(rows),
    ]


def bisecting() -> list[str]:
    found = results("bisecting")["results"]
    rows = [["method", "k", "time / default", "E_m / default", "E_s", "memory added"]]
    rows += [
        [
            row["method"],
            str(row["k"]),
            *(f"{row[name]:.2f}" for name in ("time / default",)),
            f"{row['E_m / default']:.3f}",
            f"{row['E_s']:.4g}",
            f"{row['added MB']:.0f} MB",
        ]
        for row in found["rows"]
    ]
    growth = [["method", "k", "time grows by", "log k grows by"]]
    growth += [[row["method"], row["k"], f"{row['time']:.2f}", f"{row['log k']:.2f}"] for row in found["growth"]]
    return [
        f"Splitting, {found['data']} ({found['n']} × {found['d']}), float32, {found['seeds']} seeds (`bisecting.py`):",
        "",
        *markdown(growth),
        "",
        *markdown(rows),
    ]


def sequential() -> list[str]:
    found = results("sequential")["results"]
    rows = [["method", "E_m", "least … most", "E_s", "least … most", "time / Sequential k-means", "memory added"]]
    rows += [
        [
            row["method"],
            f"{row['E_m']:.5g} ± {row['E_m sd']:.2g}",
            f"{row['E_m least']:.5g} … {row['E_m most']:.5g}",
            f"{row['E_s']:.4g} ± {row['E_s sd']:.2g}",
            f"{row['E_s least']:.4g} … {row['E_s most']:.4g}",
            f"{row['time / Sequential k-means']:.2f}",
            f"{row['added MB']:.0f} MB",
        ]
        for row in found["rows"]
    ]
    return [
        f"One pass, each sample seen once, {found['data']} ({found['n']} × {found['d']}), k = {found['k']}, "
        f"{found['orders']} random orders (`sequential.py`). The mini-batches' labels are given at the end, with all "
        "centres known; the others' when the sample comes:",
        "",
        *markdown(rows),
    ]


def busy() -> list[str]:
    found = results("busy")
    given = found["results"]
    rows = [
        ["method", "busy processes", "threads", "time / one thread alone", "the most of them", "E_m", "memory added"]
    ]
    rows += [
        [
            row["method"],
            str(row["busy processes"]),
            str(row["threads"]),
            f"{row['time / one thread alone']:.2f}",
            f"{row['most / one thread alone']:.2f}",
            f"{row['E_m']:.2f}",
            f"{row['added MB']:.0f} MB",
        ]
        for row in given["rows"]
    ]
    return [
        f"Other processes on the {found['machine']['cores']} cores: {given['data']} ({given['n']} × {given['d']}), "
        f"k = {given['k']}, {given['passes']} passes, median and most of {given['times']} fits (`busy.py`). Where the "
        "cores are taken, `n_threads=1` is faster:",
        "",
        *markdown(rows),
    ]


def first_call() -> list[str]:
    rows = [["n × d, k", "type", "process", "import, s", "first fit, s", "next fit, s", "peak", "E_m"]]
    rows += [
        [
            f"{row['n']} × {row['d']}, {row['k']}",
            row["type"],
            row["process"],
            *(f"{row[name]:.2f}" for name in ("import s", "first fit s", "next fit s")),
            f"{row['peak MB']:.0f} MB",
            f"{row['E_m']:.2f}",
        ]
        for row in results("first_call")["results"]
    ]
    return ["From a new process to the first result (`first_call.py`):", "", *markdown(rows)]


def choosing() -> list[str]:
    given = results("choose_k")["results"]
    rows = [["recipe", "right", "off by one at most"]]
    names = {
        "choose_k": "`choose_k`: the largest k whose clusters are all found again",
        "silhouette": "the highest silhouette",
        "stability": "the highest silhouette among the most stable",
    }
    for recipe, words in names.items():
        away = [abs(row[recipe] - row["true"]) for row in given]
        rows.append([words, *(f"{sum(a <= most for a in away)} of {len(away)}" for most in (0, 1))])
    return [
        f"How many clusters, where it is known (`choose_k.py`; {min(row['seconds'] for row in given):.1f} to "
        f"{max(row['seconds'] for row in given):.1f} s for a range of k, memory added "
        f"{max(row['added MB'] for row in given):.0f} MB at most):",
        "",
        *markdown(rows),
    ]


def command_line() -> list[str]:
    found = results("command_line")["results"]
    rows = [["in a process of its own", "E_m", "seconds", "first line after", "memory added"]]
    rows += [
        [
            row["method"],
            f"{row['E_m']:.2f}",
            f"{row['seconds']:.1f}",
            "" if row["first line, s"] is None else f"{row['first line, s']:.1f} s",
            f"{row['added, MB']:.0f} MB",
        ]
        for row in found["runs"]
    ]
    return [
        f"{found['n']:,} × {found['d']} float32 in a file of {found['rows, MB']:.0f} MB, k = {found['k']}, reading and "
        "writing included (`benchmarks/command_line.py`):",
        "",
        *markdown(rows),
    ]


def main() -> int:
    stale = False
    pages = {
        HERE.parent / "README.md": [optima, hgmeans, levels, large_k, reproduction],
        HERE / "README.md": [cases, rules, speed, growth, busy, limits, bisecting, sequential, first_call, choosing],
        HERE.parent / "docs" / "guide" / "vector_search.md": [recall],
        HERE.parent / "docs" / "guide" / "big_data.md": [command_line],
    }
    for path, parts in pages.items():
        text = path.read_text()
        before, _, rest = text.partition(START)
        _, _, after = rest.partition(END)
        lines = [line for part in parts for line in (*part(), "")]
        made = before + "\n".join([START, "", *lines, END]) + after
        stale |= made != text
        if "--check" not in sys.argv:
            path.write_text(made)
    return int(stale and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
