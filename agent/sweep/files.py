"""The files of a sweep: the table of runs with what its columns mean, the table of cells, the report."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from ...layers.schema import Layer
from ...prompts.render import render
from ...tools.recorded.write import write as write_table
from ...tools.sweep.sweep import Sweep
from ...tools.sweep.table import cell_rows, cells_csv, runs_table
from ..experiment import ExperimentRun
from ..report.sweep import sweep_page
from ..report.sweep_figure import figure
from ..run_folder import write
from ..terminal import folded
from .conduct import SweepResult

RUNS, CELLS = "runs.csv", "cells.csv"


def write_files(sweep: Sweep, run: ExperimentRun, layers: Mapping[str, Layer]) -> SweepResult:
    """Write all of them; give the answer."""
    cells, folder, subject = list(cell_rows(sweep)), run.folder.path, run.subject
    page = sweep_page(sweep, cells, subject, folder)
    if sweep.ran.rows:
        path = folder / RUNS
        write_table(runs_table(sweep, str(path), layers.values(), run.facts), path, fresh=True)
    write(folder / CELLS, cells_csv(cells))
    write(folder / "report.md", render("sweep.md.j2", page=page).encode())
    picture = Markup(figure(sweep.space, cells, subject.unit))
    write(folder / "report.html", render("sweep.html.j2", page=page, picture=picture).encode())
    failure = ""
    if sweep.impossible:
        first = sweep.standing(sweep.cells[0]).reason
        failure = f"No cell could be run: {first}; see cells.csv in {folder} for the others."
    return SweepResult(page["summary"], folded(render("sweep.txt.j2", page=page)), failure)
