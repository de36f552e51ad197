"""Compare readers of tables: time and memory for 1,000,000 × 32 numbers, size of the install, and hostile files.

    python benchmarks/readers.py             about a minute; results/readers.json
    python benchmarks/readers.py --quick     100,000 rows, nothing is saved

Each reader turns the same CSV files into a NumPy array, in a process of its own. DuckDB, polars and PyArrow are called
without options. For hostile files that goes wrong at times, so each gets a second try with the options that help
("told"). np.loadtxt parsed the numbers for ksums before PyArrow did. The comparison requires duckdb and polars.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from common import in_new_process, peak_bytes, print_table, reset_peak, save, short

ROWS, COLUMNS = 1_000_000, 32
WIDE_ROWS, WIDE_COLUMNS = 20, 20_000
"""A wide table, as of gene expressions."""

PACKAGES = {"ksums": "pyarrow", "pyarrow": "pyarrow", "polars": "polars", "duckdb": "duckdb"}
"""What has to be installed for a reader."""


def duckdb_array(path: str) -> np.ndarray:
    import duckdb

    return np.column_stack(list(duckdb.connect().read_csv(path).fetchnumpy().values()))


def polars_array(path: str) -> np.ndarray:
    import polars

    return polars.read_csv(path).to_numpy()


def pyarrow_array(path: str) -> np.ndarray:
    from pyarrow import csv

    return np.column_stack([column.to_numpy() for column in csv.read_csv(path).columns])


def loadtxt_array(path: str) -> np.ndarray:
    return np.loadtxt(path, delimiter=",", skiprows=1, quotechar='"', comments=None, ndmin=2)


def ksums_array(path: str) -> np.ndarray:
    from ksums.io import read_rows

    return read_rows(path)


ARRAYS: dict[str, Callable[[str], np.ndarray]] = {
    "np.loadtxt": loadtxt_array,
    "ksums": ksums_array,
    "pyarrow": pyarrow_array,
    "polars": polars_array,
    "duckdb": duckdb_array,
}


def duckdb_columns(path: str, **told: Any) -> dict[str, list[Any]]:
    import duckdb

    options = "".join(f", {name} = {value!r}" for name, value in told.items())
    found = duckdb.connect().sql(f"FROM read_csv({path!r}{options})")  # its Python function refuses encodings
    rows = found.fetchall()
    return {name: [row[at] for row in rows] for at, name in enumerate(found.columns)}


def polars_columns(path: str, **told: Any) -> dict[str, list[Any]]:
    import polars

    return polars.read_csv(path, **told).to_dict(as_series=False)


def pyarrow_columns(path: str, **told: Any) -> dict[str, list[Any]]:
    from pyarrow import csv

    options = (csv.ReadOptions, csv.ParseOptions, csv.ConvertOptions)
    given = [{name: value for name, value in told.items() if hasattr(option(), name)} for option in options]
    table = csv.read_csv(path, *(option(**some) for option, some in zip(options, given, strict=True)))
    if len(set(table.column_names)) < len(table.column_names):
        return {f"{name} {at}": table.column(at).to_pylist() for at, name in enumerate(table.column_names)}
    return table.to_pydict()


def ksums_columns(path: str, *, numbers: bool = False) -> dict[str, list[Any]]:
    from ksums.io import read_frame, read_table

    if not numbers:
        return read_frame(path).table.to_pydict()
    table = read_table(path)
    return dict(zip(table.columns or (), table.X.T.tolist(), strict=True))


FRAMES: dict[str, Callable[..., dict[str, list[Any]]]] = {
    "ksums": ksums_columns,
    "pyarrow": pyarrow_columns,
    "polars": polars_columns,
    "duckdb": duckdb_columns,
}


class Case(NamedTuple):
    """A small file, and what should become of it."""

    name: str
    content: bytes
    expected: dict[str, list[Any]] | None
    """The columns, or None where an error is right."""
    line: int | None = None
    """The line that an error should state."""
    told: dict[str, dict[str, Any]] | None = None
    """Options that help, by reader."""
    suffix: str = ".csv"


def semicolons(decimal: bool = True) -> dict[str, dict[str, Any]]:
    """The options for files with semicolons and decimal commas."""
    told: dict[str, dict[str, Any]] = {"pyarrow": {"delimiter": ";"}, "polars": {"separator": ";"}, "duckdb": {}}
    if decimal:
        told["pyarrow"]["decimal_point"] = ","
        told["polars"]["decimal_comma"] = True
        told["duckdb"]["decimal_separator"] = ","
    return told


def with_options(told: dict[str, dict[str, Any]], **more: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The options of each reader, and more of them."""
    return {reader: {**told.get(reader, {}), **more.get(reader, {})} for reader in {*told, *more}}


