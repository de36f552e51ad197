"""The page: what was done, the figures and tables, and the verdicts; as Markdown, and as one HTML file."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ksums.io import whole_or_not_at_all
from ksums.reproduce.claims import HOLDS, IN_PART, NOT, Claim, claims
from ksums.reproduce.curves import OURS, OURS_HIGH, RELEASED
from ksums.reproduce.experiment import Result
from ksums.reproduce.figures import pictures, save
from ksums.reproduce.measured import Runs, spread
from ksums.reproduce.paper import ENTROPY, KS, PAPERS_DATA
from ksums.reproduce.remarks import remarks
from ksums.reproduce.run import EXPERIMENTS
from ksums.reproduce.tables import entropies

_TITLE = "The paper's experiments, done again"


@dataclass(frozen=True)
class Heading:
    """A section begins."""

    text: str


@dataclass(frozen=True)
class Words:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Image:
    """A picture with the words below it."""

    path: Path
    title: str
    caption: str


@dataclass(frozen=True)
class Table:
    """Rows of text."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


Piece = Heading | Words | Image | Table


def write(results: dict[str, Result], out: Path, report: Path | None, draw: bool = True) -> list[Claim]:
    """Pictures and ``README.md`` into ``out``, and the report; gives the verdicts."""
    readme = out / "README.md"
    if readme.exists() and not readme.read_text("utf-8").startswith(f"# {_TITLE}\n"):
        raise ValueError(f"--out: {readme} is not a page of ours and would be lost. Name another folder.")
    found = claims(results)
    pieces = _pieces(results, found, out / "figures" if draw else None)
    with whole_or_not_at_all(readme, "w") as file:
        file.write(_markdown(pieces, out))
    if report is not None:
        with whole_or_not_at_all(report, "w") as file:
            file.write(_html(pieces))
    return found


def summary(found: list[Claim]) -> str:
    """How many claims hold."""
    counts = {verdict: sum(claim.verdict == verdict for claim in found) for verdict in (HOLDS, IN_PART, NOT)}
    return f"{len(found)} claims: " + ", ".join(f"{count} {_plural(v, count)}" for v, count in counts.items())


def _plural(verdict: str, count: int) -> str:
    if count == 1:
        return verdict
    return {HOLDS: "hold", IN_PART: "hold in part", NOT: "do not hold here"}[verdict]


# ------------------------------------------------------------------------------------------ what is on it
def _pieces(results: dict[str, Result], found: list[Claim], figures: Path | None) -> list[Piece]:
    pieces: list[Piece] = [
        Words(_about(results)),
        Words(_two_rules(results)),
        Heading("Verdicts"),
        Words(summary(found)),
    ]
    pieces.append(
        Table(
            "Every claim of the paper that an experiment can test. Verdicts follow from the results by code.",
            ("where", "claim", "paper", "ours", "verdict"),
            [(claim.where, claim.claim, claim.paper, claim.ours, claim.verdict) for claim in found],
        )
    )
    pieces += [Heading("Data"), _data(results)]
    drawn = pictures(results) if figures is not None else {}
    for name, result in results.items():
        pieces.append(Heading(EXPERIMENTS[name].title))
        pieces += [Image(save(p, figures), p.title, p.caption) for p in drawn.get(name, []) if figures is not None]
        if name == "significance":
            pieces.append(_last_values(result))
        if name == "documents":
            pieces += _entropy_tables(result)
        if seen := remarks(name, result):
            pieces.append(Words(" ".join(seen)))
    return pieces


def _about(results: dict[str, Result]) -> str:
    machines: list[str] = []
    for result in results.values():
        for machine in result["machines"]:
            versions = ", ".join(f"{name} {machine[name]}" for name in ("ksums", "numpy", "numba", "scikit-learn"))
            machines.append(f"{machine['cpu']}, {machine['cores']} cores; {versions}")
    return (
        "Made by `ksums reproduce`. E_m is the mean squared distance to the own centroid, E_s the sum of squared "
        "distances between the samples of a cluster, over all clusters, divided by n: both in the squared unit of the "
        "data. Lower is better everywhere. Where the data is not that of the paper, compare the order of the methods, "
        "not the values. k-means++ draws 2 + ln k candidates for each centre and keeps the best, as in scikit-learn. "
        "k-means# and Hartigan are the same rule, so their curves are the same by construction. "
        f"Machine: {'; then: '.join(dict.fromkeys(machines))}."
    )


