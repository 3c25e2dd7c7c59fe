"""A document as one HTML page: one stylesheet, pictures inside, nothing loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from markupsafe import Markup

from ...prompts.render import render
from ...tools import document as kinds
from ...tools.document import Block, Document, empty
from .text import one_line, pieces, written

LONGEST = 70
"""Characters of the name that a browser gives the page."""


def html_page(document: Document) -> str:
    """Render the whole page."""
    heading, body = one_line(document.title), _blocks(document.blocks, 2)
    title = f"{heading}: {one_line(document.subject)}" if document.subject else heading
    title = title if len(title) <= LONGEST else f"{title[: LONGEST - 3]}..."
    return render("page.html.j2", title=title, heading=heading, kind=document.kind, body=body)


def _blocks(blocks: Sequence[Block], level: int) -> Markup:
    return Markup("\n").join(_block(block, level) for block in blocks if not empty(block))


def _block(block: Block, level: int) -> Markup:  # noqa: C901  one case a kind of block
    """Render one block; headings in it begin at this level."""
    match block:
        case kinds.Headline():
            title = _element(f"h{level}", block.title) if block.title else Markup()
            return title + (Markup('<p class="verdict">{}</p>').format(_text(block.text)) if block.text else "")
        case str():
            return _element("p", block)
        case kinds.Facts():
            rows = [_element("dt", name) + _element("dd", text) for name, text in block.rows]
            return Markup('<dl class="rows">\n{}\n</dl>').format(_lines(rows))
        case kinds.Listing():
            return Markup("<ul>\n{}\n</ul>").format(_lines(_element("li", item) for item in block.items))
        case kinds.Table():
            return _table(block)
        case kinds.Figure():
            caption = Markup("\n") + _element("figcaption", block.caption) if block.caption else ""
            drawn = Markup(block.svg) if block.svg else _element("pre", Markup.escape(block.text))
            return Markup("<figure>{}{}</figure>").format(drawn, caption)
        case kinds.Command():
            label = Markup('<p class="label">{}</p>\n').format(_text(block.label)) if block.label else ""
            return Markup('{}<pre class="command"><code>{}</code></pre>').format(label, block.text)
        case kinds.Note():
            mark = Markup(' class="note"') if block.label == "Note" else ""
            return Markup("<p{}><strong>{}</strong> {}</p>").format(mark, block.label, _text(block.text))
        case kinds.Section():
            return _section(block, level)
        case _:
            assert_never(block)


def _section(section: kinds.Section, level: int) -> Markup:
    body = _blocks(section.blocks, min(level + 1, 6))
    if section.folded:
        return Markup("<details>{}\n{}\n</details>").format(_element("summary", section.title), body)
    return Markup("<section>\n{}\n{}\n</section>").format(_element(f"h{level}", section.title), body)


def _table(table: kinds.Table) -> Markup:
    grid = written(table)
    marks = [Markup(' class="n"') if right else Markup() for right in grid.right]

    def line(tag: str, cells: Sequence[str]) -> Markup:
        drawn = (
            Markup("<{}{}>{}</{}>").format(tag, mark, _text(cell), tag) for mark, cell in zip(marks, cells, strict=True)
        )
        return _element("tr", Markup().join(drawn))

    caption = Markup('<p class="label">{}</p>\n').format(_text(table.caption)) if table.caption else ""
    head, rows = line("th", grid.head), _lines(line("td", row) for row in grid.rows)
    body = Markup("<thead>{}</thead>\n<tbody>\n{}\n</tbody>").format(head, rows)
    return Markup('{}<div class="wide"><table>\n{}\n</table></div>').format(caption, body)


def _element(tag: str, text: str) -> Markup:
    return Markup("<{}>{}</{}>").format(Markup(tag), text if isinstance(text, Markup) else _text(text), Markup(tag))


def _text(text: str) -> Markup:
    return Markup().join(_span(piece) if place % 2 else _words(piece) for place, piece in enumerate(pieces(text)))


def _words(piece: str) -> Markup:
    """Words in which no line ends before a percent sign."""
    return Markup.escape(piece.replace(" %", "\N{NO-BREAK SPACE}%"))


def _span(piece: str) -> Markup:
    """A code span as an element, an address as a link."""
    if piece.startswith("`"):
        return Markup("<code>{}</code>").format(piece.strip("`"))
    return Markup('<a href="{}">{}</a>').format(piece, piece)


def _lines(parts: Iterable[Markup]) -> Markup:
    return Markup("\n").join(parts)
