"""The data and the clusters as the operations of a card read them: tensors, and the numbers that describe them."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

from ksums.planning.tiles import Tiles, aligned_columns, padded_columns, tiles_for
from ksums.rules.kinds import LENGTH, PAIRS, Kind

REACH = 10
"""Rows are scaled to entries of at most 2^10, by a power of two: float16 holds them, and float32 their squares."""
FAR = 3e38
"""The cost of what must not be chosen."""
_BITS = 61
"""Bits of a sum of whole numbers, the sign aside: two to spare in int64."""
_MOST_EXPONENT = 120
"""Scales and their inverses are float32 in kernels."""


class Layout(NamedTuple):
    """Numbers, known before the first kernel runs. Labels depend on all of them."""

    n: int  # active rows, of all problems
    d: int
    k: int  # clusters of each problem
    aligned: int  # numbers of a low-precision row in memory
    padded: int  # columns of a product of matrices
    kind: Kind  # of the rule: SQUARES, PAIRS or LENGTH
    directed: bool  # whether rows count at unit length (cosine)
    split: bool  # products from two numbers of 11 bits for each, instead of one
    weighted: bool
    sigma: float  # what rows are multiplied by, after the mean was subtracted
    fixed: float  # whole numbers for each unit of a composite, of a weight, of a squared norm
    fixed_weight: float
    fixed_square: float
    tiles: Tiles
    problems: int = 1  # independent ones, whose rows follow one another: see ``batches.py``

    @property
    def lengths(self) -> bool:
        """Whether the objective is a sum of |D_r|."""
        return self.kind is LENGTH

    @property
    def pairs(self) -> bool:
        """Whether the objective is a sum over pairs."""
        return self.kind is PAIRS

    @property
    def clusters(self) -> int:
        """Clusters of all problems, which are numbered through."""
        return self.k * self.problems


class Table(NamedTuple):
    """The rows. Those of X are read where they are; ``places`` puts them into random order."""

    X: torch.Tensor  # (N, d)  as the user gave it: numbers of 8 to 64 bits
    places: torch.Tensor  # (n,)  int64: the row of X at each place
    mean: torch.Tensor  # (d,)  float32, or float64 as X
    scales: torch.Tensor  # (n,)  of each row under cosine; else a single number, which is sigma
    weights: torch.Tensor  # (n,)  of mean 1; else a single 1
    low: torch.Tensor  # (n, aligned)  float16; nothing if products are split, or if rows are lowered chunk by chunk
    low_squares: torch.Tensor  # (n,)  squared norms of the rows in low precision
    squares: torch.Tensor  # (n,)  squared norms in float64


class State(NamedTuple):
    """Labels, and sums of whole numbers over the clusters, which depend on no order of addition."""

    labels: torch.Tensor  # (n,)  int32
    composites: torch.Tensor  # (k, d)  int64  D_r
    counts: torch.Tensor  # (k,)  int32
    sizes: torch.Tensor  # (k,)  int64  sums of weights; counts again if there are none
    norm_sums: torch.Tensor  # (k,)  int64  Q_r
    moved: torch.Tensor  # (1,)  int32  rows that moved since somebody set it to 0


class Clusters(NamedTuple):
    """What a kernel asks about a cluster: see ``kernels/clusters.py``."""

    relaxation: torch.Tensor  # (1,)  float32  p
    push: torch.Tensor  # (k, d)  float32  added to C_r while a pass decides: see ``passes.py``
    before: torch.Tensor  # (k, d)  float32  D_r/n_r when it was last pushed
    vectors: torch.Tensor  # (k, d)  float32  C_r, or the direction of D_r
    low: torch.Tensor  # (1 or 2, k, padded)  float16  −2 times these: high part, and rest if products are split
    low_squares: torch.Tensor  # (k,)  float32  squared norms of the centres in low precision
    join: torch.Tensor  # (k,)  float32
    base: torch.Tensor  # (k,)  float32
    stay: torch.Tensor  # (k,)  float32
    weight: torch.Tensor  # (k,)  float32  n_r
    scatter: torch.Tensor  # (k,)  float32  Q_r/n_r − |C_r|² for the kind PAIRS; else 0
    members: torch.Tensor  # (k,)  int32  number of rows
    sq_composites: torch.Tensor  # (k,)  float64  D_r·D_r
    leavers: torch.Tensor  # (k,)  int32  rows that want to leave
    claims: torch.Tensor  # (k,)  int64  the move that decides: see ``kernels/moves.py``


class Lists(NamedTuple):
    """For each group of rows, the clusters that its rows are compared with."""

    entries: torch.Tensor  # int32  clusters, list after list
    ends: torch.Tensor  # (groups + 1,)  int64  where each list begins, and the last one ends


class Candidates(NamedTuple):
    """Rows that may gain by a move."""

    number: torch.Tensor  # (1,)  int32
    rows: torch.Tensor  # (n,)  int32
    targets: torch.Tensor  # (n,)  int32
    sources: torch.Tensor  # (n,)  int32
    gains: torch.Tensor  # (n,)  float32; not above 0: stays


class Card(NamedTuple):
    """All of these."""

    layout: Layout
    table: Table
    state: State
    clusters: Clusters
    candidates: Candidates


def least_weight(n: int) -> float:
    """The smallest share of their mean that weights of n rows may have: as whole numbers they are 2^10 or more."""
    return 2.0 ** (10 + n.bit_length() - _BITS)


def layout_for(
    n: int,
    d: int,
    k: int,
    *,
    kind: Kind,
    directed: bool,
    sigma: float,
    split: bool,
    weighted: bool,
    squares: float = 0.0,
) -> Layout:
    """The layout of n rows that ``sigma`` brings to entries of at most 2^REACH around their mean.

    ``squares``: at least the sum of their squared norms before; 0: not known. If few rows are far out, it is far less
    than it might be, and the squared norms of the others are not lost in sums of whole numbers.
    """
    padded = padded_columns(d)
    rows = math.ceil(math.log2(max(n, 2)))
    largest = 2 * REACH + rows + math.ceil(math.log2(max(d, 1)))
    if squares > 0.0:
        largest = min(largest, 1 + math.ceil(math.log2(squares) + 2.0 * math.log2(sigma)))
    return Layout(
        n=n,
        d=d,
        k=k,
        aligned=aligned_columns(d),
        padded=padded,
        kind=kind,
        directed=directed,
        split=split,
        weighted=weighted,
        sigma=sigma,
        fixed=2.0 ** (_BITS - REACH - rows),
        fixed_weight=2.0 ** (_BITS - rows),
        fixed_square=2.0 ** min(_MOST_EXPONENT, _BITS - largest),
        tiles=tiles_for(padded, k, split),
    )


def new_state(layout: Layout, device: torch.device) -> State:
    """Room for labels and sums. Sums are written before they are read."""
    n, d, k = layout.n, layout.d, layout.clusters
    return State(
        labels=torch.zeros(n, dtype=torch.int32, device=device),
        composites=torch.empty(k, d, dtype=torch.int64, device=device),
        counts=torch.empty(k, dtype=torch.int32, device=device),
        sizes=torch.empty(k, dtype=torch.int64, device=device),
        norm_sums=torch.empty(k, dtype=torch.int64, device=device),
        moved=torch.zeros(1, dtype=torch.int32, device=device),
    )


def new_clusters(layout: Layout, device: torch.device, *, pushed: bool = False) -> Clusters:
    """Room for what kernels ask about clusters; ``pushed``: with room for what is added to their centres.

    All of it is written before it is read.
    """
    k = layout.clusters

    def of_clusters(dtype: torch.dtype) -> torch.Tensor:
        return torch.empty(k, dtype=dtype, device=device)

    return Clusters(
        relaxation=torch.ones(1, device=device),
        push=torch.empty(k if pushed else 0, layout.d, device=device),
        before=torch.empty(k if pushed else 0, layout.d, device=device),
        vectors=torch.empty(k, layout.d, device=device),
        low=torch.empty(2 if layout.split else 1, k, layout.padded, dtype=torch.float16, device=device),
        low_squares=of_clusters(torch.float32),
        join=of_clusters(torch.float32),
        base=of_clusters(torch.float32),
        stay=of_clusters(torch.float32),
        weight=of_clusters(torch.float32),
        scatter=of_clusters(torch.float32),
        members=of_clusters(torch.int32),
        sq_composites=of_clusters(torch.float64),
        leavers=of_clusters(torch.int32),
        claims=of_clusters(torch.int64),
    )


def new_candidates(layout: Layout, device: torch.device) -> Candidates:
    """Room for all rows to be candidates."""
    rows, targets, sources = (torch.empty(layout.n, dtype=torch.int32, device=device) for _ in range(3))
    number = torch.empty(1, dtype=torch.int32, device=device)
    return Candidates(number, rows, targets, sources, torch.empty(layout.n, device=device))