def _two_rules(results: dict[str, Result]) -> str:
    """I_m as printed, and as in the published code, in plain words with figures."""
    words = (
        "**There are two rules called I_m.** As printed (Eqns. 4 to 6), a sample compares its distance to its own "
        "centroid, in which it is counted, with that to another centroid, in which it would be counted. In the code "
        "that the authors published it compares the distance to its own centroid *without* it. The first is Hartigan's "
        "rule in effect: with clusters of n samples, a sample moves if the other centroid is less than about 1 + 2/n "
        "times as far (in squares), for either of the two. In the published code that is about 1 + 4/n: samples move "
        "more readily, E_m goes up as well as down, and it need not settle. Both are shown everywhere, beside our "
        "default, which lets the readiness to move fall until the rule is exact, and then searches on."
    )
    if "significance" not in results:
        return words
    runs = Runs(results["significance"])
    named = {
        "Hartigan": "Hartigan",
        "k-sums-Im": "printed",
        RELEASED: "published code",
        OURS: "our default",
        OURS_HIGH: "ours with high effort",
    }
    ends = [f"{name} {spread(runs.final(method, 'E_m'))}" for method, name in named.items()]
    return f"{words} E_m at the end of the significance test: {'; '.join(ends)}."


def _data(results: dict[str, Result]) -> Table:
    rows = [
        (
            name,
            PAPERS_DATA[name],
            "; ".join(f"{data['name']}, {data['n']:,} × {data['d']:,}" for data in result["data"]),
        )
        for name, result in results.items()
    ]
    return Table("What the experiments were done with (the paper: Tab. 1).", ("experiment", "paper", "ours"), rows)


def _last_values(result: Result) -> Table:
    runs, passes, data = Runs(result), result["settings"]["passes"], result["data"][0]
    rows = [(method, *(spread(runs.final(method, measure)) for measure in ("E_m", "E_s"))) for method in runs.by_method]
    return Table(
        f"{data['name']}, n = {data['n']:,}, d = {data['d']}, k = {result['settings']['k']}, after {passes} passes "
        f"(ours: at their end), {runs.count} seeds: median, least and largest.",
        ("method", "E_m", "E_s"),
        rows,
    )


def _entropy_tables(result: Result) -> list[Piece]:
    table, sets = entropies(result), len(result["data"])
    sizes = [data["n"] for data in result["data"]]
    runs = min(row.runs for row in table.values())
    columns = (f"{words}k={k}" for words in ("", "paper, ", "mean of runs, ") for k in KS)
    head = ("method", *columns, "±", "sets ahead of k-means")

    def row(method: str) -> tuple[str, ...]:
        ours, printed = table[method], ENTROPY.get(method, (None,) * len(KS))
        values = [*ours.best, *printed, *ours.mean, ours.noise]
        ahead = str(ours.ahead_of(table["k-means"])) if "k-means" in table else "–"
        return method, *("–" if value is None else f"{value:.3f}" for value in values), ahead

    parts = (
        ("Tab. 2a, direct k-way", [method for method in table if not method.startswith("bisecting")]),
        ("Tab. 2b, bisecting", [method for method in table if method.startswith("bisecting")]),
    )
    return [
        Table(
            f"{name}: mean entropy over {sets} sets (paper: 15) of {min(sizes):,} to {max(sizes):,} documents, "
            f"cosine, of {runs} seeds the run with the lowest objective; beside it the paper's, and the mean of all "
            "runs. ±: from one seed to the next.",
            head,
            [row(method) for method in (*ENTROPY, RELEASED, OURS) if method in methods],
        )
        for name, methods in parts
    ]


