"""Shapes that the programs of a graphics card work on, fixed by the numbers of columns and clusters."""

from __future__ import annotations

from typing import NamedTuple

_WHOLE_ROWS = 256
"""Rows of up to 256 numbers are held by a program as a whole, and padded to a power of two."""
WHOLE_SPLIT_ROWS = 128
"""The same where each number is held as two."""
_PIECE = 64
"""Longer rows are read this many columns at a time."""
_FEW_CLUSTERS = 256
"""Up to 256 clusters are few tiles."""
_TOLERANCE, _TOLERANCE_OF_SPLIT = 2e-3, 1e-5
"""A row is verified in float32 if its cost in low precision is above that of staying by less than this share: products
of numbers of 11 and of 22 bits."""


class Tiles(NamedTuple):
    """Shapes that a program works on. They decide near ties, so they depend on columns and clusters only."""

    rows: int
    clusters: int
    columns: int
    warps: int
    stages: int

    def bits(self, k: int) -> int:
        """Bits that hold the number of a tile of clusters."""
        return max(1, (-(-k // self.clusters) - 1).bit_length())


def padded_columns(d: int) -> int:
    """Columns of the products of matrices for rows of d numbers."""
    if d <= _WHOLE_ROWS:
        return max(16, 1 << (d - 1).bit_length())
    return -(-d // _PIECE) * _PIECE


def aligned_columns(d: int) -> int:
    """Numbers of a low-precision row in memory: a multiple of 16 bytes."""
    return padded_columns(d) if d > _WHOLE_ROWS else -(-d // 8) * 8


def rows_are_whole(d: int, split: bool) -> bool:
    """Whether a program reads rows once, as a whole."""
    return padded_columns(d) <= (WHOLE_SPLIT_ROWS if split else _WHOLE_ROWS)


def tiles_for(padded: int, k: int, split: bool) -> Tiles:
    """Tiles for rows of this many columns; others that were tried on an H200 were slower.

    A program that meets few tiles of clusters has nothing to read ahead; without that, more programs run at a time.
    Pieces of float64 rows are so large that three of them would not fit into the memory of a multiprocessor.
    """
    if padded <= (WHOLE_SPLIT_ROWS if split else _WHOLE_ROWS):
        return Tiles(rows=128, clusters=64, columns=_WHOLE_ROWS, warps=4, stages=1 if k <= _FEW_CLUSTERS else 3)
    return Tiles(rows=128, clusters=128, columns=_PIECE, warps=8, stages=2 if split else 4)


def tiles_of_lists(padded: int, split: bool, start: bool) -> Tiles:
    """Tiles for the rows of a cluster, often a dozen, or of a group (``start``) with lists of clusters."""
    whole = padded <= (WHOLE_SPLIT_ROWS if split else _WHOLE_ROWS)
    return Tiles(rows=64 if start else 16, clusters=64, columns=_WHOLE_ROWS if whole else _PIECE, warps=4, stages=3)


def tolerance_for(split: bool) -> float:
    """The share by which a cost in low precision may be wrong."""
    return _TOLERANCE_OF_SPLIT if split else _TOLERANCE
