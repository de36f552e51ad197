"""Tables with words, dates and gaps: what commands take each column for, and what they do with missing cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ksums.cli.inputs import parse_column, parse_columns
from ksums.cli.messages import are, plural
from ksums.io import Frame, Table, read_frame
from ksums.io.frames import FRAME_SUFFIXES
from ksums.io.parquet import numbers_of
from ksums.io.table import as_float32_if_exact, column_positions, joined
from ksums.tables.columns import CATEGORY, DATE, LEFT_OUT, NUMBER, Columns, Role, roles_of

MISSING = ("ignore", "drop", "error")


class TableOptions(NamedTuple):
    """What the user says about columns and gaps."""

    numeric: list[int | str]
    categorical: list[int | str]
    ignore: list[int | str]
    missing: str = "ignore"
    id_column: int | str | None = None

    @property
    def of_columns(self) -> dict[str, list[int | str]]:
        """The options that list columns."""
        return {"--numeric": self.numeric, "--categorical": self.categorical, "--ignore": self.ignore}

    @property
    def given(self) -> list[str]:
        """The options that only a table with columns of any type can meet."""
        return [option for option, columns in self.of_columns.items() if columns]


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

    def in_words(self, of_gaps: str, of_dropped: str) -> list[str]:
        """What the columns are taken for, what is left out, and what is done with missing cells and with their rows."""
        plurals = {"numbers": NUMBER, "categories": CATEGORY, "dates": DATE}
        parts = [f"{words}: {joined(found)}" for words, kind in plurals.items() if (found := self.of_kind(kind))]
        lines = ["; ".join(parts)]
        if reasons := [f"{name} ({reason})" for name, reason in self.left_out.items()]:
            lines.append(f"left out: {', '.join(reasons)}")
        if gaps := self.gaps:
            cells = joined([f"{name} {count:,}" for name, count in gaps.items()])
            lines.append(f"missing cells: {cells}; {of_gaps}")
        if dropped := self.rows - len(self.kept):
            lines.append(dropped_in_words(dropped, of_dropped))
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
        return {role.name: role.reason for role in self.roles if role.kind == LEFT_OUT}


def dropped_in_words(count: int, more: str = "") -> str:
    """What is said of rows with missing cells that are not used."""
    return f"{plural(count, 'row')} with missing cells {are(count)} dropped{more}"


def label_of_dropped(count: int) -> str:
    """The end of the sentence where rows get labels."""
    return f"; {'its' if count == 1 else 'their'} label is -1"


def options_of(
    numeric: list[str] | None,
    categorical: list[str] | None,
    ignore: list[str] | None,
    missing: str,
    drop_missing: bool,
    id_column: str | None,
) -> TableOptions:
    """The options of a command, checked."""

    def listed(option: str, columns: list[str] | None) -> list[int | str]:
        return [] if columns is None else parse_columns(columns, option)

    return TableOptions(
        listed("--numeric", numeric),
        listed("--categorical", categorical),
        listed("--ignore", ignore),
        missing_option(missing, drop_missing),
        None if id_column is None else parse_column("--id", id_column),
    )


def missing_option(missing: str, drop_missing: bool) -> str:
    """What is done with missing cells, checked."""
    if missing not in MISSING:
        raise ValueError(f"--missing must be one of {', '.join(MISSING)}; got {missing!r}.")
    if drop_missing and missing == "error":
        raise ValueError("--drop-missing and --missing error exclude each other; leave one of them out.")
    return "drop" if drop_missing else missing


def is_table_file(data: str) -> bool:
    """Whether columns of the file can have any type."""
    return data == "-" or Path(data).name.lower().endswith(FRAME_SUFFIXES)


def read_table_input(
    data: str, columns: list[str] | None, header: bool | None, weights: str | None, asked: TableOptions
) -> TableInput:
    """The columns of a file, and what each is taken for."""
    chosen = None if columns is None else parse_columns(columns)
    id_columns = [] if asked.id_column is None else [asked.id_column]
    weight_columns = [] if weights is None else [parse_column("--weights", weights)]
    frame = read_frame(
        None if data == "-" else data,
        header=header,
        texts=_each_once(*id_columns, *asked.ignore),
        words=asked.categorical,
        numeric=_each_once(*asked.numeric, *weight_columns),
        kept=_each_once(*(chosen or []), *weight_columns),
    )
    given = {option: [frame.name_of(column) for column in own] for option, own in asked.of_columns.items()}
    _check_one_role(given)
    ids = {name: id_values(frame.table.column(name)) for name in map(frame.name_of, id_columns)}
    weight_names = [frame.name_of(column) for column in weight_columns]
    sample_weight = _weights(frame, weight_names[0]) if weight_names else None
    names = frame.table.column_names
    if chosen is not None:
        positions = column_positions(
            frame.places.file, chosen, frame.file_columns if frame.named else None, len(frame.file_columns)
        )
        names = [frame.file_columns[at] for at in positions]
    table = frame.table.select([name for name in names if name not in (*ids, *weight_names)])
    if not table.num_columns:
        raise ValueError(f"{data}: no column is left to cluster by.")
    rest, reasons = with_vectors(frame, table, given["--ignore"])
    roles = _roles(frame, rest, reasons, given, everything=chosen is not None)
    used = [role.name for role in roles if role.kind != LEFT_OUT]
    if not used:
        first = "; ".join(f"{role.name}: {role.reason}" for role in roles[:5])
        raise ValueError(f"{data}: no column can be used ({first}). List columns in --numeric or --categorical.")
    check_finite(frame, rest, [role.name for role in roles if role.kind == NUMBER])
    kept = rows_without_gaps(frame, rest, used, asked.missing)
    if len(kept) < rest.num_rows:
        rest = rest.take(kept)
        sample_weight = None if sample_weight is None else sample_weight[kept]
    return TableInput(rest, frame.named, roles, sample_weight, ids, kept, frame.table.num_rows)


def id_values(column: Any) -> list[Any]:
    """Names of rows; whole numbers without a decimal point, and None if there is no name."""
    values = column.to_pylist()
    return [int(value) if isinstance(value, float) and value.is_integer() else value for value in values]


def as_names(ids: list[Any]) -> list[str]:
    """The same as words."""
    return ["" if name is None else str(name) for name in ids]


def rows_without_gaps(frame: Frame, table: Any, used: list[str], missing: str) -> np.ndarray:
    """The rows that are used; ``missing`` is what is done with missing cells in the columns that are used."""
    gaps = np.zeros(table.num_rows, bool)
    for name in used if missing != "ignore" else []:
        own = table.column(name).is_null(nan_is_null=True).to_numpy()
        if missing == "error" and own.any():
            others = int(own.sum()) - 1
            more = f", like {plural(others, 'other cell')} of the column" if others else ""
            raise ValueError(
                f"{frame.places.cell(int(own.argmax()), name)} is missing{more}; fill it in, or use --missing ignore "
                "or --missing drop."
            )
        gaps |= own
    kept = np.flatnonzero(~gaps)
    if not len(kept) and table.num_rows:
        raise ValueError(
            f"{frame.places.file}: --missing drop leaves no row, since all have missing cells; use --missing ignore."
        )
    return kept


def check_finite(frame: Frame, table: Any, names: list[str]) -> None:
    """Refuse infinite numbers."""
    columns = Columns(table)
    for name in names:
        infinite = np.isinf(columns.numbers(name))
        if infinite.any():
            row = int(infinite.argmax())
            raise ValueError(
                f"{frame.places.cell(row, name)} is infinite; correct it, or leave it empty, which means missing."
            )


def with_vectors(frame: Frame, table: Any, ignore: list[str]) -> tuple[Any, dict[str, str]]:
    """Columns of lists of numbers as one column for each number; and why the other columns should not be used."""
    import pyarrow

    found: dict[str, Any] = {}
    reasons = {name: reason for name, reason in frame.reasons.items() if name in table.column_names}
    for name in table.column_names:
        found[name] = table.column(name)
        if reasons.get(name) != "its cells are lists" or name in ignore:
            continue
        try:
            vectors = numbers_of(Path(frame.places.file), table.select([name]))
        except ValueError:
            continue  # lists of words, or of different lengths
        del found[name], reasons[name]
        found |= {own: pyarrow.array(vectors.X[:, at]) for at, own in enumerate(vectors.columns or [])}
    return pyarrow.table(found), reasons


def _each_once(*columns: int | str) -> list[int | str]:
    return list(dict.fromkeys(columns))


def _check_one_role(given: dict[str, list[str]]) -> None:
    """Refuse columns that two options list."""
    for option, names in given.items():
        for other, others in given.items():
            if option < other and (both := sorted(set(names) & set(others))):
                raise ValueError(f"column {both[0]!r} is in both {option} and {other}; keep one of them.")


def _roles(
    frame: Frame, table: Any, reasons: dict[str, str], given: dict[str, list[str]], *, everything: bool
) -> list[Role]:
    """What each column is taken for; ``everything``: the user chose the columns, so that none may be left out."""
    columns = Columns(table)
    told = {name for names in given.values() for name in names}
    found = []
    for role in roles_of(columns, *([name for name in names if name in columns.names] for names in given.values())):
        reason = reasons.get(role.name, "") if role.name not in told else ""
        is_empty = table.column(role.name).null_count == table.num_rows
        if everything and role.name not in given["--ignore"] and (reason or is_empty):
            place = f"{frame.places.file}: column {frame.places.label(role.name)}"
            raise ValueError(f"{place} cannot be used: {reason or 'it has no value'}.")
        found.append(Role(role.name, LEFT_OUT, reason) if reason else role)
    return [role if role.name in told else _kept(columns, role, everything, frame.named) for role in found]


def _kept(columns: Columns, role: Role, everything: bool, named: bool) -> Role:
    """Columns that the user chose are not left out; numbers without a name are not taken for identifiers."""
    if role.kind != LEFT_OUT or not (everything or (not named and "identifier" in role.reason)):
        return role
    kinds = {"number": NUMBER, "date": DATE}
    return Role(role.name, kinds.get(columns.dtype_of(role.name), CATEGORY))


def _weights(frame: Frame, name: str) -> np.ndarray:
    """Weights of the rows, all of them numbers of at least 0."""
    found = Columns(frame.table.select([name])).numbers(name)
    bad = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if len(bad):
        value = found[bad[0]]
        got = "it is missing" if np.isnan(value) else f"got {value:g}"
        raise ValueError(f"--weights: {frame.places.cell(int(bad[0]), name)} must be a number ≥ 0; {got}.")
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
    if asked.given and only_numbers:
        raise ValueError(f"{asked.given[0]} is not offered with {only_numbers[0]}, which requires rows of numbers.")
    if asked.given:
        raise ValueError(f"{asked.given[0]} is for tables ({', '.join(FRAME_SUFFIXES)}); got {data}.")
