"""``ksums`` on the command line."""

from ksums.cli.app import main

__all__ = ["main"]
