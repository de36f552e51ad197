"""JSON lines: one object per line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow

_BLOCK, _MAX_BLOCK = 8 << 20, 1 << 30
"""Bytes that are parsed at a time, and their limit; a line must fit into them."""


def read_json_lines(path: Path) -> pyarrow.Table:
    """The objects of a file as rows; a key that an object does not have is null."""
    import pyarrow
    from pyarrow import json as arrow_json

    with path.open("rb") as file:
        if not any(line.strip() for line in file):
            raise ValueError(f"{path} is empty.")
    block = _BLOCK
    while True:
        try:
            return arrow_json.read_json(path, arrow_json.ReadOptions(block_size=block))
        except pyarrow.ArrowInvalid as error:
            if "straddl" not in str(error) or block >= _MAX_BLOCK:
                raise _bad_json(path, error) from error
            block = min(16 * block, _MAX_BLOCK)


def _bad_json(path: Path, error: Exception) -> ValueError:
    """The error with line and column, which PyArrow does not state: every line is read again."""
    kinds: dict[str, tuple[str, int]] = {}
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                values = json.loads(line)
            except json.JSONDecodeError as problem:
                return ValueError(f"{path}, line {number}, character {problem.colno}: {problem.msg}.")
            if not isinstance(values, dict):
                return ValueError(f'{path}, line {number}: expected an object such as {{"a": 1}}; got {line[:40]!r}.')
            for name, value in values.items():
                kind = _json_kind(value)
                before, first = kinds.setdefault(name, (kind, number)) if kind else (kind, number)
                if kind != before:
                    return ValueError(
                        f"{path}, line {number}, column {name!r}: {json.dumps(value)[:40]} is a {kind}, but line "
                        f"{first} has a {before}."
                    )
    return ValueError(f"{path} cannot be read as JSON lines: {str(error).rstrip('.')}.")


def _json_kind(value: Any) -> str:
    """The kind of a value, or an empty string for null."""
    if value is None:
        return ""
    kinds = {bool: "boolean", int: "number", float: "number", str: "text", list: "list"}
    return kinds.get(type(value), "object")
