"""The commands and their exit codes: 0 for success, 2 for an error that the user can correct, 130 after Ctrl-C."""

from __future__ import annotations

import io
import os
import sys

import typer

from ksums import __version__
from ksums.cli.choose_k import choose_k
from ksums.cli.compare import compare
from ksums.cli.compile import compile_
from ksums.cli.fit import fit
from ksums.cli.info import info
from ksums.cli.messages import INTERRUPTED
from ksums.cli.predict import predict
from ksums.cli.report import report
from ksums.cli.reproduce import reproduce
from ksums.compute.compat import typer_usage_error

_USER_ERROR = 2
"""Exit code for bad input or bad usage, as for most Unix programs."""

app = typer.Typer(
    name="ksums",
    help="k-sums clustering, a replacement for k-means.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (fit, predict, report, compare, choose_k, reproduce, info):
    app.command()(command)
app.command("compile")(compile_)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    """k-sums clustering, a replacement for k-means."""


def main() -> None:
    """Run a command; bad input and bad usage are reported in one line, without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a console may lack some characters
    try:
        code = app(prog_name="ksums", standalone_mode=False)
        if code == INTERRUPTED:  # typer turns Ctrl-C into this code without a message
            raise KeyboardInterrupt
        sys.exit(code)
    except typer_usage_error() as error:
        context, message = getattr(error, "ctx", None), error.format_message()  # type: ignore[attr-defined]
        command = context.command_path if context is not None else "ksums"
        if message:  # there is none if the help was shown
            typer.echo(f"ksums: {message} (See {command} --help.)", err=True)
    except MemoryError as error:
        typer.echo(f"ksums: not enough memory: {error}", err=True)
    except BrokenPipeError:  # the program that reads our output has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except (ValueError, OSError, ImportError) as error:
        typer.echo(f"ksums: {error}", err=True)
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("ksums: interrupted.", err=True)
        sys.exit(INTERRUPTED)
    sys.exit(_USER_ERROR)
