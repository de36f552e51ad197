"""Tables with words, dates and gaps: what commands take each column for, and what they do with missing cells."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ksums.cli.inputs import column_of, parse_column, parse_columns, read_weighted, scale_columns
from ksums.cli.messages import collect_warnings, plural
from ksums.compute.arrays import Matrix
from ksums.io import Table, read_frame
from ksums.io.frames import FRAME_SUFFIXES
from ksums.io.parquet import numbers_of
from ksums.io.table import as_float32_if_exact, column_positions, joined
from ksums.tables.columns import CATEGORY, DATE, LEFT_OUT, NUMBER, Columns, Role, identifies, roles_of

MISSING = ("ignore", "drop", "error")


class TableOptions(NamedTuple):
    """What the user says about columns and gaps."""

    numeric: list[str] | None = None
    categorical: list[str] | None = None
    ignore: list[str] | None = None
    missing: str = "ignore"
    id_column: str | None = None

    @property
    def given(self) -> list[str]:
        """The options that only a table with columns of any type can meet."""
        names = {"--numeric": self.numeric, "--categorical": self.categorical, "--ignore": self.ignore}
        found = [option for option, value in names.items() if value]
        return found + (["--missing"] if self.missing != "ignore" else [])


class TableInput(NamedTuple):
    """A table that was read, without the columns of weights and names of rows."""

    frame: Any  # pyarrow.Table of the rows that are kept
    named: bool
    """Whether the file has names of columns."""
    roles: list[Role]
    weights: np.ndarray | None  # (n,)  of the rows that are kept
    ids: dict[str, list[Any]]  # the column that names all rows, if there is one
    kept: np.ndarray  # rows of the file that are kept
    rows: int
    """Rows of the file."""

    @property
    def used(self) -> list[str]:
        """Columns that are used."""
        return [role.name for role in self.roles if role.kind != LEFT_OUT]

    @property
    def gaps(self) -> dict[str, int]:
        """Missing cells of the columns that are used and have any."""
        counts = {name: self.frame.column(name).null_count for name in self.used}
        return {name: count for name, count in counts.items() if count}

    @property
    def is_plain(self) -> bool:
        """Whether it holds nothing but numbers, without gaps."""
        return not self.gaps and all(role.kind in (NUMBER, LEFT_OUT) for role in self.roles)

    def of_kind(self, *kinds: str) -> list[str]:
        """Names of the columns that are taken for this."""
        return [role.name for role in self.roles if role.kind in kinds]

    def in_words(self, of_gaps: str = "they are ignored (--missing drop or error for other ways)") -> list[str]:
        """What the columns are taken for, what is left out, and what is done with missing cells."""
        plurals = {"numbers": NUMBER, "categories": CATEGORY, "dates": DATE}
        parts = [f"{words}: {joined(found)}" for words, kind in plurals.items() if (found := self.of_kind(kind))]
        lines = ["; ".join(parts)]
        if reasons := [f"{role.name} ({role.reason})" for role in self.roles if role.kind == LEFT_OUT]:
            lines.append(f"left out: {', '.join(reasons)}")
        if gaps := self.gaps:
            cells = joined([f"{name} {count:,}" for name, count in gaps.items()])
            lines.append(f"missing cells: {cells}; {of_gaps}")
        if len(self.kept) < self.rows:
            lines.append(f"{plural(self.rows - len(self.kept), 'row')} with missing cells dropped; their label is -1")
        return lines

    def numbers(self) -> Table:
        """The columns of numbers as rows."""
        columns = Columns(self.frame)
        X = np.column_stack([columns.numbers(name) for name in self.used])
        return Table(as_float32_if_exact(X), self.used if self.named else None)

    @property
    def used_frame(self) -> Any:
        """The columns that are used."""
        return self.frame.select(self.used)

    @property
    def left_out(self) -> dict[str, str]:
        """The columns that are left out, and why."""
        return {role.name: f"{LEFT_OUT}: {role.reason}" for role in self.roles if role.kind == LEFT_OUT}


def options_of(
    numeric: list[str] | None,
    categorical: list[str] | None,
    ignore: list[str] | None,
    missing: str,
    drop_missing: bool,
    id_column: str | None,
) -> TableOptions:
    """The options of a command, checked."""
    if missing not in MISSING:
        raise ValueError(f"--missing must be one of {', '.join(MISSING)}; got {missing!r}.")
    if drop_missing and missing == "error":
        raise ValueError("--drop-missing and --missing error exclude each other; leave one of them out.")

    def names(option: str, columns: list[str] | None) -> list[str] | None:
        return None if columns is None else [str(name) for name in parse_columns(columns, option)]

    return TableOptions(
        names("--numeric", numeric),
        names("--categorical", categorical),
        names("--ignore", ignore),
        "drop" if drop_missing else missing,
        id_column,
    )


def is_table_file(data: str) -> bool:
    """Whether columns of the file can have any type."""
    return data == "-" or Path(data).name.lower().endswith(FRAME_SUFFIXES)


def read_table_input(
    data: str, columns: list[str] | None, header: bool | None, weights: str | None, asked: TableOptions
) -> TableInput:
    """The columns of a file, and what each is taken for."""
    path = None if data == "-" else data
    chosen = None if columns is None else parse_columns(columns)
    names = [] if asked.id_column is None else [parse_column("--id", asked.id_column)]
    frame, named = read_frame(path, header=header, texts=names)
    ids = {} if asked.id_column is None else dict([column_of(data, frame, "--id", asked.id_column)])
    weight_name = None if weights is None else column_of(data, frame, "--weights", weights)[0]
    sample_weight = None if weight_name is None else _weights(data, frame, weight_name)
    rest = frame
    if chosen is not None:
        known = frame.column_names if named else None
        rest = frame.select(column_positions(data, chosen, known, frame.num_columns))
    beside = {*ids, *([] if weight_name is None else [weight_name])}
    rest = _with_numbers(data, rest.select([name for name in rest.column_names if name not in beside]), asked)
    if not rest.num_columns:
        raise ValueError(f"{data}: no column is left to cluster by.")
    roles = _roles(data, rest, asked, everything=chosen is not None, named=named)
    used = [role.name for role in roles if role.kind != LEFT_OUT]
    if not used:
        reasons = "; ".join(f"{role.name}: {role.reason}" for role in roles[:5])
        raise ValueError(f"{data}: no column can be used ({reasons}). List columns in --numeric or --categorical.")
    kept = np.arange(rest.num_rows)
    if asked.missing != "ignore":
        gaps = np.zeros(rest.num_rows, bool)
        for name in used:
            missing = rest.column(name).is_null(nan_is_null=True).to_numpy()
            if asked.missing == "error" and missing.any():
                raise ValueError(
                    f"{data}: column {name!r} has {plural(int(missing.sum()), 'missing cell')}, first in row "
                    f"{int(missing.argmax())} (counted from 0); fill them in, or use --missing ignore or drop."
                )
            gaps |= missing
        kept = np.flatnonzero(~gaps)
        rest = rest.take(kept)
        sample_weight = None if sample_weight is None else sample_weight[kept]
        if not len(kept):
            raise ValueError(
                f"{data}: --missing drop leaves no row, since all have missing cells; use --missing ignore."
            )
    return TableInput(rest, named, roles, sample_weight, ids, kept, frame.num_rows)


def _with_numbers(data: str, frame: Any, asked: TableOptions) -> Any:
    """Columns of lists of numbers as one column for each, and words in columns of numbers as gaps."""
    import pyarrow

    columns = Columns(frame)
    found: dict[str, Any] = {}
    for name in frame.column_names:
        if columns.dtype_of(name) == "lists" and name not in (asked.ignore or []):
            table = numbers_of(Path(data), frame.select([name]))
            found |= {own: pyarrow.array(table.X[:, at]) for at, own in enumerate(table.columns or [])}
        elif name in (asked.numeric or []) and columns.dtype_of(name) == "words":
            found[name] = pyarrow.array(columns.numbers(name), from_pandas=True)
        else:
            found[name] = frame.column(name)
    return pyarrow.table(found)


def _roles(data: str, frame: Any, asked: TableOptions, *, everything: bool, named: bool) -> list[Role]:
    """What each column is taken for; columns that the user chose are never left out."""
    columns = Columns(frame)
    given = {"--numeric": asked.numeric or [], "--categorical": asked.categorical or [], "--ignore": asked.ignore or []}
    for option, names in given.items():
        column_positions(f"{option}: {data}", names, columns.names, len(columns.names))
        for other, others in given.items():
            if option < other and (both := sorted(set(names) & set(others))):
                raise ValueError(f"column {both[0]!r} is in both {option} and {other}; keep one of them.")
    found = roles_of(columns, *given.values())
    return [_kept(columns, role, everything, named) if role.name not in given["--ignore"] else role for role in found]


def _kept(columns: Columns, role: Role, everything: bool, named: bool) -> Role:
    """Columns that the user chose are not left out; numbers without a name are not taken for identifiers."""
    if role.kind != LEFT_OUT or not (everything or (not named and "identifier" in role.reason)):
        return role
    kinds = {"number": NUMBER, "date": DATE}
    return Role(role.name, kinds.get(columns.dtype_of(role.name), CATEGORY))


def _weights(data: str, frame: Any, name: str) -> np.ndarray:
    columns = Columns(frame)
    if columns.dtype_of(name) != "number":
        raise ValueError(f"--weights: column {name!r} of {data} does not hold numbers.")
    found = columns.numbers(name)
    if np.isnan(found).any():
        row = int(np.isnan(found).argmax())
        raise ValueError(f"--weights: column {name!r} of {data} has no value in row {row} (counted from 0).")
    return found


def table_estimator(estimator: Any, table: TableInput) -> Any:
    """``TableKSums`` with the options of a ``KSums``, and with the columns as they were read."""
    from ksums import TableKSums

    shared = ("n_clusters", "objective", "effort", "n_init", "n_threads", "random_state")
    return TableKSums(
        numeric=table.of_kind(NUMBER, DATE),
        categorical=table.of_kind(CATEGORY),
        **{name: getattr(estimator, name) for name in shared},
    )


def refuse_table_options(asked: TableOptions, data: str, only_numbers: list[str]) -> None:
    """Refuse options for columns where a file has none, or next to options that require rows of numbers."""
    if only_numbers:
        raise ValueError(f"{asked.given[0]} is not offered with {only_numbers[0]}, which requires rows of numbers.")
    raise ValueError(f"{asked.given[0]} is for tables ({', '.join(FRAME_SUFFIXES)}); got {data}.")


def without_identifiers(table: Table) -> Table:
    """Rows of numbers without columns that name the rows, which a note lists."""
    if table.columns is None or not isinstance(table.X, np.ndarray):
        return table
    out = [at for at, name in enumerate(table.columns) if identifies(name, table.X[:, at], len(table.X))]
    if not out or len(out) == len(table.columns):
        return table
    kept = [at for at in range(len(table.columns)) if at not in out]
    warnings.warn(
        f"left out: {joined([table.columns[at] for at in out])} (it looks like an identifier; list it in --numeric to "
        "use it).",
        stacklevel=2,
    )
    return table._replace(X=np.ascontiguousarray(table.X[:, kept]), columns=[table.columns[at] for at in kept])


class NumericRows(NamedTuple):
    """Rows for commands that fit many models."""

    X: Matrix
    weights: np.ndarray | None


def read_numeric_rows(
    data: str,
    columns: list[str] | None,
    header: bool | None,
    scale: bool,
    weights: str | None,
    asked: TableOptions,
    *,
    show_warnings: bool,
) -> NumericRows:
    """Rows of numbers of a file, with scaled columns if ``scale``; other tables are encoded, which a note says."""
    with collect_warnings(silent=not show_warnings) as warned:
        rows = _numeric_rows(data, columns, header, scale, weights, asked)
    if show_warnings:
        warned.show()
    return rows


def _numeric_rows(
    data: str, columns: list[str] | None, header: bool | None, scale: bool, weights: str | None, asked: TableOptions
) -> NumericRows:
    if not is_table_file(data):
        if asked.given:
            refuse_table_options(asked, data, [])
        rows = read_weighted(data, columns, header, weights)
        return NumericRows(scale_columns(rows.table.X, scale)[0], rows.weights)
    if data != "-" and not asked.given:
        try:
            rows = read_weighted(data, columns, header, weights)
            table = rows.table if columns is not None else without_identifiers(rows.table)
            if not isinstance(table.X, np.ndarray) or not np.isnan(table.X).any():
                return NumericRows(scale_columns(table.X, scale)[0], rows.weights)
        except ValueError:
            pass  # words or gaps, or something that the other reader explains
    found = read_table_input(data, columns, header, weights, asked)
    for line in found.in_words("they are filled in"):
        warnings.warn(line, stacklevel=2)
    if found.is_plain:
        return NumericRows(scale_columns(found.numbers().X, scale)[0], found.weights)
    return NumericRows(encoded_rows(found), found.weights)


def encoded_rows(table: TableInput) -> np.ndarray:
    """(n, d) Rows of numbers only, for methods that know nothing else: scaled numbers, and zeros and ones for words.

    Gaps are filled in: with the mean of the column, or with the shares of its categories.
    """
    from ksums.tables.encoding import filled_rows, learn_encoding

    encoding, cells = learn_encoding(Columns(table.frame), table.roles, "std", {}, table.weights)
    warnings.warn(
        "the table is used as rows of numbers: numbers scaled to standard deviation 1, a column of zeros and ones for "
        "each category, gaps filled in with means.",
        stacklevel=2,
    )
    return filled_rows(encoding, cells)
