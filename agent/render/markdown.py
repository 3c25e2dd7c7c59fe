"""A document as Markdown, as GitHub reads it; no text in it is read as markup, but for its code spans."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import assert_never
from urllib.parse import quote

from ...tools import document as kinds
from ...tools.document import Block, Document, empty
from .cells import pieces, written

_MARKS = re.compile(r"([\\`*_\[\]|<>&~#])")
_FIRST = re.compile(r"^(?:[-+=]|[0-9]{1,9}(?=[.)]))")
"""What begins a list or a line under a heading; before `.` and `)` the digits are what makes it one."""


def markdown_page(document: Document) -> str:
    """Render the whole page; pictures lie beside it under their names, as SVG."""
    parts = (f"# {_line(document.title)}", _line(f"vgo-agent {document.kind}"), *_blocks(document.blocks, 2))
    return "\n\n".join(parts) + "\n"


def markdown_blocks(blocks: Sequence[Block], level: int = 3) -> str:
    """Render blocks that stand below a title of somebody else's; headings begin at this level."""
    return "\n\n".join(_blocks(blocks, level))


def _blocks(blocks: Sequence[Block], level: int) -> Iterator[str]:
    for block in blocks:
        if not empty(block):
            yield from _block(block, level)


def _block(block: Block, level: int) -> Iterator[str]:  # noqa: C901  one case a kind of block
    """Render one block as paragraphs; headings in it begin at this level."""
    match block:
        case kinds.Headline():
            yield from _heading(block.title, level)
            yield from filter(None, [_line(block.text)])
        case str():
            yield _line(block)
        case kinds.Facts():
            yield "\n".join(f"- {_line(name)}: {_inline(text)}" for name, text in block.rows)
        case kinds.Listing():
            yield "\n".join(f"- {_line(item)}" for item in block.items)
        case kinds.Table():
            yield from filter(None, [_line(block.caption)])
            yield _table(block)
        case kinds.Figure():
            picture = f"![{_inline(block.caption or block.name)}]({quote(block.name)}.svg)"
            yield picture if block.svg else _fence(block.text)
        case kinds.Command():
            yield from [f"{_line(block.label)}:"] if block.label else []
            yield _fence(block.text, block.language)
        case kinds.Note():
            yield f"{block.label}: {_inline(block.text)}"
        case kinds.Section():
            yield from _heading(block.title, level)
            yield from _blocks(block.blocks, min(level + 1, 6))
        case _:
            assert_never(block)


def _heading(title: str, level: int) -> Iterator[str]:
    if title:
        yield f"{'#' * level} {_line(title)}"


def _table(table: kinds.Table) -> str:
    grid = written(table)
    rule = ["---:" if right else "---" for right in grid.right]
    rows = [[_inline(cell, in_table=True) for cell in row] for row in (grid.head, *grid.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:]))


def _line(text: str) -> str:
    """Escape a text that begins a line."""
    shown = _inline(text)
    begins = _FIRST.match(shown)
    if begins is None:
        return shown
    at = begins.end() if begins.group()[0].isdigit() else 0
    return f"{shown[:at]}\\{shown[at:]}"


def _inline(text: str, in_table: bool = False) -> str:
    """Escape all but code spans; in a table a bar would end the cell even there."""
    return "".join(
        _span(piece, in_table) if place % 2 else _MARKS.sub(r"\\\1", piece) for place, piece in enumerate(pieces(text))
    )


def _span(piece: str, in_table: bool) -> str:
    """A code span as it is, an address between its marks."""
    shown = piece if piece.startswith("`") else f"<{piece}>"
    return shown.replace("|", r"\|") if in_table else shown


def _fence(text: str, language: str = "") -> str:
    """Put text in a block that nothing in it can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    mark = "`" * max(3, longest + 1)
    return "\n".join((f"{mark}{language}", *text.splitlines(), mark))
