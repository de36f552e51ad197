"""Types of columns: cells of text become numbers, booleans, dates or times, and gaps become nulls.

This is the quick way for files as programs write them. Cells that need a decision, such as ``1,203`` and ``3/7/2024``,
stay text here, and ``ksums.io.interpreting`` reads them when the whole file is known.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute

from ksums.io.table import MISSING

_NUMBER = r"^[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|nan|inf|infinity)$"
"""Cells that are numbers, in any case; NaN counts as a number where gaps are not looked for."""

TIME, ZONED_TIME = pa.timestamp("us"), pa.timestamp("us", "UTC")
"""Times without and with a time zone; the latter are converted to UTC."""

_TRIED = 64
"""Cells that are converted before all others are, to see early that a column has another type."""

_WIDER = {
    (pa.int64(), pa.float64()): pa.float64(),
    (pa.date32(), TIME): TIME,
}
"""Types that can be mixed in a column, and the type that holds both. All other mixtures are text."""


def as_floats(cells: Any) -> Any | None:
    """Cells of text as float64, or None if a cell is not a number with a decimal point."""
    found = cast_or_none(cells, pa.float64())
    return cast_or_none(compute.utf8_trim_whitespace(cells), pa.float64()) if found is None else found


def are_not_numbers(cells: Any) -> np.ndarray:
    """Which cells ``as_floats`` cannot convert."""
    cells = compute.utf8_trim_whitespace(cells)
    return ~compute.match_substring_regex(cells, _NUMBER, ignore_case=True).to_numpy(zero_copy_only=False)


def without_gaps(cells: Any) -> Any:
    """Text without surrounding spaces, and null where a cell means a missing value."""
    text = compute.utf8_trim_whitespace(cells)
    gaps = compute.is_in(compute.utf8_lower(text), pa.array(MISSING, text.type))
    return compute.if_else(gaps, pa.scalar(None, text.type), text)


def spelled(text: Any) -> Any:
    """Text in which true and false are written like the words of booleans, whatever else is in the column."""
    lower = compute.utf8_lower(text)
    found = compute.if_else(compute.equal(lower, "true"), "True", text)
    return compute.if_else(compute.equal(lower, "false"), "False", found)


def typed(cells: Any) -> Any:
    """Cells of text as the first type that holds them all: int64, float64, bool, date, time, or else text.

    Gaps are null; cells that are all gaps have the type null.
    """
    numbers = typed_numbers(cells)
    if numbers is not None:
        return numbers
    text = without_gaps(cells)
    if text.null_count == len(text):
        return pa.nulls(len(text))
    for convert in (lambda: typed_numbers(text), lambda: as_booleans(text)):
        found = convert()
        if found is not None:
            return found
    for kind in (pa.date32(), TIME, ZONED_TIME):
        found = cast_or_none(text, kind)
        if found is not None:
            return found
    return text


class GrowingColumn:
    """A column whose cells arrive in parts; its type is the narrowest that holds all of them."""

    def __init__(self, *, is_text: bool = False) -> None:
        self.type = pa.string() if is_text else pa.null()
        self.parts: list[Any] = []
        self.lost = False
        """Whether text came after cells of another type, whose text is gone: the column must be read again as text."""

    def append(self, cells: Any) -> None:
        """Add cells of text."""
        if self.lost:
            return
        part = without_gaps(cells) if self.type == pa.string() else typed(cells)
        both = _common_type(self.type, part.type)
        if both is None:
            self.lost, self.parts = True, []
            return
        self.type = both
        self.parts.append(part)

    def finished(self) -> Any:
        """The column; one without any values is text. Whole numbers of more than 15 digits are rounded to floats."""
        kind = pa.string() if self.type == pa.null() else self.type
        return pa.chunked_array([part.cast(kind, safe=False) for part in self.parts], kind)


def standardised(column: Any) -> Any:
    """A typed column as int64, float64, bool, date, time or text; other types, such as lists, stay as they are."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return standardised(column.cast(kind.value_type))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return spelled(without_gaps(column.cast(pa.string())))
    if pa.types.is_null(kind):
        return column.cast(pa.string())
    if pa.types.is_integer(kind):
        return column.cast(pa.float64() if kind == pa.uint64() else pa.int64(), safe=False)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        floats = column.cast(pa.float64())
        return compute.if_else(compute.is_nan(floats), pa.scalar(None, pa.float64()), floats)
    return column


def typed_numbers(cells: Any) -> Any | None:
    """Cells as int64 if all are written as integers, as float64 if all are numbers, otherwise None."""
    floats = as_floats(cells)
    if floats is None:
        return None
    integers = cast_or_none(cells, pa.int64())
    if integers is not None:
        return integers
    missing = compute.is_nan(floats)
    if not compute.any(missing).as_py():
        return floats
    return compute.if_else(missing, pa.scalar(None, pa.float64()), floats)


def as_booleans(text: Any) -> Any | None:
    """Text as booleans if every cell is true or false; yes and no stay text."""
    lower = compute.utf8_lower(text)
    if not compute.all(compute.is_in(lower, pa.array(["true", "false", None]))).as_py():
        return None
    return compute.equal(lower, "true")


def cast_or_none(cells: Any, kind: Any) -> Any | None:
    """The cells as this type, or None if one of them is of another type.

    PyArrow needs about a third of a microsecond for each cell that it cannot convert, so a few cells are tried first.
    """
    try:
        if len(cells) > _TRIED:
            compute.cast(cells.take(pa.array(np.linspace(0, len(cells) - 1, _TRIED, dtype=np.int64))), kind)
        return compute.cast(cells, kind)
    except pa.ArrowInvalid:
        return None


def _common_type(one: Any, other: Any) -> Any | None:
    """The type that holds values of both types without loss, or None."""
    if one == other or other == pa.null():
        return one
    if one == pa.null():
        return other
    return _WIDER.get((one, other)) or _WIDER.get((other, one))
