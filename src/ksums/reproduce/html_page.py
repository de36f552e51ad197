"""A page as one HTML file with its style and pictures inside."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable
from importlib.resources import files

from ksums.reproduce.claim import FAILS, HOLDS, IN_PART
from ksums.reproduce.pieces import Heading, Image, Paragraph, Piece, Table, anchor

_VERDICT_CLASSES = {HOLDS: "holds", IN_PART: "in-part", FAILS: "fails"}
_LONG_CELL = 40
"""On a narrow screen, the cells of a table with a text longer than this are stacked."""
_SHORT_CELL = 12
"""A text that is not longer than this stays on one line."""


def html_page(pieces: Iterable[Piece], title: str) -> str:
    """The text of the file."""
    style = (files("ksums.reproduce") / "page.css").read_text("utf-8")
    body = "\n".join(map(_html, pieces))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>\n{style}</style></head>\n'
        f"<body>\n{body}\n</body></html>\n"
    )


def _html(piece: Piece) -> str:
    if isinstance(piece, Heading):
        return f'<h{piece.level} id="{anchor(piece.text)}">{_inline(piece.text)}</h{piece.level}>'
    if isinstance(piece, Paragraph):
        return f"<p>{_inline(piece.text)}</p>"
    return _image(piece) if isinstance(piece, Image) else _table(piece)


def _image(image: Image) -> str:
    data = base64.b64encode(image.path.read_bytes()).decode()
    return (
        f'<figure><div class="wide"><img alt="{html.escape(image.title)}" src="data:image/png;base64,{data}"></div>'
        f"<figcaption>{_inline(f'**{image.title}.** {image.caption}')}</figcaption></figure>"
    )


def _table(table: Table) -> str:
    head = "".join(f"<th>{_inline(cell)}</th>" for cell in table.head)
    rows = "".join("<tr>" + "".join(map(_cell, row, table.head)) + "</tr>\n" for row in table.rows)
    stacked = any(len(cell) > _LONG_CELL and "](#" not in cell for row in table.rows for cell in row)
    caption = f"<caption>{_inline(table.caption)}</caption>" if table.caption else ""
    return (
        f'<div class="wide"><table{" class=stacked" * stacked}>{caption}<thead><tr>{head}</tr></thead>\n'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _cell(text: str, column: str) -> str:
    name = f' data-name="{html.escape(column)}"'
    if text in _VERDICT_CLASSES:
        return f'<td{name}><span class="verdict {_VERDICT_CLASSES[text]}">{text}</span></td>'
    kind = "number" if text.replace(".", "").isdigit() else "short" if len(text) <= _SHORT_CELL else ""
    return f'<td{name} class="{kind}">{_inline(text)}</td>'


def _inline(text: str) -> str:
    """Escaped text, with bold, italic, code, links to headings, and subscripts."""
    text = re.sub(r"\[([^\]]+)\]\((#[\w-]+)\)", r'<a href="\2">\1</a>', html.escape(text))
    for mark, tag in (("**", "strong"), ("`", "code"), ("*", "em")):
        parts = text.split(mark)
        text = "".join(part if at % 2 == 0 else f"<{tag}>{part}</{tag}>" for at, part in enumerate(parts))
    for name in ("E_m", "E_s", "I_m", "I_s"):
        text = text.replace(name, f"<i>{name[0]}</i><sub>{name[2]}</sub>")
    return text
