"""How numbers are written in a file: the decimal sign, thousands separators, and units such as % and €.

A cell such as ``1.203`` is a thousand in some countries and about one in others. The decimal sign is therefore decided
once for a file, by all columns of numbers together: a cell that only one sign can explain (``3,45``, ``1.203.456``)
decides. Where no cell decides, or two cells contradict each other, the file is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import compute

from ksums.io.column_types import typed_numbers
from ksums.io.patterns import THOUSANDS, UNITS, number, unsigned

_LONG = r"^[+-]?\d{4,}$"
"""Whole numbers that a program which separates thousands would not write."""

_OF_NUMBERS = 0.75
"""A column has a say in the decimal sign if at least this share of its cells are numbers; words may be in it, too."""


class Cell(NamedTuple):
    """A cell that messages name."""

    row: int
    column: int | str
    text: str


@dataclass
class Evidence:
    """What the numbers of one column say about the decimal sign."""

    decisive: dict[str, Cell] = field(default_factory=dict)
    """By decimal sign, the first cell that only this sign explains."""
    open: dict[str, Cell] = field(default_factory=dict)
    """By sign, the first cell in which it may be a decimal sign or separate thousands."""
    looks_grouped: bool = False
    """Whether whole numbers of up to three digits stand beside the open cells, as where thousands are separated."""


def are_numbers(text: Any, decimal: str) -> Any:
    """Which cells are numbers with this decimal sign; the other sign may separate thousands. Null stays null."""
    return compute.match_substring_regex(text, number(decimal), ignore_case=True)


def as_numbers(text: Any, decimal: str) -> Any:
    """Cells as int64 if all are whole, otherwise as float64; cells that are not numbers, and NaN, are null."""
    if first_true(compute.match_substring(text, THOUSANDS[decimal])) < 0:  # most columns, and several times faster
        numbers = typed_numbers(compute.replace_substring(text, decimal, "."))
        if numbers is not None:
            return numbers
    usable = compute.if_else(are_numbers(text, decimal), text, pa.scalar(None, pa.string()))
    plain = compute.replace_substring(usable, THOUSANDS[decimal], "")
    if compute.all(compute.match_substring_regex(plain, r"^-?\d{1,18}$")).as_py():
        return compute.cast(plain, pa.int64())
    floats = compute.cast(compute.replace_substring(plain, decimal, "."), pa.float64())
    return compute.if_else(compute.is_nan(floats), pa.scalar(None, pa.float64()), floats)


def grouped_cell(text: Any, decimal: str) -> int:
    """The first row whose number has separated thousands; -1 if there is none."""
    has_sign = compute.match_substring(text, THOUSANDS[decimal])
    return first_true(compute.and_(has_sign, are_numbers(text, decimal)))


def without_unit(text: Any) -> tuple[Any, str]:
    """The cells without the unit that all of their numbers have, and the unit; the cells as they are if there is none.

    Words may be in the column, too. A number without the unit means that there is none.
    """
    for unit in UNITS:
        if first_true(compute.match_substring(text, unit)) < 0:
            continue
        digits = f"({unsigned('.')}|{unsigned(',')})"
        sign = f"[{unit}]"
        with_unit = compute.match_substring_regex(text, rf"^([+-]?{sign}\s*[+-]?{digits}|[+-]?{digits}\s*{sign})$")
        bare = compute.or_(are_numbers(text, "."), are_numbers(text, ","))
        if first_true(with_unit) < 0 or first_true(bare) >= 0:
            continue
        stripped = compute.replace_substring_regex(text, rf"\s*{sign}\s*", "")
        return compute.if_else(with_unit, stripped, text), unit
    return text, ""


def evidence_of(column: int | str, text: Any, *, told: bool) -> Evidence:
    """What a column says; nothing if it is not a column of numbers. ``told``: the user says that it is one."""
    found = Evidence()
    by_point, by_comma = are_numbers(text, "."), are_numbers(text, ",")
    either = compute.or_(by_point, by_comma)
    count, cells = compute.sum(either).as_py() or 0, len(text) - text.null_count
    if not count or not (told or count >= _OF_NUMBERS * cells):
        return found
    for decimal, own, other in ((".", by_point, by_comma), (",", by_comma, by_point)):
        if (row := first_true(compute.and_not(own, other))) >= 0:
            found.decisive[decimal] = Cell(row, column, text[row].as_py())
    both = compute.and_(by_point, by_comma)
    for sign in THOUSANDS:
        if (row := first_true(compute.and_(both, compute.match_substring(text, sign)))) >= 0:
            found.open[sign] = Cell(row, column, text[row].as_py())
    if found.open and not found.decisive:
        has_sign = compute.match_substring_regex(text, "[.,]")
        is_long = first_true(compute.match_substring_regex(text, _LONG)) >= 0
        found.looks_grouped = not is_long and first_true(compute.and_not(both, has_sign)) >= 0
    return found


def decimal_sign(columns: Iterable[Evidence], separator: str, where: Callable[[Cell], str]) -> str:
    """The decimal sign of a file; refuses one in which it cannot be known.

    Between semicolons, programs write decimal commas. In a quoted cell of a file with commas, a comma separates
    thousands. Between tabs both are usual.
    """
    found = list(columns)
    decisive = _first(one.decisive for one in found)
    if len(decisive) == 2:
        a, b = sorted(decisive.values(), key=lambda cell: cell.row)
        raise ValueError(
            f"{where(a)}: {a.text!r} and {b.text!r} ({where(b)}) cannot have the same decimal sign; write all numbers "
            "of the file with one, or leave one of the columns out (--ignore; --categorical if it holds codes)."
        )
    if decisive:
        return next(iter(decisive))
    unclear = _first(one.open for one in found)
    if len(unclear) == 2:
        a, b = sorted(unclear.values(), key=lambda cell: cell.row)
        raise ValueError(
            f"{where(a)}: {a.text!r} and {b.text!r} ({where(b)}): one of the signs separates thousands, but nothing in "
            "the file says which; write numbers without thousands separators."
        )
    if not unclear:
        return "," if separator == ";" else "."
    ((sign, cell),) = unclear.items()
    if separator == "," or (sign == "." and separator != ";"):
        return "."
    grouped = any(one.looks_grouped for one in found if sign in one.open)
    if separator == ";" and (sign == ",") != grouped:
        return ","
    if separator != ";" and grouped:
        return "."
    readings = f"{_read(cell.text, sign)} or {_read(cell.text, THOUSANDS[sign])}"
    raise ValueError(
        f"{where(cell)}: {cell.text!r} may be {readings}, and nothing in the file says which; write numbers without "
        f"thousands separators, and decimals with another number of digits (such as {cell.text + '0'})."
    )


def _read(text: str, decimal: str) -> str:
    """A number in the notation of this page."""
    return text.replace(THOUSANDS[decimal], "").replace(decimal, ".")


def first_true(mask: Any) -> int:
    """The first position at which a mask is true, or -1."""
    return compute.index(mask, pa.scalar(True)).as_py()


def _first(cells: Iterable[Mapping[str, Cell]]) -> dict[str, Cell]:
    """The first cell of all columns by sign."""
    found: dict[str, Cell] = {}
    for own in cells:
        for sign, cell in own.items():
            if sign not in found or cell.row < found[sign].row:
                found[sign] = cell
    return found
