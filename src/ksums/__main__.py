"""``python -m ksums``."""

from ksums.cli import main

main()
