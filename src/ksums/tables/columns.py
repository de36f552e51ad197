"""The columns of a table, whatever library it comes from, and what each of them is taken for."""

from __future__ import annotations

import datetime
import decimal
import numbers
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa

NUMBER, CATEGORY, DATE, LEFT_OUT = "number", "category", "date", "left out"

_MANY_WORDS, _MOST_DISTINCT = 20, 0.5
"""A column of words is an identifier or free text if more than half of its cells differ, and more than 20 do."""

_COUNTING_ROWS = 20
"""Whole numbers that count the rows from 0 or 1 identify them, if there are at least this many; fewer may do so by
chance."""

_IDENTIFIER = re.compile(
    r"(^|[_\s-])(id|uuid|guid|key|nr|no)$|^(id|uuid|guid)([_\s-]|$)|[a-z](Id|ID|UUID)$|^index$|^Unnamed: 0$"
)
"""Names of columns of identifiers; such a column is left out if its cells are whole numbers or words, all different."""

_FEW_WORDS = 0.25
"""A column of text in which fewer of the distinct values are words holds numbers, and something went wrong with it."""

_DAY = 86_400_000_000.0
"""Microseconds."""


@dataclass(frozen=True)
class Role:
    """What a column is taken for."""

    name: str
    kind: str
    """``"number"``, ``"category"``, ``"date"`` or ``"left out"``."""
    reason: str = ""
    """Why it is left out."""


def is_table(X: Any) -> bool:
    """Whether X is a table with names, of pandas, polars, Arrow or the like."""
    return hasattr(type(X), "columns") or hasattr(type(X), "column_names")  # asking X itself may compute it


def names_of(table: Any) -> list[str]:
    """The names of the columns of a table."""
    if hasattr(table, "collect"):
        raise TypeError(
            f"X is a {type(table).__module__.partition('.')[0]} {type(table).__name__}, which is not computed yet; "
            "pass X.collect()."
        )
    return [str(name) for name in (table.column_names if hasattr(table, "column_names") else table.columns)]


