"""Readers for many file formats, and files that are written atomically."""

from ksums.io.atomic import atomic_write
from ksums.io.cluto import ClutoData, read_cluto
from ksums.io.frames import Frame, read_frame
from ksums.io.numpy_files import read_arrays
from ksums.io.readers import read_rows, read_table
from ksums.io.sources import Source, open_source
from ksums.io.table import Table
from ksums.io.text_files import read_lines
from ksums.io.vecs import read_vecs, write_vecs

__all__ = [
    "ClutoData",
    "Frame",
    "Source",
    "Table",
    "open_source",
    "read_arrays",
    "read_cluto",
    "read_frame",
    "read_lines",
    "read_rows",
    "read_table",
    "read_vecs",
    "atomic_write",
    "write_vecs",
]
