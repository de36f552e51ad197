"""Readers of files."""

from ksums.io.cluto import ClutoData, read_cluto
from ksums.io.files import read_arrays, read_rows, whole_or_not_at_all
from ksums.io.vecs import read_vecs, write_vecs

__all__ = ["ClutoData", "read_arrays", "read_cluto", "read_rows", "read_vecs", "whole_or_not_at_all", "write_vecs"]