GERMAN = "größe;ort\n1,5;Köln\n2,5;Bonn\n"
GERMAN_COLUMNS: dict[str, list[Any]] = {"größe": [1.5, 2.5], "ort": ["Köln", "Bonn"]}
SKIPPED = {"pyarrow": {"skip_rows": 1}, "polars": {"skip_rows": 1}, "duckdb": {"skip": 1, "header": True}}
NUMBERS: dict[str, dict[str, Any]] = {
    "ksums": {"numbers": True},
    "pyarrow": {"column_types": {"x": "float64", "y": "float64"}},
    "polars": {"schema_overrides": {"x": float, "y": float}},
    "duckdb": {"types": {"x": "DOUBLE", "y": "DOUBLE"}},
}
"""Options that ask for numbers, so that text among them is an error."""
STRICT = {
    "duckdb": {"columns": {"x": "BIGINT", "y": "BIGINT"}, "auto_detect": False, "header": True},
}
"""Options with which DuckDB counts the cells of each line; the others have none."""
GAPS = ["NA", "null", "-", ""]

CASES = [
    Case("plain", b"x,y\n1,a\n2,b\n", {"x": [1, 2], "y": ["a", "b"]}),
    Case(
        "semicolons, decimal commas", b"x;y\n1,5;a\n2,25;b\n", {"x": [1.5, 2.25], "y": ["a", "b"]}, None, semicolons()
    ),
    Case(
        "cp1252",
        GERMAN.encode("cp1252"),
        GERMAN_COLUMNS,
        None,
        with_options(
            semicolons(), pyarrow={"encoding": "cp1252"}, polars={"encoding": "cp1252"}, duckdb={"encoding": "latin-1"}
        ),
    ),
    Case(
        "utf-16",
        GERMAN.encode("utf-16"),
        GERMAN_COLUMNS,
        None,
        with_options(
            semicolons(), pyarrow={"encoding": "utf-16"}, polars={"encoding": "utf-16"}, duckdb={"encoding": "utf-16"}
        ),
    ),
    Case(
        "sep= line",
        b"sep=;\nx;y\n1;a\n2;b\n",
        {"x": [1, 2], "y": ["a", "b"]},
        None,
        with_options(semicolons(False), **SKIPPED),
    ),
    Case(
        "quoted line breaks",
        b'x,y\n1,"a\nb"\n2,c\n',
        {"x": [1, 2], "y": ["a\nb", "c"]},
        None,
        {"pyarrow": {"newlines_in_values": True}, "polars": {}, "duckdb": {}},
    ),
    Case("blank lines", b"x,y\n\n1,a\n\n2,b\n\n", {"x": [1, 2], "y": ["a", "b"]}),
    Case("no header", b"1,2\n3,4\n", {"0": [1, 3], "1": [2, 4]}),
    Case("index column", b",x\n0,5\n1,6\n2,7\n", {"x": [5, 6, 7]}),
    Case(
        "gaps NA, null, -",
        b"x,y\n" + b"".join(f"1,{gap}\n2,0.5\n".encode() for gap in GAPS),
        {"x": [1, 2] * 4, "y": [None, 0.5] * 4},
        None,
        {"pyarrow": {"null_values": GAPS}, "polars": {"null_values": GAPS}, "duckdb": {"nullstr": GAPS}},
    ),
    Case("short line", b"x,y\n" + b"1,2\n" * 9 + b"3\n1,2\n", None, 11, STRICT),
    Case("long line", b"x,y\n" + b"1,2\n" * 9 + b"3,4,5\n1,2\n", None, 11, STRICT),
    Case("text among numbers", b"x,y\n" + b"1,2\n" * 9 + b"3,north\n", None, 11, NUMBERS),
    Case("the same after a quoted line break", b'x,y\n1,"2\n"\n' + b"1,2\n" * 8 + b"3,north\n", None, 12, NUMBERS),
    Case("quote not closed", b'x,y\n1,2\n3,"a\n5,6\n', None, 3),
    Case("truncated gz", gzip.compress(b"x,y\n" + b"1,2\n" * 5000)[:-12], None, suffix=".csv.gz"),
    Case("empty file", b"", None),
]


def outcome(case: Case, reader: str, path: Path) -> str:
    """What a reader makes of a file, in a few words."""
    found = attempt(case, FRAMES[reader], str(path), {})
    told = (case.told or {}).get(reader)
    if found == "right" or not told:
        return found
    second = attempt(case, FRAMES[reader], str(path), told)
    return second if second == found else f"{second} if told"


