"""``ksums compile``: compile ahead of time."""

from __future__ import annotations

import typer

from ksums.cli.options import Quiet


def compile_(quiet: Quiet = False) -> None:
    """Compile everything that default parameters use, for container images and CI.

    Examples:

      ksums compile
    """
    from ksums.cli.info import compiled_code
    from ksums.compiling import compile as compile_all

    seconds = compile_all(progress=not quiet)
    folder, size, functions = compiled_code()
    if not quiet:
        typer.echo(f"{len(functions)} functions, {size / 1e6:.0f} MB in {folder}, {seconds:.0f} s")
