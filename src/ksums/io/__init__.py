"""Readers of files."""

from ksums.io.cluto import ClutoData, read_cluto
from ksums.io.files import read_arrays, read_rows, read_table
from ksums.io.lines import read_lines
from ksums.io.table import Table
from ksums.io.vecs import read_vecs, write_vecs
from ksums.io.whole import whole_or_not_at_all

__all__ = [
    "ClutoData",
    "Table",
    "read_arrays",
    "read_cluto",
    "read_lines",
    "read_rows",
    "read_table",
    "read_vecs",
    "whole_or_not_at_all",
    "write_vecs",
]
