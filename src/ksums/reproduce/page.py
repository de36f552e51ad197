"""The page about the results: a summary, then all details; as Markdown, and as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ksums.io import atomic_write
from ksums.reproduce.claim import PLURALS, Claim, count_verdicts, verdict_summary
from ksums.reproduce.drawing import save
from ksums.reproduce.experiment import Outcome
from ksums.reproduce.html_page import html_page
from ksums.reproduce.markdown_page import markdown_page
from ksums.reproduce.pieces import Heading, Image, Paragraph, Piece, Table, link

_TITLE = "The paper's experiments, reproduced"
_OWN_TITLE = "# The paper's experiments"
"""A README.md that begins differently is not ours and is never overwritten."""
_VERSIONS = "Two versions of I_m"
"""A heading that the summary links to."""

_OPENING = (
    "`ksums reproduce` ran the experiments of *k-sums: another side of k-means* (Zhao, Chen, Ye, Ngo) again and "
    "checked every claim of the paper that an experiment can test. Code derives each verdict from the results. "
    "**{count}.**"
)
_KEY = (
    "E_m is the mean squared distance of a sample to its cluster's centroid; E_s is the sum of squared distances "
    "between samples of the same cluster, divided by n. Lower is better. k-sums-I_m appears twice, because the formula "
    "that the paper prints and the authors' published code differ ({versions})."
)
_ABOUT_MEASURES = (
    "E_m and E_s are in the squared unit of the data. E_s covers all pairs within each cluster, summed over the "
    "clusters. Values are medians over the runs, followed by the smallest and the largest run. Where our data is not "
    "the paper's, compare the order of the methods, not the values. k-means++ draws 2 + ln k candidates for each "
    "centre and keeps the best one, as scikit-learn does. k-means# and Hartigan apply the same rule, so their curves "
    "coincide."
)
_ABOUT_VERSIONS = (
    "The rule that the paper prints (Eqns. 4 to 6) compares two distances of a sample: to its cluster's centroid, and "
    "to another centroid as it would be after the sample has joined. The authors' published code computes the centroid "
    "of its cluster *without* the sample. The printed rule is in effect Hartigan's: in clusters of n samples, a sample "
    "moves if the squared distance to the other centroid is less than about 1 + 2/n times the one to its cluster's "
    "centroid. In the published code this factor is about 1 + 4/n, so samples move more readily, E_m can rise as well "
    "as fall, and the method need not converge. Our default starts with such a relaxed rule, tightens it until it is "
    "exact, and then continues to search."
)


def write_page(outcomes: Sequence[Outcome], out: Path, report: Path | None = None, draw: bool = True) -> None:
    """Write the pictures and ``README.md`` into ``out``, and one HTML file if ``report`` is given."""
    readme = out / "README.md"
    if readme.exists() and not readme.read_text("utf-8").startswith(_OWN_TITLE):
        raise ValueError(f"--out: {readme} was not written by ksums reproduce. Choose another folder.")
    pieces = _page(outcomes, out / "figures" if draw else None)
    with atomic_write(readme, "w") as file:
        file.write(markdown_page(pieces, out))
    if report is not None:
        with atomic_write(report, "w") as file:
            file.write(html_page(pieces, _TITLE))


def all_claims(outcomes: Sequence[Outcome]) -> list[Claim]:
    """The claims of all experiments."""
    return [claim for outcome in outcomes for claim in outcome.claims]


def _page(outcomes: Sequence[Outcome], figures: Path | None) -> list[Piece]:
    """All pieces of the page; without pictures if there is no folder for them."""
    images = [
        [Image(save(p, figures), p.title, p.caption) for p in outcome.experiment.pictures(outcome.results)]
        if figures is not None
        else []
        for outcome in outcomes
    ]
    pieces = _opening(outcomes)
    for outcome, drawn in zip(outcomes, images, strict=True):
        pieces += _summary(outcome, drawn)
    pieces += [
        Heading("Details"),
        Heading("Measures and methods", 3),
        Paragraph(f"{_ABOUT_MEASURES} {_machines(outcomes)}".strip()),
    ]
    pieces += [Heading(_VERSIONS, 3), Paragraph(_ABOUT_VERSIONS), Heading("Data", 3), _data(outcomes)]
    for outcome, drawn in zip(outcomes, images, strict=True):
        pieces += _details(outcome, drawn)
    return pieces


# ------------------------------------------------------------------------------------------ summary
def _opening(outcomes: Sequence[Outcome]) -> list[Piece]:
    count = verdict_summary(all_claims(outcomes))
    rows = []
    for outcome in outcomes:
        counts = count_verdicts(outcome.claims)
        name = link(outcome.experiment.title, _summary_heading(outcome))
        rows.append((name, outcome.experiment.where, *(str(counts[verdict]) for verdict in PLURALS)))
    return [
        Heading(_TITLE, 1),
        Paragraph(_OPENING.format(count=count)),
        Table(("experiment", "in the paper", *PLURALS.values()), rows),
        Paragraph(_KEY.format(versions=link("details", _VERSIONS))),
    ]


def _summary(outcome: Outcome, images: list[Image]) -> list[Piece]:
    """The main picture, and the claims that matter most."""
    more = link("All results", _details_heading(outcome))
    rows = [(claim.statement, claim.paper, claim.headline, claim.verdict) for claim in outcome.claims if claim.headline]
    return [
        Heading(_summary_heading(outcome)),
        Paragraph(f"{outcome.experiment.about} {more}."),
        *(replace(image, caption="") for image in images[:1]),
        *([Table(("claim", "paper", "ours", "verdict"), rows)] if rows else []),
    ]


def _summary_heading(outcome: Outcome) -> str:
    return f"{outcome.experiment.title} ({outcome.experiment.where})"


def _details_heading(outcome: Outcome) -> str:
    return f"{outcome.experiment.title}: all results"


# ------------------------------------------------------------------------------------------ details
def _machines(outcomes: Sequence[Outcome]) -> str:
    machines = []
    for outcome in outcomes:
        for machine in outcome.results["machines"]:
            versions = ", ".join(f"{name} {machine[name]}" for name in ("ksums", "numpy", "numba", "scikit-learn"))
            machines.append(f"{machine['cpu']}, {machine['cores']} cores; {versions}")
    return f"Machine: {'; then: '.join(dict.fromkeys(machines))}." if machines else ""


def _data(outcomes: Sequence[Outcome]) -> Table:
    rows = [
        (
            outcome.experiment.title,
            outcome.experiment.paper_data,
            "; ".join(f"{data['name']}, {data['n']:,} × {data['d']:,}" for data in outcome.results["data"]),
        )
        for outcome in outcomes
    ]
    return Table(("experiment", "paper (Tab. 1)", "ours"), rows)


def _details(outcome: Outcome, images: list[Image]) -> list[Piece]:
    """All claims, pictures, tables and remarks. The main picture is in the summary, its caption is here."""
    experiment, results = outcome.experiment, outcome.results
    rows = [(claim.where, claim.statement, claim.paper, claim.ours, claim.verdict) for claim in outcome.claims]
    pieces: list[Piece] = [
        Heading(_details_heading(outcome), 3),
        Table(("where", "claim", "paper", "ours", "verdict"), rows),
    ]
    for image in images[:1]:
        above = link("in the summary", _summary_heading(outcome))
        pieces.append(Paragraph(f"**{image.title}** ({above}). {image.caption}"))
    pieces += [*images[1:], *experiment.tables(results)]
    if remarks := experiment.remarks(results):
        pieces.append(Paragraph(" ".join(remarks)))
    return pieces
