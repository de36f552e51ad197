"""``ksums reproduce``: the paper's experiments, compared with what the paper reports."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from ksums.reproduce.experiments import EXPERIMENTS

_NAMES = "; ".join(f"{e.name}: {e.title} ({e.where})" for e in EXPERIMENTS.values())


def reproduce(
    experiments: Annotated[
        list[str] | None, typer.Argument(help=f"The experiments to run; default: all of them. {_NAMES}.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Use small data that needs no download; takes a minute.")
    ] = False,
    data: Annotated[Path | None, typer.Option(help="Folder with the data; default: KSUMS_DATA or the cache.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for results, figures and page; default: ksums-reproduction (-quick added with --quick)."
        ),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Also write one self-contained HTML page to this file.")] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Runs of each method where the variation between runs is studied; default: 128 as in the paper, "
            "8 with --quick.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The first random seed; the others follow it.")] = 0,
    only_page: Annotated[
        bool, typer.Option("--only-page", help="Run nothing; write the page from the stored results.")
    ] = False,
) -> None:
    """Run the paper's experiments and compare every figure and claim of the paper with our results.

    Each run is stored as soon as it is done. Run the same command again to resume.

    Examples:

      ksums reproduce --quick

      ksums reproduce --data ~/data --runs 32 --report out.html

      ksums reproduce --only-page --report out.html
    """
    from ksums.reproduce.claim import verdict_summary
    from ksums.reproduce.experiment import RunOptions
    from ksums.reproduce.page import all_claims, write_page
    from ksums.reproduce.run_all import load_outcomes, run_all

    unknown = [name for name in experiments or () if name not in EXPERIMENTS]
    if unknown:
        raise ValueError(f"there is no experiment {unknown[0]!r}; there are {', '.join(EXPERIMENTS)}.")
    if data is not None and not data.is_dir():
        raise ValueError(f"--data: {data} is not a folder.")
    if report is not None and report.is_dir():
        raise ValueError(f"--report: {report} is a folder; give a file, for instance {report / 'report.html'}.")
    out = out or Path("ksums-reproduction" + ("-quick" if quick else ""))
    if not only_page:
        options = RunOptions(quick, runs or (8 if quick else 128), seed, data)
        chosen = [EXPERIMENTS[name] for name in experiments or EXPERIMENTS]
        try:
            run_all(chosen, options, out, typer.echo)
        except KeyboardInterrupt:
            typer.echo(f"Stopped. Finished runs are stored in {out}. Run the same command again to resume.", err=True)
            raise
    outcomes = load_outcomes(EXPERIMENTS.values(), out)
    if not outcomes:
        raise ValueError(f"--only-page: there are no results in {out}.")
    can_draw = find_spec("matplotlib") is not None
    write_page(outcomes, out, report, can_draw)
    for outcome in outcomes:
        typer.echo(f"\n{outcome.experiment.title}")
        for claim in outcome.claims:
            typer.echo(f"{claim.verdict:>18}  {claim.where:<10}  {claim.statement}\n{'':>32}ours: {claim.ours}")
    typer.echo(f"\n{verdict_summary(all_claims(outcomes))}")
    if not can_draw:
        typer.echo("There are no figures: matplotlib is not installed. pip install 'ksums[plots]', then --only-page.")
    typer.echo(f"Page: {out / 'README.md'}" + (f", {report}" if report is not None else ""))
