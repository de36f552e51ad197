"""``ksums reproduce``: the paper's experiments, side by side with the paper."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer


def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            help="steps, significance, sequential, large_scale, large_scale_100, documents; all, if none is named."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small data that is always there; about a minute.")] = False,
    data: Annotated[Path | None, typer.Option(help="Folder with the data; else KSUMS_DATA or the cache.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for results, figures and page: ksums-reproduction (with --quick: ksums-reproduction-quick)."
        ),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write one self-contained HTML page as well.")] = None,
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Runs of each method in significance and sequential: 128, as in the paper; quick: 8."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The first seed; the others follow it.")] = 0,
    only_page: Annotated[bool, typer.Option("--only-page", help="No new runs: the page of what is there.")] = False,
) -> None:
    """Run the paper's experiments and put each of its figures and claims beside ours.

    Stopped half-way, the same command goes on where it was: each run is kept as soon as it is done.

    Examples:

      ksums reproduce --quick

      ksums reproduce --data ~/data --runs 32 --report out.html

      ksums reproduce significance --data ~/data
    """
    from ksums.reproduce.experiment import Size
    from ksums.reproduce.run import EXPERIMENTS, results, run

    unknown = [name for name in experiments or () if name not in EXPERIMENTS]
    if unknown:
        raise ValueError(f"there is no experiment {unknown[0]!r}; there are {', '.join(EXPERIMENTS)}.")
    if data is not None and not data.is_dir():
        raise ValueError(f"--data: {data} is no folder.")
    if report is not None and report.is_dir():
        raise ValueError(f"--report: {report} is a folder; a file is needed, for instance {report / 'report.html'}.")
    from ksums.reproduce.page import summary, write

    out = out or Path("ksums-reproduction" + ("-quick" if quick else ""))
    if not only_page:
        size = Size(quick, runs or (8 if quick else 128), seed, data)
        try:
            run(out, size, experiments or list(EXPERIMENTS), typer.echo)
        except KeyboardInterrupt:
            typer.echo(f"Stopped. What was done is kept in {out}; the same command goes on from there.", err=True)
            raise
    found = results(out)
    if not found:
        raise ValueError(f"--only-page: there are no results in {out}.")
    draw = find_spec("matplotlib") is not None
    claims = write(found, out, report, draw)
    for claim in claims:
        typer.echo(f"{claim.verdict:>18}  {claim.where:<10}  {claim.claim}\n{'':>32}ours: {claim.ours}")
    typer.echo(f"\n{summary(claims)}")
    if not draw:
        typer.echo("There are no figures: matplotlib is not installed. pip install 'ksums[plots]', then --only-page.")
    typer.echo(f"Page: {out / 'README.md'}" + (f", {report}" if report is not None else ""))
