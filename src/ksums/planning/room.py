"""Memory that a fit on a graphics card takes beside X. Labels do not depend on it."""

from __future__ import annotations

from ksums.planning.gpu import longest_lists
from ksums.planning.shape import Shape
from ksums.planning.tiles import aligned_columns

_BYTES_OF_ROW = 200
"""Memory that a fit takes for each row: labels, orders and the room that sorting takes, candidates, squared norms."""
_BYTES_OF_CENTRE = 200
"""The same for each number of a centre: composites, centres in three precisions, and twice as many for halves."""
_BYTES_OF_ENTRY = 24
"""The same for each cluster in a list of nearest clusters, while lists are made."""
SLOTS = 2
"""Chunks of rows that are in low precision at a time, if not all are."""
_MOST_CHUNK, _LEAST_CHUNK = 1 << 17, 1 << 12
"""Rows of a chunk. A small one begins sooner, a large one takes fewer steps."""


def chunk_for(shape: Shape, room: float) -> int:
    """Rows that are in low precision at a time if a fit may take this many bytes beside X; 0: all rows, −1: too few."""
    left, of_row = room - _fixed(shape), 2 * aligned_columns(shape.d)
    if shape.n * of_row <= left:
        return 0
    chunk = min(_MOST_CHUNK, int(left // (SLOTS * of_row)))
    return chunk if chunk >= _LEAST_CHUNK else -1


def least_room(shape: Shape) -> float:
    """Bytes that a fit takes beside X, if rows are in low precision chunk by chunk."""
    return _fixed(shape) + min(shape.n, SLOTS * _LEAST_CHUNK) * 2.0 * aligned_columns(shape.d)


def _fixed(shape: Shape) -> float:
    """Bytes that a fit takes whatever the chunks are."""
    of_clusters = _BYTES_OF_CENTRE * shape.d + _BYTES_OF_ENTRY * longest_lists(shape.k)
    return float(shape.n * _BYTES_OF_ROW + shape.k * of_clusters)
