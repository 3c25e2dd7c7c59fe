"""A small figure that ends as inline SVG: theme colours as CSS variables, text as text, the same bytes each time."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...knowledge.errors import VgoError
from ...tools.document import Document, figures
from ..render.html import html_page
from ..render.text import markdown_page

INK, FAINT, BASELINE, MITIGATED = "#010203", "#8a8f98", "#d55e00", "#0072b2"
"""Okabe and Ito's vermillion and blue: told apart in every common colour blindness, and in grey by their markers."""
_VARIABLES = {INK: "currentColor", FAINT: "var(--faint)", BASELINE: "var(--baseline)", MITIGATED: "var(--mitigated)"}
WIDTH = 7.4
_STYLE: Any = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8.0,
    "text.color": INK,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 8.5,
    "axes.titlelocation": "left",
    "figure.facecolor": "none",
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "path.simplify": True,
    "savefig.dpi": 110,
}
_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}


@dataclass
class Canvas:
    """A figure being drawn; `svg` holds it afterwards."""

    figure: Figure
    svg: str = field(default="")

    def axes(self, left: float, width: float, bottom: float = 0.19, height: float = 0.67) -> Axes:
        """Place axes by hand: an automatic layout would draw everything twice."""
        return self.figure.add_axes((left, bottom, width, height))


@contextmanager
def canvas(name: str, description: str, height: float = 2.5) -> Iterator[Canvas]:
    """Open a figure; `description` is what a screen reader says."""
    style: Any = {**_STYLE, "svg.hashsalt": name}
    with matplotlib.rc_context(style):
        page = Canvas(Figure(figsize=(WIDTH, height)))
        yield page
        target = io.BytesIO()
        page.figure.savefig(target, format="svg", metadata=_METADATA)
    page.svg = _inline(target.getvalue().decode(), description)


def standalone(svg: str) -> str:
    """Make a file of an inline picture: colours as they are in print, on white, with the namespaces a viewer wants."""
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(variable, "#1c2128" if colour == INK else colour)
    spaces = 'xmlns="http://www.w3.org/2000/svg" style="background: #ffffff" font-family="DejaVu Sans, sans-serif"'
    return svg.replace("<svg ", f"<svg {spaces} ", 1) + "\n"


def _inline(svg: str, description: str) -> str:
    """Cut to the element, colour by CSS, drop ids that nothing refers to."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>", "", body, count=1, flags=re.S)
    view = re.search(r'viewBox="[^"]*"', body)
    head = f'<svg role="img" aria-label="{escape(description)}" {view.group() if view else ""}>'
    body = re.sub(r"<svg[^>]*>", lambda _: head, body, count=1, flags=re.S)
    used = set(re.findall(r'#([\w.-]+)(?=["\')])', body))
    body = re.sub(r' id="([\w.-]+)"', lambda found: found.group() if found.group(1) in used else "", body)
    body = body.replace("xlink:href", "href")
    body = re.sub(r"; font-family: [^;\"]*", "", body)
    # Six decimals of a point are a third of the file.
    body = re.sub(r' (x|y)="(-?\d+\.\d)\d+"', r' \1="\2"', body)
    for colour, variable in _VARIABLES.items():
        body = body.replace(colour, variable)
    return re.sub(r"\s*\n\s*", "\n", re.sub(r"<!--.*?-->", "", body)).strip()


def save_files(folder: Path, contents: Mapping[str, str]) -> list[Path]:
    """Write texts into a folder, which is made with those that their names lie in; return the files."""
    try:
        for name, content in contents.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8")
    except OSError as error:
        raise VgoError(f"Cannot write into {folder} ({error.strerror}); choose another folder for --save.") from error
    return [folder / name for name in contents]


def save_picture(svg: str, path: Path) -> None:
    """Write one picture as an SVG file."""
    try:
        path.write_text(standalone(svg), encoding="utf-8")
    except OSError as error:
        raise VgoError(f"Cannot write {path} ({error.strerror}); choose another file for --picture.") from error


def document_files(document: Document, name: str = "report") -> dict[str, str]:
    """Give the text of each file by its name."""
    pictures = {f"{figure.name}.svg": standalone(figure.svg) for figure in figures(document.blocks)}
    return {f"{name}.md": markdown_page(document), f"{name}.html": html_page(document), **pictures}