def attempt(case: Case, read: Callable[..., dict[str, list[Any]]], path: str, told: dict[str, Any]) -> str:
    """The same for one call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = read(path, **told)
        except Exception as error:
            return error_in_words(case, str(error))
    if case.expected is None:
        return "no error"
    if case.name == "no header":  # any names will do
        return "right" if list(found.values()) == list(case.expected.values()) else "wrong"
    return "right" if found == case.expected else "wrong"


def error_in_words(case: Case, message: str) -> str:
    """Whether an error is right, and whether it states the place."""
    if case.expected is not None:
        return "error"
    if case.line is None:
        return "right"
    if not re.search(rf"\bline\W{{0,3}}{case.line}\b", message, re.IGNORECASE):
        return "error without its line"
    if case.told is NUMBERS and not re.search(r"column( name)?\W{1,4}y\b", message, re.IGNORECASE):
        return "error without its column"
    return "right"


def hostile_files(folder: Path) -> list[dict[str, str]]:
    """What each reader makes of each hostile file."""
    rows = []
    for number, case in enumerate(CASES):
        path = folder / f"{number}{case.suffix}"
        path.write_bytes(case.content)
        rows.append({"file": case.name, **{reader: outcome(case, reader, path) for reader in FRAMES}})
    return rows


def installed_megabytes(package: str) -> float:
    """Size on disk of a package and of what it requires, without what ksums requires anyway."""
    waiting, seen, size = [package], {"numpy"}, 0
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        distribution = metadata.distribution(name)
        paths = [Path(str(file.locate())) for file in distribution.files or ()]
        size += sum(path.stat().st_size for path in paths if path.exists() and path.suffix != ".pyc")
        needed = [line for line in distribution.requires or () if "extra ==" not in line]
        waiting += [re.split(r"[^\w.-]", line)[0] for line in needed]
    return size / 1e6


def write_tables(folder: Path, rows: int) -> dict[str, dict[str, Any]]:
    """The long and the wide file, and the sum of their numbers."""
    import pyarrow
    from pyarrow import csv

    rng, found = np.random.default_rng(0), {}
    for name, shape in (("long", (rows, COLUMNS)), ("wide", (WIDE_ROWS, WIDE_COLUMNS))):
        X = rng.standard_normal(shape).round(6)
        table = pyarrow.table({f"c{at}": X[:, at] for at in range(shape[1])})
        csv.write_csv(table, folder / f"{name}.csv")
        found[name] = {"shape": list(shape), "sum": float(X.sum()), "MB": (folder / f"{name}.csv").stat().st_size / 1e6}
    return found


def read_once(reader: str, path: str, warm_up: str) -> dict[str, Any]:
    """Time, peak memory and the sum of the numbers, in a process that has imported everything."""
    ARRAYS[reader](warm_up)
    reset_peak()
    before = peak_bytes()
    started = time.perf_counter()
    X = ARRAYS[reader](path)
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "MB": (peak_bytes() - before) / 1e6, "shape": list(X.shape), "sum": float(X.sum())}


def versions() -> dict[str, str]:
    return {name: metadata.version(name) for name in ("numpy", *sorted({*PACKAGES.values()}))}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one", nargs=3, metavar=("READER", "FILE", "WARM_UP"), help="for the new processes only")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(read_once(*options.one)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = write_tables(folder, ROWS // 10 if options.quick else ROWS)
        (folder / "warm_up.csv").write_text("x,y\n1.5,2\n3,4\n")
        timings = []
        for table, about in tables.items():
            for reader in ARRAYS:
                measured = in_new_process(
                    "readers.py", "--one", reader, str(folder / f"{table}.csv"), str(folder / "warm_up.csv")
                )
                right = measured["shape"] == about["shape"] and np.isclose(measured["sum"], about["sum"])
                row = {"table": table, "reader": reader, "seconds": measured["seconds"], "MB": measured["MB"]}
                timings.append(row | {"MB per MB of file": measured["MB"] / about["MB"], "right": bool(right)})
        print_table(timings, list(timings[0]), short)
        hostile = hostile_files(folder)
    sizes = [{"reader": reader, "install MB": installed_megabytes(package)} for reader, package in PACKAGES.items()]
    print_table(sizes, ["reader", "install MB"], short)
    print_table(hostile, ["file", *FRAMES])
    if not options.quick:
        results = {"versions": versions(), "tables": tables, "timings": timings, "install": sizes, "hostile": hostile}
        save("readers", results)


if __name__ == "__main__":
    main()
