"""Helpers for the generated parts of pages: read results, format tables and percentages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
"""The folder of the benchmarks."""


def results(name: str) -> dict[str, Any]:
    """Read a results file: the machine and the results."""
    return json.loads((HERE / "results" / f"{name}.json").read_text())


def markdown(rows: list[list[str]]) -> list[str]:
    """Return the lines of a Markdown table whose first row is the header."""
    head, *body = rows
    return ["| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *body)]


def percent(share: float, digits: int = 2) -> str:
    """Format a share as a signed percentage."""
    return f"{100 * share:+.{digits}f} %"
