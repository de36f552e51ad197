"""The command ``ksums``."""

from ksums.cli.app import main

__all__ = ["main"]
