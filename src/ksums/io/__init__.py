"""Readers of files."""

from ksums.io.cluto import ClutoData, read_cluto

__all__ = ["ClutoData", "read_cluto"]
