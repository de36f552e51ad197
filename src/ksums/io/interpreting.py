"""Columns of text become numbers, booleans, dates or words, by all cells of the file and by what the user says.

A column that nearly is one of these stays text, with the reason why a table should be used without it: a few words
among numbers, dates that can be read in two ways. Nothing is converted in silence, and no cell is lost in silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import compute

from ksums.io.column_types import TIME, ZONED_TIME, as_booleans, cast_or_none, spelled
from ksums.io.date_notation import as_dates
from ksums.io.kinds import Places, Told
from ksums.io.notation import (
    Cell,
    are_numbers,
    as_numbers,
    decimal_sign,
    evidence_of,
    first_true,
    grouped_cell,
    without_unit,
)

_FEW_WORDS = 0.25
"""A column of text in which fewer of the distinct cells are words holds numbers (or dates), and something is wrong."""

_UNREAD_NUMBERS = r"^[+-]?[%$€£¥]?\s?[+-]?(\d[\d.,]*|\d{1,3}([ '’\x{a0}\x{202f}]\d{3})+([.,]\d*)?)\s?[%$€£¥]?$"
"""Numbers with units, or with thousands separated by spaces or apostrophes."""

_ADVICE = "list it in --numeric to take words as missing cells, or in --categorical"


class Interpreted(NamedTuple):
    """Columns with types."""

    columns: dict[Any, Any]
    notes: list[str]
    """What the user should know about how the cells were read."""
    reasons: dict[Any, str]
    """Why some of the columns should not be used."""


def interpreted(texts: Mapping[Any, Any], separator: str, told: Told, places: Places) -> Interpreted:
    """The types of columns of text, in which gaps are null. ``separator`` of the columns, or an empty string."""
    bare = {column: without_unit(text) for column, text in texts.items()}
    evidence = {
        column: evidence_of(column, text, told=column in told.numeric)
        for column, (text, _) in bare.items()
        if column not in told.dates
    }
    without_units = [own for column, own in evidence.items() if not bare[column][1]]
    decimal = decimal_sign(  # amounts of money may come from another country than the other numbers
        without_units if any(own.decisive for own in without_units) else evidence.values(),
        separator,
        lambda cell: places.cell(cell.row, cell.column),
    )
    found = Interpreted({}, [], {})
    grouped: list[Cell] = []
    for column, text in texts.items():
        values, unit = _interpreted(column, text, *bare[column], decimal, told, places, found)
        found.columns[column] = values
        if not pa.types.is_integer(values.type) and not pa.types.is_floating(values.type):
            continue
        if unit:
            found.notes.append(f"{places.file}: column {places.label(column)} is read without the sign {unit!r}.")
        if (row := grouped_cell(bare[column][0], decimal)) >= 0:
            grouped.append(Cell(row, column, bare[column][0][row].as_py()))
    if grouped:
        first = min(grouped)
        value = found.columns[first.column][first.row].as_py()
        found.notes.append(
            f"{places.cell(first.row, first.column)}: {first.text!r} is read as {value:.15g}, with a thousands "
            "separator; so are all such numbers of the file."
        )
    elif decimal == "," and separator != ";":
        found.notes.append(f"{places.file}: numbers are read with a decimal comma.")
    return found


def as_told(text: Any, column: Any, decimal: str, told: Told, places: Places, found: Interpreted) -> Any:
    """A column of numbers or dates; other cells become missing, which a note says."""
    choices = [as_dates(text).values]
    if column not in told.dates:
        choices.insert(0, as_numbers(without_unit(text)[0], decimal))
    kinds, kind = ("dates", "date") if column in told.dates else ("numbers or dates", "number")
    best = max((one for one in choices if one is not None), key=lambda one: len(one) - one.null_count, default=None)
    if best is None or best.null_count == len(best):
        row = first_true(compute.is_valid(text))
        raise ValueError(
            f"{places.cell(row, column)}: {text[row].as_py()!r} is not a {kind}, and neither is any other cell of the "
            f"column; it must hold {kinds}."
        )
    if count := best.null_count - text.null_count:
        row = first_true(compute.and_(compute.is_null(best), compute.is_valid(text)))
        what = "date" if pa.types.is_temporal(best.type) else "number"
        cells = f"1 cell is not a {what} and counts" if count == 1 else f"{count:,} cells are not {what}s and count"
        found.notes.append(
            f"{places.file}, column {places.label(column)}: {cells} as missing; the first is {text[row].as_py()!r} in "
            f"{places.line(row)}."
        )
    return best


def _interpreted(
    column: Any, text: Any, bare: Any, unit: str, decimal: str, told: Told, places: Places, found: Interpreted
) -> tuple[Any, str]:
    """The values of a column and the unit of its numbers; why it should not be used goes to ``found``."""
    if text.null_count == len(text):
        return text, ""
    if column in told.dates:
        return as_told(text, column, decimal, told, places, found), ""
    numbers = as_numbers(bare, decimal)
    if numbers.null_count == text.null_count:
        return numbers, unit
    for values in (as_booleans(text), *(cast_or_none(text, kind) for kind in (pa.date32(), TIME, ZONED_TIME))):
        if values is not None:
            return values, ""
    dates = as_dates(text)
    if dates.values is not None and dates.values.null_count == text.null_count:
        return dates.values, ""
    if column in told.numeric:
        return as_told(text, column, decimal, told, places, found), unit
    if reason := _reason(column, text, bare, decimal, dates, places):
        found.reasons[column] = reason
    return spelled(text), ""


def _reason(column: Any, text: Any, bare: Any, decimal: str, dates: Any, places: Places) -> str:
    """Why a column of text should not be used as it is; empty if it holds words."""
    if dates.problem:
        return dates.problem
    distinct = compute.unique(bare)
    kinds = {"numbers": are_numbers(bare, decimal)}
    if dates.values is not None:
        kinds["dates"] = compute.if_else(compute.is_valid(text), compute.is_valid(dates.values), None)
    for what, mask in kinds.items():
        odd = compute.unique(text.filter(compute.invert(mask)))
        if len(odd) < _FEW_WORDS * len(distinct.drop_null()):
            row = first_true(compute.invert(mask))
            word = text[row].as_py()
            if repr(word) == places.label(column):
                return f"it holds {what}, and its own name {word!r} in {places.line(row)}: delete that header line"
            return f"it holds {what}, and words such as {word!r} in {places.line(row)}: {_ADVICE}"
    cells = compute.unique(text).drop_null()
    unread = compute.match_substring_regex(cells, _UNREAD_NUMBERS)
    if (compute.sum(unread).as_py() or 0) > (1 - _FEW_WORDS) * len(cells):
        cell = cells.filter(unread)[0].as_py()
        return f"its cells are numbers in different forms, or in one that is not read, such as {cell!r}: {_ADVICE}"
    return ""