class Columns:
    """The columns of a pandas, polars or Arrow table, or of an array of two dimensions, which may be given names."""

    def __init__(self, table: Any, names: Sequence[str] | None = None) -> None:
        self._array: np.ndarray | None = None
        if isinstance(table, np.ndarray):
            self._array = table
            self.names = [f"x{column}" for column in range(table.shape[1])] if names is None else list(names)
            self.n = len(table)
        else:
            if isinstance(table, pa.RecordBatch):
                table = pa.Table.from_batches([table])
            self._frame = nw.from_native(table, eager_only=True)
            self.names = names_of(table)
            self.n = len(self._frame)

    @property
    def has_names(self) -> bool:
        return self._array is None

    def take(self, rows: np.ndarray) -> Columns:
        """Some of the rows."""
        if self._array is not None:
            return Columns(self._array[rows], self.names)
        return Columns(self._frame[rows].to_native())

    def is_declared(self, name: str) -> bool:
        """Whether the type of a column says that it holds categories."""
        return self._array is None and self._series(name).dtype in (nw.Categorical, nw.Enum)

    def words_among_numbers(self, name: str) -> tuple[int, str | None]:
        """How many cells of a column are words that stand for no number, and the first of these words."""
        if self.dtype_of(name) not in ("words", "lists"):
            return 0, None
        odd = [value for value in self.distinct(name) if np.isnan(_number_of(value))]
        cells = np.isfinite(self.mapped(name, odd, [0.0] * len(odd))).sum()
        return int(cells), str(odd[0]) if odd else None

    def dtype_of(self, name: str) -> str:
        """The kind of values: ``"number"``, ``"date"``, ``"bool"`` or ``"words"``."""
        if self._array is not None:
            kinds = {"f": "number", "i": "number", "u": "number", "b": "bool", "M": "date", "m": "number"}
            if self._array.dtype.kind == "U":  # NumPy turns a mixture of numbers and words into words
                return "words" if np.isnan([_number_of(value) for value in self.distinct(name)]).any() else "number"
            return kinds.get(self._array.dtype.kind) or _kind_of(self.distinct(name))
        dtype = self._series(name).dtype
        if dtype.is_numeric() or dtype in (nw.Duration, nw.Time):
            return "number"
        if dtype == nw.Boolean:
            return "bool"
        if dtype.is_temporal():
            return "date"
        if dtype in (nw.String, nw.Categorical, nw.Enum):
            return "words"
        if dtype.is_nested():
            return "lists"
        try:
            return _kind_of(self.distinct(name))
        except TypeError:  # objects that cannot be compared, such as lists
            return "lists"

    def distinct(self, name: str) -> list[Any]:
        """The values of a column without gaps, each once."""
        if self._array is not None:
            values = self._array[:, self.names.index(name)].tolist()
            return list(dict.fromkeys(value for value in values if not is_gap(value)))
        found = self._series(name).drop_nulls().unique(maintain_order=True).to_list()
        return [value for value in found if not is_gap(value)]

    def mapped(self, name: str, values: Sequence[Any], to: Sequence[float]) -> np.ndarray:
        """(n,) The number that stands for each cell; NaN for values that are not in the list."""
        table = dict(zip(values, to, strict=True))
        if self._array is not None:
            cells = self._array[:, self.names.index(name)].tolist()
            return np.array([np.nan if is_gap(cell) else table.get(cell, np.nan) for cell in cells], np.float64)
        if not table:
            return np.full(self.n, np.nan)
        series = self._series(name).replace_strict(
            list(table), list(table.values()), default=None, return_dtype=nw.Float64
        )
        return series.to_numpy().astype(np.float64)

    def numbers(self, name: str) -> np.ndarray:
        """(n,) A column of numbers or dates as float64, dates in days since 1970; NaN is a gap."""
        if self._array is not None and self._array.dtype.kind in "fiub":
            return self._array[:, self.names.index(name)].astype(np.float64)
        if self._array is not None and self._array.dtype.kind in "Mm":
            cells = self._array[:, self.names.index(name)]
            ticks = cells.astype(f"{self._array.dtype.kind}8[us]").astype(np.int64).astype(np.float64)
            return np.where(np.isnat(cells), np.nan, ticks / _DAY)
        if self._array is None:
            series = self._series(name)
            dtype = series.dtype
            if dtype.is_numeric() or dtype == nw.Boolean:
                return series.cast(nw.Float64).to_numpy().astype(np.float64)
            if dtype == nw.Duration:
                return series.dt.total_microseconds().cast(nw.Float64).to_numpy().astype(np.float64) / _DAY
            if dtype.is_temporal() and dtype != nw.Time:
                at = series if dtype == nw.Datetime else series.cast(nw.Datetime("us"))
                return at.dt.timestamp("us").cast(nw.Float64).to_numpy().astype(np.float64) / _DAY
        values = self.distinct(name)
        return self.mapped(name, values, [_number_of(value) for value in values])

    def _series(self, name: str) -> Any:
        return self._frame.get_column(self._frame.columns[self.names.index(name)])


def is_gap(value: Any) -> bool:
    """None, NaN, NaT and the like, and an empty word."""
    if value is None or type(value).__name__ == "NAType":  # that of pandas cannot be compared
        return True
    if isinstance(value, str):
        return not value.strip()
    return bool(value != value)


def word_of(value: Any) -> str:
    """A category as a word; whole numbers are the same word as an int and as a float."""
    if isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)) and float(value).is_integer():
        return str(int(float(value)))
    if isinstance(value, datetime.datetime) and value.time() == datetime.time.min:
        return value.date().isoformat()  # pandas has no dates without a time
    return str(value)


def date_of(days: float) -> str:
    """Days since 1970 as a date."""
    return (datetime.datetime(1970, 1, 1) + datetime.timedelta(days=float(days))).date().isoformat()


def roles_of(columns: Columns, numeric: Sequence[str], categorical: Sequence[str], ignore: Sequence[str]) -> list[Role]:
    """What each column is taken for, in the order of the table. What the user says goes first."""
    return [_role_of(columns, name, numeric, categorical, ignore) for name in columns.names]


