"""The files of a document: the page as HTML and as Markdown, and its pictures beside them."""

from __future__ import annotations

from ...tools.document import Document, figures
from ..report.canvas import standalone
from .html import html_page
from .markdown import markdown_page


def document_files(document: Document, name: str = "report") -> dict[str, str]:
    """Give the text of each file by its name."""
    pictures = {f"{figure.name}.svg": standalone(figure.svg) for figure in figures(document.blocks)}
    return {f"{name}.md": markdown_page(document), f"{name}.html": html_page(document), **pictures}
