"""Write the measured tables of README.md, benchmarks/README.md and the guide from benchmarks/results.

python benchmarks/readme.py            writes them
python benchmarks/readme.py --check    exits with 1 if they are not up to date
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from readme_common import common_cases, common_headline, hard_shapes
from readme_gpu import beside_the_cpu, card_headline, many_problems, race, repeated, streamed
from readme_large_k import growth, large_k, recall
from readme_methods import bisecting, choosing, limits, links, rules, sequential
from readme_parts import HERE
from readme_quality import cases, headline, hgmeans, levels, optima
from readme_reproduction import reproduction
from readme_shards import disk, on_dask, quality, workers
from readme_speed import busy, command_line, first_call, speed
from readme_tables import big_tables, categories, distances, every_set, gaps, hostile_files, mixed, readers

START, END = "<!-- made by benchmarks/readme.py from benchmarks/results: do not edit -->", "<!-- end -->"
"""On each page, everything between these lines is generated."""
Part = Callable[[], list[str]]
"""A part is a function that returns lines of Markdown."""


def titled(title: str, *parts: Part) -> Part:
    """Put several parts under a heading."""
    return lambda: [f"## {title}", "", *(line for part in parts for line in (*part(), ""))][:-1]


PAGES: dict[Path, list[Part]] = {
    HERE.parent / "README.md": [common_headline, headline, card_headline, reproduction],
    HERE / "README.md": [
        titled("Few clusters, many rows", common_cases, hard_shapes),
        titled("Better optima", optima, hgmeans),
        titled("Levels of effort", levels),
        titled("Many clusters", large_k, growth),
        titled("Speed of a pass", speed),
        titled("The first call", first_call),
        titled("Busy machines", busy),
        titled("The rules of the paper", rules),
        titled("Size limits", limits),
        titled("Links", links),
        titled("Splitting", bisecting),
        titled("One pass", sequential),
        titled("How many clusters", choosing),
        titled("Missing cells", gaps),
        titled("Tables of categories and numbers", categories, mixed, big_tables, every_set),
        titled("Any distance", distances),
        titled("Reading files", readers, hostile_files),
        titled("Data in parts", quality, disk, on_dask),
        titled("On a graphics card", race, beside_the_cpu, repeated, streamed, many_problems),
        titled("Every case", cases),
    ],
    HERE.parent / "docs" / "guide" / "vector_search.md": [recall],
    HERE.parent / "docs" / "guide" / "big_data.md": [command_line],
    HERE.parent / "docs" / "guide" / "parts.md": [disk, workers],
    HERE.parent / "docs" / "guide" / "tables.md": [gaps, categories, mixed, big_tables],
    HERE.parent / "docs" / "guide" / "distances.md": [distances],
    HERE.parent / "docs" / "guide" / "gpu.md": [race, beside_the_cpu, repeated, streamed, many_problems],
}
"""Each page has these generated parts."""


def main() -> int:
    """Write or check all pages; return the exit code."""
    stale = False
    for path, parts in PAGES.items():
        text = path.read_text()
        before, _, rest = text.partition(START)
        _, _, after = rest.partition(END)
        lines = [line for part in parts for line in (*part(), "")]
        new = before + "\n".join([START, "", *lines, END]) + after
        stale |= new != text
        if "--check" not in sys.argv:
            path.write_text(new)
    return int(stale and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
