"""What makes parts of the READMEs from results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def results(name: str) -> dict[str, Any]:
    return json.loads((HERE / "results" / f"{name}.json").read_text())


def markdown(rows: list[list[str]]) -> list[str]:
    head, *body = rows
    return ["| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *body)]


def percent(share: float, digits: int = 2) -> str:
    return f"{100 * share:+.{digits}f} %"
