"""The files made from a finished run: run table's description, report as Markdown and as one HTML page."""

from __future__ import annotations

from markupsafe import Markup

from ...prompts.render import render
from ...tools.mpi.rows import RANKS
from ..finished import FinishedRun
from .evidence import gather
from .pictures import pictures
from .run_ranks import csv_of
from .tables import runs_md
from .tell import tell


def outputs(run: FinishedRun) -> dict[str, bytes]:
    """Make every file, by name; the same run gives the same bytes."""
    evidence = gather(run)
    story = tell(evidence)
    drawn = {name: Markup(svg) for name, svg in pictures(evidence).items()}
    ranks = csv_of(evidence)
    return {
        **({RANKS: ranks} if ranks else {}),
        "runs.md": runs_md(run),
        "report.md": render("report.md.j2", story=story).encode(),
        "report.html": render("report.html.j2", story=story, pictures=drawn).encode(),
    }
