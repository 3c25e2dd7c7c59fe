"""A document in a terminal: prose folded, tables in columns, commands as they are; without its pictures."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import assert_never

from ...tools import document as kinds
from ...tools.document import Block, Document, empty
from ..terminal import WIDTH, printable, table
from .cells import one_line, written

MOST_ROWS, MOST_FOLDED = 60, 12
"""Of a table or a list, and of one that a page shows folded; --json has all."""


def terminal_text(document: Document) -> str:
    """Lay out the blocks; what the page is called is left out, for the one who reads has just asked for it."""
    return blocks_text(document.blocks)


def blocks_text(blocks: Sequence[Block], most: int = MOST_ROWS) -> str:
    """Set sentences that follow each other line by line, and all else apart."""
    text, close = "", False
    for block in blocks:
        lines = "" if empty(block) else "\n".join(_lines(block, most))
        if lines:
            sentence = isinstance(block, str | kinds.Note)
            text += ("\n" if close and sentence else "\n\n") * bool(text) + lines
            close = sentence
    return text


def _lines(block: Block, most: int) -> Iterator[str]:  # noqa: C901  one case a kind of block
    match block:
        case kinds.Headline():
            verdict, colon, names = one_line(block.title).partition(":")
            yield from filter(None, [f"{verdict.upper()}{colon}{names}"])
            yield from _folded(block.text)
        case str():
            yield from _folded(block)
        case kinds.Facts():
            width = max(len(one_line(name)) for name, _ in block.rows)
            yield from (f"  {one_line(name).ljust(width)}  {one_line(text)}" for name, text in block.rows[:most])
            yield from _rest(block.rows, most)
        case kinds.Listing():
            yield from (line for item in block.items[:most] for line in _folded(item, "- "))
            yield from _rest(block.items, most)
        case kinds.Table():
            yield from _folded(block.caption)
            grid = written(block)
            yield from table(grid.capitals, grid.rows, grid.right).split("\n")[: most + 1]
            yield from _rest(grid.rows, most)
        case kinds.Command():
            yield from [f"{one_line(block.label)}:"] if block.label else []
            yield from (f"  {printable(line)}" for line in block.text.splitlines())
        case kinds.Note():
            yield from _folded(block.text, f"{block.label}: ")
        case kinds.Section():
            yield from filter(None, [one_line(block.title)])
            yield blocks_text(block.blocks, MOST_FOLDED if block.folded else most)
        case kinds.Figure():
            yield from map(printable, block.text.splitlines())
        case _:
            assert_never(block)


def _folded(text: str, before: str = "") -> list[str]:
    """Fold prose; words, paths among them, stay whole, and so do percentages."""
    if not text:
        return []
    indent, whole = " " * len(before), f"{before}{one_line(text)}".replace(" %", "\N{NO-BREAK SPACE}%")
    lines = textwrap.wrap(whole, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


def _rest(every: Sequence[object], most: int) -> Iterator[str]:
    if len(every) > most:
        yield f"... and {len(every) - most} more (--json has all)"
