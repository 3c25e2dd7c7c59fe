"""A document as text: in a terminal, with prose folded, tables in columns and no pictures, and as Markdown."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple, assert_never
from urllib.parse import quote

from ...tools import document as kinds
from ...tools.document import SHARE, Block, Cell, Document, Table, TableColumn, empty
from ..report.numbers import ABSENT, number, percent, scale
from ..terminal import WIDTH, printable, table

_SPAN = re.compile(r"((?<!`)`[^`]+`(?!`)|https?://[^\s<>`|\"']+(?<![.,;:)]))")
_BLANKS = re.compile(r"\s+")
_BESIDE_DIGITS = "+-<≤x–"
"""What may stand before the first digit of a number that is written as text."""


class WrittenTable(NamedTuple):
    """A table of words; `right` tells which columns are of numbers, `capitals` is its head for a terminal."""

    head: tuple[str, ...]
    capitals: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[bool, ...]


def one_line(text: str) -> str:
    """Join lines, drop what would steer a terminal, and leave one of several blanks, all of them in code spans."""
    return "".join(pieces(text))


def pieces(text: str) -> list[str]:
    """Split a text in one line into words and what is kept as it is: each second piece is a code span or an address."""
    parts = _SPAN.split(printable(text).strip())
    return [part if place % 2 else _BLANKS.sub(" ", part) for place, part in enumerate(parts)]


def written(table: Table) -> WrittenTable:
    """Write the cells of a table; numbers of one column are in one unit."""
    columns = [TableColumn(column) if isinstance(column, str) else column for column in table.columns]
    cells = [[row[place] for row in table.rows] for place in range(len(columns))]
    texts = [_written(column, its) for column, its in zip(columns, cells, strict=True)]
    rows = tuple(tuple(column[place] for column in texts) for place in range(len(table.rows)))
    head = tuple(one_line(column.name) for column in columns)
    capitals = tuple(name if one.verbatim else name.upper() for name, one in zip(head, columns, strict=True))
    return WrittenTable(head, capitals, rows, tuple(map(_numeric, texts)))


def _written(column: TableColumn, cells: Sequence[Cell]) -> list[str]:
    sizes = [abs(cell) for cell in cells if isinstance(cell, int | float) and math.isfinite(cell)]
    unit = scale(column.unit, max(sizes, default=0.0))

    def show(cell: Cell) -> str:
        if isinstance(cell, str):
            return one_line(cell)
        if column.unit == SHARE or cell is None:
            return percent(cell, column.digits)
        return f"{number(cell * unit.factor, column.digits)} {unit.unit}".rstrip()

    return [show(cell) for cell in cells]


def _numeric(texts: Sequence[str]) -> bool:
    said = [text for text in texts if text not in ("", ABSENT)]
    return bool(said) and all(text.lstrip(_BESIDE_DIGITS).lstrip()[:1].isdigit() for text in said)


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
