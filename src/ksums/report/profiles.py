"""What the page says about tables: a profile of each cluster, what columns were taken for, and missing cells."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping

import numpy as np

from ksums.report.describe import Description
from ksums.tables.columns import CATEGORY, DATE, NUMBER
from ksums.tables.profiles import ClusterProfile

_MAX_SIDE_BY_SIDE = 12
"""Most clusters that are shown side by side, each in a column; of more, each gets a row."""

_MAX_COLUMNS = 30
"""Most columns of the data that are shown side by side: a wider table could not be read."""

_MAX_LISTED = 200
"""Most columns of the data that are shown below each other."""

_MAX_WORD = 80
"""Longer names and categories are cut to this many characters, so that they do not fill the page."""

_LONG_WORD = 12
"""The page may hide the end of longer categories; they have a tooltip."""

_MAX_NAMES = 30
"""Most columns that a sentence names."""

_ROUNDING = 1e-9
"""Shares are exact up to this."""

_KINDS = {NUMBER: "numbers", DATE: "dates", CATEGORY: "categories"}

_SCALING = {
    "std": "numbers and dates have standard deviation 1",
    "range": "numbers and dates are divided by their range",
    None: "numbers are in their own units, dates in days",
}


def profiles_section(found: Description) -> str:
    """The profiles of all rows and of each cluster as a table."""
    assert found.profiles is not None
    assert found.overall_profile is not None
    profiles = [found.overall_profile, *found.profiles]
    side_by_side = len(found.profiles) <= _MAX_SIDE_BY_SIDE
    names = list(found.columns)[: _MAX_LISTED if side_by_side else _MAX_COLUMNS]
    if side_by_side:
        head = "".join(f'<th scope="col">{_heading(profile)}</th>' for profile in profiles)
        body = "".join(
            f'<tr><th scope="row">{_cut(name)}</th>{"".join(_cell(one, name) for one in profiles)}</tr>\n'
            for name in names
        )
    else:
        head = "".join(f'<th scope="col">{_cut(name)}</th>' for name in names)
        body = "".join(
            f'<tr><th scope="row">{_heading(one)}</th>{"".join(_cell(one, name) for name in names)}</tr>\n'
            for one in profiles
        )
    corner = "column" if side_by_side else "cluster"
    return (
        "<h2>Profiles</h2>\n"
        f'<div class="scroll"><table id="profiles"><thead><tr><th scope="col">{corner}</th>{head}</tr></thead><tbody>\n'
        f'{body}</tbody></table></div>\n<p class="note">{_note(found, len(names))}</p>'
    )


def columns_in_words(found: Description) -> str:
    """What the columns were taken for; of rows of numbers, those that were left out."""
    parts = []
    for kind, plural in _KINDS.items():
        if names := [name for name, own in found.columns.items() if own == kind]:
            parts.append(f"{len(names):,} {kind if len(names) == 1 else plural}: {_listed(names)}")
    if found.left_out_columns:
        reasons = found.left_out_columns if found.profiles is None else None  # elsewhere the profiles give them
        parts.append(f"left out: {_listed(found.left_out_columns, reasons)}")
    return "; ".join(parts)


def gaps_in_words(found: Description) -> str:
    """How many cells are missing, and what that means for the page."""
    if not found.missing_cells:
        return ""
    missing, cells = found.missing_cells, found.n * found.d
    fill = "the centre of the row's cluster" if found.profiles is None else "the mean or the shares of their column"
    words = (
        f"{missing:,} of {cells:,} cells ({_percent(missing / cells)}) {'is' if missing == 1 else 'are'} missing: "
        "distances are over the cells that a row has. Among central and distant rows, a missing cell counts as the "
        f"average of its column. The map fills missing cells with {fill}."
    )
    if empty := found.empty_rows:
        rows = "1 row without any value is" if empty == 1 else f"{empty:,} rows without any value are"
        words += f" {rows} in the largest cluster and not listed."
    return html.escape(words, quote=False)


def reading_of_table(scale: str | None) -> str:
    """How to read the table of clusters."""
    return (
        f"Spread: root mean squared distance of the rows to the cluster's centre; {_SCALING[scale]}. Nearest: the "
        "nearest other clusters, with the distances between the centres. Special: numbers and dates whose mean differs "
        "most from that of all rows, in standard deviations, and categories whose share differs most from that in all "
        "rows (+0.25 is 25 percentage points more)."
    )


def _note(found: Description, shown: int) -> str:
    """How to read the profiles, and which columns they do not show."""
    sentences = [
        "Means in the units of the data; the most frequent categories, with their shares of the cells with a value."
    ]
    if shown < found.d:
        sentences.append(f"The first {shown:,} of {found.d:,} columns.")
    if reasons := found.left_out_columns:
        sentences.append(f"Columns that were left out: {_listed(reasons, reasons)}.")
    return html.escape(" ".join(sentences))


def _heading(profile: ClusterProfile) -> str:
    """A cluster's number and size."""
    if profile.cluster < 0:
        return f"<span>all rows</span><small>{profile.size:,.6g}</small>"
    dot = f'<span class="dot" data-cluster="{profile.cluster}"></span>'
    size = html.escape(f"{profile.size:,.6g} ({_percent(profile.share)})")
    return f"<span>{dot}{profile.cluster}</span><small>{size}</small>"


def _cell(profile: ClusterProfile, name: str) -> str:
    """The mean or the most frequent categories of a column, and the share of missing cells."""
    missing = profile.gaps.get(name, 0.0)
    gaps = f"<small>{html.escape(_percent(missing))} missing</small>" if missing > _ROUNDING else ""
    if name in profile.means:
        return f'<td class="number">{_number(profile.means[name])}{gaps}</td>'
    shares = "".join(_category(word, share) for word, share in profile.categories[name])
    return f"<td>{shares or '–'}{gaps}</td>"


def _category(word: str, share: float) -> str:
    """A category and its share on a line of their own."""
    tooltip = f' title="{_cut(word)}"' if len(word) > _LONG_WORD else ""
    return f"<div><span{tooltip}>{_cut(word)}</span> <b>{html.escape(_percent(share))}</b></div>"


def _number(value: float | str) -> str:
    """A mean, or a date; four digits, and all digits of larger numbers."""
    if isinstance(value, str):
        return value
    if np.isnan(value):
        return "–"
    return f"{value:,.0f}" if 1_000 <= abs(value) < 1e12 else f"{value:.4g}"


def _percent(share: float) -> str:
    """A share; what is neither nothing nor all does not look like it."""
    if 0.0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1.0 - _ROUNDING else f"{share:.0%}"


def _cut(word: str) -> str:
    return html.escape(word if len(word) <= _MAX_WORD else f"{word[: _MAX_WORD - 1]}…")


def _listed(names: Iterable[str], reasons: Mapping[str, str] | None = None) -> str:
    """Names in a sentence, and a reason for each of them."""
    words = [name[:_MAX_WORD] + (f" ({reasons[name]})" if reasons else "") for name in names]
    more = f" and {len(words) - _MAX_NAMES:,} more" if len(words) > _MAX_NAMES else ""
    return ", ".join(words[:_MAX_NAMES]) + more
