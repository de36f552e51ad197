"""Which engine makes the passes, and with what."""

from __future__ import annotations

from ksums.planning.shape import Shape

ENGINE_NAMES = ("auto", "exact", "blocks", "neighbors", "reference")
"""What the parameter ``engine`` may be."""

_MANY_CLUSTERS = 2000
"""For k ≥ 2,000 a sample is compared only with the nearest clusters: a pass over all clusters takes seconds there, and
lists end lower in the same time (``benchmarks/large_k.py``)."""
_SOME_CLUSTERS = 500
"""For k ≥ 500 the same holds if a pass over all clusters is long (``benchmarks/large_k.py engines``)."""
_LONG_PASS = 1e10
"""A pass is long if n·k·d is at least 10 billion: annealing and search over all clusters would take half a minute or
more (``benchmarks/large_k.py engines``)."""
_FEW_CLUSTERS = 16
"""For k ≤ 16 plain loops are as fast as panels and compile sooner (``benchmarks/exact_pass.py``)."""
_COPIED_BYTES = 1 << 30
"""The neighbour engine holds a copy of the rows, sorted by cluster, of at most 1 GiB: without it every pass reads all
rows again."""
_SHARE_OF_MEMORY = 0.5
"""The copy takes at most half of the free memory. Without it labels are the same and passes take longer."""


def reason_for_lists(shape: Shape) -> str | None:
    """Why neighbour lists pay for a problem of this size; None if they do not."""
    products = shape.n * shape.d * shape.k
    if shape.sparse:
        return None
    if shape.k >= _MANY_CLUSTERS:
        return f"there are {shape.k:,} clusters"
    if shape.k >= _SOME_CLUSTERS and products >= _LONG_PASS:
        return f"a pass over all {shape.k:,} clusters would take {products / 1e9:,.0f} billion multiplications"
    return None


def copies_rows(shape: Shape) -> bool:
    """Whether the neighbour engine may hold a sorted copy of the rows."""
    return shape.bytes <= min(_COPIED_BYTES, _SHARE_OF_MEMORY * shape.memory)


def exact_kernel(k: int, sparse: bool, vectors: bool) -> str:
    """The kernel of the exact engine; it depends on nothing else, so that results repeat."""
    if sparse:
        return "sparse"
    if k <= _FEW_CLUSTERS:
        return "rows"
    return "panels" if vectors else "columns"