# ------------------------------------------------------------------------------------------ Markdown
def _markdown(pieces: list[Piece], folder: Path) -> str:
    lines = [f"# {_TITLE}", ""]
    for piece in pieces:
        if isinstance(piece, Heading):
            lines += [f"## {piece.text}", ""]
        elif isinstance(piece, Words):
            lines += [piece.text, ""]
        elif isinstance(piece, Image):
            at = piece.path.relative_to(folder).as_posix()
            lines += [f"### {piece.title}", "", f"![{piece.title}]({at})", "", piece.caption, ""]
        else:
            lines += [piece.caption, "", _row(piece.head), "|" + "---|" * len(piece.head)]
            lines += [*map(_row, piece.rows), ""]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


# ------------------------------------------------------------------------------------------ HTML
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 0 auto; padding: 1rem; }
h1 { line-height: 1.2; } figure { margin: 1.5rem 0; } figcaption, caption { text-align: left; font-size: .9rem; }
figure img { width: 100%; height: auto; background: white; border: 1px solid var(--line); }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: 1rem 0; font-size: .88rem; width: 100%; }
caption { caption-side: top; padding: .3rem 0; }
th, td { padding: .35rem .5rem; text-align: left; vertical-align: top; }
th { border-bottom: 2px solid var(--line); } td { border-bottom: 1px solid var(--line); }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
.verdict { white-space: nowrap; font-weight: 600; }
.verdict::before { content: "●"; margin-right: .35em; }
.holds::before { color: #009e73; } .in-part::before { color: #e69f00; content: "◐"; }
.not::before { color: #d55e00; content: "○"; } code { background: var(--soft); padding: 0 .2em; }
@media (max-width: 40rem) {
  table.text thead { display: none; }
  table.text td { display: block; border: 0; padding: .1rem 0; }
  table.text td::before { content: attr(data-name) ": "; opacity: .6; }
  table.text tr { display: block; border-bottom: 1px solid var(--line); padding: .6rem 0; }
}
"""
_CLASSES = {HOLDS: "holds", IN_PART: "in-part", NOT: "not"}


def _html(pieces: list[Piece]) -> str:
    body = [f"<h1>{_TITLE}</h1>"]
    for piece in pieces:
        if isinstance(piece, Heading):
            body.append(f"<h2>{html.escape(piece.text)}</h2>")
        elif isinstance(piece, Words):
            body.append(f"<p>{_inline(piece.text)}</p>")
        elif isinstance(piece, Image):
            data = base64.b64encode(piece.path.read_bytes()).decode()
            body.append(
                f'<figure><h3>{_inline(piece.title)}</h3><img alt="{html.escape(piece.title)}" '
                f'src="data:image/png;base64,{data}"><figcaption>{_inline(piece.caption)}</figcaption></figure>'
            )
        else:
            body.append(_html_table(piece))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{_TITLE}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>\n<body>\n'
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _html_table(table: Table) -> str:
    """On a narrow screen the cells of a table of text stand below each other, with the names of their columns."""
    head = "".join(f"<th>{_inline(cell)}</th>" for cell in table.head)
    rows = "".join("<tr>" + "".join(map(_cell, row, table.head)) + "</tr>\n" for row in table.rows)
    kind = ' class="text"' if len(table.head) <= 5 else ""
    return (
        f'<div class="wide"><table{kind}><caption>{_inline(table.caption)}</caption><thead><tr>{head}</tr></thead>\n'
        f"{rows}</table></div>"
    )


def _cell(text: str, column: str) -> str:
    name = f' data-name="{html.escape(column)}"'
    if text in _CLASSES:
        return f'<td{name}><span class="verdict {_CLASSES[text]}">{text}</span></td>'
    kind = ' class="number"' if text.replace(".", "").isdigit() else ""
    return f"<td{name}{kind}>{_inline(text)}</td>"


def _inline(text: str) -> str:
    """Escaped, with **bold**, *italics*, `code` and indices."""
    text = html.escape(text)
    for mark, tag in (("**", "strong"), ("`", "code"), ("*", "em")):
        parts = text.split(mark)
        text = "".join(part if at % 2 == 0 else f"<{tag}>{part}</{tag}>" for at, part in enumerate(parts))
    for name in ("E_m", "E_s", "I_m", "I_s"):
        text = text.replace(name, f"<i>{name[0]}</i><sub>{name[2]}</sub>")
    return text
