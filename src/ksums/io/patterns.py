"""Numbers as regular expressions, in the syntax that Python and PyArrow share."""

from __future__ import annotations

THOUSANDS = {".": ",", ",": "."}
"""The sign that separates thousands, by the decimal sign."""


UNITS = "%$€£¥"
"""Signs that may stand before or after all numbers of a column."""


def unsigned(decimal: str) -> str:
    """A number without its sign; thousands may be separated."""
    point, comma = rf"\{decimal}", rf"\{THOUSANDS[decimal]}"
    plain = rf"(\d+{point}?\d*|{point}\d+)(e[+-]?\d+)?"
    return rf"({plain}|[1-9]\d{{0,2}}({comma}\d{{3}})+({point}\d*)?)"


def number(decimal: str) -> str:
    """A cell that is a number with this decimal sign, in any case; infinite numbers are refused later."""
    return rf"^[+-]?({unsigned(decimal)}|nan|inf|infinity)$"
