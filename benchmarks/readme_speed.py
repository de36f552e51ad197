"""Tables about time and memory: a pass, busy machines, the first call, the command line."""

from __future__ import annotations

from readme_parts import markdown, results


def speed() -> list[str]:
    """Compare a pass with Lloyd iterations and with the matrix product."""
    found = results("exact_pass")
    rows = [["data", "k", "threads", "pass 1 / Lloyd", "later / Lloyd", "pass 1 of sgemm", "later of sgemm", "E_m"]]
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
    gains = [["k", "pass 1", "later passes", "all passes"]]
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
        "moves in pass 1) relative to one Lloyd iteration of scikit-learn on the same data and threads; and its speed, "
        "2·n·k·d operations, relative to this machine's matrix product in the same minute. Later passes are those from "
        "the third:",
        "",
        *markdown(rows),
        "",
        "k-means reads its rows in order and all at once; k-sums reads them in random order and decides one sample "
        "after another. If a row is compared with few clusters, that shows.",
        "",
        "How much faster two threads are than one on SIFT, with the same labels:",
        "",
        *markdown(gains),
        "",
        "Memory that a fit adds to the data:",
        "",
        *markdown(memory),
    ]


def busy() -> list[str]:
    """Show the time of a fit while other processes use the cores."""
    found = results("busy")
    facts = found["results"]
    rows = [["method", "busy processes", "threads", "time / one thread alone", "maximum", "E_m", "memory added"]]
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
        for row in facts["rows"]
    ]
    return [
        f"Other processes run on the {found['machine']['cores']} cores: {facts['data']} ({facts['n']} × {facts['d']}), "
        f"k = {facts['k']}, {facts['passes']} passes, median and maximum of {facts['times']} fits (`busy.py`). If the "
        "cores are taken, `n_threads=1` is faster:",
        "",
        *markdown(rows),
    ]


def first_call() -> list[str]:
    """Show the time until the first result of a new process."""
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
    return ["Seconds from a new process to the first result (`first_call.py`):", "", *markdown(rows)]


def command_line() -> list[str]:
    """Show time and memory of ``ksums fit`` on a large file."""
    found = results("command_line")["results"]
    rows = [["in its own process", "E_m", "seconds", "first line after", "memory added"]]
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
