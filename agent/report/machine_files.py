"""What `machine compare --save` and `machine calibrate --save` write: a page in Markdown or HTML, with its picture."""

from __future__ import annotations

import os
from pathlib import Path

from markupsafe import Markup

from ...knowledge.errors import VgoError
from ...prompts.render import render
from ...tools.machine_profile.compare import MachineComparison
from .canvas import standalone
from .fleet_figures import picture
from .machine import APART, HEADER, RATIO_HEADER, ratio_row, said, summary_row, title
from .saving import save_files

ENDINGS = (".md", ".html")


def refuse(path: Path) -> None:
    """Refuse early what cannot be written at the end."""
    if path.suffix not in ENDINGS:
        raise VgoError(f"--save {path} has no known ending: name it *.md or *.html.")
    if not os.access(path.absolute().parent, os.W_OK):
        raise VgoError(f"--save {path}: its folder is missing or cannot be written; choose another place.")


def save(found: MachineComparison, path: Path) -> list[Path]:
    """Write the page, and beside a Markdown page its picture; return the files."""
    svg = picture(found)
    beside = path.with_suffix(".svg")
    page = render(
        f"machine{path.suffix}.j2",
        title=title(found),
        picture=Markup(svg) if path.suffix == ".html" else Markup(beside.name),
        apart=APART,
        said=said(found),
        header=HEADER,
        groups=[summary_row(one) for one in found.groups],
        ratio_header=RATIO_HEADER,
        ratios=[ratio_row(one) for one in found.ratios],
    )
    drawn = {beside.name: standalone(svg)} if path.suffix == ".md" else {}
    return save_files(path.parent, {path.name: page, **drawn})
