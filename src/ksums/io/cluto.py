"""CLUTO files: a sparse or dense matrix, and optional files with classes and names of its rows and columns.

The first line of ``name.mat`` states the sizes. A sparse matrix starts with ``rows columns entries``; each following
line lists the pairs ``column value`` of a row, and columns count from 1. A dense matrix starts with ``rows columns``;
each following line lists the values of a row.

``name.mat.rclass`` (class of each row), ``name.mat.rlabel`` (name of each row) and ``name.mat.clabel`` (name of each
column) have one item per line. The names ``name.rclass`` and so on are found, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from ksums.io.text_files import read_lines

_MAX_SIZE = 2**31 - 1
"""Most rows, columns or entries: larger numbers do not fit into 32-bit indices, and point to a damaged file."""


@dataclass(frozen=True)
class ClutoData:
    """A CLUTO matrix with its classes and names, which are None if there is no such file."""

    X: np.ndarray | sparse.csr_array
    """(n, d) float64; a CSR array if the matrix is sparse."""
    classes: np.ndarray | None
    """(n,) Class of each row, as in the file."""
    row_names: np.ndarray | None
    """(n,) Name of each row."""
    terms: np.ndarray | None
    """(d,) Name of each column."""


def read_cluto(path: str | Path) -> ClutoData:
    """Read a CLUTO matrix with its classes and names.

    Parameters
    ----------
    path : str or Path
        The ``.mat`` file; ``.rclass``, ``.rlabel`` and ``.clabel`` files in the same folder are read, too.

    Returns
    -------
    ClutoData

    Raises
    ------
    ValueError
        If a file is malformed; the message states its name and the line.
    OSError
        If the matrix cannot be read.

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
                raise _error(path, number, f"the matrix should end after row {sizes[0]}")
    n, d = X.shape
    return ClutoData(X, _names(path, "rclass", n), _names(path, "rlabel", n), _names(path, "clabel", d))


def _error(path: Path, line: int, problem: str) -> ValueError:
    return ValueError(f"{path.name}, line {line}: {problem}.")


def _sizes(path: Path, lines: Iterator[tuple[int, str]]) -> list[int]:
    number, line = next(lines, (1, ""))
    words = line.split()
    expected = "'rows columns entries' for a sparse matrix or 'rows columns' for a dense one"
    if len(words) not in (2, 3) or not all(word.isascii() and word.isdigit() for word in words):
        raise _error(path, number, f"the first line must be {expected}; got {line.strip()[:60]!r}")
    sizes = [int(word) for word in words]
    if min(sizes[:2]) < 1 or max(sizes) > _MAX_SIZE:
        raise _error(
            path,
            number,
            f"rows and columns must be from 1 to {_MAX_SIZE}, entries at most {_MAX_SIZE}; got {line.strip()[:60]!r}",
        )
    return sizes


def _numbers(path: Path, number: int, line: str) -> np.ndarray:
    try:
        values = np.array(line.split(), dtype=np.float64)
    except ValueError:
        bad = next(word for word in line.split() if not _is_number(word))
        raise _error(path, number, f"{bad[:40]!r} is not a number") from None
    if not np.isfinite(values).all():
        raise _error(path, number, "NaN and infinity are not allowed")
    return values


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _rows(path: Path, lines: Iterator[tuple[int, str]], n: int) -> Iterator[tuple[int, np.ndarray]]:
    """Number and values of each of n lines; an empty line is a row without entries."""
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
            raise _error(path, number, f"a row must be pairs 'column value'; got an odd number of values ({len(row)})")
        numbers = row[::2].astype(np.int64)
        if (numbers != row[::2]).any() or (len(numbers) and (numbers.min() < 1 or numbers.max() > d)):
            bad = next(column for column in row[::2] if not (column.is_integer() and 1 <= column <= d))
            raise _error(path, number, f"columns must be integers from 1 to {d}; got {bad:g}")
        if len(np.unique(numbers)) < len(numbers):
            repeated = int(np.sort(numbers)[:-1][np.diff(np.sort(numbers)) == 0][0])
            raise _error(path, number, f"column {repeated} appears twice")
        columns.append(numbers - 1)
        values.append(row[1::2])
        ends.append(ends[-1] + len(numbers))
    if ends[-1] != entries:
        raise _error(path, 1, f"the line announces {entries} entries, but the {n} rows have {ends[-1]}")
    X = sparse.csr_array((np.concatenate(values), np.concatenate(columns), np.array(ends)), shape=(n, d))
    X.sort_indices()
    return X


def _dense(path: Path, lines: Iterator[tuple[int, str]], n: int, d: int) -> np.ndarray:
    rows = []
    for number, row in _rows(path, lines, n):
        if len(row) != d:
            raise _error(path, number, f"a row must have {d} values; got {len(row)}")
        rows.append(row)
    return np.array(rows)


def _names(path: Path, kind: str, count: int) -> np.ndarray | None:
    """The lines of the file of this kind, which must be as many as there are rows or columns."""
    for file in (path.with_name(f"{path.name}.{kind}"), path.with_name(f"{path.stem}.{kind}")):
        if file.is_file():
            names = [name.strip() for name in read_lines(file, errors="replace")]
            while len(names) > count and not names[-1]:
                names.pop()
            if len(names) != count:
                line, item = min(len(names), count) + 1, "column" if kind == "clabel" else "row"
                raise _error(file, line, f"expected {count} lines, one for each {item}; got {len(names)}")
            return np.array(names)
    return None
