"""How dates are written in a column: 2024-03-01, 1.3.2024, 3/1/2024, with or without a time."""

from __future__ import annotations

import datetime
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import compute

from ksums.io.notation import first_true

_CLOCK = r"(?:[ T]+(?P<clock>\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:?\d{2})?))?"
_YEAR_FIRST = rf"^(?P<year>\d{{4}})[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}}){_CLOCK}$"
_DAY_FIRST = rf"^(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.(?P<year>\d{{4}}){_CLOCK}$"
_THREE_NUMBERS = r"^\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
_EITHER = r"^(\d{1,2})[/-](\d{1,2})[/-]\d{4}([ T].*)?$"
"""Dates whose day may be the first or the second number."""

_OTHER_FORMS = (
    r"^\d{1,2}[./-]\d{1,2}[./-]\d{2}$",
    r"^\d{1,2}:\d{2}(:\d{2})?( ?[ap]\.?m\.?)?$",
    r"^\d{1,2}[.]?[ -][a-zäéû]{3,9}\.?[ -]\d{2,4}$",
    r"^[a-zäéû]{3,9}\.? \d{1,2},? \d{4}$",
    r"^(\d{1,2}[/.-]){2}\d{4}\D.*$",
)
"""Forms of dates and times that are recognised, to say so, but not read."""

_NEARLY_ALL = 0.75
"""A column holds dates of some form if more than this share of its distinct cells do."""

_TIME, _ZONED_TIME = pa.timestamp("us"), pa.timestamp("us", "UTC")


class Dates(NamedTuple):
    """The dates of a column of text."""

    values: Any | None
    """Dates or times; null where a cell is not one. None if no cell is a date."""
    problem: str = ""
    """Why cells that look like dates are not read."""


def as_dates(text: Any) -> Dates:
    """The dates in a column; each distinct cell is read once."""
    distinct = compute.unique(text).drop_null()
    candidates = distinct.filter(compute.match_substring_regex(distinct, _THREE_NUMBERS))
    order, problem = _order_of(candidates)
    if len(candidates) <= _NEARLY_ALL * len(distinct):
        problem = ""  # a few dates among words are words
    found: dict[str, datetime.datetime | datetime.date] = {}
    for form in [_YEAR_FIRST, _DAY_FIRST, *([] if order is None else [order])]:
        parts = compute.extract_regex(candidates, form)
        for cell, part in zip(candidates.to_pylist(), parts.to_pylist(), strict=True):
            if part is not None and (date := _date_of(part)) is not None:
                found[cell] = date
    if not found:
        return Dates(None, problem or _unread(distinct))
    kinds = {_kind_of(value) for value in found.values()}
    if _ZONED_TIME in kinds and len(kinds) > 1:
        return Dates(None, "some of its times have a time zone, others have none; write all of them one way")
    kind = pa.date32() if kinds == {pa.date32()} else kinds.pop() if len(kinds) == 1 else _TIME
    cells = pa.array(list(found), pa.string())
    values = pa.array([_as_time(value) if kind == _TIME else value for value in found.values()], kind)
    places = compute.index_in(text, value_set=cells)
    return Dates(compute.take(values, places), problem)


def _order_of(distinct: Any) -> tuple[str | None, str]:
    """The form of dates with slashes: a number above 12 is a day, and settles it for the column."""
    parts = compute.match_substring_regex(distinct, _EITHER)
    if first_true(parts) < 0:
        return None, ""
    cells = distinct.filter(parts)
    days = [
        first_true(compute.match_substring_regex(cells, form))
        for form in (r"^(1[3-9]|[2-9]\d)", r"^\d+.(1[3-9]|[2-9]\d)")
    ]
    if days[0] >= 0 and days[1] >= 0:
        return None, (
            f"in {cells[days[0]].as_py()!r} the day is first, in {cells[days[1]].as_py()!r} it is second; write dates "
            "as 2024-03-01"
        )
    if max(days) < 0:
        return None, f"in dates such as {cells[0].as_py()!r} the day may be first or second; write dates as 2024-03-01"
    names = ("day", "month") if days[0] >= 0 else ("month", "day")
    return rf"^(?P<{names[0]}>\d{{1,2}})[/-](?P<{names[1]}>\d{{1,2}})[/-](?P<year>\d{{4}}){_CLOCK}$", ""


def _date_of(part: dict[str, str]) -> datetime.date | datetime.datetime | None:
    """A date from its parts, or None if there is no such day or hour."""
    try:
        date = datetime.date(int(part["year"]), int(part["month"]), int(part["day"]))
        if not part["clock"]:
            return date
        time = datetime.time.fromisoformat(part["clock"].zfill(len(part["clock"]) + (part["clock"][1] == ":")))
    except ValueError:
        return None
    found = datetime.datetime.combine(date, time)
    return found if found.tzinfo is None else found.astimezone(datetime.UTC)


def _kind_of(value: datetime.date | datetime.datetime) -> Any:
    if not isinstance(value, datetime.datetime):
        return pa.date32()
    return _TIME if value.tzinfo is None else _ZONED_TIME


def _as_time(value: datetime.date | datetime.datetime) -> datetime.datetime:
    return value if isinstance(value, datetime.datetime) else datetime.datetime(value.year, value.month, value.day)


def _unread(distinct: Any) -> str:
    """What is said of a column of dates or times in another form; nothing if it holds something else."""
    for form in _OTHER_FORMS:
        mask = compute.match_substring_regex(distinct, form, ignore_case=True)
        if (compute.sum(mask).as_py() or 0) > _NEARLY_ALL * len(distinct):
            cell = distinct.filter(mask)[0].as_py()
            return f"dates and times such as {cell!r} are not read; write them as 2024-03-01 or 2024-03-01 10:30"
    return ""
