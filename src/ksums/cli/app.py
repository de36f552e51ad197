"""The commands, and how they end: 0 if all went well, 2 for what the user can mend, 130 after Ctrl-C."""

from __future__ import annotations

import io
import sys

import typer

from ksums import __version__
from ksums.cli.choose_k import choose_k
from ksums.cli.compare import compare
from ksums.cli.fit import fit
from ksums.cli.info import info
from ksums.cli.predict import predict
from ksums.cli.report import report
from ksums.cli.reproduce import reproduce

app = typer.Typer(
    name="ksums",
    help="k-sums clustering: what to take instead of k-means.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (fit, predict, report, compare, choose_k, reproduce, info):
    app.command()(command)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _about(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version and stop."
    ),
) -> None:
    """k-sums clustering: what to take instead of k-means."""


def main() -> None:
    """Run a command. Bad input is one clear line, no traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a console may not know all signs
    try:
        app()
    except (ValueError, OSError, ImportError) as error:
        typer.echo(f"ksums: {error}", err=True)
        sys.exit(2)
