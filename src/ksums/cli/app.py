"""The commands, and how they end: 0 if all went well, 2 for what the user can mend, 130 after Ctrl-C."""

from __future__ import annotations

import io
import os
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
    help="k-sums clustering: use it instead of k-means.",
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
    """k-sums clustering: use it instead of k-means."""


_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # of the Click that this typer has inside


def main() -> None:
    """Run a command. Bad input and bad usage are one clear line, no traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a console may not know all signs
    try:
        sys.exit(app(prog_name="ksums", standalone_mode=False))
    except _UsageError as error:
        context, words = getattr(error, "ctx", None), error.format_message()  # type: ignore[attr-defined]
        command = context.command_path if context is not None else "ksums"
        if words:  # else nothing was asked for, and the help was shown
            typer.echo(f"ksums: {words} ({command} --help shows how.)", err=True)
    except MemoryError as error:
        typer.echo(f"ksums: there is not enough memory: {error}", err=True)
    except BrokenPipeError:  # whoever read has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except (ValueError, OSError, ImportError) as error:
        typer.echo(f"ksums: {error}", err=True)
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("ksums: interrupted.", err=True)
        sys.exit(130)
    sys.exit(2)
