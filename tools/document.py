"""A document: what a result says, in blocks, before anybody decides how it looks.

Texts are plain English; `code spans` stand between backticks, and a renderer escapes everything else. One document is
rendered to HTML, Markdown and a terminal (`agent/render`). A block that is empty is left out, so nobody has to ask
first whether there is something to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

Cell = str | float | None
"""A text, a number in the unit of its column, or nothing."""
SHARE = "share"
"""Unit of a column that is written in percent: 0.05 is 5 %."""


@dataclass(frozen=True)
class Headline:
    """The answer in one sentence; `title` is the few words above it, in capitals up to a colon in a terminal."""

    title: str
    text: str = ""


@dataclass(frozen=True)
class Facts:
    """Names with what is known of each."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Listing:
    """Texts of equal rank."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class TableColumn:
    """A column of a table; `digits` are significant ones. Columns of numbers stand at the right.

    `verbatim`: the name comes from outside; a terminal does not set it in capitals, as it does the others.
    """

    name: str
    unit: str = ""
    digits: int = 4
    verbatim: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells under their columns, a plain name where they are texts; the renderer rounds, JSON does not."""

    columns: Sequence[TableColumn | str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""


@dataclass(frozen=True)
class Figure:
    """A picture by its name, such as `settings`, with what it shows in words.

    `text`: lines that a terminal shows instead. `svg`: what `illustrated` has put in; a figure without one is left out.
    """

    name: str
    caption: str = ""
    text: str = ""
    svg: str = ""


@dataclass(frozen=True)
class Command:
    """Lines to copy into a shell, or another text that is kept as it is."""

    text: str
    label: str = ""
    language: str = "sh"


@dataclass(frozen=True)
class Note:
    """What a reader has to bear in mind, or what to do next."""

    text: str
    label: str = "Note"


@dataclass(frozen=True)
class Section:
    """Blocks under a heading; sections nest. `folded`: HTML shows the heading until it is opened."""

    title: str
    blocks: tuple[Block, ...]
    folded: bool = False


Block = str | Headline | Facts | Listing | Table | Figure | Command | Note | Section
"""A plain text is one sentence that is true by itself."""


@dataclass(frozen=True)
class Document:
    """A page: `kind` says what made it, such as `thread study`.

    `subject`: what it is about, which stands beside the title where a browser names the page.
    """

    title: str
    kind: str
    blocks: tuple[Block, ...]
    subject: str = ""


def figures(blocks: Sequence[Block]) -> Iterator[Figure]:
    """Give every picture that blocks hold, in their order."""
    for block in blocks:
        if isinstance(block, Section):
            yield from figures(block.blocks)
        elif isinstance(block, Figure) and block.svg:
            yield block


def illustrated(document: Document, pictures: Mapping[str, str]) -> Document:
    """Put inline SVG into the figures of its name."""
    return replace(document, blocks=tuple(_illustrated(document.blocks, pictures)))


def _illustrated(blocks: Sequence[Block], pictures: Mapping[str, str]) -> Iterator[Block]:
    for block in blocks:
        match block:
            case Section():
                yield replace(block, blocks=tuple(_illustrated(block.blocks, pictures)))
            case Figure():
                yield replace(block, svg=pictures.get(block.name, ""))
            case _:
                yield block


def empty(block: Block) -> bool:
    """Tell whether a block says nothing."""
    match block:
        case str():
            return not block
        case Headline():
            return not (block.title or block.text)
        case Facts() | Table():
            return not block.rows
        case Listing():
            return not block.items
        case Figure():
            return not (block.svg or block.text)
        case Section():
            return all(map(empty, block.blocks))
        case Command() | Note():
            return not block.text
