"""Files of CLUTO: a matrix, sparse or dense, and beside it the classes of its rows and the names of its columns.

``name.mat`` begins with a line of sizes. Sparse: ``rows columns entries``, then for each row its pairs
``column value``, columns counted from 1. Dense: ``rows columns``, then the values of each row.
``name.mat.rclass`` (class of each row), ``name.mat.rlabel`` (its name) and ``name.mat.clabel`` (name of each column)
have one line each; ``name.rclass`` and so on are found too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from ksums.io.lines import read_lines

_MOST = 2**31 - 1  # rows, columns or entries


@dataclass(frozen=True)
class ClutoData:
    """What was read. The last three are None where there is no such file."""

    X: np.ndarray | sparse.csr_array
    """(n, d) float64; a CSR array if the file is sparse."""
    classes: np.ndarray | None
    """(n,) Class of each row, as written."""
    row_names: np.ndarray | None
    """(n,) Name of each row."""
    terms: np.ndarray | None
    """(d,) Name of each column."""


def read_cluto(path: str | Path) -> ClutoData:
    """Read a matrix of CLUTO with its classes and names.

    Parameters
    ----------
    path : str or Path
        The ``.mat`` file; ``.rclass``, ``.rlabel`` and ``.clabel`` are looked for beside it.

    Raises
    ------
    ValueError
        Where a file is not as it should be, with its name and the line.
    OSError
        Where the matrix cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ksums.io import read_cluto
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "two.mat").write_text("2 3 3\\n1 2 3 1\\n2 4\\n")
    >>> _ = (folder / "two.mat.rclass").write_text("sport\\npolitics\\n")
    >>> data = read_cluto(folder / "two.mat")
    >>> data.X.toarray()
    array([[2., 0., 1.],
           [0., 4., 0.]])
    >>> data.classes.tolist()
    ['sport', 'politics']
    """
    path = Path(path)
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = enumerate(file, start=1)
        sizes = _sizes(path, lines)
        X = _sparse(path, lines, *sizes) if len(sizes) == 3 else _dense(path, lines, *sizes)
        for number, line in lines:
            if line.strip():
                raise _error(path, number, f"the matrix should have ended after {sizes[0]} rows")
    n, d = X.shape
    return ClutoData(X, _names(path, "rclass", n), _names(path, "rlabel", n), _names(path, "clabel", d))


def _error(path: Path, number: int, what: str) -> ValueError:
    return ValueError(f"{path.name}, line {number}: {what}.")


def _sizes(path: Path, lines: Iterator[tuple[int, str]]) -> list[int]:
    number, line = next(lines, (1, ""))
    words = line.split()
    wanted = "'rows columns entries' for a sparse matrix, 'rows columns' for a dense one"
    if len(words) not in (2, 3) or not all(word.isascii() and word.isdigit() for word in words):
        raise _error(path, number, f"the first line must be {wanted}; got {line.strip()[:60]!r}")
    sizes = [int(word) for word in words]
    if min(sizes[:2]) < 1 or max(sizes) > _MOST:
        raise _error(path, number, f"there must be 1 … {_MOST} rows and columns; got {line.strip()[:60]!r}")
    return sizes


def _numbers(path: Path, number: int, line: str) -> np.ndarray:
    try:
        values = np.array(line.split(), dtype=np.float64)
    except ValueError:
        wrong = next(word for word in line.split() if not _is_number(word))
        raise _error(path, number, f"{wrong[:40]!r} is not a number") from None
    if not np.isfinite(values).all():
        raise _error(path, number, "it holds NaN or infinity")
    return values


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _rows(path: Path, lines: Iterator[tuple[int, str]], n: int) -> Iterator[tuple[int, np.ndarray]]:
    """The numbers of each of n lines. An empty line is a row without entries."""
    number = 1
    for row in range(n):
        number, line = next(lines, (number + 1, None))
        if line is None:
            raise _error(path, number, f"the file ends after {row} of {n} rows")
        yield number, _numbers(path, number, line)


def _sparse(path: Path, lines: Iterator[tuple[int, str]], n: int, d: int, entries: int) -> sparse.csr_array:
    columns, values, ends = [], [], [0]
    number = 1
    for number, row in _rows(path, lines, n):
        if len(row) % 2:
            raise _error(path, number, f"a row is pairs 'column value'; got {len(row)} numbers")
        at = row[::2].astype(np.int64)
        if (at != row[::2]).any() or (len(at) and (at.min() < 1 or at.max() > d)):
            wrong = next(column for column in row[::2] if not (column.is_integer() and 1 <= column <= d))
            raise _error(path, number, f"columns are whole numbers 1 … {d}; got {wrong:g}")
        if len(np.unique(at)) < len(at):
            twice = int(np.sort(at)[:-1][np.diff(np.sort(at)) == 0][0])
            raise _error(path, number, f"column {twice} is there twice")
        columns.append(at - 1)
        values.append(row[1::2])
        ends.append(ends[-1] + len(at))
    if ends[-1] != entries:
        raise _error(path, 1, f"{entries} entries are announced, the {n} rows hold {ends[-1]}")
    X = sparse.csr_array((np.concatenate(values), np.concatenate(columns), np.array(ends)), shape=(n, d))
    X.sort_indices()
    return X


def _dense(path: Path, lines: Iterator[tuple[int, str]], n: int, d: int) -> np.ndarray:
    rows = []
    for number, row in _rows(path, lines, n):
        if len(row) != d:
            raise _error(path, number, f"a row has {d} values; got {len(row)}")
        rows.append(row)
    return np.array(rows)


def _names(path: Path, kind: str, count: int) -> np.ndarray | None:
    beside = (path.with_name(f"{path.name}.{kind}"), path.with_name(f"{path.stem}.{kind}"))
    for file in beside:
        if file.is_file():
            names = [name.strip() for name in read_lines(file, errors="replace")]
            while len(names) > count and not names[-1]:
                names.pop()
            if len(names) != count:
                line = min(len(names), count) + 1
                raise _error(file, line, f"{count} lines are needed, one for each; there are {len(names)}")
            return np.array(names)
    return None
