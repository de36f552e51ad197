"""What the clusters of a table look like: means in the units of the data, frequent categories, gaps."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ksums.tables.columns import date_of
from ksums.tables.encoding import Encoding

_LISTED = 3
"""Categories that a profile names for each column: enough to see what is typical."""


_IN_A_LINE = 8
"""Columns that a line about a cluster names: more would not be read."""


_NOTHING = 1e-14
"""A mean below this is that of numbers around 0 that cancel each other."""

_LARGE, _HUGE = 1e4, 1e15
"""Numbers in this range are written without an exponent."""


@dataclass(frozen=True)
class ClusterProfile:
    """One cluster of a table."""

    cluster: int
    size: int | float
    """Number of rows, or sum of weights."""
    share: float
    """Of all rows."""
    means: dict[str, float | str]
    """Mean of each column of numbers, in its own units; a date for columns of dates."""
    categories: dict[str, list[tuple[str, float]]]
    """The most frequent categories of each column with their shares among the cells that have a value."""
    gaps: dict[str, float]
    """Share of missing cells of each column that has any."""

    def in_one_line(self) -> str:
        """The cluster in one line: size, means, the most frequent category of each column."""
        parts = [f"{name} {mean_in_words(mean)}" for name, mean in self.means.items()]
        parts += [f"{name} {found[0][0]} {found[0][1]:.0%}" for name, found in self.categories.items() if found]
        more = f", … ({len(parts) - _IN_A_LINE} more)" if len(parts) > _IN_A_LINE else ""
        return f"cluster {self.cluster}, {self._rows()}: {', '.join(parts[:_IN_A_LINE])}{more}"

    def __str__(self) -> str:
        rows = [f"cluster {self.cluster}: {self._rows()} ({self.share:.0%})"]
        rows += [f"  {name}: {mean_in_words(mean)}" for name, mean in self.means.items()]
        for name, found in self.categories.items():
            rows.append(f"  {name}: " + ", ".join(f"{word} {share:.0%}" for word, share in found))
        rows += [f"  {name}: {share:.0%} missing" for name, share in self.gaps.items()]
        return "\n".join(rows)

    def _rows(self) -> str:
        if isinstance(self.size, float):
            return f"weight {self.size:,.6g}"
        return "1 row" if self.size == 1 else f"{self.size:,} rows"


def mean_in_words(mean: float | str) -> str:
    """A mean with four digits, or all digits before the point; a date as it is; what is rounding is 0."""
    if isinstance(mean, str):
        return mean
    if abs(mean) < _NOTHING:
        return "0"
    return f"{mean:,.0f}" if _LARGE <= abs(mean) < _HUGE else f"{mean:.4g}"


def profiles_of(
    encoding: Encoding,
    sizes: np.ndarray,  # (k,)
    means: np.ndarray,  # (k, a)  in the units of the data; NaN if a cluster has no value
    shares: np.ndarray,  # (k, c)
    gaps: np.ndarray,  # (k, a + b)
) -> list[ClusterProfile]:
    """The profile of each cluster."""
    found = []
    for r, size in enumerate(sizes):
        own = {
            name: date_of(mean) if is_date and np.isfinite(mean) else float(mean)
            for name, mean, is_date in zip(encoding.numeric, means[r], encoding.is_date, strict=True)
        }
        categories = {}
        for name, (first, last) in zip(encoding.categorical, pairwise(encoding.offsets), strict=True):
            best = first + np.argsort(-shares[r, first:last], kind="stable")[:_LISTED]
            categories[name] = [(encoding.words[c], float(shares[r, c])) for c in best if shares[r, c] > 0]
        missing = {name: float(share) for name, share in zip(encoding.names, gaps[r], strict=True) if share > 0}
        weight = size.item()
        found.append(ClusterProfile(r, weight, float(weight / sizes.sum()), own, categories, missing))
    return found