def _role_of(
    columns: Columns, name: str, numeric: Sequence[str], categorical: Sequence[str], ignore: Sequence[str]
) -> Role:
    if name in ignore:
        return Role(name, LEFT_OUT, "you asked for it")
    dtype = columns.dtype_of(name)
    if dtype == "lists":
        return Role(name, LEFT_OUT, "its cells are lists")
    if name in (*numeric, *categorical):
        if not columns.distinct(name):
            return Role(name, LEFT_OUT, "it is empty")
        return Role(name, CATEGORY if name in categorical else DATE if dtype == "date" else NUMBER)
    if dtype in ("number", "date"):
        values = columns.numbers(name)
        seen = values[~np.isnan(values)]
        if (reason := _no_use(len(seen), bool(len(seen)) and seen.min() == seen.max())) is not None:
            return Role(name, LEFT_OUT, reason)
        if columns.has_names and dtype == "number" and identifies(name, seen, columns.n):
            return Role(name, LEFT_OUT, "it looks like an identifier")
        return Role(name, DATE if dtype == "date" else NUMBER)
    distinct = columns.distinct(name)
    if (reason := _no_use(len(distinct), len(distinct) == 1)) is not None:
        return Role(name, LEFT_OUT, reason)
    if columns.is_declared(name):
        return Role(name, CATEGORY)
    seen_cells = columns.n - int(np.isnan(columns.mapped(name, distinct, range(len(distinct)))).sum())
    all_differ = len(distinct) == seen_cells
    if (odd := _odd_word(distinct)) is not None:
        advice = "list it in numeric to take words as missing cells, or in categorical"
        return Role(name, LEFT_OUT, f"it holds numbers, and words such as {odd!r}: {advice}")
    if len(distinct) > _MANY_WORDS and len(distinct) > _MOST_DISTINCT * seen_cells:
        words = [word_of(value) for value in distinct]
        spaces = sum(word.count(" ") for word in words) / len(words)
        return Role(name, LEFT_OUT, "it looks like free text" if spaces >= 2 else "nearly all of its cells differ")
    if all_differ and len(distinct) > 2 and _IDENTIFIER.search(name):
        return Role(name, LEFT_OUT, "it looks like an identifier")
    return Role(name, CATEGORY)


def _odd_word(values: list[Any]) -> str | None:
    """The first word of a column whose values are nearly all numbers; None for other columns."""
    odd = [value for value in values if np.isnan(_number_of(value))]
    return word_of(odd[0]) if odd and len(odd) < _FEW_WORDS * len(values) else None


def _no_use(seen: int, constant: bool) -> str | None:
    if not seen:
        return "it is empty"
    return "all of its cells are the same" if constant else None


def identifies(name: str, seen: np.ndarray, n: int) -> bool:
    """Whether whole numbers name n rows: all different, and either they count or the column is called so."""
    if len(seen) < n or not np.array_equal(seen, np.round(seen)) or len(np.unique(seen)) < n:
        return False
    counts = n >= _COUNTING_ROWS and seen.min() in (0, 1) and bool((np.abs(np.diff(seen)) == 1).all())
    return counts or bool(_IDENTIFIER.search(name))


def _kind_of(values: list[Any]) -> str:
    """The kind of the values of an object column."""
    if values and all(isinstance(value, (bool, np.bool_)) for value in values):
        return "bool"
    kinds = (numbers.Real, decimal.Decimal, datetime.time)
    if values and all(isinstance(value, kinds) and not isinstance(value, (bool, np.bool_)) for value in values):
        return "number"
    if values and all(isinstance(value, datetime.timedelta) for value in values):
        return "number"
    if values and all(isinstance(value, (datetime.date, datetime.datetime)) for value in values):
        return "date"
    return "words"


def _number_of(value: Any) -> float:
    """A number, a date in days since 1970, or a word that is a number; NaN for other words."""
    if isinstance(value, datetime.datetime):
        value = value if value.tzinfo is None else value.astimezone(datetime.UTC).replace(tzinfo=None)
        return (value - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)
    if isinstance(value, datetime.time):
        return (value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6) / 86_400
    if isinstance(value, datetime.date):
        return float((value - datetime.date(1970, 1, 1)).days)
    if isinstance(value, datetime.timedelta):
        return value / datetime.timedelta(days=1)
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan
